package evloop

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/pa-tools/pa/internal/sockstamp"
	"github.com/pa-tools/pa/internal/test/nettest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newEngine starts an engine with that many loops.
func newEngine(t testing.TB, loops int) *Engine {
	t.Helper()
	e, err := start(loops)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return e
}

// connect adds a connection to e and returns its peer.
func connect(t testing.TB, e *Engine, o sockstamp.Options) (c *Conn, peer *net.TCPConn) {
	t.Helper()
	ln := nettest.Listen(t)
	defer ln.Close()
	nc, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	s, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if c, err = e.Add(nc.(*net.TCPConn), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return c, s.(*net.TCPConn)
}

// serve answers on peer with what answer makes of each request of size bytes,
// until there are no more.
func serve(wg *sync.WaitGroup, peer *net.TCPConn, size int, answer func(request []byte) []byte) {
	wg.Go(func() {
		buf := make([]byte, size)
		for {
			if _, err := io.ReadFull(peer, buf); err != nil {
				return
			}
			if _, err := peer.Write(answer(buf)); err != nil {
				return
			}
		}
	})
}

// A recorder is a Handler that expects want bytes; < 0 is until the end.
type recorder struct {
	want     int
	start    sockstamp.Stamp
	sent     sockstamp.Stamp
	got      []byte
	reads    []sockstamp.Stamp
	writeErr error
	err      error
	over     chan struct{} // a value when nothing more comes
	read     chan struct{} // a value for each read, if not nil
}

func newRecorder(want int) *recorder { return &recorder{want: want, over: make(chan struct{}, 1)} }

func (r *recorder) Answered(start, sent sockstamp.Stamp) { r.start, r.sent = start, sent }

func (r *recorder) Data(p []byte, at sockstamp.Stamp) bool {
	r.got = append(r.got, p...)
	r.reads = append(r.reads, at)
	if r.read != nil {
		r.read <- struct{}{}
	}
	if r.want >= 0 && len(r.got) >= r.want {
		r.over <- struct{}{}
		return true
	}
	return false
}

func (r *recorder) WriteFailed(err error) { r.writeErr = err }

func (r *recorder) Closed(err error) {
	r.err = err
	r.over <- struct{}{}
}

// openFiles counts the file descriptors of the process.
func openFiles(t testing.TB) int {
	t.Helper()
	d, err := os.ReadDir("/proc/self/fd")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return len(d)
}
