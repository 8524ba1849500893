package sockstamp_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pa-tools/pa/internal/sockstamp"
	"github.com/pa-tools/pa/internal/test/nettest"
	"github.com/pa-tools/pa/internal/test/testenv"
)

// A hole makes a link lose the packets that contain a text, from the first such packet on for some time.
type hole struct {
	text     []byte
	least    time.Duration // from the first loss
	lostNS   atomic.Int64  // Unix time of the first loss; 0: none
	filledNS atomic.Int64  // Unix time before the text passed; 0: it did not
}

// A lossyLink has at most one hole at a time.
type lossyLink struct {
	*nettest.Link
	hole atomic.Pointer[hole]
}

func newLossyLink(t *testing.T) *lossyLink {
	l := &lossyLink{}
	l.Link = nettest.NewLink(t, func(_ int, packet []byte) time.Duration {
		h := l.hole.Load()
		if h == nil || !bytes.Contains(packet, h.text) {
			return 0
		}
		now := time.Now().UnixNano()
		if h.lostNS.CompareAndSwap(0, now) || now < h.lostNS.Load()+int64(h.least) {
			return nettest.Lost
		}
		h.filledNS.CompareAndSwap(0, now)
		return 0
	})
	return l
}

// lose makes the link lose packets with text, from the next such packet on for least.
func (l *lossyLink) lose(text string, least time.Duration) *hole {
	h := &hole{text: []byte(text), least: least}
	l.hole.Store(h)
	return h
}

// connect returns a connection from network 1 to network 0.
func (l *lossyLink) connect(t *testing.T) (client, server *net.TCPConn) {
	t.Helper()
	var ln net.Listener
	var nc net.Conn
	var err error
	l.In(0, func() { ln, err = net.Listen("tcp", l.Addr(0)+":0") })
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	l.In(1, func() {
		t.Cleanup(sockstamp.Hold())
		nc, err = net.Dial("tcp", ln.Addr().String())
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close(); s.Close() })
	return nc.(*net.TCPConn), s.(*net.TCPConn)
}

// A reader is a Conn or a Socket.
type reader interface {
	read(b []byte) (int, sockstamp.Stamp, error)
	Revised(ordinal uint64) []sockstamp.Stamp
	Stamps() (receive, transmit bool, why string)
}

type connReader struct{ *sockstamp.Conn }

func (r connReader) read(b []byte) (int, sockstamp.Stamp, error) {
	n, err := r.Read(b)
	return n, r.LastRead(), err
}

type socketReader struct{ *sockstamp.Socket }

func (r socketReader) read(b []byte) (int, sockstamp.Stamp, error) {
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Microsecond) {
		n, st, err := r.Read(b)
		if err != unix.EAGAIN || time.Now().After(deadline) { //nolint:errorlint // Read does not wrap it
			return n, st, err
		}
	}
}

// If a segment is lost and the next segment arrives, one read returns both after the
// retransmission. The kernel's stamp of this read is the arrival of the next segment, before the
// retransmission. The settled stamp is not before the retransmission.
func TestStampBehindHole(t *testing.T) {
	t.Parallel()
	nettest.Within(t, func() {
		link := newLossyLink(t)
		for name, newReader := range map[string]func(nc *net.TCPConn) (reader, error){
			"Conn": func(nc *net.TCPConn) (reader, error) {
				c, err := sockstamp.Wrap(nc)
				return connReader{c}, err
			},
			"Socket": func(nc *net.TCPConn) (reader, error) {
				f, err := nc.File()
				if err != nil {
					return nil, err
				}
				t.Cleanup(func() { f.Close() })
				return socketReader{sockstamp.Options{}.Socket(int(f.Fd()))}, nil
			},
		} {
			nc, server := link.connect(t)
			r, err := newReader(nc)
			if err != nil {
				t.Fatal(err)
			}
			if receive, _, why := r.Stamps(); !receive {
				testenv.Lacks(t, "receive stamps of the kernel: %s", why)
			}
			holesOf(t, name, r, server, link)
		}
	})
}

