package ranks

import (
	"context"
	"fmt"
	"time"

	"github.com/pa-tools/pa/internal/plural"
)

// StartAt replaces the barrier if ranks are not connected: all ranks begin at an instant
// that they know beforehand. It measures no offset, so the ranks' clocks must agree, and
// a rank does not learn of the end of another rank. It serves one start.
type StartAt struct {
	At      time.Time
	started bool
}

// Meet returns the instant for the first meeting with a start. An instant that has
// passed is an error.
func (s *StartAt) Meet(_ context.Context, m Meeting) (Begin, error) {
	b := Begin{NextID: m.NextID}
	if !m.Start {
		return b, nil
	}
	now, at := m.Clock.NowNS(), uint64(s.At.UnixNano())
	switch {
	case s.started:
		return Begin{}, fmt.Errorf("a fixed start serves one level; connect the ranks for more")
	case at < now:
		return Begin{}, fmt.Errorf("the start at %s passed %s ago, while this rank was still preparing; choose a later one", s.At.Format(time.RFC3339), plural.Time(time.Duration(now-at).Round(time.Millisecond)))
	}
	s.started = true
	b.AtNS, b.LocalNS = at, at
	return b, nil
}

// Ended returns a channel that is never closed.
func (s *StartAt) Ended() <-chan struct{} { return nil }

// EndedBy returns nil.
func (s *StartAt) EndedBy() *EndedError { return nil }

// End does nothing: the other ranks are not connected.
func (s *StartAt) End(string) {}

// Finish returns an empty Closing.
func (s *StartAt) Finish(context.Context, Clock) Closing { return Closing{} }
