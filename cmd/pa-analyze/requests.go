package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/export"
)

func requestsCommand() *cli.Command {
	flags := []cli.Flag{
		&cli.StringFlag{Name: "format", Aliases: []string{"f"}, Usage: "print as `FORMAT`: table, csv or jsonl", Value: "table", Category: "Output"},
		&cli.IntFlag{Name: "limit", Aliases: []string{"n"}, Usage: "print at most `N` requests; 0 is no limit", Category: "Output"},
		&cli.StringFlag{Name: "sort", Usage: "sort by `COLUMN`, with - in front from large to small: " + strings.Join(report.SortKeys(), ", "), Category: "Output"},
	}
	flags = append(append(flags, outputFlags()...), append(measureFlags(), tokenizerFlag())...)
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
				"table": report.RowsTable, "csv": report.RowsCSV, "jsonl": report.RowsJSON,
			}[format](out)
			return errors.Join(listRequests(c.Context, r, cfg, limit, order, w), w.Flush())
		})
		warnings(c, r)
		return errors.Join(err, r.Err(), leftOut(path, r, "not in the list"))
	})
}

// listRequests writes the rows of r: as they come, or all at the end when they
// are to be sorted.
func listRequests(ctx context.Context, r export.Reader, cfg analyze.Config, limit int, order func(a, b *report.Row) int, w report.RowWriter) error {
	m := analyze.NewMeter(r.Run(), cfg)
	var rows []report.Row
	for n := uint64(0); r.Next() && (order != nil || limit == 0 || n < uint64(limit)); n++ {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		q := r.Request()
		d, err := m.Measure(q)
		if err != nil {
			return err
		}
		row := report.NewRow(r.Experiment(), &r.Run().Experiments[r.Experiment()], n, q, d)
		if order != nil {
			rows = append(rows, row)
		} else if err := w.Write(&row); err != nil {
			return err
		}
	}
	if order == nil {
		return nil
	}
	slices.SortStableFunc(rows, func(a, b report.Row) int { return order(&a, &b) })
	if limit > 0 && len(rows) > limit {
		rows = rows[:limit]
	}
	for i := range rows {
		if err := w.Write(&rows[i]); err != nil {
			return err
		}
	}
	return nil
}
