package files

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/cmd/pa-analyze/internal/settings"
	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/sql"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/shards"
)

// SQL returns the command sql.
func SQL() *cli.Command {
	return &cli.Command{
		Name: "sql", Usage: "queries that compute the report's figures", ArgsUsage: "[METRIC…]",
		Description: `Prints views over Parquet files (pa-record --profile-export-file run.parquet, or
convert) and a statement for each METRIC, all by default:
  ` + metricList(sql.Names()) + `
By name only, with the parameters of report --metrics quality:
  ` + metricList(sql.QualityNames()) + `
By name only, the times that answers of llama.cpp state:
  ` + metricList(sql.PhaseNames()) + `
Counts and percentiles are the report's, means and rates to 12 digits. Trino has
no exact percentile; a comment says so.

--windows gives each METRIC a row for each window of report --windows. A request
belongs to the window in which it starts. No column has the bounds of windows, so
pa-analyze reads the files, or their copy on this machine, --windows-of. Without
--windows, it reads no file. Rates (throughput) have no query for windows.`,
		Flags: slices.Concat([]cli.Flag{
			&cli.StringFlag{Name: "engine", Usage: "print for `ENGINE`: " + strings.Join(sql.EngineNames(), ", "), Value: "duckdb", Category: "Output"},
			settings.ReadsGlob(&cli.StringFlag{Name: "files", Usage: "`FILES` to query: a path, a glob, or a URL of an object store (s3://, gs://)", Value: "run.parquet", Category: "Input"}),
			&cli.StringFlag{Name: "windows", Usage: "give each metric a row for each window of `LENGTH`: 10s, or recorded for the windows of pa-record", Category: "Selection"},
			settings.ReadsGlob(&cli.StringFlag{Name: "windows-of", Usage: "with --windows: read the bounds of the windows from `FILES`: a path, or a glob for shards (default: the files of --files)", Category: "Selection"}),
		}, settings.QualityParameterFlags(), settings.InputFlags()),
		Action: func(c *cli.Context) error {
			quality, err := settings.QualityParameters(c)
			if err != nil {
				return err
			}
			if c.IsSet("windows-of") && !c.IsSet("windows") {
				return cmdline.Usagef("--windows-of needs --windows LENGTH")
			}
			q := sql.Query{Files: c.String("files"), Metrics: c.Args().Slice(), Quality: quality}
			script, err := sql.Script(c.String("engine"), q)
			if err == nil && c.IsSet("windows") { // mistakes are found before files are read
				if q.Windows, err = sqlWindows(c); err != nil {
					return err
				}
				script, err = sql.Script(c.String("engine"), q)
			}
			if err != nil {
				return cmdline.Usagef("%v", err)
			}
			_, err = io.WriteString(c.App.Writer, script)
			return err
		},
	}
}

// sqlWindows returns the windows that --windows asks for.
func sqlWindows(c *cli.Context) (all []analyze.LevelWindows, err error) {
	w, err := settings.Windows(c)
	if err != nil {
		return nil, err
	}
	files := c.String("windows-of")
	if files == "" {
		if files = c.String("files"); strings.Contains(files, "://") {
			return nil, cmdline.Usagef("--windows reads the bounds of the windows from files of this machine: give a copy of %s as --windows-of FILES", files)
		}
	}
	ahead := settings.OpenFiles{}
	defer func() { err = errors.Join(err, ahead.Close()) }()
	run, err := ahead.OneOf(c, []string{files})
	if err != nil {
		return nil, err
	}
	err = ahead.Use(c, run, func(r export.Reader) error {
		all, err = w.Bounds(c.Context, r)
		if err == nil {
			err = sameClock(r)
		}
		if err == nil && len(all) == 0 {
			err = errors.New("no level has windows: no request counts or failed")
		}
		return settings.Named(run.Name, err)
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
			return fmt.Errorf("the clock of rank %d differs from the clock of rank 0 by %v, and the columns hold uncorrected times; correct them with pa-analyze merge, and query the merged file", s.Rank, time.Duration(s.OffsetNS))
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
