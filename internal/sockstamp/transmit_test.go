package sockstamp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pa-tools/pa/internal/test/testenv"
)

// The stamps of a request lie between the times before and after its writes.
func TestRequest(t *testing.T) {
	for name, o := range options {
		t.Run(name, func(t *testing.T) {
			c, peer := pair(t, o)
			if start, sent := c.Request(); start != (Stamp{}) || sent != (Stamp{}) {
				t.Errorf("before Begin: %+v, %+v", start, sent)
			}
			want := User
			if _, tx, _ := c.Stamps(); tx {
				want = Kernel
			}
			for i, pieces := range [][]int{{1}, {5, 300}, {70_000}, {1, 1, 1}, {0, 9, 0}} {
				c.Begin()
				if start, sent := c.Request(); start != (Stamp{}) || sent != (Stamp{}) {
					t.Errorf("request %d, nothing written: %+v, %+v", i, start, sent)
				}
				var times []uint64 // before and after each write of something
				total := 0
				for _, n := range pieces {
					before := userNow()
					if m, err := c.Write(make([]byte, n)); m != n || err != nil {
						t.Fatalf("Write = %d, %v", m, err)
					}
					if n > 0 {
						times = append(times, before, userNow())
					}
					total += n
				}
				if _, err := io.CopyN(io.Discard, peer, int64(total)); err != nil {
					t.Fatal(err)
				}
				arrived := userNow()
				start, sent := c.Request()
				if start.Source != want || sent.Source != want {
					t.Errorf("request %d: sources %v and %v, want %v", i, start.Source, sent.Source, want)
				}
				if start.NS < times[0] || start.NS > times[1] {
					t.Errorf("request %d: start %d, want it between %d and %d", i, start.NS, times[0], times[1])
				}
				// A user-space stamp is taken after the write.
				if last := times[len(times)-2]; sent.NS < last || sent.NS > arrived || sent.NS < start.NS {
					t.Errorf("request %d: sent %d, want it between %d and %d", i, sent.NS, last, arrived)
				}
			}
		})
	}
}

// The stamps of thousands of writes of random sizes are found by their
// offsets, while another goroutine reads, and with it empties the error queue.
// Only a few writes are on their way at a time, so that TCP joins none.
func TestTransmitWhileReading(t *testing.T) {
	const window = 8
	writes := 5000 / testenv.Stride(4)
	c, peer := pair(t, Options{KeepTransmit: writes})
	needKernel(t, c)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer c.Close()
	wg.Go(func() { _, _ = io.Copy(struct{ io.Writer }{peer}, struct{ io.Reader }{peer}) })
	var mu sync.Mutex
	returned, more := uint64(0), sync.NewCond(&mu)
	wg.Go(func() {
		for buf := make([]byte, 4096); ; {
			n, err := c.Read(buf)
			mu.Lock()
			returned += uint64(n)
			if err != nil {
				returned = math.MaxUint64
			}
			more.Broadcast()
			mu.Unlock()
			if err != nil {
				return
			}
		}
	})
	type write struct{ end, before uint64 }
	var all []write
	body := make([]byte, 3000)
	for i := range writes {
		w := write{before: userNow()}
		if _, err := c.Write(body[:1+i*7919%len(body)]); err != nil {
			t.Fatal(err)
		}
		w.end = c.Written()
		all = append(all, w)
		if i >= window {
			mu.Lock()
			for returned < all[i-window].end {
				more.Wait()
			}
			mu.Unlock()
		}
	}
	var begin, previous uint64
	for i, w := range all {
		ns, ok := c.TxStamp(w.end)
		if !ok || ns < w.before || ns < previous {
			t.Fatalf("write %d: TxStamp(%d) = %d, %v; written from %d on, the previous write left at %d", i, w.end, ns, ok, w.before, previous)
		}
		for _, offset := range []uint64{begin, (begin + w.end) / 2, w.end - 1} {
			if held, ok := c.TxHolding(offset); held != ns || !ok {
				t.Fatalf("write %d: TxHolding(%d) = %d, %v, want %d", i, offset, held, ok, ns)
			}
		}
		if _, ok := c.TxStamp(w.end - 1); ok && w.end-1 != begin {
			t.Fatalf("write %d: a stamp in the middle of it, at %d", i, w.end-1)
		}
		begin, previous = w.end, ns
	}
}

