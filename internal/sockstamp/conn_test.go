package sockstamp

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/nettest"
)

// Conns on both ends pass the conformance test of the x/net module. Their buffers are bounded,
// because the test fills the buffers of many connections, which would grow to megabytes.
func TestConformance(t *testing.T) {
	for name, o := range options {
		t.Run(name, func(t *testing.T) {
			nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
				d := Dialer{Options: o}
				raw, peer := tcpPair(t, d.DialContext)
				for _, end := range []*net.TCPConn{raw.(*Conn).nc.(*net.TCPConn), peer} {
					if err := errors.Join(end.SetReadBuffer(256<<10), end.SetWriteBuffer(256<<10)); err != nil {
						return nil, nil, nil, err
					}
				}
				c2, err = o.Wrap(peer)
				return raw, c2, func() { raw.Close(); c2.Close() }, err
			})
		})
	}
}

// Nothing may go past Read and Write.
func TestNoShortcuts(t *testing.T) {
	var c any = new(Conn)
	if _, ok := c.(io.WriterTo); ok {
		t.Error("Conn has WriteTo")
	}
	if _, ok := c.(io.ReaderFrom); ok {
		t.Error("Conn has ReadFrom")
	}
}

// A scenario does something to a connection; its errors must be the same on a
// Conn as on a TCPConn.
type scenario struct {
	name string
	do   func(nc net.Conn, peer *net.TCPConn) (int, error)
}

var past = time.Unix(1, 0)

func reset(peer *net.TCPConn) {
	_ = peer.SetLinger(0)
	_ = peer.Close()
}

var scenarios = []scenario{
	{"read", func(nc net.Conn, peer *net.TCPConn) (int, error) {
		_, _ = peer.Write([]byte("abc"))
		return nc.Read(make([]byte, 8))
	}},
	{"read of nothing", func(nc net.Conn, _ *net.TCPConn) (int, error) { return nc.Read(nil) }},
	{"read of nothing, closed", func(nc net.Conn, _ *net.TCPConn) (int, error) { _ = nc.Close(); return nc.Read(nil) }},
	{"end of stream", func(nc net.Conn, peer *net.TCPConn) (int, error) {
		_ = peer.Close()
		return nc.Read(make([]byte, 8))
	}},
	{"half closed by the peer", func(nc net.Conn, peer *net.TCPConn) (int, error) {
		_ = peer.CloseWrite()
		if n, err := nc.Read(make([]byte, 8)); err == nil {
			return n, err
		}
		return nc.Write([]byte("still"))
	}},
	{"half closed by us", func(nc net.Conn, peer *net.TCPConn) (int, error) {
		if err := nc.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
			return 0, err
		}
		if n, err := peer.Read(make([]byte, 8)); n != 0 || !errors.Is(err, io.EOF) {
			return n, errors.New("the peer saw no end")
		}
		_, _ = peer.Write([]byte("abc"))
		return nc.Read(make([]byte, 8))
	}},
	{"write, half closed by us", func(nc net.Conn, _ *net.TCPConn) (int, error) {
		_ = nc.(interface{ CloseWrite() error }).CloseWrite()
		return nc.Write([]byte("more"))
	}},
	{"read, reading side closed", func(nc net.Conn, _ *net.TCPConn) (int, error) {
		_ = nc.(interface{ CloseRead() error }).CloseRead()
		return nc.Read(make([]byte, 8))
	}},
	{"reset", func(nc net.Conn, peer *net.TCPConn) (int, error) {
		reset(peer)
		return nc.Read(make([]byte, 8))
	}},
	{"reset while reading", func(nc net.Conn, peer *net.TCPConn) (int, error) {
		time.AfterFunc(10*time.Millisecond, func() { reset(peer) })
		return nc.Read(make([]byte, 8))
	}},
	{"reset after a write whose stamp waits", func(nc net.Conn, peer *net.TCPConn) (int, error) {
		_, _ = nc.Write([]byte("abc"))
		reset(peer)
		return nc.Read(make([]byte, 8))
	}},
	{"read after a reset that was seen", func(nc net.Conn, peer *net.TCPConn) (int, error) {
		reset(peer)
		_, _ = nc.Read(make([]byte, 8))
		return nc.Read(make([]byte, 8))
	}},
	{"write after a reset", func(nc net.Conn, peer *net.TCPConn) (int, error) {
		reset(peer)
		_, _ = nc.Read(make([]byte, 8))
		return nc.Write([]byte("abc"))
	}},
	{"data, then the end", func(nc net.Conn, peer *net.TCPConn) (int, error) {
		_, _ = peer.Write([]byte("abc"))
		_ = peer.Close()
		if n, err := nc.Read(make([]byte, 8)); n != 3 || err != nil {
			return n, err
		}
		return nc.Read(make([]byte, 8))
	}},
	{"closed before", func(nc net.Conn, _ *net.TCPConn) (int, error) { _ = nc.Close(); return nc.Read(make([]byte, 8)) }},
	{"closed while reading", func(nc net.Conn, _ *net.TCPConn) (int, error) {
		time.AfterFunc(10*time.Millisecond, func() { nc.Close() })
		return nc.Read(make([]byte, 8))
	}},
	{"closed twice", func(nc net.Conn, _ *net.TCPConn) (int, error) { _ = nc.Close(); return 0, nc.Close() }},
	{"write, closed", func(nc net.Conn, _ *net.TCPConn) (int, error) { _ = nc.Close(); return nc.Write([]byte("abc")) }},
	{"read deadline over", func(nc net.Conn, peer *net.TCPConn) (int, error) {
		_, _ = peer.Write([]byte("abc"))
		_ = nc.SetReadDeadline(past)
		return nc.Read(make([]byte, 8))
	}},
	{"read deadline while reading", func(nc net.Conn, _ *net.TCPConn) (int, error) {
		_ = nc.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
		return nc.Read(make([]byte, 8))
	}},
	{"read deadline while reading, a stamp waits", func(nc net.Conn, _ *net.TCPConn) (int, error) {
		_, _ = nc.Write([]byte("abc"))
		_ = nc.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
		return nc.Read(make([]byte, 8))
	}},
	{"deadline set by another goroutine", func(nc net.Conn, _ *net.TCPConn) (int, error) {
		time.AfterFunc(10*time.Millisecond, func() { _ = nc.SetDeadline(past) })
		return nc.Read(make([]byte, 8))
	}},
	{"read after a deadline was lifted", func(nc net.Conn, peer *net.TCPConn) (int, error) {
		_ = nc.SetReadDeadline(past)
		_, _ = nc.Read(make([]byte, 8))
		_ = nc.SetReadDeadline(time.Time{})
		_, _ = peer.Write([]byte("abc"))
		return nc.Read(make([]byte, 8))
	}},
	{"write deadline over", func(nc net.Conn, _ *net.TCPConn) (int, error) {
		_ = nc.SetWriteDeadline(past)
		return nc.Write([]byte("abc"))
	}},
	{"write of nothing", func(nc net.Conn, _ *net.TCPConn) (int, error) { return nc.Write(nil) }},
}

