package report

import (
	"context"
	"errors"
	"slices"

	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/analyze/quality"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// A List writes the requests of a run as rows.
type List struct {
	Config analyze.Config
	Limit  int // rows; 0: no limit
	// Order sorts the rows, which are then all kept in memory; nil leaves them in the
	// order of the file.
	Order func(a, b *Row) int
	// Hits are the possible hits of each request, in the order of the file, as [analyze.PossibleHits] returns them; nil for none.
	Hits []figure.PossibleHit

	// NotCounted is the number of requests whose output the tokenizer could not count,
	// and Refusal the error of the first of them.
	NotCounted int
	Refusal    error

	w       RowWriter
	rows    []Row // to be sorted
	written int
	err     error // of w
}

// Write writes the rows of r to w, as they come or, if they are sorted, all at the end.
// When ctx ends, Write stops reading, writes the rows of the requests that it has read, and
// returns the cause. It returns the errors of w; the error of r is not returned, except an
// [export.ErrContradiction]: see r.Err. A List writes once.
func (l *List) Write(ctx context.Context, r export.Reader, w RowWriter) error {
	l.w = w
	m := answer.NewMeter(r.Run(), l.Config.PerRequest())
	queue := answer.NewStreamQueue(func(_ int, row Row) { l.take(&row) })
	var smooth *quality.Meter
	if cfg := l.Config.Quality; cfg != nil {
		smooth = quality.NewMeter(*cfg)
	}
	levels := map[int]*export.Experiment{} // without what cannot be true
	var ended error                        // the cause of ctx's end
	for n := uint64(0); !l.full() && l.err == nil && r.Next(); n++ {
		if ended = context.Cause(ctx); ended != nil {
			break // the rows of earlier requests follow
		}
		request, level := r.Request(), r.Experiment()
		d := m.Measure(request)
		if d.NotCounted != nil {
			if l.NotCounted++; l.NotCounted == 1 {
				l.Refusal = d.NotCounted
			}
		}
		e := levels[level]
		if e == nil {
			p, _ := r.Run().Experiments[level].Possible()
			e = &p
			levels[level] = e
		}
		rowOf := func() Row {
			row := newRow(level, e, n, request, d)
			if n < uint64(len(l.Hits)) {
				row.Possible = l.Hits[n]
			}
			if smooth != nil {
				q := smooth.Measure(d)
				row.Quality = &q
			}
			return row
		}
		if queue.Pass(level, d) {
			row := rowOf()
			l.take(&row)
		} else {
			queue.Hold(level, d, rowOf)
		}
	}
	if err := r.Err(); errors.Is(err, export.ErrContradiction) {
		return err
	}
	if queue.End(); l.err != nil {
		return l.err
	}
	slices.SortStableFunc(l.rows, func(a, b Row) int { return l.Order(&a, &b) })
	if l.Limit > 0 && len(l.rows) > l.Limit {
		l.rows = l.rows[:l.Limit]
	}
	for i := range l.rows {
		if err := l.w.Write(&l.rows[i]); err != nil {
			return err
		}
	}
	return ended
}

// full reports whether no further row will be written.
func (l *List) full() bool { return l.Order == nil && l.Limit > 0 && l.written >= l.Limit }

// take writes a row, or keeps it to be sorted.
func (l *List) take(row *Row) {
	switch {
	case l.Order != nil:
		l.rows = append(l.rows, *row)
	case l.err == nil && !l.full():
		l.written++
		l.err = l.w.Write(row)
	}
}
