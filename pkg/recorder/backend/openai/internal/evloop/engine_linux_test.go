package evloop

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pa-tools/pa/internal/sockstamp"
	"github.com/pa-tools/pa/internal/test/nettest"
)

func TestDefaultLoops(t *testing.T) {
	for cpus, want := range map[int]int{1: 1, 2: 1, 4: 1, 7: 1, 8: 2, 16: 4, 32: 8, 128: 8} {
		if got := defaultLoops(cpus); got != want {
			t.Errorf("defaultLoops(%d) = %d, want %d", cpus, got, want)
		}
	}
}

// Many connections of several loops, requests one after the other on each: all
// bytes arrive, with stamps in order.
func TestExchanges(t *testing.T) {
	defer sockstamp.Hold()()
	for name, o := range map[string]sockstamp.Options{"kernel": {}, "user": {User: true}} {
		t.Run(name, func(t *testing.T) {
			const conns, requests, size = 40, 30, 2000
			e := newEngine(t, 3)
			var servers, clients sync.WaitGroup
			t.Cleanup(servers.Wait) // after the connections are closed
			for i := range conns {
				c, peer := connect(t, e, o)
				serve(&servers, peer, size, func(request []byte) []byte { return append(request, request...) })
				clients.Go(func() {
					request := bytes.Repeat([]byte{byte(i)}, size)
					receive, transmit, _ := c.Stamps()
					ordinal := uint64(0)
					for range requests {
						h := newRecorder(2 * size)
						c.Send(request, h)
						<-h.over
						if h.err != nil || !bytes.Equal(h.got, append(request, request...)) {
							t.Errorf("connection %d: %d bytes, %v", i, len(h.got), h.err)
							return
						}
						if start, sent := c.Request(); start != h.start || sent != h.sent {
							t.Errorf("sent %+v to %+v, at the answer %+v to %+v", start, sent, h.start, h.sent)
						}
						start, sent := h.start, h.sent
						if (start.Source == sockstamp.Kernel) != transmit || (sent.Source == sockstamp.Kernel) != transmit {
							t.Errorf("sent by %v to %v, kernel stamps: %v", start.Source, sent.Source, transmit)
						}
						last := sent.NS
						for _, at := range h.reads {
							ordinal++
							if at.Ordinal != ordinal || (at.Source == sockstamp.Kernel) != receive || at.NS < last {
								t.Errorf("read %+v after %d, want ordinal %d", at, last, ordinal)
							}
							last = at.NS
						}
					}
				})
			}
			clients.Wait()
		})
	}
}

// A request that the send buffer does not take is written by the loop, and an
// answer may come meanwhile.
func TestLongRequest(t *testing.T) {
	e := newEngine(t, defaultLoops(runtime.GOMAXPROCS(0)))
	c, peer := connect(t, e, sockstamp.Options{})
	request := bytes.Repeat([]byte("0123456789abcdef"), 1<<19)
	for range 2 {
		h := newRecorder(len("early, late"))
		h.read = make(chan struct{}, 100)
		c.Send(request, h)
		if c.Idle() {
			t.Error("idle while it sends")
		}
		if _, err := peer.Write([]byte("early, ")); err != nil {
			t.Fatal(err)
		}
		<-h.read // nothing of the request was read yet
		got := make([]byte, len(request))
		if _, err := io.ReadFull(peer, got); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, request) {
			t.Error("the peer received something else")
		}
		if _, err := peer.Write([]byte("late")); err != nil {
			t.Fatal(err)
		}
		<-h.over
		if string(h.got) != "early, late" || h.err != nil || h.writeErr != nil {
			t.Errorf("%q, %v, %v", h.got, h.err, h.writeErr)
		}
	}
}

// How a connection can end, before a request, in the middle of one that is still
// being written, and after its answer.
func TestEnds(t *testing.T) {
	long := make([]byte, 8<<20)
	for name, tt := range map[string]struct {
		request  []byte
		end      func(peer *net.TCPConn) error
		err      error
		writeErr bool
	}{
		"closed":                 {[]byte("request"), (*net.TCPConn).CloseWrite, io.EOF, false},
		"reset":                  {[]byte("request"), reset, unix.ECONNRESET, false},
		"closed while sending":   {long, (*net.TCPConn).CloseWrite, io.EOF, false},
		"reset while sending":    {long, reset, nil, true},
		"answered, then closed":  {[]byte("request"), answerAnd((*net.TCPConn).CloseWrite), io.EOF, false},
		"answered, then reading": {long, answerAnd((*net.TCPConn).CloseWrite), io.EOF, false},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, defaultLoops(runtime.GOMAXPROCS(0)))
			c, peer := connect(t, e, sockstamp.Options{})
			h := newRecorder(-1)
			c.Send(tt.request, h)
			if err := tt.end(peer); err != nil {
				t.Fatal(err)
			}
			<-h.over
			if h.err == nil || tt.err != nil && !errors.Is(h.err, tt.err) {
				t.Errorf("ended with %v, want %v", h.err, tt.err)
			}
			if h.writeErr != nil && !tt.writeErr {
				t.Errorf("write: %v", h.writeErr)
			}
			if c.Idle() {
				t.Error("idle after the end")
			}
			again := newRecorder(1)
			c.Send([]byte("x"), again)
			if <-again.over; again.err == nil {
				t.Error("a request after the end has no error")
			}
		})
	}
}