func TestErrorsAsTCPConn(t *testing.T) {
	run := func(t *testing.T, s scenario, dial dialFunc) (int, string, map[string]bool) {
		nc, peer := tcpPair(t, dial)
		defer nc.Close()
		n, err := s.do(nc, peer)
		text, is := "", map[string]bool{"nil": err == nil}
		if err != nil {
			text = strings.NewReplacer(nc.LocalAddr().String(), "LOCAL", peer.LocalAddr().String(), "REMOTE").Replace(err.Error())
			var op *net.OpError
			var ne net.Error
			is["OpError"] = errors.As(err, &op)
			is["timeout"] = errors.As(err, &ne) && ne.Timeout()
			for _, target := range []error{io.EOF, net.ErrClosed, os.ErrDeadlineExceeded, syscall.ECONNRESET, syscall.EPIPE} {
				is[target.Error()] = errors.Is(err, target)
			}
			// Callers compare with ==.
			is["io.EOF itself"] = err == io.EOF //nolint:errorlint // what is tested
		}
		return n, text, is
	}
	for name, o := range options {
		for _, s := range scenarios {
			t.Run(name+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				plain, stamped := net.Dialer{}, Dialer{Options: o}
				wantN, wantText, wantIs := run(t, s, plain.DialContext)
				n, text, is := run(t, s, stamped.DialContext)
				if n != wantN || text != wantText {
					t.Errorf("%d, %q; TCPConn: %d, %q", n, text, wantN, wantText)
				}
				for what, want := range wantIs {
					if is[what] != want {
						t.Errorf("is %s: %v; TCPConn: %v", what, is[what], want)
					}
				}
			})
		}
	}
}

