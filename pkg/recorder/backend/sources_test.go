package backend_test

import (
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/nettest"
	"github.com/pa-tools/pa/pkg/recorder/backend"
)

// Connections come from the addresses in turn; without a list, from any.
func TestSources(t *testing.T) {
	t.Parallel()
	l := nettest.Listen(t)
	defer l.Close()
	from := func(s *backend.Sources) string {
		d := s.Dialer()
		c, err := d.DialContext(t.Context(), "tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		in, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		return in.RemoteAddr().(*net.TCPAddr).IP.String()
	}
	if got := from(backend.NewSources(nil)); got != "127.0.0.1" {
		t.Errorf("without sources from %s", got)
	}
	s := backend.NewSources([]netip.Addr{netip.MustParseAddr("127.0.0.2"), netip.MustParseAddr("127.0.0.3")})
	var got []string
	for range 3 {
		got = append(got, from(s))
	}
	if want := []string{"127.0.0.2", "127.0.0.3", "127.0.0.2"}; !slices.Equal(got, want) {
		t.Errorf("from %v, want %v", got, want)
	}
	d := backend.NewSources([]netip.Addr{netip.MustParseAddr("192.0.2.1")}).Dialer()
	if c, err := d.DialContext(t.Context(), "tcp", l.Addr().String()); err == nil {
		_ = c.Close()
		t.Error("connected from an address that this machine does not have")
	}
}

// An address that no interface has is named; the loopback's are there.
func TestCheckSources(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		addrs string // "" means none
		want  string // of the error; "" means none
	}{
		{"", ""},
		{"127.0.0.1", ""},
		{"127.0.0.1 192.0.2.1 192.0.2.2", "192.0.2.1 is not an address of this machine"},
		{"2001:db8::1", "2001:db8::1 is not an address of this machine"},
		{"fe80::1%nosuchif", "fe80::1%nosuchif cannot be used: "},
	} {
		var addrs []netip.Addr
		for _, text := range strings.Fields(tt.addrs) {
			addrs = append(addrs, netip.MustParseAddr(text))
		}
		err := backend.CheckSources(addrs)
		if (err == nil) != (tt.want == "") || err != nil && !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.addrs, err, tt.want)
		}
	}
}
