package report

import (
	"context"
	"errors"
	"slices"

	"github.com/pa-tools/pa/pkg/analyze"
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

	// NotCounted is the number of requests whose output the tokenizer could not count,
	// and Refusal the error of the first of them.
	NotCounted int
	Refusal    error

	r       export.Reader
	w       RowWriter
	queue   rowQueue
	rows    []Row // to be sorted
	written int
}

// Write writes the rows of r to w, as they come or, if they are sorted, all at the end.
// It returns the errors of w and the cause of ctx's end; the error of r is not returned,
// except an [export.ErrContradiction]: see r.Err. A List writes once.
func (l *List) Write(ctx context.Context, r export.Reader, w RowWriter) error {
	l.r, l.w = r, w
	m := answer.NewMeter(l.r.Run(), l.Config.PerRequest())
	q := &l.queue
	q.streamed = map[int]bool{}
	looked := false
	var quality *analyze.QualityMeter
	if cfg := l.Config.Quality; cfg != nil {
		quality = analyze.NewQualityMeter(*cfg)
	}
	for n := uint64(0); !l.full() && l.r.Next(); n++ {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		request := l.r.Request()
		d := m.Measure(request)
		if d.NotCounted != nil {
			if l.NotCounted++; l.NotCounted == 1 {
				l.Refusal = d.NotCounted
			}
		}
		level := l.r.Experiment()
		q.add(level, d, func() Row {
			row := NewRow(level, &l.r.Run().Experiments[level], n, request, d)
			if quality != nil {
				q := quality.Measure(d)
				row.Quality = &q
			}
			return row
		})
		if len(q.rows) > maxUndecided && !looked && l.Order == nil {
			looked = true
			q.decide(l.streamedLevels(ctx))
		}
		if err := q.drain(level, l.take); err != nil {
			return err
		}
	}
	if err := l.r.Err(); errors.Is(err, export.ErrContradiction) {
		return err
	}
	if err := q.drain(len(l.r.Run().Experiments), l.take); err != nil {
		return err
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
	return nil
}

// maxUndecided is the number of rows that are kept until a request shows that their
// level was streamed. Beyond it, a second pass over the file finds that out.
const maxUndecided = 1000

// streamedLevels returns which levels have a request that shows that they were
// streamed, and nil if the file cannot be read to its end.
func (l *List) streamedLevels(ctx context.Context) map[int]bool {
	r, ok, err := export.Reopen(ctx, l.r)
	if !ok || err != nil {
		return nil
	}
	defer func() { _ = r.Close() }() // nothing is written to it
	cfg := l.Config
	cfg.Counter = nil // whether a request was streamed does not depend on its tokens
	m := answer.NewMeter(r.Run(), cfg.PerRequest())
	levels := map[int]bool{}
	for r.Next() && ctx.Err() == nil {
		if level := r.Experiment(); !levels[level] && m.Measure(r.Request()).ShowsStream() {
			levels[level] = true
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return levels
}

// full reports whether no further row will be written.
func (l *List) full() bool { return l.Order == nil && l.Limit > 0 && l.written >= l.Limit }

// take writes a decided row, or keeps it to be sorted.
func (l *List) take(row *Row) error {
	if l.Order != nil {
		l.rows = append(l.rows, *row)
		return nil
	}
	if l.full() {
		return nil
	}
	l.written++
	return l.w.Write(row)
}

// A rowQueue holds rows back until it is known whether their requests were
// streamed. If only other requests of the level can show that, it holds the rows
// until one of them does, or until the level ends.
type rowQueue struct {
	rows     []heldRow
	streamed map[int]bool // levels that a request showed to be streamed
	decided  bool         // streamed holds all such levels
}

type heldRow struct {
	level int
	row   Row
	// ifStreamed is the row if the level was streamed; nil if row is decided.
	ifStreamed *Row
}

// decide gives the queue all levels that were streamed; nil: they are unknown.
func (q *rowQueue) decide(streamed map[int]bool) {
	if streamed != nil {
		q.streamed, q.decided = streamed, true
	}
}

func (q *rowQueue) add(level int, d *answer.Measured, row func() Row) {
	q.streamed[level] = q.streamed[level] || d.ShowsStream()
	if q.streamed[level] {
		d.AsStreamed()
	}
	h := heldRow{level: level, row: row()}
	if d.Streamed == answer.StreamedUnknown && !q.decided {
		d.AsStreamed()
		streamed := row()
		h.ifStreamed = &streamed
	}
	q.rows = append(q.rows, h)
}

// drain calls take for the decided rows, up to the first undecided one. reading is
// the level whose requests are being read.
func (q *rowQueue) drain(reading int, take func(*Row) error) error {
	n := 0
	for ; n < len(q.rows); n++ {
		h := &q.rows[n]
		row := &h.row
		if h.ifStreamed != nil {
			if q.streamed[h.level] {
				row = h.ifStreamed
			} else if h.level == reading && !q.decided {
				break
			}
		}
		if err := take(row); err != nil {
			return err
		}
	}
	q.rows = slices.Delete(q.rows, 0, n)
	return nil
}
