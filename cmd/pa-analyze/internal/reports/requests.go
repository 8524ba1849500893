package reports

import (
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/cmd/pa-analyze/internal/settings"
	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/export"
)

// Requests returns the command requests.
func Requests() *cli.Command {
	flags := []cli.Flag{
		settings.FormatFlag("table", "table, csv or jsonl"),
		&cli.IntFlag{Name: "limit", Aliases: []string{"n"}, Usage: "print at most `N` requests; 0 is no limit", Category: "Output"},
		&cli.StringFlag{Name: "sort", Usage: "sort by `COLUMN`, with - in front from large to small: " + strings.Join(report.SortKeys(report.Groups{}), ", ") + "; with --metrics also the columns of its groups", Category: "Output"},
	}
	flags = slices.Concat(flags, settings.OutputFlags(), []cli.Flag{settings.NamesFlag("jsonl"), settings.WidthFlag()}, settings.MeasureFlags(), []cli.Flag{settings.StreamingFlag(), settings.TokenizerFlag(), settings.MetricsFlag()}, settings.QualityParameterFlags())
	return &cli.Command{
		Name: "requests", Usage: "one line per request", ArgsUsage: "[FILE | SHARD…]",
		Description: `Lists all requests of a run, with the reason if a request does not count. csv
and jsonl hold nanoseconds and more columns than the table. --metrics adds
columns: how smoothly the tokens of each request came, rates of its user, input
tokens that the server had cached, times at the server.`,
		Flags:  append(flags, settings.InputFlags()...),
		Action: settings.Distinct(settings.ReadsRuns, requests),
	}
}

func requests(c *cli.Context) (err error) {
	format, err := settings.CheckFormat(c, "table", "csv", "jsonl")
	if err != nil {
		return err
	}
	cfg, err := settings.Config(c)
	if err != nil {
		return err
	}
	if err := settings.Quality(c, &cfg); err != nil {
		return err
	}
	groups, err := settings.RowGroups(c)
	if err != nil {
		return err
	}
	otel, err := settings.OTelNames(c, format, "jsonl")
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
		if order, ok = report.RowOrder(name, descending, groups); !ok {
			return cmdline.Usagef("--sort %q: give one of %s", key, strings.Join(report.SortKeys(groups), ", "))
		}
	}
	ahead := settings.OpenFiles{}
	defer func() { err = errors.Join(err, ahead.Close()) }()
	run, err := ahead.OneRun(c)
	if err != nil {
		return err
	}
	path := run.Name
	return ahead.Use(c, run, func(r export.Reader) error {
		err := settings.WriteRequests(c, func(out io.Writer) error {
			w := map[string]func(io.Writer) report.RowWriter{
				"table": func(out io.Writer) report.RowWriter {
					return report.RowsTable(out, settings.ConsoleWidth(c), groups)
				},
				"csv": func(out io.Writer) report.RowWriter { return report.RowsCSV(out, groups) },
				"jsonl": func(out io.Writer) report.RowWriter {
					if otel {
						return report.OTelRowsJSON(out, groups)
					}
					return report.RowsJSON(out, groups)
				},
			}[format](out)
			l := report.List{Config: cfg, Limit: limit, Order: order}
			err := l.Write(c.Context, r, w)
			if errors.Is(err, export.ErrContradiction) {
				return err
			}
			if l.NotCounted > 0 {
				settings.Warnf(c, "%s: the tokenizer could not count the output of %s, so output_tokens is n/a there: %v; check the tokenizer file", path, plural.GroupedOf(l.NotCounted, "request"), l.Refusal)
			}
			return errors.Join(err, w.Flush())
		})
		settings.Warnings(c, r)
		return errors.Join(err, r.Err(), settings.LeftOut(path, r, "not in the list"))
	})
}
