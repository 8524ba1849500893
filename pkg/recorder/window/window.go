package window

import (
	"time"

	"github.com/pa-tools/pa/pkg/export/pawindow"
)

// Window is one measurement window.
type Window struct {
	StartNS, EndNS uint64
	Requests       int // successful requests that ended inside
	// Summary holds the reported figures of the window. In recorder.Level.Reported it
	// has the percentiles of a report, elsewhere only Measure.Percentile, if set.
	Summary pawindow.Summary
	// The rule of stability compares RequestsPerSecond and Latency (the mean, or the
	// chosen percentile); 0 in an empty window.
	RequestsPerSecond float64
	Latency           time.Duration
}

func (w *Window) duration() time.Duration {
	return pawindow.Window{StartNS: w.StartNS, EndNS: w.EndNS}.Duration()
}

// setRate computes the throughput from the number of requests.
func (w *Window) setRate() {
	if w.EndNS > w.StartNS {
		w.RequestsPerSecond = float64(w.Requests) / time.Duration(w.EndNS-w.StartNS).Seconds()
	}
}

// summarize computes the figures that the rule of stability and reports use from the
// requests of the window; pct is Measure.Percentile.
func (w *Window) summarize(s *stats, pct int) {
	var percentiles []int
	if pct > 0 {
		percentiles = []int{pct}
	}
	w.Summary = s.summary(w.duration(), percentiles)
	w.Latency = w.Summary.Typical(pct)
}
