package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/sql"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/shards"
)

// sqlCommand returns the command sql.
func sqlCommand() *cli.Command {
	a := newAnalysis()
	return &cli.Command{
		Name: "sql", Usage: "queries that compute the report's figures", ArgsUsage: "[METRIC…]",
		Description: `Prints views over Parquet files (pa-record --profile-export-file run.parquet, or
convert) and a statement for each METRIC, all by default:
  ` + metricList(sql.Names()) + `
By name only, with the parameters of report --metrics quality:
  ` + metricList(sql.QualityNames()) + `
By name only, the times and the speculation that servers state in answers:
  ` + metricList(sql.PhaseNames()) + `
Counts and percentiles are the report's, means and rates to 12 digits. Trino has
no exact percentile; a comment says so.

--windows gives each METRIC a row for each window of report --windows. A request
belongs to the window in which it starts. No column has the bounds of windows, so
pa-analyze reads the files, or their copy on this machine, --windows-of. Without
--windows, it reads no file. Rates (throughput) have no query for windows.`,
		Flags: slices.Concat([]cli.Flag{
			&cli.StringFlag{Name: "engine", Usage: "print for `ENGINE`: " + strings.Join(sql.EngineNames(), ", "), Value: "duckdb", Category: catOutput},
			readsGlob(&cli.StringFlag{Name: "files", Usage: "`FILES` to query: a path, a glob, or a URL of an object store (s3://, gs://)", Value: "run.parquet", Category: catInput}),
			windowsFlag(&a.Windows, "give each metric a row for each window of `LENGTH`: 10s, or recorded for the windows of pa-record"),
			readsGlob(&cli.StringFlag{Name: "windows-of", Usage: "with --windows: read the bounds of the windows from `FILES`: a path, or a glob for shards (default: the files of --files)", Category: catSelection}),
		}, a.qualityFlags(), inputFlags()),
		Action: action(metricNames, func(c *call, metrics []string) error {
			return c.printSQL(sql.Query{Files: c.String("files"), Metrics: metrics, Quality: a.quality}, a.Windows)
		}),
	}
}

// readsGlob marks a flag whose value is a path or a glob.
func readsGlob(f cli.Flag) cli.Flag {
	return cmdline.Reads(f, func(value string) []string {
		paths, _ := expand(value)
		return paths
	})
}

// metricNames returns the arguments, which are no files.
func metricNames(c *call) ([]string, error) {
	return c.Args().Slice(), refuse(c.IsSet("windows-of") && !c.IsSet("windows"), "--windows-of needs --windows LENGTH")
}

// printSQL prints the queries. It reads files only for windows, after it has found mistakes.
func (c *call) printSQL(q sql.Query, windows analyze.Windows) error {
	script, err := sql.Script(c.String("engine"), q)
	if err == nil && windows != (analyze.Windows{}) {
		if q.Windows, err = c.sqlWindows(windows); err != nil {
			return err
		}
		script, err = sql.Script(c.String("engine"), q)
	}
	if err != nil {
		return cmdline.Usagef("%v", err)
	}
	_, err = io.WriteString(c.App.Writer, script)
	return err
}

// sqlWindows returns the bounds of windows in the files of --windows-of or --files.
func (c *call) sqlWindows(windows analyze.Windows) (all []analyze.LevelWindows, err error) {
	name := c.String("windows-of")
	if name == "" {
		if name = c.String("files"); strings.Contains(name, "://") {
			return nil, cmdline.Usagef("--windows reads the bounds of the windows from files of this machine: give a copy of %s as --windows-of FILES", name)
		}
	}
	files, err := c.filesOf([]string{name})
	if err != nil {
		return nil, err
	}
	err = c.useOne(files, func(run recording, r export.Reader) error {
		all, err = windows.Bounds(c.Context, r)
		if err == nil {
			err = sameClock(r)
		}
		if err == nil && len(all) == 0 {
			err = errors.New("no level has windows: no request counts or failed")
		}
		return named(run.name, err)
	})
	return all, err
}

// sameClock returns an error if r shifts the times of a shard, because the columns of the shard hold its times unshifted.
func sameClock(r export.Reader) error {
	merged := r.Run().Meta
	if _, several := r.(*shards.Reader); !several || merged == nil || merged.Merged == nil {
		return nil
	}
	for _, s := range merged.Merged.Shards {
		if s.OffsetNS != 0 {
			return fmt.Errorf("the clock of rank %d differs from the clock of rank 0 by %s, and the columns hold uncorrected times; correct them with pa-analyze merge, and query the merged file", s.Rank, plural.Time(time.Duration(s.OffsetNS)))
		}
	}
	return nil
}

// metricList lists the metrics in lines of the help.
func metricList(names []string) string {
	var b strings.Builder
	width := 0
	for i, name := range names {
		separator := ", "
		if width += len(name) + 2; width > 76 {
			separator = ",\n  "
			width = len(name) + 2
		}
		if i > 0 {
			b.WriteString(separator)
		}
		b.WriteString(name)
	}
	return b.String()
}
