package sockstamp

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// socketPair is a Socket, of which the test is the only user, and its peer.
func socketPair(t testing.TB, o Options) (s *Socket, peer *net.TCPConn) {
	t.Helper()
	nc, peer := tcpPair(t, new(net.Dialer).DialContext)
	rc, err := nc.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := rc.Control(func(fd uintptr) { s = o.Socket(int(fd)) }); err != nil {
		t.Fatal(err)
	}
	return s, peer
}

// await calls f until it does not say EAGAIN any more.
func await(t testing.TB, s *Socket, events int16, f func() error) error {
	t.Helper()
	for {
		err := f()
		if !errors.Is(err, unix.EAGAIN) {
			return err
		}
		if _, err := unix.Poll([]unix.PollFd{{Fd: int32(s.fd), Events: events}}, int(time.Minute.Milliseconds())); err != nil && !errors.Is(err, unix.EINTR) {
			t.Fatal(err)
		}
	}
}

// arrives waits for something to read.
func arrives(t testing.TB, s *Socket) {
	t.Helper()
	if err := await(t, s, unix.POLLIN, func() error {
		if s.Idle() {
			return unix.EAGAIN
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// A Socket takes the stamps that a Conn takes.
func TestSocket(t *testing.T) {
	defer Hold()()
	for name, o := range options {
		t.Run(name, func(t *testing.T) {
			s, peer := socketPair(t, o)
			receive, transmit, why := s.Stamps()
			if (why == "") != (receive && transmit) {
				t.Errorf("Stamps() = %v, %v, %q", receive, transmit, why)
			}
			c, _ := pair(t, o)
			if r, x, w := c.Stamps(); r != receive || x != transmit || w != why {
				t.Errorf("Stamps() = %v, %v, %q; a Conn has %v, %v, %q", receive, transmit, why, r, x, w)
			}
			want := map[bool]Source{true: Kernel, false: User}
			buf := make([]byte, 100)
			for i := range uint64(3) {
				if start, sent := s.Request(); i == 0 && (start != Stamp{} || sent != Stamp{}) {
					t.Errorf("Request() before a write = %v, %v, want zero", start, sent)
				}
				before := userNow()
				s.Begin()
				if n, err := s.Write([]byte("request")); n != 7 || err != nil {
					t.Fatalf("Write = %d, %v", n, err)
				}
				if _, err := io.ReadFull(peer, buf[:7]); err != nil {
					t.Fatal(err)
				}
				if _, err := peer.Write([]byte("answer")); err != nil {
					t.Fatal(err)
				}
				var n int
				var at Stamp
				if err := await(t, s, unix.POLLIN, func() (err error) { n, at, err = s.Read(buf); return err }); err != nil || string(buf[:n]) != "answer" {
					t.Fatalf("Read = %q, %v", buf[:n], err)
				}
				s.DrainTx()
				start, sent := s.Request()
				if at.Ordinal != i+1 || at.Source != want[receive] {
					t.Errorf("read %+v, want ordinal %d by %v", at, i+1, want[receive])
				}
				if start.Source != want[transmit] || sent.Source != want[transmit] {
					t.Errorf("Request() = %+v, %+v, want them by %v", start, sent, want[transmit])
				}
				if start.NS < before || start.NS > sent.NS || at.Source == start.Source && sent.NS > at.NS {
					t.Errorf("before %d, start %d, sent %d, read %d are not in order", before, start.NS, sent.NS, at.NS)
				}
			}
		})
	}
}

// A Write that the send buffer does not take whole goes on later; the request
// starts with its first part.
func TestSocketWriteInParts(t *testing.T) {
	for name, o := range options {
		t.Run(name, func(t *testing.T) {
			s, peer := socketPair(t, o)
			if err := errors.Join(unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_SNDBUF, 64<<10), peer.SetReadBuffer(64<<10)); err != nil {
				t.Fatal(err)
			}
			all := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
			s.Begin()
			n, err := s.Write(all)
			if n == 0 || n == len(all) || !errors.Is(err, unix.EAGAIN) {
				t.Fatalf("Write = %d, %v, want a part of %d and EAGAIN", n, err, len(all))
			}
			received := make(chan []byte)
			go func() {
				b, err := io.ReadAll(io.LimitReader(peer, int64(len(all))))
				if err != nil {
					t.Error(err)
				}
				received <- b
			}()
			first, _ := s.Request()
			err = await(t, s, unix.POLLOUT, func() error {
				m, err := s.Write(all[n:])
				n += m
				return err
			})
			if err != nil || n != len(all) {
				t.Fatalf("Write = %d, %v", n, err)
			}
			if !bytes.Equal(<-received, all) {
				t.Error("the peer received something else")
			}
			s.DrainTx()
			start, sent := s.Request()
			if first.Source == start.Source && first.NS != start.NS || start.NS >= sent.NS {
				t.Errorf("start %+v after the first part, %+v in the end, sent %+v", first, start, sent)
			}
		})
	}
}

func TestSocketIdle(t *testing.T) {
	for name, tt := range map[string]struct {
		do   func(peer *net.TCPConn) error
		idle bool
	}{
		"idle":     {func(*net.TCPConn) error { return nil }, true},
		"a byte":   {func(peer *net.TCPConn) error { _, err := peer.Write([]byte("x")); return err }, false},
		"an end":   {(*net.TCPConn).CloseWrite, false},
		"a reset":  {func(peer *net.TCPConn) error { return errors.Join(peer.SetLinger(0), peer.Close()) }, false},
		"a closed": {(*net.TCPConn).Close, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, peer := socketPair(t, Options{})
			if err := tt.do(peer); err != nil {
				t.Fatal(err)
			}
			if !tt.idle {
				arrives(t, s)
			}
			if got := s.Idle(); got != tt.idle {
				t.Errorf("Idle() = %v, want %v", got, tt.idle)
			}
		})
	}
}

// A write to a connection that is gone is an error and no signal, each time.
func TestSocketWriteError(t *testing.T) {
	s, peer := socketPair(t, Options{})
	if err := errors.Join(peer.SetLinger(0), peer.Close()); err != nil {
		t.Fatal(err)
	}
	var errs []error
	for range 2 {
		arrives(t, s) // the reset; this takes the error
		n, err := s.Write([]byte("x"))
		if n != 0 {
			t.Errorf("Write = %d", n)
		}
		errs = append(errs, err)
	}
	for _, err := range errs {
		if !errors.Is(err, unix.EPIPE) {
			t.Errorf("Write = %v, want broken pipe", err)
		}
	}
}

// Reading and writing allocate nothing.
func TestSocketAllocations(t *testing.T) {
	for name, o := range options {
		s, peer := socketPair(t, o)
		buf := make([]byte, 100)
		n := testing.AllocsPerRun(200, func() {
			s.Begin()
			if _, err := s.Write(buf[:10]); err != nil {
				t.Fatal(err)
			}
			if _, err := peer.Write(buf[:10]); err != nil {
				t.Fatal(err)
			}
			err := error(unix.EAGAIN)
			for err == unix.EAGAIN { //nolint:errorlint // Read does not wrap it
				_, _, err = s.Read(buf)
			}
			if err != nil {
				t.Fatal(err)
			}
			s.DrainTx()
		})
		if n != 0 {
			t.Errorf("%s: %v allocations, want 0", name, n)
		}
	}
}
