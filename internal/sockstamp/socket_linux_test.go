package sockstamp

import (
	"errors"
	"io"
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

// Kernels before 6.2 count from the first byte that is not acknowledged.
func TestFlagsBefore62(t *testing.T) {
	c, _ := pair(t, Options{})
	needKernel(t, c)
	nc, peer := tcpPair(t, (&net.Dialer{}).DialContext)
	if _, err := nc.Write(make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(io.Discard, peer, 1000); err != nil {
		t.Fatal(err)
	}
	// An answer acknowledges what came before it.
	if _, err := peer.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := nc.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	rc, err := nc.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var refused error
	const flags = receiveFlags | transmitFlags
	if err := rc.Control(func(fd uintptr) { refused = setFlagsBefore62(int(fd), flags) }); err != nil || refused != nil {
		t.Fatal(err, refused)
	}
	c = Options{}.userConn(nc)
	c.attach(rc, flags)
	before := userNow()
	for end := uint64(7); end <= 70; end += 7 {
		if _, err := c.Write(make([]byte, 7)); err != nil {
			t.Fatal(err)
		}
		if ns, ok := c.TxStamp(end); !ok || ns < before || ns > userNow() {
			t.Errorf("TxStamp(%d) = %d, %v", end, ns, ok)
		}
	}
}

// With bytes on their way those kernels would count wrong: then there are no
// transmit stamps.
func TestFlagsBefore62Unacknowledged(t *testing.T) {
	nc, _ := tcpPair(t, (&net.Dialer{}).DialContext)
	rc, err := nc.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	// More than the peer's receive buffer takes.
	if err := rc.Write(func(fd uintptr) bool {
		for err == nil {
			_, err = unix.Write(int(fd), make([]byte, 1<<20))
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(err, unix.EAGAIN) {
		t.Fatal(err)
	}
	var refused error
	if err := rc.Control(func(fd uintptr) { refused = setFlagsBefore62(int(fd), receiveFlags|transmitFlags) }); err != nil || refused == nil {
		t.Errorf("setFlagsBefore62 with bytes on their way: %v, %v", err, refused)
	}
}

// Loops over their own sockets read with recv.
func TestRecv(t *testing.T) {
	defer Hold()()
	c, peer := pair(t, Options{})
	needKernel(t, c)
	p, oob := make([]byte, 8), make([]byte, controlBytes)
	recv := func() (n int, st Stamp, err error) {
		if cerr := c.rc.Control(func(fd uintptr) { n, st, err = recv(int(fd), p, oob) }); cerr != nil {
			t.Fatal(cerr)
		}
		return n, st, err
	}
	if n, st, err := recv(); n != 0 || st != (Stamp{}) || !errors.Is(err, unix.EAGAIN) {
		t.Errorf("Recv of nothing = %d, %+v, %v", n, st, err)
	}
	before := userNow()
	if _, err := peer.Write([]byte("token")); err != nil {
		t.Fatal(err)
	}
	n, st, err := recv()
	if n != 5 || err != nil || st.Source != Kernel || st.NS < before || st.NS > userNow() || st.Ordinal != 0 {
		t.Errorf("Recv = %d, %+v, %v; sent after %d", n, st, err, before)
	}
	// Too little room for the stamp.
	if _, err := peer.Write([]byte("token")); err != nil {
		t.Fatal(err)
	}
	oob = oob[:24]
	if n, st, err := recv(); n != 5 || err != nil || st.Source != User {
		t.Errorf("Recv without room = %d, %+v, %v", n, st, err)
	}
	peer.Close()
	if n, st, err := recv(); n != 0 || st != (Stamp{}) || !errors.Is(err, io.EOF) {
		t.Errorf("Recv at the end = %d, %+v, %v", n, st, err)
	}
}

func TestRecvAllocatesNothing(t *testing.T) {
	c, peer := pair(t, Options{})
	needKernel(t, c)
	p, oob, token := make([]byte, 8), make([]byte, controlBytes), []byte("token")
	var err error
	recv := func(fd uintptr) { _, _, err = recv(int(fd), p, oob) }
	if n := testing.AllocsPerRun(200, func() {
		if _, err := peer.Write(token); err != nil {
			t.Fatal(err)
		}
		if cerr := c.rc.Control(recv); cerr != nil || err != nil {
			t.Fatal(cerr, err)
		}
	}); n > 0 {
		t.Errorf("%v allocations per Recv", n)
	}
}

// The answer may be here before the write of the request has returned, and the
// stamp of a write before that may not have been asked for.
func TestRequestWhileWriting(t *testing.T) {
	c, peer := pair(t, Options{})
	needKernel(t, c)
	if _, err := c.Write([]byte("before")); err != nil {
		t.Fatal(err)
	}
	c.Begin()
	c.mu.Lock()
	c.sent.before() // the write begins
	c.mu.Unlock()
	if err := c.rc.Write(func(fd uintptr) bool {
		_, err := unix.Write(int(fd), []byte("request"))
		return err == nil
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(io.Discard, peer, int64(len("beforerequest"))); err != nil {
		t.Fatal(err)
	}
	if start, sent := c.Request(); start.Source != Kernel || sent.Source != Kernel {
		t.Errorf("start by %v, sent by %v, want kernel", start.Source, sent.Source)
	}
}

// Stamps on the error queue would delay TCP's acknowledgements of what is read,
// so they are taken from it first.
func TestReadDrainsFirst(t *testing.T) {
	c, peer := pair(t, Options{})
	needKernel(t, c)
	for range 10 {
		if _, err := c.Write([]byte("request")); err != nil {
			t.Fatal(err)
		}
		if _, err := io.CopyN(peer, peer, int64(len("request"))); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 100)); err != nil { // the answer is there
			t.Fatal(err)
		}
		c.mu.Lock()
		stamped, written := c.sent.log.stamped, c.sent.written
		c.mu.Unlock()
		if stamped != written {
			t.Errorf("after a read %d of %d bytes written have a stamp", stamped, written)
		}
	}
}
