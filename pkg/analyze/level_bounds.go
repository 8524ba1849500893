package analyze

import (
	"context"
	"fmt"

	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/export"
)

// LevelWindows holds the windows of a load level without their analysis.
type LevelWindows struct {
	// Index is the index of the level in the run.
	Index int
	// Mode and Value are the mode and the value of the level, as in [Experiment].
	Mode, Value string
	// Level is the whole level: see [Selected].
	Level figure.Span
	// Windows are in order. A request belongs to a window if its start (for a request that never
	// left: its issue, schedule or end, the first of them that is known) is not before FromNS and is before
	// ToNS. A window that ends with the level includes the last instant of the level.
	Windows []figure.Span
}

// Bounds reads all requests of r and returns the windows into which [Run] cuts its levels for w. Unlike Run,
// it keeps no requests. Levels without requests that count or failed are left out: they have no windows.
//
// It returns the error of the reader, or an error that says why a level has no such windows.
func (w Windows) Bounds(ctx context.Context, r export.Reader) ([]LevelWindows, error) {
	return readAgain(func(found *contradiction) ([]LevelWindows, error) { return w.boundsOnce(ctx, r, found != nil) })
}

// boundsOnce reads r from the beginning; see [runOnce].
func (w Windows) boundsOnce(ctx context.Context, r export.Reader, contradicted bool) ([]LevelWindows, error) {
	run := export.Preview(r)
	source := newRequestSource(ctx, r, &Config{}, contradicted, nil)
	var spans []requestSpan
	for b := source.next(); b != nil; b = source.next() {
		if source.mustRestart(b) {
			return nil, &b.contradicted
		}
		i := source.Experiment()
		if i < 0 || i >= len(run.Experiments) {
			return nil, fmt.Errorf("a request belongs to experiment %d, but the file has %d", i, len(run.Experiments))
		}
		if missing := i + 1 - len(spans); missing > 0 {
			spans = append(spans, make([]requestSpan, missing)...)
		}
		for k := range b.requests {
			spans[i].add(&b.requests[k])
		}
		if b.cut {
			return nil, context.Cause(ctx)
		}
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	if err := placed(run, Config{Windows: w}); err != nil {
		return nil, err
	}
	var all []LevelWindows
	for i := range spans {
		e := &run.Experiments[i]
		level, ok := spans[i].extent(e)
		if !ok {
			continue
		}
		x := LevelWindows{Index: i, Mode: e.Mode, Value: e.Value, Level: level}
		bounds, err := w.of(e, level, nil)
		for k := 1; k < len(bounds) && err == nil; k++ {
			x.Windows = append(x.Windows, figure.Span{FromNS: bounds[k-1], ToNS: bounds[k]})
			err = withinClocks(run, x.Windows[k-1].Duration(), "a window")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", export.LoadName(e.Mode, e.Value), err)
		}
		all = append(all, x)
	}
	return all, nil
}
