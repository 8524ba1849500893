package drive

import (
	"testing"

	"github.com/pa-tools/pa/pkg/export"
)

// The clock admits the warm-up and the time of the measurement, including its last instant, and
// nothing after that.
func TestAdmissionByTime(t *testing.T) {
	a := NewAdmission(Limits{WarmUntilNS: 100, Measured: -1, Longest: 50})
	for _, tt := range []struct {
		due, now uint64
		phase    export.Phase
		ok       bool
	}{
		{10, 10, export.PhaseWarmup, true},
		{99, 160, export.PhaseWarmup, true}, // late, by what it is due still warm-up
		{100, 100, export.PhaseMeasured, true},
		{150, 150, export.PhaseMeasured, true},
		{149, 151, 0, false}, // due in time, but it is too late to send it
		{120, 120, 0, false}, // shut once, shut for ever
	} {
		if p, ok := a.admit(tt.due, tt.now); ok != tt.ok || ok && p.phase != tt.phase {
			t.Errorf("due %d, now %d: admitted %v in phase %v; want %v, %v", tt.due, tt.now, ok, p.phase, tt.ok, tt.phase)
		}
	}
	if !a.TimeUp() || a.Admitted() != 4 || a.until() != 150 {
		t.Errorf("time up %v, %d admitted, until %d; want true, 4, 150", a.TimeUp(), a.Admitted(), a.until())
	}
	select {
	case <-a.Closed():
	default:
		t.Error("the admission is not closed")
	}
}

// An admission that a count closes is not one whose time is up.
func TestAdmissionByCount(t *testing.T) {
	a := NewAdmission(Limits{Measured: 1})
	a.Measure(5)
	if p, ok := a.admit(6, 6); !ok || !p.last {
		t.Errorf("first: %+v, %v; want the last", p, ok)
	}
	if _, ok := a.admit(7, 7); ok || a.TimeUp() {
		t.Errorf("second admitted %v, time up %v; want neither", ok, a.TimeUp())
	}
}

// A request that was due during the warm-up belongs to it, also when it is late and the
// measurement has begun; the count of measured requests is kept.
func TestLateRequestOfTheWarmup(t *testing.T) {
	a := NewAdmission(Limits{WarmUntilNS: 100, Measured: 1})
	a.Measure(100)
	for i, tt := range []struct {
		due  uint64
		want export.Phase
	}{{90, export.PhaseWarmup}, {99, export.PhaseWarmup}, {100, export.PhaseMeasured}} {
		p, ok := a.admit(tt.due, 110)
		if !ok || p.phase != tt.want || p.number != i {
			t.Errorf("due at %d: %+v, %v; want %v", tt.due, p, ok, tt.want)
		}
	}
	if _, ok := a.admit(120, 120); ok {
		t.Error("one more than the count was admitted")
	}
}

// A stage without measured requests ends with the time of its warm-up.
func TestWarmupByTimeAlone(t *testing.T) {
	a := NewAdmission(Limits{WarmUntilNS: 100})
	if p, ok := a.admit(50, 50); !ok || p.phase != export.PhaseWarmup {
		t.Errorf("within the warm-up: %+v, %v", p, ok)
	}
	if p, ok := a.admit(100, 100); ok {
		t.Errorf("after the warm-up: %+v", p)
	}
	select {
	case <-a.Closed():
	default:
		t.Error("not closed")
	}
}
