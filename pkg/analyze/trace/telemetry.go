package trace

import (
	"context"
	"math"
	"strings"

	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// mostSeries is the number of series of one source that the trace shows.
const mostSeries = 200

// A source is a process for the series of one source of telemetry.
type source struct {
	pid    int
	series map[*export.Series]*series // nil for a series that is not shown
	shown  int
}

// A series is a shown series with its last value.
type series struct {
	name    string
	counter bool
	seen    bool
	atNS    uint64
	value   float64
}

// writeTelemetry writes the series of each source, in processes from pid on. It returns the number
// of series that are left out because their source has too many.
func writeTelemetry(ctx context.Context, w *writer, r export.Reader, pid int, origin uint64) (leftOut int, err error) {
	sources := map[string]*source{}
	err = r.Scrapes(ctx, func(s *export.Scrape) error {
		if s.Error != "" {
			return nil
		}
		src := sources[s.Source]
		if src == nil {
			src = &source{pid: pid, series: map[*export.Series]*series{}}
			sources[s.Source] = src
			w.name("process", pid, 0, "server metrics: "+s.Source, pid)
			pid++
		}
		leftOut += src.add(w, s, origin)
		return w.err
	})
	return leftOut, err
}

// add writes the samples of a scrape, at the middle of the time that it took. It returns the
// number of series that it leaves out for the first time.
func (src *source) add(w *writer, s *export.Scrape, origin uint64) (leftOut int) {
	at := s.StartNS + (s.EndNS-s.StartNS)/2
	if !answer.Elapsed(origin, at).OK {
		return 0 // a damaged time
	}
	for i := range s.Samples {
		sample := &s.Samples[i]
		x, known := src.series[sample.Series]
		if !known {
			switch x = newSeries(sample.Series); {
			case x == nil:
			case src.shown == mostSeries:
				x = nil
				leftOut++
			default:
				src.shown++
			}
			src.series[sample.Series] = x
		}
		if x != nil {
			x.write(w, src.pid, at, sample.Value, origin)
		}
	}
	return leftOut
}

// newSeries returns how the trace shows a series; nil for the parts of histograms and summaries,
// which are no course of one figure.
func newSeries(s *export.Series) *series {
	switch s.Type {
	case "histogram", "summary":
		return nil
	case "counter":
		return &series{name: s.String() + " per second", counter: true}
	}
	if strings.HasSuffix(s.Name, "_bucket") {
		return nil
	}
	return &series{name: s.String()}
}

// write writes the value of a gauge, or the growth of a counter since the value before. A counter
// that falls began anew: its growth is not known.
func (x *series) write(w *writer, pid int, at uint64, value float64, origin uint64) {
	if !x.counter {
		w.counter(x.name, pid, int64(at-origin), value)
		return
	}
	if grown := value - x.value; x.seen && at > x.atNS && grown >= 0 && !math.IsInf(grown, 0) {
		w.counter(x.name, pid, int64(x.atNS-origin), grown/(float64(at-x.atNS)/1e9))
	}
	x.seen, x.atNS, x.value = true, at, value
}
