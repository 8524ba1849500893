package ranks

import (
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pa-tools/pa/internal/test/nettest"
	"github.com/pa-tools/pa/internal/test/testenv"
)

// unevenDelays delays packets by 5 ms ± 2 ms. Each direction of a connection has a delay
// of its own, 5 ms ± 1 ms, from which each packet differs by up to 1 ms: the two ways
// differ, and the comparison of the clocks does not know by how much. server is the
// network with the listeners, whose ports tell the connections apart.
func unevenDelays(server int) func(to int, packet []byte) time.Duration {
	const half = int64(time.Millisecond)
	type way struct {
		to   int
		port uint16
	}
	type delays struct {
		r     *rand.Rand
		least int64
	}
	var mu sync.Mutex
	all := map[way]*delays{}
	return func(to int, packet []byte) time.Duration {
		ports := packet[int(packet[0]&15)*4:]
		w := way{to, binary.BigEndian.Uint16(ports)} // of the sender
		if to == server {
			w.port = binary.BigEndian.Uint16(ports[2:])
		}
		mu.Lock()
		defer mu.Unlock()
		d := all[w]
		if d == nil {
			r := rand.New(rand.NewPCG(uint64(w.port), uint64(to)))
			d = &delays{r, 3*half + r.Int64N(2*half)}
			all[w] = d
		}
		return time.Duration(d.least + d.r.Int64N(2*half))
	}
}

// Between two networks with delays of 5 ms ± 2 ms, uneven at random, the offset of two
// clocks is within its bound in 100 of 100 runs (make test: 5).
func TestOffsetBetweenNetworks(t *testing.T) {
	t.Parallel()
	nettest.Within(t, func() {
		runs := 100 / testenv.Stride(20)
		link := nettest.NewLink(t, unevenDelays(0))
		var mu sync.Mutex
		var farthest, widest time.Duration // guarded by mu
		var running sync.WaitGroup
		limit := make(chan struct{}, 20)
		for run := range runs {
			running.Go(func() {
				limit <- struct{}{}
				defer func() { <-limit }()
				r := rand.New(rand.NewPCG(uint64(run), 2))
				ahead := func() shiftedClock { return shiftedClock(r.Int64N(int64(time.Hour))) }
				clocks := []shiftedClock{ahead(), ahead()}
				var server, rank *Session
				var serverErr, rankErr error
				link.In(0, func() { server, serverErr = Join(t.Context(), config(0, 2, link.Addr(0)+":0")) })
				if serverErr != nil {
					t.Error(serverErr)
					return
				}
				defer server.Close()
				link.In(1, func() { rank, rankErr = Join(t.Context(), config(1, 2, server.Addr())) })
				if rankErr != nil {
					t.Error(rankErr)
					return
				}
				defer rank.Close()
				offsets, err := compareTwice(t.Context(), server, rank, clocks)
				if err != nil {
					t.Errorf("run %d: %v", run, err)
					return
				}
				for _, o := range offsets {
					off, bound := time.Duration(o.OffsetNS)-time.Duration(clocks[0]-clocks[1]), time.Duration(o.BoundNS)
					if off.Abs() > bound {
						t.Errorf("run %d: off by %v, bound %v", run, off, bound)
					}
					if bound < 3*time.Millisecond {
						t.Errorf("run %d: a bound of %v, less than the shortest way", run, bound)
					}
					mu.Lock()
					farthest, widest = max(farthest, off.Abs()), max(widest, bound)
					mu.Unlock()
				}
			})
		}
		running.Wait()
		t.Logf("%d runs: off by at most %v, bounds of at most %v", runs, farthest, widest)
		if farthest < 100*time.Microsecond {
			t.Errorf("off by at most %v: the two ways do not differ", farthest)
		}
	})
}

// A rank that cannot reach the network of rank 0 says so in time.
func TestOtherNetworkUnreachable(t *testing.T) {
	t.Parallel()
	nettest.Within(t, func() {
		link := nettest.NewLink(t, func(int, []byte) time.Duration { return time.Hour })
		cfg := config(1, 2, link.Addr(0)+":17788")
		cfg.Timeout = 300 * time.Millisecond
		var err error
		begin := time.Now()
		link.In(1, func() { _, err = Join(t.Context(), cfg) })
		if err == nil || !strings.Contains(err.Error(), "rank 0 did not answer within 300ms") {
			t.Errorf("joined without an answer: %v", err)
		}
		if took := time.Since(begin); took > 20*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}