// holesOf checks the stamps of reads behind several kinds of holes on one connection.
func holesOf(t *testing.T, name string, r reader, server io.Writer, link *lossyLink) {
	read := func(want string) sockstamp.Stamp {
		t.Helper()
		b := make([]byte, 100)
		n, st, err := r.read(b)
		if err != nil || string(b[:n]) != want {
			t.Fatalf("%s: read %q, %v; want %q", name, b[:n], err, want)
		}
		return st
	}
	write := func(s string) {
		t.Helper()
		if _, err := io.WriteString(server, s); err != nil {
			t.Fatal(err)
		}
	}
	// settled returns the settled stamp of a read.
	settled := func(st sockstamp.Stamp) sockstamp.Stamp {
		revised := r.Revised(st.Ordinal - 1)
		if i := slices.IndexFunc(revised, func(v sockstamp.Stamp) bool { return v.Ordinal == st.Ordinal }); i >= 0 {
			return revised[i]
		}
		return st
	}
	inOrder := func(n int) {
		t.Helper()
		for range n {
			before := time.Now()
			write("in order")
			if st := settled(read("in order")); st.Waited || st.Source != sockstamp.Kernel || int64(st.NS) < before.UnixNano() {
				t.Errorf("%s: in order, written at %d: %+v", name, before.UnixNano(), st)
			}
		}
	}
	filled := func(what string, h *hole, at, st sockstamp.Stamp) {
		t.Helper()
		if h.filledNS.Load() == 0 {
			t.Fatalf("%s: %s: nothing was lost, or nothing came again", name, what)
		}
		early := func(st sockstamp.Stamp) time.Duration { return time.Duration(h.filledNS.Load() - int64(st.NS)) }
		t.Logf("%s: %s: %v before the hole was filled when read, %v then", name, what, early(at), early(st))
		if early(st) > 0 || !st.Waited || st.Source != sockstamp.User {
			t.Errorf("%s: %s: %+v, %v before the hole was filled", name, what, st, early(st))
		}
	}
	const long = 150 * time.Millisecond // more than lateRead, and so that the second try is lost, too

	inOrder(20)
	h := link.lose("brief", 0)
	write("a brief ")
	write("hole")
	at := read("a brief hole")
	filled("a brief hole, whose stamp is revised", h, at, settled(at))
	inOrder(100)

	// Reads before the hole whose stamps nobody has asked for: only the newest of them lose their stamps.
	var first sockstamp.Stamp
	for i := range 50 {
		write("in order")
		if st := read("in order"); i == 0 {
			first = st
		}
	}
	h = link.lose("late", 0)
	write("a late ")
	write("hole")
	at = read("a late hole")
	write("behind")
	read("behind")
	filled("a hole behind many reads", h, at, settled(at))
	if n := len(r.Revised(first.Ordinal - 1)); n > 17 {
		t.Errorf("%s: %d of 52 stamps were revised", name, n)
	}
	inOrder(100)

	h = link.lose("long", long)
	write("a long ")
	write("hole")
	at = read("a long hole")
	filled("a long hole, found by the read", h, at, at)
	inOrder(2)

	h = link.lose("open", long)
	write("before ")
	write("an open ")
	write("hole")
	time.Sleep(long / 2)
	st := read("before ") // the kernel has counted the segment behind the hole
	if st = settled(st); h.filledNS.Load() != 0 {
		t.Fatalf("%s: the hole was filled before the read", name)
	}
	at = read("an open hole")
	filled("a hole that was open at the read before", h, at, at)
	if st.NS >= at.NS {
		t.Errorf("%s: %+v, then %+v", name, st, at)
	}

	// Many holes, read in parts.
	for i := range 50 / testenv.Stride(3) {
		text := fmt.Sprintf("[%d]", i)
		h := link.lose(text, 0)
		write(text)
		write("part one part two")
		whole := text + "part one part two"
		begin := time.Now()
		for got := ""; got != whole; {
			b := make([]byte, 8)
			n, at, err := r.read(b)
			if err != nil {
				t.Fatal(err)
			}
			got += string(b[:n])
			if st := settled(at); int64(st.NS) < h.filledNS.Load() {
				t.Errorf("%s: %q at %+v, the hole was filled at %d", name, got, st, h.filledNS.Load())
			}
		}
		if h.filledNS.Load() < begin.UnixNano() && h.lostNS.Load() == 0 {
			t.Fatalf("%s: %s was not lost", name, text)
		}
		if i%7 == 0 {
			inOrder(20)
		}
	}
}
