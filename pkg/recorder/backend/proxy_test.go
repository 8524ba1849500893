package backend

import (
	"errors"
	"net/url"
	"testing"
)

// A proxy is shown without its password, and has the port of its scheme.
func TestProxyNames(t *testing.T) {
	for _, tt := range []struct{ url, name, addr string }{
		{"http://p:3128", "http://p:3128", "p:3128"},
		{"http://bob:secret@p", "http://p", "p:80"},
		{"https://p", "https://p", "p:443"},
		{"socks5://bob:secret@[::1]", "socks5://[::1]", "[::1]:1080"},
		{"socks5h://p:1", "socks5h://p:1", "p:1"},
	} {
		u, err := url.Parse(tt.url)
		if err != nil {
			t.Fatal(err)
		}
		cause := errors.New("gone")
		err = &ProxyError{Proxy: u, Err: cause}
		if name, addr := ProxyName(u), HostPort(u); name != tt.name || addr != tt.addr || err.Error() != "proxy "+tt.name+": gone" || !errors.Is(err, cause) {
			t.Errorf("%s: %s at %s, %q; want %s at %s", tt.url, name, addr, err, tt.name, tt.addr)
		}
	}
}
