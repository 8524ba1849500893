package h2follow

import (
	"io"
	"net"
	"testing"

	"github.com/pa-tools/pa/internal/sockstamp"
	"github.com/pa-tools/pa/internal/test/nettest"
)

// loopback returns a Follower over a TCP connection whose other end reads all.
func loopback(t *testing.T, c Config) (*Follower, *sockstamp.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	accepted, read := make(chan struct{}), make(chan struct{})
	go func() { // ends with the connection
		defer close(read)
		nc, err := l.Accept()
		close(accepted)
		if err == nil {
			_, _ = io.Copy(io.Discard, nc) // the end of it
			nc.Close()
		}
	}()
	d := sockstamp.Dialer{}
	nc, err := d.DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	<-accepted // closing l resets a connection that waits
	t.Cleanup(func() { nc.Close(); <-read })
	raw, _ := sockstamp.Of(nc)
	return New(nc, raw, c), raw
}

// The head of a request that does not fit in one segment is a write of its own, also
// behind another request in the same write, and its stamp is the start. A request that
// fits is not cut.
func TestHeads(t *testing.T) {
	nettest.NeedKernelStamps(t)
	const large = 300_000
	for _, tt := range []struct {
		name   string
		config Config
		gRPC   bool
	}{
		{"unary", Config{Unary: true}, true},
		{"stream", Config{}, true},
		{"bytes", Config{Bytes: true}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, raw := loopback(t, tt.config)
			s := newScript(true)
			body := func(id uint32, n int) (headEnd int) {
				b := make([]byte, n)
				if tt.gRPC {
					b = message(n)
				}
				headEnd = s.Len()
				if !tt.config.Unary && tt.gRPC {
					headEnd += headBytes + 5 // the message's prefix
				}
				for len(b) > 0 {
					part := b[:min(len(b), 16<<10)]
					b = b[len(part):]
					must(s.framer.WriteData(id, len(b) == 0, part))
				}
				return headEnd
			}
			s.headers(1, false, 0, ":path", "/small")
			small := body(1, 100)
			whole := s.Len()
			s.headers(3, false, 0, ":path", "/large")
			head := body(3, large)
			if n, err := f.Write(s.Bytes()); n != s.Len() || err != nil {
				t.Fatalf("Write = %d, %v, want %d", n, err, s.Len())
			}
			end := raw.Written()
			if end != uint64(s.Len()) {
				t.Fatalf("%d bytes written, want %d", end, s.Len())
			}
			if _, ok := raw.TxStamp(uint64(small)); ok {
				t.Error("the small request was cut")
			}
			want, ok := raw.TxStamp(uint64(head))
			if !ok {
				t.Fatalf("no stamp at %d, the end of the large request's head; the small request ends at %d", head, whole)
			}
			start, sent, ok := f.Sent(3, 0)
			if !ok || start != (sockstamp.Stamp{NS: want, Source: sockstamp.Kernel}) {
				t.Errorf("Sent = %+v, %+v, %v, want the head's stamp %d", start, sent, ok, want)
			}
			if sent.NS < start.NS {
				t.Errorf("sent %d before start %d", sent.NS, start.NS)
			}
			if start, _, ok := f.Sent(1, 0); !ok || start.NS > want {
				t.Errorf("the small request: start %+v, %v, want it not after %d", start, ok, want)
			}
		})
	}
}

// A request whose answer is there before it is written whole has a start, and sent
// is the newest stamp.
func TestSentInPart(t *testing.T) {
	nettest.NeedKernelStamps(t)
	f, raw := loopback(t, Config{Unary: true})
	s := newScript(true)
	s.headers(1, false, 0, ":path", "/large")
	must(s.framer.WriteData(1, false, message(300_000)[:10_000]))
	if _, _, ok := f.SentInPart(1, 0); ok {
		t.Error("a start before anything was written")
	}
	if _, err := f.Write(s.Bytes()); err != nil {
		t.Fatal(err)
	}
	if _, _, ok := f.Sent(1, 0); ok {
		t.Error("Sent knows a message that is not whole")
	}
	start, sent, ok := f.SentInPart(1, 0)
	if ns, _ := raw.TxStamp(uint64(s.Len())); !ok || start.Source != sockstamp.Kernel || sent != (sockstamp.Stamp{NS: ns, Source: sockstamp.Kernel}) {
		t.Errorf("SentInPart = %+v, %+v, %v, want the stamps of the kernel, the last %d", start, sent, ok, ns)
	}
}
