package main

import (
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/export"
)

// requestsCommand returns the command requests.
func requestsCommand() *cli.Command {
	a := newAnalysis()
	otel := false
	var l report.List
	flags := []cli.Flag{
		formatFlag("table", "csv", "jsonl"),
		&cli.IntFlag{Name: "limit", Aliases: []string{"n"}, Usage: "print at most `N` requests; 0 is no limit", Category: catOutput, Destination: &l.Limit, Action: atLeast(0, "--limit %d: give 0 or more")},
		&cli.StringFlag{Name: "sort", Usage: "sort by `COLUMN`, with - in front from large to small: " + strings.Join(report.SortKeys(report.Groups{}), ", ") + "; with --metrics also the columns of its groups", Category: catOutput},
	}
	checkSort := func(c *call) (err error) {
		l.Order, err = rowOrder(c.String("sort"), a.groups)
		return err
	}
	return &cli.Command{
		Name: "requests", Usage: "one line per request", ArgsUsage: "[FILE | SHARD…]",
		Description: `Lists all requests of a run, with the reason if a request does not count. csv
and jsonl hold nanoseconds and more columns than the table. --metrics adds
columns: how smoothly the tokens of each request came, rates of its user, input
tokens that the server had cached, times at the server, the session. With
--metrics sessions and --tokenizer the file is read twice, for the tokens that
a prefix cache could have held.`,
		Flags: slices.Concat(flags, outputFlags(), []cli.Flag{namesFlag("jsonl", &otel), widthFlag()}, a.measureOwnFlags(), []cli.Flag{a.metricsFlag()}, a.sessionFlags(), a.qualityFlags(), inputFlags()),
		Action: analyzed(a, oneRunFiles, func(c *call, files fileNames, cfg analyze.Config) error {
			l.Config = cfg
			const without = "--metrics %s has no effect: it has no columns for a request; pa-analyze report shows its figures"
			if a.groups.Images {
				c.notef(without, "images")
			}
			if a.groups.Realtime {
				c.notef(without, "realtime")
			}
			return c.listRequests(files, &l, a.groups, otel)
		}, checkSort),
	}
}

// rowOrder returns the order of --sort; nil for none.
func rowOrder(key string, groups report.Groups) (func(a, b *report.Row) int, error) {
	if key == "" {
		return nil, nil
	}
	name, descending := strings.CutPrefix(key, "-")
	order, ok := report.RowOrder(name, descending, groups)
	return order, refuse(!ok, "--sort %q: give one of %s", key, strings.Join(report.SortKeys(groups), ", "))
}

// listRequests writes a row for each request of the run in files, in the order of l. otel asks for the names of
// OpenTelemetry.
func (c *call) listRequests(files fileNames, l *report.List, groups report.Groups, otel bool) error {
	run, err := c.run(files)
	if err != nil {
		return err
	}
	if cfg := &l.Config; cfg.Sessions != nil && cfg.Sessions.Encode != nil {
		if slices.Contains(run.paths, "-") {
			return cmdline.Usagef("--metrics sessions with --tokenizer reads the file twice, and standard input can be read only once; give a file")
		}
		_ = c.use(run, func(r export.Reader) (err error) { // the second reading names what is wrong with the file
			l.Hits, err = analyze.PossibleHits(c.Context, r, *cfg)
			return err
		})
	}
	return c.use(run, func(r export.Reader) error {
		err := c.writeRequests(func(out io.Writer) error {
			w := c.rowWriter(out, groups, otel)
			err := l.Write(c.Context, r, w)
			if errors.Is(err, export.ErrContradiction) {
				return err
			}
			if l.NotCounted > 0 {
				c.warnf("%s: the tokenizer could not count the output of %s, so output_tokens is n/a there: %v; check the tokenizer file", run.name, plural.GroupedOf(l.NotCounted, "request"), l.Refusal)
			}
			return errors.Join(err, w.Flush())
		})
		c.warnings(r)
		return errors.Join(err, r.Err(), leftOut(run.name, r, "not in the list"))
	})
}

// rowWriter returns what writes requests to out as --format asks.
func (c *call) rowWriter(out io.Writer, groups report.Groups, otel bool) report.RowWriter {
	switch {
	case c.String("format") == "table":
		return report.RowsTable(out, c.width(), groups)
	case c.String("format") == "csv":
		return report.RowsCSV(out, groups)
	case otel:
		return report.OTelRowsJSON(out, groups)
	}
	return report.RowsJSON(out, groups)
}
