package recorder

import "time"

// An alarm is a timer that may be unset: its channel then blocks for ever.
type alarm struct{ t *time.Timer }

func newAlarm() *alarm { return &alarm{} }

func (a *alarm) set(d time.Duration) {
	if a.t == nil {
		a.t = time.NewTimer(d)
		return
	}
	a.t.Reset(d)
}

func (a *alarm) c() <-chan time.Time {
	if a.t == nil {
		return nil
	}
	return a.t.C
}

func (a *alarm) stop() {
	if a.t != nil {
		a.t.Stop()
	}
}