func reset(peer *net.TCPConn) error { return errors.Join(peer.SetLinger(0), peer.Close()) }

func answerAnd(end func(*net.TCPConn) error) func(*net.TCPConn) error {
	return func(peer *net.TCPConn) error {
		_, err := peer.Write([]byte("answer"))
		return errors.Join(err, end(peer))
	}
}

// eventually asks again and again, for a minute, whether something holds that
// another goroutine or the kernel does.
func eventually(holds func() bool) bool {
	for late := time.Now().Add(time.Minute); !holds(); time.Sleep(100 * time.Microsecond) {
		if time.Now().After(late) {
			return false
		}
	}
	return true
}

// Bytes that come without a request, or after its answer, make a connection useless.
func TestUnasked(t *testing.T) {
	for name, before := range map[string]bool{"before": true, "after": false} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, defaultLoops(runtime.GOMAXPROCS(0)))
			c, peer := connect(t, e, sockstamp.Options{})
			if !c.Idle() {
				t.Error("not idle in the beginning")
			}
			if !before {
				h := newRecorder(6)
				c.Send([]byte("request"), h)
				if _, err := peer.Write([]byte("answer")); err != nil {
					t.Fatal(err)
				}
				if <-h.over; !c.Idle() {
					t.Error("not idle after the answer")
				}
			}
			if _, err := peer.Write([]byte("more")); err != nil {
				t.Fatal(err)
			}
			if !eventually(func() bool { return !c.Idle() }) {
				t.Fatal("still idle a minute after something came")
			}
			for range 3 { // it stays useless, also when the loop has read it
				time.Sleep(time.Millisecond)
				if c.Idle() {
					t.Error("idle again")
				}
			}
		})
	}
}

// Bytes that a server sends before the first request belong to that request.
func TestSpeaksFirst(t *testing.T) {
	e := newEngine(t, defaultLoops(runtime.GOMAXPROCS(0)))
	c, peer := connect(t, e, sockstamp.Options{})
	if _, err := peer.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if !eventually(func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.unread
	}) {
		t.Fatal("the loop had not seen it after a minute")
	}
	if c.Idle() {
		t.Error("idle though something came")
	}
	h := newRecorder(5)
	c.Send([]byte("x"), h)
	if <-h.over; string(h.got) != "hello" || h.err != nil {
		t.Errorf("%q, %v, want hello", h.got, h.err)
	}
}

// After Close nothing calls the handler, and file descriptors that are used
// again confuse nobody. To be run with -race: the recorder is read after Close.
func TestCloseInFlight(t *testing.T) {
	e := newEngine(t, 2)
	var servers, clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for i := range 50 {
				c, peer := connect(t, e, sockstamp.Options{})
				id := fmt.Sprintf("%8d", i)
				serve(&servers, peer, len(id), func(request []byte) []byte { return bytes.Repeat(request, 100) })
				h := newRecorder(-1)
				h.read = make(chan struct{}, 100)
				c.Send([]byte(id), h)
				<-h.read
				if err := c.Close(); err != nil {
					t.Error(err)
				}
				if want := bytes.Repeat([]byte(id), 100); h.err != nil || !bytes.HasPrefix(want, h.got) {
					t.Errorf("%q of another connection, or %v", h.got, h.err)
				}
				if start, _ := c.Request(); start.NS == 0 {
					t.Error("no start after Close")
				}
				peer.Close()
			}
		})
	}
	clients.Wait()
	servers.Wait()
}

// Close of the engine ends what is in progress and leaves nothing.
func TestEngineClose(t *testing.T) {
	before := openFiles(t)
	e, err := start(2)
	if err != nil {
		t.Fatal(err)
	}
	c, peer := connect(t, e, sockstamp.Options{})
	h := newRecorder(1)
	c.Send([]byte("x"), h)
	for range 2 {
		if err := e.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	if <-h.over; !errors.Is(h.err, errClosed) {
		t.Errorf("the request ended with %v, want %v", h.err, errClosed)
	}
	late := newRecorder(1)
	c.Send([]byte("x"), late)
	if <-late.over; !errors.Is(late.err, errClosed) {
		t.Errorf("a request after Close ended with %v, want %v", late.err, errClosed)
	}
	if err := errors.Join(c.Close(), c.Close(), peer.Close()); err != nil {
		t.Errorf("Close: %v", err)
	}
	nc, server := net.Pipe()
	defer server.Close()
	defer nc.Close()
	ln := nettest.Listen(t)
	tc, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Add(tc.(*net.TCPConn), sockstamp.Options{}); !errors.Is(err, errClosed) {
		t.Errorf("Add after Close = %v, want %v", err, errClosed)
	}
	ln.Close()
	if after := openFiles(t); after > before {
		t.Errorf("%d files are open, %d before", after, before)
	}
}