// Writes as fast as possible, which TCP joins: fewer have a stamp, the last one
// among them, and they keep their order.
func TestTransmitFlood(t *testing.T) {
	writes := 5000 / testenv.Stride(2)
	c, peer := pair(t, Options{KeepTransmit: writes})
	needKernel(t, c)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer c.Close()
	wg.Go(func() { _, _ = io.Copy(io.Discard, peer); peer.Close() })
	first := userNow()
	for i := range writes {
		if _, err := c.Write(make([]byte, 1+i*7919%3000)); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) { // all has arrived
		t.Fatal(err)
	}
	if ns, ok := c.TxStamp(c.Written()); !ok || ns < first || ns > userNow() {
		t.Errorf("the last write: TxStamp = %d, %v", ns, ok)
	}
	previous := first
	for _, p := range c.sent.log.parts {
		if p.ns == 0 {
			continue
		}
		if p.ns < previous {
			t.Errorf("stamp %d at %d; the previous stamp is %d", p.ns, p.end, previous)
		}
		previous = p.ns
	}
}

// Writes one at a time, each followed by an answer, as requests are: each has
// its stamp, and old ones are forgotten.
func TestTransmitOneByOne(t *testing.T) {
	c, peer := pair(t, Options{})
	needKernel(t, c)
	go func() { _, _ = io.Copy(peer, peer) }()
	buf := make([]byte, 8)
	for i := range 2000 / testenv.Stride(4) {
		before := userNow()
		if _, err := c.Write([]byte("request")); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, buf[:7]); err != nil {
			t.Fatal(err)
		}
		ns, ok := c.TxStamp(c.Written())
		if !ok || ns < before || ns > c.LastRead().NS {
			t.Fatalf("request %d: TxStamp = %d, %v; written from %d on, answered at %d", i, ns, ok, before, c.LastRead().NS)
		}
	}
	if n := len(c.sent.log.parts); n > 2*defaultKeepTransmit {
		t.Errorf("%d stamps are kept, want at most %d", n, 2*defaultKeepTransmit)
	}
	if _, ok := c.TxStamp(7); ok {
		t.Error("the first stamp is still there")
	}
}

