package recorder

import (
	"sync"

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
type gate struct {
	warmup      int    // so many requests are the warm-up,
	warmUntilNS uint64 // and all that pass before
	budget      int    // requests to measure; < 0 is no bound

	// closed is closed when nothing passes any more, measuring when the warm-up
	// is over: from then on beganNS is when that was.
	closed    chan struct{}
	measuring chan struct{}

	mu       sync.Mutex // guards what follows
	issued   int
	measured int
	lastNS   uint64 // when the last request of the warm-up passed
	beganNS  uint64
	shut     bool
}

// newGate returns a gate whose warm-up has begun.
func newGate(warmup int, warmUntilNS uint64, budget int) *gate {
	return &gate{
		warmup: warmup, warmUntilNS: warmUntilNS, budget: budget,
		closed: make(chan struct{}), measuring: make(chan struct{}),
	}
}

// next lets a request pass at nowNS; false when no more may be sent.
func (g *gate) next(nowNS uint64) (pass, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut {
		return pass{}, false
	}
	if g.beganNS == 0 {
		if g.warming(nowNS) {
			g.lastNS = nowNS
			g.issued++
			if g.budget == 0 && !g.warming(nowNS) {
				g.shutLocked()
			}
			return pass{g.issued - 1, export.PhaseWarmup, g.shut}, true
		}
		g.begin(max(g.lastNS, g.warmUntilNS))
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
	close(g.measuring)
}

// close lets nothing pass any more.
func (g *gate) close() {
	g.mu.Lock()
	g.shutLocked()
	g.mu.Unlock()
}

func (g *gate) shutLocked() {
	if !g.shut {
		g.shut = true
		close(g.closed)
	}
}

// count returns how many requests have passed.
func (g *gate) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.issued
}
