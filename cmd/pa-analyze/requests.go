package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

func requestsCommand() *cli.Command {
	flags := []cli.Flag{
		&cli.StringFlag{Name: "format", Aliases: []string{"f"}, Usage: "print as `FORMAT`: table, csv or jsonl", Value: "table", Category: "Output"},
		&cli.IntFlag{Name: "limit", Aliases: []string{"n"}, Usage: "print at most `N` requests; 0 is no limit", Category: "Output"},
		&cli.StringFlag{Name: "sort", Usage: "sort by `COLUMN`, with - in front from large to small: " + strings.Join(report.SortKeys(), ", "), Category: "Output"},
	}
	flags = slices.Concat(flags, outputFlags(), []cli.Flag{widthFlag()}, measureFlags(), []cli.Flag{streamingFlag(), tokenizerFlag()})
	return &cli.Command{
		Name: "requests", Usage: "one line per request", ArgsUsage: "[FILE]",
		Description: `Lists the requests of a run with those that do not count, and why. csv and
jsonl hold nanoseconds and more columns than the table.`,
		Flags:  append(flags, inputFlags()...),
		Action: requests,
	}
}

func requests(c *cli.Context) error {
	format, err := checkFormat(c, "table", "csv", "jsonl")
	if err != nil {
		return err
	}
	if err := checkWidth(c); err != nil {
		return err
	}
	cfg, err := config(c)
	if err != nil {
		return err
	}
	limit := c.Int("limit")
	if limit < 0 {
		return cmdline.Usagef("--limit %d: give 0 or more", limit)
	}
	var order func(a, b *report.Row) int
	if key := c.String("sort"); key != "" {
		name, descending := strings.CutPrefix(key, "-")
		var ok bool
		if order, ok = report.RowOrder(name, descending); !ok {
			return cmdline.Usagef("--sort %q: give one of %s", key, strings.Join(report.SortKeys(), ", "))
		}
	}
	path, err := oneFile(c)
	if err != nil {
		return err
	}
	return use(c, path, func(r export.Reader) error {
		err := write(c, func(out io.Writer) error {
			w := map[string]func(io.Writer) report.RowWriter{
				"table": func(out io.Writer) report.RowWriter { return report.RowsTable(out, consoleWidth(c)) },
				"csv":   report.RowsCSV, "jsonl": report.RowsJSON,
			}[format](out)
			l := lister{r: r, cfg: cfg, limit: limit, order: order, w: w}
			err := l.list(c.Context)
			if l.refused > 0 {
				warnf(c, "%s: the tokenizer could not count the output of %s, so output_tokens is n/a there: %v; check the tokenizer file", path, plural.GroupedOf(l.refused, "request"), l.refusal)
			}
			return errors.Join(err, w.Flush())
		})
		warnings(c, r)
		return errors.Join(err, r.Err(), leftOut(path, r, "not in the list"))
	})
}

// A lister writes the requests of r as rows.
type lister struct {
	r     export.Reader
	cfg   analyze.Config
	limit int // 0: none
	// order sorts the rows; nil leaves them in the order of the file, and no row is
	// kept.
	order func(a, b *report.Row) int
	w     report.RowWriter

	queue   rowQueue
	rows    []report.Row // to be sorted
	written int
	refused int   // requests whose output the tokenizer could not count
	refusal error // of the first of them
}

// list writes the rows as they come, or all at the end if they are sorted.
func (l *lister) list(ctx context.Context) error {
	m := answer.NewMeter(l.r.Run(), l.cfg.PerRequest())
	q := &l.queue
	q.streamed = map[int]bool{}
	looked := false
	for n := uint64(0); !l.full() && l.r.Next(); n++ {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		request := l.r.Request()
		d := m.Measure(request)
		if d.NotCounted != nil {
			if l.refused++; l.refused == 1 {
				l.refusal = d.NotCounted
			}
		}
		level := l.r.Experiment()
		q.add(level, d, func() report.Row {
			return report.NewRow(level, &l.r.Run().Experiments[level], n, request, d)
		})
		if len(q.rows) > maxUndecided && !looked && l.order == nil {
			looked = true
			q.decide(l.streamedLevels(ctx))
		}
		if err := q.drain(level, l.take); err != nil {
			return err
		}
	}
	if err := q.drain(len(l.r.Run().Experiments), l.take); err != nil {
		return err
	}
	slices.SortStableFunc(l.rows, func(a, b report.Row) int { return l.order(&a, &b) })
	if l.limit > 0 && len(l.rows) > l.limit {
		l.rows = l.rows[:l.limit]
	}
	for i := range l.rows {
		if err := l.w.Write(&l.rows[i]); err != nil {
			return err
		}
	}
	return nil
}

// maxUndecided is the number of rows that are kept until it is known whether their
// level was streamed. Beyond it, a second pass over the file finds that out.
const maxUndecided = 1000

// streamedLevels returns which levels have a request that shows that they were
// streamed, and nil if the file cannot be read to its end.
func (l *lister) streamedLevels(ctx context.Context) map[int]bool {
	r, ok, err := export.Reopen(ctx, l.r)
	if !ok || err != nil {
		return nil
	}
	defer func() { _ = r.Close() }() // nothing is written to it
	cfg := l.cfg
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

// full reports whether no other row will be written.
func (l *lister) full() bool { return l.order == nil && l.limit > 0 && l.written >= l.limit }

// take writes a decided row, or keeps it to be sorted.
func (l *lister) take(row *report.Row) error {
	if l.order != nil {
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
	row   report.Row
	// ifStreamed is the row if the level was streamed; nil if row is decided.
	ifStreamed *report.Row
}

// decide tells the queue all levels that were streamed; nil if they are not known.
func (q *rowQueue) decide(streamed map[int]bool) {
	if streamed != nil {
		q.streamed, q.decided = streamed, true
	}
}

func (q *rowQueue) add(level int, d *answer.Measured, row func() report.Row) {
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
func (q *rowQueue) drain(reading int, take func(*report.Row) error) error {
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
