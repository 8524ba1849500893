package drive

import (
	"math"
	"sync"
	"time"

	"github.com/pa-tools/pa/pkg/export"
)

// A ticket allows one request to be sent.
type ticket struct {
	number int // in the stage, from 0
	phase  export.Phase
	last   bool // no further request is admitted
}

// Limits bound a stage.
type Limits struct {
	// Warmup and WarmUntilNS bound the warm-up: it has at least that many requests
	// and includes every request that is due before the instant.
	Warmup      int
	WarmUntilNS uint64
	// Held keeps the warm-up going until release is called.
	Held     bool
	Measured int           // requests to measure; 0 makes all of the stage a warm-up, < 0 is no bound
	Longest  time.Duration // of the measurement; 0 is no bound
}

// Admission numbers the requests of a stage, the warm-up's first, and stops the load. It
// is safe for concurrent use. Use NewAdmission.
//
// It ends a measurement that is limited in time by itself: the collector may be
// seconds behind on an overloaded machine.
type Admission struct {
	Limits

	closed    chan struct{}
	measuring chan struct{}

	mu       sync.Mutex // guards the fields below
	issued   int
	measured int
	lastNS   uint64 // when the last request of the warm-up was admitted
	beganNS  uint64 // start of the measurement; 0 during the warm-up
	untilNS  uint64 // nothing is admitted later; set with beganNS
	held     bool
	shut     bool
	expired  bool   // shut because of untilNS or overNS
	overNS   uint64 // when over was called; 0 before
}

// NewAdmission returns an admission whose warm-up has begun.
func NewAdmission(limits Limits) *Admission {
	return &Admission{Limits: limits, held: limits.Held, untilNS: math.MaxUint64, closed: make(chan struct{}), measuring: make(chan struct{})}
}

// Closed returns a channel that is closed when no further request is admitted.
func (a *Admission) Closed() <-chan struct{} { return a.closed }

// Measuring returns a channel that is closed when the warm-up is over.
func (a *Admission) Measuring() <-chan struct{} { return a.measuring }

// BeganNS returns when the measurement began; 0 during the warm-up.
func (a *Admission) BeganNS() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.beganNS
}

// admit admits a request at nowNS that was due at dueNS ≤ nowNS; false when no more
// may be sent. A request belongs to the warm-up if it was due then.
func (a *Admission) admit(dueNS, nowNS uint64) (ticket, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.shut {
		return ticket{}, false
	}
	// A late request was due in the warm-up though the measurement has begun.
	if late := dueNS < a.WarmUntilNS; a.beganNS == 0 || late {
		if late || a.warming(dueNS) {
			a.lastNS = dueNS
			a.issued++
			if a.Measured == 0 && !a.warming(dueNS) {
				a.closeLocked()
			}
			return ticket{a.issued - 1, export.PhaseWarmup, a.shut}, true
		}
		if a.Measured == 0 { // the time of the warm-up is over
			a.closeLocked()
			return ticket{}, false
		}
		a.begin(max(a.lastNS, a.WarmUntilNS))
	}
	if nowNS > a.untilNS {
		a.expired = true
		a.closeLocked()
		return ticket{}, false
	}
	a.issued++
	if a.measured++; a.measured == a.Measured {
		a.closeLocked()
	}
	return ticket{a.issued - 1, export.PhaseMeasured, a.shut}, true
}

func (a *Admission) warming(dueNS uint64) bool {
	return a.held || a.issued < a.Warmup || dueNS < a.WarmUntilNS
}

// Measure begins the measurement at nowNS unless the warm-up still lacks requests.
func (a *Admission) Measure(nowNS uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.beganNS == 0 && a.Measured != 0 && a.issued >= a.Warmup && !a.held {
		a.begin(nowNS)
	}
}

// release ends what Held keeps going, and begins the measurement if nothing else of the warm-up is left.
func (a *Admission) release(nowNS uint64) {
	a.mu.Lock()
	a.held = false
	due := !a.shut && nowNS >= a.WarmUntilNS
	a.mu.Unlock()
	if due {
		a.Measure(nowNS)
	}
}

// over ends the measurement at nowNS: no further request is admitted.
func (a *Admission) over(nowNS uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.shut {
		a.overNS, a.expired = nowNS, true
		a.closeLocked()
	}
}

// OverNS returns when over ended the measurement; 0 if it did not.
func (a *Admission) OverNS() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.overNS
}

func (a *Admission) begin(nowNS uint64) {
	a.beganNS = nowNS
	if a.Longest > 0 {
		a.untilNS = nowNS + uint64(a.Longest)
	}
	close(a.measuring)
}

// admitExtra admits one more request although the admission is closed, to complete a
// sequence. It counts neither as warm-up nor as measured.
func (a *Admission) admitExtra() ticket {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.issued++
	phase := export.PhaseCooldown
	if a.beganNS == 0 {
		phase = export.PhaseWarmup
	}
	return ticket{a.issued - 1, phase, true}
}

// Close admits no further request. It may be called more than once.
func (a *Admission) Close() {
	a.mu.Lock()
	a.closeLocked()
	a.mu.Unlock()
}

// CloseWhen calls Close as soon as stop or done is closed, even while the collector is
// busy. It returns then, or when idle is closed.
func (a *Admission) CloseWhen(stop, done, idle <-chan struct{}) {
	select {
	case <-stop:
		a.Close()
	case <-done:
		a.Close()
	case <-idle:
	}
}

func (a *Admission) closeLocked() {
	if !a.shut {
		a.shut = true
		close(a.closed)
	}
}

// until returns when the time of the measurement is up; the end of time if it has not
// begun or has no limit.
func (a *Admission) until() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.untilNS
}

// TimeUp reports whether the admission closed because the time was up.
func (a *Admission) TimeUp() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.expired
}

// Admitted returns how many requests were admitted.
func (a *Admission) Admitted() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.issued
}
