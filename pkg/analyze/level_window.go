package analyze

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/analyze/summary"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// Windows sets how a level, or the part in a Selection, is cut into windows for a table.
// The zero value does not cut.
type Windows struct {
	// Every is the length of successive windows. The rest at the end is a window if it
	// has at least half of this length; otherwise it belongs to the previous window.
	Every time.Duration
	// Recorded takes the windows that the recorder measured by.
	Recorded bool
}

// maxWindows bounds the table.
const maxWindows = 10_000

// A Window is the analysis of a part of a level. Metrics are of the requests that
// started in it. Rates are computed like the rates of a [Selected] part.
type Window struct {
	Span
	OffsetNS   int64 // of its start, from the start of the level; below 0 for a recorded window that began before
	OK, Failed int   // requests that started in it
	Metrics    []summary.Metric
	Throughput Throughput
}

// Metric returns the summary of a metric; nil if it has no values.
func (w *Window) Metric(m answer.Metric) *summary.Summary { return summary.Find(w.Metrics, m) }

// of returns the bounds of the windows of a level or of its selected part, in order; nil for no windows.
func (w Windows) of(e *export.Experiment, level Span, sel *Selected) ([]uint64, error) {
	switch {
	case sel != nil:
		return w.bounds(e, sel.Span)
	case w.Recorded: // recorded windows keep their own bounds
		return w.bounds(e, Span{0, math.MaxUint64})
	}
	return w.bounds(e, level)
}

// bounds returns the bounds of the windows in whole, in order; nil for no windows.
func (w Windows) bounds(e *export.Experiment, whole Span) ([]uint64, error) {
	switch {
	case w.Recorded:
		b := recorded(e)
		if b == nil {
			return nil, errors.New("the file holds no windows in order; --windows takes a length too, such as 10s")
		}
		if len(b) > maxWindows+1 {
			return nil, fmt.Errorf("%d windows; %d are the most", len(b)-1, maxWindows)
		}
		return clip(b, whole), nil
	case w.Every > 0:
		n := (whole.Duration()-1)/w.Every + 1
		if n > maxWindows {
			return nil, fmt.Errorf("windows of %s make %d in %s; %d are the most", seconds(w.Every), n, seconds(whole.Duration()), maxWindows)
		}
		if rest := whole.Duration() - (n-1)*w.Every; n > 1 && rest < w.Every/2 {
			n--
		}
		b := []uint64{whole.FromNS}
		for i := range n - 1 {
			b = append(b, whole.FromNS+uint64((i+1)*w.Every))
		}
		return append(b, whole.ToNS), nil
	}
	return nil, nil
}

// recorded returns the bounds of the recorder's windows; nil if there are none or if they
// are not in order. Without windows, perf_analyzer writes one from 0 to the end of time.
func recorded(e *export.Experiment) []uint64 {
	b := e.WindowBoundaries
	if len(b) < 2 || b[0] == 0 && b[len(b)-1] == math.MaxUint64 {
		return nil
	}
	for i := 1; i < len(b); i++ {
		if b[i] <= b[i-1] {
			return nil
		}
	}
	return b
}

// clip returns the bounds of the windows inside of a selected part; nil if none is.
func clip(bounds []uint64, part Span) []uint64 {
	var b []uint64
	for i, t := range bounds {
		switch {
		case t >= part.ToNS:
			if i > 0 && bounds[i-1] < part.ToNS {
				b = append(b, part.ToNS)
			}
		case t <= part.FromNS:
			b = append(b[:0], part.FromNS)
		default:
			b = append(b, t)
		}
	}
	if len(b) < 2 {
		return nil
	}
	return b
}

// windowTable returns the windows of a level; of is the span of its points. The time of lost does not
// count. Values of a window that do not fit in memory move to a file; unread gets the error of reading them
// back.
func windowTable(e *export.Experiment, points eachPoint, of requestSpan, sel *Selected, lost *lostTime, cfg Config, memory *stat.Store, unread *error) ([]Window, error) {
	level, ok := of.extent(e)
	if !ok || cfg.Windows == (Windows{}) {
		return nil, nil
	}
	bounds, err := cfg.Windows.of(e, level, sel)
	if err != nil || len(bounds) < 2 {
		return nil, err
	}
	f := flows(points, bounds, level.ToNS)
	users := concurrency(e)
	var all []Window
	var part Selected
	var c collector
	begin := func() {
		i := len(all)
		part = Selected{Span: Span{bounds[i], bounds[i+1]}, Level: level, lost: lost}
		c = collector{}
		c.useMemory(memory)
	}
	end := func() {
		all = append(all, Window{
			Span: part.Span, OffsetNS: int64(part.FromNS - level.FromNS), OK: c.ok, Failed: total(c.failed.counts()),
			Metrics:    c.metrics(),
			Throughput: f[len(all)].throughput(part.Counting().Seconds(), users),
		})
		*unread = errors.Join(*unread, c.err)
	}
	begin()
	points(func(p *Point) bool {
		for p.PlaceNS >= part.FromNS && !part.has(p) {
			if end(); len(all) == len(f) {
				return false
			}
			begin()
		}
		if p.PlaceNS >= part.FromNS {
			c.add(p)
		}
		return true
	})
	for len(all) < len(f) {
		if end(); len(all) < len(f) {
			begin()
		}
	}
	return all, nil
}
