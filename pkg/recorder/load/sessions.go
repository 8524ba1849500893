package load

import (
	"fmt"
	"strconv"
	"time"

	"github.com/pa-tools/pa/pkg/export"
)

// Sessions is a closed loop of N sessions. When all requests of one have ended, the next one of the workload begins.
type Sessions struct{ N int }

// Mode implements Level. Mode and Value are perf_analyzer's: GenAI-Perf looks a run of
// sessions up under request_rate 0.0.
func (Sessions) Mode() string { return export.ModeRequestRate }

// Value implements Level.
func (Sessions) Value() string { return "0.0" }

func (s Sessions) String() string { return "session concurrency " + strconv.Itoa(s.N) }

// Slots implements Level.
func (s Sessions) Slots() int { return s.N }

// Validate implements Level.
func (s Sessions) Validate() error {
	if s.N < 1 {
		return fmt.Errorf("session concurrency %d: must be at least 1", s.N)
	}
	return nil
}

// Excluded implements Level.
func (s Sessions) Excluded(by Settings) error { return sessionsExcluded(s, by) }

// Traits implements Level.
func (s Sessions) Traits() Traits {
	t := sessionTraits()
	t.Amount, t.AtOnce, t.Midway = float64(s.N), s.N, true
	return t
}

// sessionsExcluded returns why the settings of a run exclude a level that plays sessions, or nil.
func sessionsExcluded(l Level, by Settings) error {
	switch {
	case by.Batched:
		return fmt.Errorf("%v: cannot be combined with batches", l)
	case by.NoChat:
		return fmt.Errorf("%v: sessions need the chat endpoint of an OpenAI-compatible server", l)
	case by.Counted || by.Timed: // the data begins again
		return nil
	}
	return warmsUpAll(l, by.Warmup, by.Entries)
}

// sessionTraits returns the traits of all levels that play sessions.
func sessionTraits() Traits {
	return Traits{PlaysData: true, Conversations: true, Stateless: needsSlots}
}

// SessionRequests is a closed loop of N requests of sessions. While a session waits for a tool or a user, its slot sends
// requests of other sessions. The next session of the workload begins when a slot is free and no request of a session that has
// begun is due.
type SessionRequests struct {
	N int
	// RampUp is the time over which the slots begin; see Concurrency.
	RampUp time.Duration
}

// Mode implements Level.
func (SessionRequests) Mode() string { return export.ModeConcurrency }

// Value implements Level.
func (s SessionRequests) Value() string { return strconv.Itoa(s.N) }

func (s SessionRequests) String() string { return "concurrency " + s.Value() + " of sessions" }

// Slots implements Level.
func (s SessionRequests) Slots() int { return s.N }

// Validate implements Level.
func (s SessionRequests) Validate() error { return Concurrency(s).Validate() }

// Excluded implements Level.
func (s SessionRequests) Excluded(by Settings) error { return sessionsExcluded(s, by) }

// Traits implements Level.
func (s SessionRequests) Traits() Traits {
	t, like := sessionTraits(), Concurrency(s).Traits()
	t.Amount, t.AtOnce, t.RampUp = like.Amount, like.AtOnce, like.RampUp
	return t
}

// Begin returns when slot i begins, counted from the start of the level.
func (s SessionRequests) Begin(i int) time.Duration { return Concurrency(s).Begin(i) }

// A SessionRate is an open loop of sessions: they begin at a mean rate. Its ceiling bounds the sessions in flight.
type SessionRate struct{ Rate }

// Mode implements Level.
func (SessionRate) Mode() string { return export.ModeRequestRate }

// Value implements Level. A number would be of requests; see Sessions.
func (SessionRate) Value() string { return Sessions{}.Value() }

func (r SessionRate) String() string { return r.describe("session") }

// Validate implements Level.
func (r SessionRate) Validate() error { return r.validate("session") }

// Excluded implements Level.
func (r SessionRate) Excluded(by Settings) error {
	if by.Times {
		return fmt.Errorf("%v: a request count in times of the level needs a rate of requests, and this one is of sessions; give a number", r)
	}
	return sessionsExcluded(r, by)
}

// Traits implements Level.
func (r SessionRate) Traits() Traits {
	t := sessionTraits()
	t.PerSecond, t.RampUp = r.PerSecond, r.RampUp
	return t
}

// ScaledTo implements Scalable: it scales the gaps to the sessions that begin in the duration, or without a duration
// and a request count to the sessions of the data. The sessions due in the time of the warm-up are warm-up.
func (r SessionRate) ScaledTo(m Measured) Level {
	switch {
	case m.Duration > 0:
		m.Sessions = m.within(r.PerSecond)
	case m.Counted:
		m.Sessions = 0 // how many sessions have that many requests is not known
	}
	return SessionRate{r.Scaled(0, m.WarmupTime, m.Sessions)}
}

// A SessionTimetable is an open loop with a recorded instant for each session. Its ceiling bounds the sessions in flight.
type SessionTimetable struct{ Timetable }

func (t SessionTimetable) String() string { return t.describe("session") }

// Excluded implements Level.
func (t SessionTimetable) Excluded(by Settings) error {
	n := len(t.Offsets)
	switch {
	case by.Sessions > 0 && by.Sessions != n:
		return fmt.Errorf("%v: expected as many sessions, found %d", t, by.Sessions)
	case by.Order != "":
		return fmt.Errorf("%v: its sessions have an order; drop the order %s", t, by.Order)
	case by.Counted:
		return fmt.Errorf("%v: cannot be combined with a request count", t)
	case by.Timed:
		by.Timed = false // the data does not begin again
	}
	return sessionsExcluded(t, by)
}

// Traits implements Level.
func (t SessionTimetable) Traits() Traits {
	all := sessionTraits()
	all.PerSecond, all.Instants = t.PerSecond(), len(t.Offsets)
	return all
}
