package openai

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"runtime"
	"syscall"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
)

func TestTransportNames(t *testing.T) {
	for _, tr := range []Transport{Auto, Loop, NetHTTP} {
		got, err := ParseTransport(tr.String())
		if err != nil || got != tr {
			t.Errorf("ParseTransport(%q) = %v, %v", tr, got, err)
		}
	}
	want := `unknown transport "x"; expected auto, loop or nethttp`
	if _, err := ParseTransport("x"); err == nil || err.Error() != want {
		t.Errorf("ParseTransport(x) = %v, want %s", err, want)
	}
	if got := Transport(9).String(); got != "Transport(9)" {
		t.Errorf("Transport(9) is %q", got)
	}
}

// Auto never fails; the loop says why it does not apply.
func TestChooseTransport(t *testing.T) {
	viaProxy := func(*url.URL) (*url.URL, error) { return url.Parse("http://p:1") }
	for _, tt := range []struct {
		name string
		cfg  Config
		want string // the error for the loop; "" is none on Linux
	}{
		{"plain", Config{URL: "h"}, ""},
		{"TLS", Config{URL: "https://h"}, "transport loop: it has no TLS; use --transport nethttp or auto"},
		{"proxy", Config{URL: "h", Proxy: viaProxy}, "transport loop: it goes through no proxy; use --transport nethttp or auto"},
		{"HTTP/2", Config{URL: "h", HTTP2: true}, "transport loop: it speaks HTTP/1.1 only; use --transport nethttp or auto"},
	} {
		if runtime.GOOS != "linux" {
			tt.want = fmt.Sprintf("transport loop: it needs Linux, this is %s; use --transport nethttp or auto", runtime.GOOS)
		}
		wantAuto := NetHTTP
		if tt.want == "" {
			wantAuto = Loop
		}
		if got := newBackend(t, tt.cfg).Transport(); got != wantAuto {
			t.Errorf("%s: auto is %v, want %v", tt.name, got, wantAuto)
		}
		tt.cfg.Transport = Loop
		if _, err := New(tt.cfg); (err == nil) != (tt.want == "") || err != nil && err.Error() != tt.want {
			t.Errorf("%s: New = %v, want %q", tt.name, err, tt.want)
		}
		tt.cfg.Transport = NetHTTP
		if got := newBackend(t, tt.cfg).Transport(); got != NetHTTP {
			t.Errorf("%s: nethttp is %v", tt.name, got)
		}
	}
	if _, err := New(Config{URL: "h", Transport: 9}); err == nil || err.Error() != "unknown transport Transport(9)" {
		t.Errorf("New = %v", err)
	}
}

// The error for a resource that this machine has used up says what to do.
func TestClassifyScarce(t *testing.T) {
	for errno, want := range map[syscall.Errno]string{
		syscall.EMFILE:        "u: too many open files; raise ulimit -n",
		syscall.ENFILE:        "u: too many open files on this machine; raise fs.file-max",
		syscall.EADDRNOTAVAIL: "u: no local port left (cannot assign requested address); keep connections, or widen net.ipv4.ip_local_port_range",
	} {
		err := &dialError{&net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("socket", errno)}}
		for _, err := range []error{err, fmt.Errorf("more: %w", err), &dialError{&net.DNSError{Err: "x", Name: "h", UnwrapErr: errno}}} {
			if status, msg := classify(&target{url: "u"}, err); status != export.StatusConnectError || msg != want {
				t.Errorf("%v: %v, %q, want %q", errno, status, msg, want)
			}
		}
		viaProxy := &dialError{&backend.ProxyError{Proxy: &url.URL{Scheme: "http", Host: "p"}, Err: errors.Join(errno)}}
		if _, msg := classify(&target{url: "u"}, viaProxy); msg != "u: proxy http://p"+want[1:] {
			t.Errorf("via a proxy: %q", msg)
		}
	}
}
