package recorder

import (
	"runtime"
	"time"
)

const (
	// throttleSlice is how long the collector works before it rests for as long.
	throttleSlice = 500 * time.Microsecond
	// throttleUntil is how long after its end a request is dealt with in no hurry.
	// A process that is killed keeps what ended a second before, and the writer
	// is flushed every progressEvery.
	throttleUntil = 300 * time.Millisecond
)

// A throttle keeps the collector out of the way of those who receive. When many
// requests end together there is work for it for some hundred ms; who receives
// needs a core within the time between two tokens of a stream, or one read brings
// both and they have one stamp. Go knows no priorities, and on a machine where
// the server has a share of the cores too, a collector that is always ready to
// run has as much of them as the receiver. So it takes half a core and leaves its
// work lying for a while instead, which costs memory and nothing else. The zero
// value is ready.
type throttle struct {
	debt time.Duration // work that was not rested from
	mark time.Time     // up to when debt is right
}

// begin is to be called after waiting for work, which was rest.
func (p *throttle) begin() {
	now := time.Now()
	p.debt = max(0, p.debt-now.Sub(p.mark))
	p.mark = now
}

// step is to be called before each request, with how long ago it ended: it
// rests, or lets others have the core at least.
func (p *throttle) step(age time.Duration) {
	p.end()
	if p.debt >= throttleSlice && age < throttleUntil {
		time.Sleep(min(p.debt, throttleUntil-age))
		p.debt, p.mark = 0, time.Now()
		return
	}
	runtime.Gosched()
}

// end is to be called when there is no more work.
func (p *throttle) end() {
	now := time.Now()
	p.debt += now.Sub(p.mark)
	p.mark = now
}