// Only writes, no read: the error queue is emptied all the same, so that it
// does not take the room of what is received.
func TestTransmitWithoutReads(t *testing.T) {
	writes := 5000 / testenv.Stride(4)
	c, peer := pair(t, Options{KeepTransmit: writes})
	needKernel(t, c)
	for range writes {
		if _, err := c.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(peer, make([]byte, 1)); err != nil { // so that TCP joins none
			t.Fatal(err)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	for end := range uint64(writes) {
		if _, ok := c.TxStamp(end + 1); !ok {
			t.Fatalf("write %d has no stamp", end)
		}
	}
}

// A full send buffer and a stamp on the error queue make Go's poller refuse
// the socket. Reads get through, and observe deadlines and Close.
func TestReadWhileSendBufferIsFull(t *testing.T) {
	const answers = 60
	c, peer := pair(t, Options{})
	needKernel(t, c)
	if err := c.nc.(*net.TCPConn).SetWriteBuffer(4096); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	defer c.Close()
	body := make([]byte, 3<<20)
	for i := range body {
		body[i] = byte(i * 7919 >> 8)
	}
	var got bytes.Buffer
	wg.Go(func() { // reads slowly, answers in between
		for i := range answers {
			time.Sleep(time.Millisecond)
			if _, err := io.CopyN(&got, peer, 3000); err != nil {
				t.Errorf("peer: %v", err)
				return
			}
			if _, err := peer.Write([]byte{byte(i)}); err != nil {
				t.Errorf("peer: %v", err)
				return
			}
		}
		if _, err := io.CopyN(&got, peer, int64(len(body)-got.Len())); err != nil {
			t.Errorf("peer: %v", err)
		}
	})
	c.Begin()
	before := userNow()
	written := make(chan uint64, 1)
	wg.Go(func() {
		if n, err := c.Write(body); n != len(body) || err != nil {
			t.Errorf("Write = %d, %v", n, err)
		}
		written <- userNow()
	})
	var firstAnswer uint64
	for i := 0; i < answers; {
		p := make([]byte, 4)
		n, err := c.Read(p)
		if err != nil {
			t.Fatalf("Read after %d answers: %v", i, err)
		}
		for _, b := range p[:n] {
			if b != byte(i) {
				t.Fatalf("answer %d is %d", i, b)
			}
			i++
		}
		if firstAnswer == 0 {
			firstAnswer = c.LastRead().NS
		}
	}
	after := <-written
	if err := c.SetReadDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	var ne net.Error
	if _, err := c.Read(make([]byte, 4)); !errors.As(err, &ne) || !ne.Timeout() {
		t.Errorf("Read after the deadline: %v", err)
	}
	start, sent := c.Request()
	// The first part of the write left long before the last; for a part that
	// left before the system call ended the kernel has no stamp.
	if start.NS < before || start.NS > firstAnswer {
		t.Errorf("start %+v, want it between %d and the first answer at %d", start, before, firstAnswer)
	}
	if sent.NS <= start.NS || sent.NS > after && sent.Source == User {
		t.Errorf("start %+v, sent %+v, written at %d", start, sent, after)
	}
	wg.Wait()
	if !bytes.Equal(got.Bytes(), body) {
		t.Error("the peer got something else than was written")
	}
}

// In the same state, Close and a deadline end the read.
func TestPollerRefusesReadEnds(t *testing.T) {
	for _, end := range []struct {
		name string
		do   func(c *Conn)
		want error
	}{
		{"close", func(c *Conn) { c.Close() }, net.ErrClosed},
		{"deadline", func(c *Conn) { _ = c.SetReadDeadline(past) }, os.ErrDeadlineExceeded},
	} {
		t.Run(end.name, func(t *testing.T) {
			c, _ := pair(t, Options{})
			needKernel(t, c)
			c.rmu.Lock()
			c.rd.p = make([]byte, 4)
			time.AfterFunc(20*time.Millisecond, func() { end.do(c) })
			err := c.readByPolling()
			c.rmu.Unlock()
			if !errors.Is(err, end.want) {
				t.Errorf("readByPolling = %v, want %v", err, end.want)
			}
		})
	}
}

// Offsets count from when a connection was wrapped, whatever was written before.
func TestWrapLater(t *testing.T) {
	nc, peer := tcpPair(t, (&net.Dialer{}).DialContext)
	if _, err := nc.Write(make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(io.Discard, peer, 1000); err != nil {
		t.Fatal(err)
	}
	c, err := Wrap(nc)
	if err != nil {
		t.Fatal(err)
	}
	needKernel(t, c)
	before := userNow()
	if _, err := c.Write(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	if ns, ok := c.TxStamp(10); !ok || ns < before || ns > userNow() {
		t.Errorf("TxStamp(10) = %d, %v", ns, ok)
	}
}

// Sockets of the other address family, and of both, have stamps too. Machines
// without IPv6 are no rarity, in CI neither, whose list of skipped tests shows
// it.
func TestAddressFamilies(t *testing.T) {
	for _, tt := range []struct{ name, listen, dial string }{
		{"IPv4", "127.0.0.1:0", "127.0.0.1"},
		{"IPv6", "[::1]:0", "::1"},
		{"IPv4 on an IPv6 socket", "[::]:0", "127.0.0.1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			defer Hold()()
			inner, err := net.Listen("tcp", tt.listen)
			if v6 := tt.listen[0] == '['; v6 && (errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT)) {
				t.Skipf("no IPv6 here: %v", err)
			}
			if err != nil {
				t.Fatal(err)
			}
			ln := &stampedListener{Listener: inner}
			defer ln.Close()
			_, port, _ := net.SplitHostPort(ln.Addr().String())
			d := Dialer{}
			client, err := d.DialContext(t.Context(), "tcp", net.JoinHostPort(tt.dial, port))
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			server, err := ln.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer server.Close()
			for _, ends := range [][2]net.Conn{{client, server}, {server, client}} {
				from, to := ends[0].(*Conn), ends[1].(*Conn)
				needKernel(t, from)
				if _, err := from.Write([]byte("abc")); err != nil {
					t.Fatal(err)
				}
				if _, err := to.Read(make([]byte, 8)); err != nil {
					t.Fatal(err)
				}
				sent, ok := from.TxStamp(3)
				if got := to.LastRead(); !ok || got.Source != Kernel || got.NS < sent {
					t.Errorf("sent at %d, %v, received at %+v", sent, ok, got)
				}
			}
		})
	}
}

// A pending stamp does not hide the data behind it, and is not lost by it.
func TestStampAndDataAtOnce(t *testing.T) {
	c, peer := pair(t, Options{})
	needKernel(t, c)
	var ends []uint64
	for i := range 50 {
		if _, err := c.Write([]byte("abc")); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, c.Written())
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], uint32(i))
		if _, err := peer.Write(b[:]); err != nil {
			t.Fatal(err)
		}
		var got [4]byte
		if _, err := io.ReadFull(c, got[:]); err != nil || got != b {
			t.Fatalf("Read %x, %v, want %x", got, err, b)
		}
	}
	if i := slices.IndexFunc(ends, func(end uint64) bool { _, ok := c.TxStamp(end); return !ok }); i >= 0 {
		t.Errorf("write %d has no stamp", i)
	}
}

func TestReadAllocatesNothing(t *testing.T) {
	for name, o := range options {
		t.Run(name, func(t *testing.T) {
			c, peer := pair(t, o)
			buf, token := make([]byte, 64), []byte("token")
			if n := testing.AllocsPerRun(200, func() {
				if _, err := peer.Write(token); err != nil {
					t.Fatal(err)
				}
				if _, err := c.Read(buf); err != nil {
					t.Fatal(err)
				}
				c.LastRead()
			}); n > 0 {
				t.Errorf("%v allocations per read", n)
			}
		})
	}
}
