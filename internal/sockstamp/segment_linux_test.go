package sockstamp

import (
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// parts returns the ends of the writes that a connection noted since begin.
func (s *sentStamps) parts(begin uint64) (ends []uint64) {
	for _, p := range s.log.parts {
		if p.end > begin {
			ends = append(ends, p.end-begin)
		}
	}
	return ends
}

// A request that fits in one segment is one write; of a longer one the first
// segment is a write of its own, and has a stamp. That holds for both ways to write.
func TestFirstSegment(t *testing.T) {
	write := map[string]func(t *testing.T, c *Conn) (begin func(), write func([]byte), sent *sentStamps){
		"Conn": func(t *testing.T, c *Conn) (func(), func([]byte), *sentStamps) {
			return c.Begin, func(p []byte) {
				if _, err := c.Write(p); err != nil {
					t.Fatal(err)
				}
			}, &c.sent
		},
		"Socket": func(t *testing.T, c *Conn) (func(), func([]byte), *sentStamps) {
			rc, err := c.nc.(*net.TCPConn).SyscallConn()
			if err != nil {
				t.Fatal(err)
			}
			var s *Socket
			if err := rc.Control(func(fd uintptr) { s = Options{}.Socket(int(fd)) }); err != nil {
				t.Fatal(err)
			}
			return s.Begin, func(p []byte) {
				if _, err := s.Write(p); err != nil {
					t.Fatal(err)
				}
				s.DrainTx()
			}, &s.sent
		},
	}
	for name, by := range write {
		t.Run(name, func(t *testing.T) {
			c, peer := pair(t, Options{})
			needKernel(t, c)
			begin, write, sent := by(t, c)
			for _, of := range []func(mss int) (all, first int){ // bytes of the request and of its first part
				func(int) (int, int) { return 100, 100 },
				func(int) (int, int) { return smallestSegment + 1, smallestSegment + 1 },
				func(mss int) (int, int) { return mss, mss },
				func(mss int) (int, int) { return mss + 1, mss },
				func(mss int) (int, int) { return 3 * mss, mss },
				func(int) (int, int) { return 100, 100 },
			} {
				var tt struct{ bytes, first int }
				tt.bytes, tt.first = of(segmentBytes(t, c)) // which grows on loopback
				offset := sent.written
				begin()
				write(make([]byte, tt.bytes))
				if _, err := io.CopyN(io.Discard, peer, int64(tt.bytes)); err != nil {
					t.Fatal(err)
				}
				c.DrainTx()
				ends := sent.parts(offset)
				if len(ends) == 0 || ends[0] != uint64(tt.first) || ends[len(ends)-1] != uint64(tt.bytes) || tt.first == tt.bytes && len(ends) > 1 {
					t.Errorf("%d bytes: parts that end at %d, want the first to end at %d", tt.bytes, ends, tt.first)
				}
				first, ok := sent.log.at(offset + uint64(tt.first))
				if start, _ := sent.request(); !ok || start != (Stamp{NS: first, Source: Kernel}) {
					t.Errorf("%d bytes: start %+v, want the first part's stamp %d, %v", tt.bytes, start, first, ok)
				}
			}
		})
	}
}

// segmentBytes returns how much one segment carries.
func segmentBytes(t *testing.T, c *Conn) int {
	t.Helper()
	rc, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if cerr := rc.Control(func(fd uintptr) { n, err = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_MAXSEG) }); cerr != nil || err != nil {
		t.Fatal(cerr, err)
	}
	return n
}

// A request behind bytes that wait for the peer to read begins with its first byte
// alone, whatever its size, and that has its stamp: TCP could cut anything longer.
func TestFirstByteBehindOthers(t *testing.T) {
	const before = 128 << 10 // more than the peer's window, less than the send buffer
	for _, size := range []int{100, 128 << 10} {
		c, peer := pairWithBuffers(t, 8<<10, 4<<20)
		needKernel(t, c)
		if err := c.SetWriteDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		c.Begin()
		if _, err := c.Write(make([]byte, before)); err != nil {
			t.Fatal(err)
		}
		c.Begin()
		if _, err := c.Write(make([]byte, size)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.CopyN(io.Discard, peer, int64(before+size)); err != nil {
			t.Fatal(err)
		}
		start, sent := c.Request()
		if ends := c.sent.parts(before); len(ends) < 2 || ends[0] != 1 {
			t.Errorf("%d bytes: parts that end at %d, want the first byte by itself", size, ends)
		}
		if start.Source != Kernel || sent.Source != Kernel || sent.NS < start.NS {
			t.Errorf("%d bytes: start %+v, sent %+v, want both of the kernel", size, start, sent)
		}
	}
}

// pairWithBuffers is pair with a receive buffer of the peer and a send buffer of c
// in bytes. The system may grant a smaller send buffer.
func pairWithBuffers(t *testing.T, receive, send int) (c *Conn, peer *net.TCPConn) {
	t.Helper()
	set := func(option, bytes int) func(_, _ string, rc syscall.RawConn) error {
		return func(_, _ string, rc syscall.RawConn) (err error) {
			cerr := rc.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, option, bytes) })
			return errors.Join(cerr, err)
		}
	}
	listen := net.ListenConfig{Control: set(unix.SO_RCVBUF, receive)} // its connections inherit it
	ln, err := listen.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	d := net.Dialer{Control: set(unix.SO_SNDBUF, send)}
	nc, err := d.DialContext(t.Context(), "tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if c, err = Wrap(nc); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); accepted.Close() })
	return c, accepted.(*net.TCPConn)
}
