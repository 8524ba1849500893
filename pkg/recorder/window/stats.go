package window

import (
	"math"
	"time"

	"github.com/pa-tools/pa/pkg/export/pawindow"
)

// Sample is a successful request.
type Sample struct {
	EndNS     uint64
	Latency   time.Duration
	Responses int
	Delayed   bool // sent later than due
	Sequence  bool // the last request of a sequence
	Times     pawindow.Times
}

// stats adds up the samples of a window, in memory that does not grow with their
// number. The zero value is empty.
type stats struct {
	latencies                     Latencies
	responses, delayed, sequences int
	times                         pawindow.Times
}

func (s *stats) add(x *Sample) {
	s.latencies.Add(x.Latency)
	s.responses += x.Responses
	s.times.Merge(&x.Times)
	if x.Delayed {
		s.delayed++
	}
	if x.Sequence {
		s.sequences++
	}
}

// merge adds the samples of o.
func (s *stats) merge(o *stats) {
	s.latencies.merge(&o.latencies)
	s.responses += o.responses
	s.delayed += o.delayed
	s.sequences += o.sequences
	s.times.Merge(&o.times)
}

// reset empties s and keeps its memory.
func (s *stats) reset() {
	s.latencies.reset()
	s.responses, s.delayed, s.sequences, s.times = 0, 0, 0, pawindow.Times{}
}

// summary returns the figures of a window of length d, with these percentiles of
// latency.
func (s *stats) summary(d time.Duration, percentiles []int) pawindow.Summary {
	l := &s.latencies
	sum := pawindow.Summary{Duration: d, Requests: l.n, Responses: s.responses, Delayed: s.delayed, Sequences: s.sequences}
	if l.n == 0 {
		return sum
	}
	sum.Mean = l.typical(0)
	sum.StdDevUS = pawindow.NoDeviation
	if l.n > 1 {
		sum.StdDevUS = uint64(math.Sqrt(l.squares/float64(l.n-1)) / 1000)
	}
	for i, latency := range l.percentiles(percentiles...) {
		sum.Percentiles = append(sum.Percentiles, pawindow.Percentile{Pct: percentiles[i], Latency: latency})
	}
	return sum
}
