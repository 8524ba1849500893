package evloop

import (
	"bytes"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/pa-tools/pa/internal/sockstamp"
)

// The rate decides, whatever the pattern of wake-ups.
func TestGather(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		name   string
		events int           // per wake-up
		every  time.Duration // between wake-ups
		want   time.Duration
	}{
		{"one slow stream", 1, 20 * ms, 0},
		{"16 streams", 1, time.Second / 800, 0},
		{"30 streams", 1, time.Second / 1500, 2 * ms},
		{"64 streams", 1, time.Second / 3200, 2 * ms},
		{"64 streams, gathered", 6, 2 * ms, 2 * ms},
		{"512 streams", 1, time.Second / 25600, ms},
		{"512 streams, gathered", 26, ms, ms},
		{"rare bursts", 100, time.Second, 0},
		{"nothing", 0, ms, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var g gather
			now := time.Unix(1, 0)
			for range 200 {
				now = now.Add(tt.every)
				g.update(tt.events, now)
			}
			if g.span != tt.want {
				t.Errorf("gathering time %v, want %v", g.span, tt.want)
			}
			for range 200 { // what was before is forgotten
				now = now.Add(20 * ms)
				g.update(1, now)
			}
			if g.span != 0 {
				t.Error("gathering though only one stream is left")
			}
		})
	}
}

// Reads are put off on connections that are slow for long enough, and the
// kernel stamps, and not otherwise.
func TestPace(t *testing.T) {
	const ms = uint64(time.Millisecond)
	for _, tt := range []struct {
		name   string
		gaps   []uint64 // between reads, ms
		source sockstamp.Source
		off    bool // nothing is gathered
		lazy   bool
	}{
		{name: "begin", gaps: []uint64{20, 20}, source: sockstamp.Kernel},
		{name: "slow", gaps: []uint64{20, 20, 4}, source: sockstamp.Kernel, lazy: true},
		{name: "fast", gaps: []uint64{3, 3, 3, 3, 3, 3}, source: sockstamp.Kernel},
		{name: "bursts", gaps: []uint64{20, 20, 1, 20, 20, 1, 20, 20}, source: sockstamp.Kernel},
		{name: "fast after slow", gaps: []uint64{20, 20, 20, 20, 1}, source: sockstamp.Kernel},
		{name: "slow again", gaps: []uint64{20, 20, 20, 20, 1, 20, 20, 20}, source: sockstamp.Kernel, lazy: true},
		{name: "user's stamps", gaps: []uint64{20, 20, 20, 20}, source: sockstamp.User},
		{name: "few events", gaps: []uint64{20, 20, 20, 20}, source: sockstamp.Kernel, off: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, err := newLoop() // which does not run
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := l.release(); err != nil {
					t.Error(err)
				}
			}()
			c, _ := connect(t, &Engine{loops: []*loop{l}}, sockstamp.Options{})
			c.stamped = true // as the source says
			l.span = shortGather
			if tt.off {
				l.span = 0
			}
			at := sockstamp.Stamp{NS: 1000 * ms, Source: tt.source}
			c.pace(at)
			for _, gap := range tt.gaps {
				at.NS += gap * ms
				c.pace(at)
			}
			if c.lazy != tt.lazy {
				t.Errorf("put off: %v, want %v", c.lazy, tt.lazy)
			}
		})
	}
}

// While readiness gathers, nothing is lost and no connection starves, whether it is
// read at once or later.
func TestGathering(t *testing.T) {
	const conns, events, size = 50, 100, 10
	e := newEngine(t, 1)
	l := e.loops[0]
	var servers, clients sync.WaitGroup
	release := make(chan struct{})
	for i := range conns {
		c, peer := connect(t, e, sockstamp.Options{})
		servers.Go(func() {
			buf := make([]byte, size)
			for range 2 {
				if _, err := peer.Read(buf); err != nil {
					t.Error(err)
					return
				}
				tick := time.NewTicker(5 * time.Millisecond)
				if i == 0 {
					tick.Reset(50 * time.Microsecond) // as fast as it can
				}
				for range events {
					<-tick.C
					if _, err := peer.Write(buf); err != nil {
						t.Error(err)
					}
				}
				tick.Stop()
			}
			<-release
		})
		clients.Go(func() {
			request := bytes.Repeat([]byte{byte(i)}, size)
			for range 2 {
				h := newRecorder(events * size)
				c.Send(request, h)
				<-h.over
				if h.err != nil || !bytes.Equal(h.got, bytes.Repeat(request, events)) {
					t.Errorf("connection %d: %d bytes, %v", i, len(h.got), h.err)
				}
			}
		})
	}
	clients.Wait()
	close(release)
	servers.Wait()
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if l.gather.last.IsZero() {
		t.Error("the loop counted no events")
	}
}

// BenchmarkEvents is what it costs to receive an event of 250 bytes, the peers'
// writes included: as fast as they can, one connection after the other.
func BenchmarkEvents(b *testing.B) {
	const conns = 64
	e := newEngine(b, 1)
	peers := make([]*net.TCPConn, conns)
	arrived := make(chan struct{}, conns)
	for i := range peers {
		var c *Conn
		c, peers[i] = connect(b, e, sockstamp.Options{})
		c.Send([]byte("x"), &counter{arrived})
	}
	event := make([]byte, 250)
	b.ReportAllocs()
	for b.Loop() {
		for _, peer := range peers {
			if _, err := peer.Write(event); err != nil {
				b.Fatal(err)
			}
		}
		for range conns {
			<-arrived
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*conns), "ns/event")
}

// A counter is a Handler that tells of each read.
type counter struct{ read chan struct{} }

func (c *counter) Answered(_, _ sockstamp.Stamp)     {}
func (c *counter) Data([]byte, sockstamp.Stamp) bool { c.read <- struct{}{}; return false }
func (c *counter) WriteFailed(error)                 {}
func (c *counter) Closed(error)                      {}
