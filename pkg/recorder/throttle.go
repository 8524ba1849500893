package recorder

import (
	"runtime"
	"time"

	"github.com/pa-tools/pa/pkg/recorder/internal/drive"
)

const (
	// throttleSlice is how long the collector works before it rests for as long.
	throttleSlice = 500 * time.Microsecond
	// throttleUntil is the age of a finished request from which the collector no
	// longer rests. A killed process must keep requests that ended a second before,
	// and the writer is flushed every progressEvery.
	throttleUntil = 300 * time.Millisecond
)

// throttle limits the collector to half a core, so that receiving goroutines get one in
// time. When many requests end together, the collector has work for some hundred ms. A
// receiver needs a core within the time between two tokens of a stream; otherwise one
// read returns both tokens and they get one stamp. Goroutines have no priorities, so a
// collector that is always ready to run would take as much of the cores as the receivers.
// Waiting costs memory only. The zero value is ready.
type throttle struct {
	yielder *drive.Yielder
	debt    time.Duration // work without a rest after it
	mark    time.Time     // debt is up to date as of mark
}

// begin is called after waiting for work, which counts as rest.
func (t *throttle) begin() {
	now := time.Now()
	t.debt = max(0, t.debt-now.Sub(t.mark))
	t.mark = now
}

// step is called before each request, which ended age ago. It rests if the debt is large
// enough, and yields to the receivers unless the request is old.
func (t *throttle) step(age time.Duration) {
	t.end()
	if age >= throttleUntil {
		runtime.Gosched()
		return
	}
	if t.debt >= throttleSlice {
		time.Sleep(min(t.debt, throttleUntil-age))
		t.debt, t.mark = 0, time.Now()
	}
	t.yielder.Yield()
}

// end is called when there is no more work.
func (t *throttle) end() {
	now := time.Now()
	t.debt += now.Sub(t.mark)
	t.mark = now
}
