package recorder

import (
	"math"
	"time"

	"github.com/pa-tools/pa/pkg/export/pawindow"
)

// A sample is a successful request as the meter counts it.
type sample struct {
	endNS     uint64
	latency   time.Duration
	responses int
	delayed   bool // sent later than due
	sequence  bool // the last of a sequence
	times     pawindow.Times
}

// A tally is what the samples of a window come to, in memory that does not grow
// with their number. The zero value is of none.
type tally struct {
	latencies
	responses, delayed, sequences int
	times                         pawindow.Times
}

func (t *tally) take(s *sample) {
	t.add(s.latency)
	t.responses += s.responses
	t.times.Merge(&s.times)
	if s.delayed {
		t.delayed++
	}
	if s.sequence {
		t.sequences++
	}
}

// join adds what o has.
func (t *tally) join(o *tally) {
	t.merge(&o.latencies)
	t.responses += o.responses
	t.delayed += o.delayed
	t.sequences += o.sequences
	t.times.Merge(&o.times)
}

// clear empties t and keeps its memory.
func (t *tally) clear() {
	t.reset()
	t.responses, t.delayed, t.sequences, t.times = 0, 0, 0, pawindow.Times{}
}

// window returns what t comes to as a window of that length, with the percentiles
// asked for.
func (t *tally) window(d time.Duration, percentiles []int) pawindow.Summary {
	s := pawindow.Summary{Duration: d, Requests: t.n, Responses: t.responses, Delayed: t.delayed, Sequences: t.sequences}
	if t.n == 0 {
		return s
	}
	s.Mean = t.typical(0)
	s.StdDevUS = pawindow.NoDeviation
	if t.n > 1 {
		s.StdDevUS = uint64(math.Sqrt(t.squares/float64(t.n-1)) / 1000)
	}
	for i, latency := range t.percentiles(percentiles...) {
		s.Percentiles = append(s.Percentiles, pawindow.Percentile{Pct: percentiles[i], Latency: latency})
	}
	return s
}
