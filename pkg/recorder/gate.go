package recorder

import (
	"math"
	"sync"
	"time"

	"github.com/pa-tools/pa/pkg/export"
)

// A pass is what a gate gives a request that may be sent.
type pass struct {
	number int // in the stage, from 0
	phase  export.Phase
	last   bool // nothing passes after it
}

// A gate gives out the numbers of the requests that a stage may send, first those
// of its warm-up. Use newGate.
//
// It knows by itself when the time of the measurement is up: the collector, who
// ends what no clock and no count ends, may be seconds behind on a machine that
// has too much to do.
type gate struct {
	warmup      int    // so many requests are the warm-up,
	warmUntilNS uint64 // and all that pass before
	budget      int    // requests to measure; < 0 is no bound
	// longest is how long the measurement may take; 0 is no bound.
	longest time.Duration

	// closed is closed when nothing passes any more, measuring when the warm-up
	// is over: from then on beganNS is when that was.
	closed    chan struct{}
	measuring chan struct{}

	mu       sync.Mutex // guards what follows
	issued   int
	measured int
	lastNS   uint64 // when the last request of the warm-up passed
	beganNS  uint64
	untilNS  uint64 // nothing passes later; set with beganNS
	shut     bool
	expired  bool // shut because it is later than that
}

// newGate returns a gate whose warm-up has begun.
func newGate(warmup int, warmUntilNS uint64, budget int, longest time.Duration) *gate {
	return &gate{
		warmup: warmup, warmUntilNS: warmUntilNS, budget: budget, longest: longest, untilNS: math.MaxUint64,
		closed: make(chan struct{}), measuring: make(chan struct{}),
	}
}

// next lets a request pass at nowNS that is due at dueNS, which is not later but
// may be earlier; false when no more may be sent. What is due decides whether it
// belongs to the warm-up.
func (g *gate) next(dueNS, nowNS uint64) (pass, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut {
		return pass{}, false
	}
	if g.beganNS == 0 {
		if g.warming(dueNS) {
			g.lastNS = dueNS
			g.issued++
			if g.budget == 0 && !g.warming(dueNS) {
				g.shutLocked()
			}
			return pass{g.issued - 1, export.PhaseWarmup, g.shut}, true
		}
		g.begin(max(g.lastNS, g.warmUntilNS))
	}
	if nowNS > g.untilNS {
		g.expired = true
		g.shutLocked()
		return pass{}, false
	}
	g.issued++
	if g.measured++; g.measured == g.budget {
		g.shutLocked()
	}
	return pass{g.issued - 1, export.PhaseMeasured, g.shut}, true
}

func (g *gate) warming(nowNS uint64) bool { return g.issued < g.warmup || nowNS < g.warmUntilNS }

// measure begins the measurement at nowNS unless the warm-up still lacks
// requests.
func (g *gate) measure(nowNS uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.beganNS == 0 && g.budget != 0 && g.issued >= g.warmup {
		g.begin(nowNS)
	}
}

func (g *gate) begin(nowNS uint64) {
	g.beganNS = nowNS
	if g.longest > 0 {
		g.untilNS = nowNS + uint64(g.longest)
	}
	close(g.measuring)
}

// extra lets one more request pass after all, to end what has begun. It counts as
// none of those that were asked for.
func (g *gate) extra() pass {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.issued++
	phase := export.PhaseCooldown
	if g.beganNS == 0 {
		phase = export.PhaseWarmup
	}
	return pass{g.issued - 1, phase, true}
}

// close lets nothing pass any more.
func (g *gate) close() {
	g.mu.Lock()
	g.shutLocked()
	g.mu.Unlock()
}

// closeWhen closes the gate when stop or done is closed, at once: whoever collects
// may be busy. It returns then, or when idle is closed.
func (g *gate) closeWhen(stop, done, idle <-chan struct{}) {
	select {
	case <-stop:
		g.close()
	case <-done:
		g.close()
	case <-idle:
	}
}

func (g *gate) shutLocked() {
	if !g.shut {
		g.shut = true
		close(g.closed)
	}
}

// until returns when the time of the measurement is up; the end of time if it has
// not begun or no clock ends it.
func (g *gate) until() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.untilNS
}

// timeUp reports whether nothing passes any more because the time is up.
func (g *gate) timeUp() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.expired
}

// count returns how many requests have passed.
func (g *gate) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.issued
}