// Each read has an ordinal and a stamp between the times before the write and
// after the read; reads without bytes have none.
func TestReadStamps(t *testing.T) {
	defer Hold()() // or the first have none
	for name, o := range options {
		t.Run(name, func(t *testing.T) {
			c, peer := pair(t, o)
			if got := c.LastRead(); got != (Stamp{}) {
				t.Errorf("before the first read: %+v", got)
			}
			buf := make([]byte, 16)
			for i := range uint64(100) {
				before := userNow()
				if _, err := peer.Write([]byte("token")); err != nil {
					t.Fatal(err)
				}
				if n, err := c.Read(buf); n != 5 || err != nil {
					t.Fatalf("Read = %d, %v", n, err)
				}
				after := userNow()
				st := c.LastRead()
				if st.Ordinal != i+1 || st.NS < before || st.NS > after {
					t.Errorf("read %d: %+v, between %d and %d", i, st, before, after)
				}
				if rx, _, _ := c.Stamps(); rx != (st.Source == Kernel) || !rx != (st.Source == User) {
					t.Errorf("read %d: source %v, kernel stamps: %v", i, st.Source, rx)
				}
			}
			last := c.LastRead()
			if n, err := c.Read(nil); n != 0 || err != nil || c.LastRead() != last {
				t.Errorf("empty read: %d, %v, %+v", n, err, c.LastRead())
			}
			peer.Close()
			if _, err := c.Read(buf); !errors.Is(err, io.EOF) || c.LastRead() != last {
				t.Errorf("end of stream: %v, %+v", err, c.LastRead())
			}
		})
	}
}

// LastRead does not wait for the read in progress.
func TestLastReadWhileReading(t *testing.T) {
	for name, o := range options {
		t.Run(name, func(t *testing.T) {
			c, peer := pair(t, o)
			var wg sync.WaitGroup
			wg.Go(func() {
				buf := make([]byte, 1)
				for {
					if _, err := c.Read(buf); err != nil {
						return
					}
				}
			})
			for last := uint64(0); last < 50; {
				if _, err := peer.Write([]byte("x")); err != nil {
					t.Fatal(err)
				}
				o := c.LastRead().Ordinal
				if o < last {
					t.Fatalf("ordinal %d after %d", o, last)
				}
				last = o
			}
			c.Close()
			wg.Wait()
		})
	}
}

// Where the kernel takes no stamps a Conn says so and works.
func TestUserSpace(t *testing.T) {
	c1, c2 := net.Pipe()
	defer c2.Close()
	c, err := Wrap(c1)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if rx, tx, why := c.Stamps(); rx || tx || why == "" {
		t.Errorf("Stamps = %v, %v, %q", rx, tx, why)
	}
	before := userNow()
	go func() { _, _ = c2.Write([]byte("abc")) }()
	n, err := c.Read(make([]byte, 8))
	if n != 3 || err != nil {
		t.Fatalf("Read = %d, %v", n, err)
	}
	if st := c.LastRead(); st.Source != User || st.Ordinal != 1 || st.NS < before || st.NS > userNow() {
		t.Errorf("LastRead = %+v", st)
	}
	if err := c.CloseWrite(); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("CloseWrite = %v", err)
	}
	if _, err := c.SyscallConn(); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("SyscallConn: %v", err)
	}
}

func TestWrap(t *testing.T) {
	c, peer := pair(t, Options{})
	if again, err := Wrap(c); again != c || err != nil {
		t.Errorf("Wrap of a Conn = %p, %v, want %p", again, err, c)
	}
	peer.Close()
	if c, err := Wrap(peer); c != nil || !errors.Is(err, net.ErrClosed) {
		t.Errorf("Wrap of a closed connection = %v, %v", c, err)
	}
	if c, ok := Of(peer); c != nil || ok {
		t.Errorf("Of a TCPConn = %v, %v", c, ok)
	}
}

func TestDialError(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	d := Dialer{}
	if nc, err := d.DialContext(t.Context(), "tcp", ln.Addr().String()); nc != nil || !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("DialContext = %v, %v", nc, err)
	}
}

func TestListener(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln := &stampedListener{Listener: inner}
	defer ln.Close()
	nc, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	s, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c, ok := Of(s)
	if !ok {
		t.Fatalf("Accept returned a %T", s)
	}
	needKernel(t, c)
	if _, err := nc.Write([]byte("abc")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write([]byte("defg")); err != nil {
		t.Fatal(err)
	}
	if ns, ok := c.TxStamp(4); !ok || ns < c.LastRead().NS {
		t.Errorf("TxStamp(4) = %d, %v; read at %+v", ns, ok, c.LastRead())
	}
	ln.Close()
	if s, err := ln.Accept(); s != nil || !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept, closed = %v, %v", s, err)
	}
}
