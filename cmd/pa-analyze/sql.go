package main

import (
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/cmd/pa-analyze/internal/settings"
	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/analyze/sql"
)

func sqlCommand() *cli.Command {
	return &cli.Command{
		Name: "sql", Usage: "queries that compute the report's figures", ArgsUsage: "[METRIC…]",
		Description: `Prints views over Parquet files (pa-record --profile-export-file run.parquet, or
convert) and a statement for each METRIC, all by default:
  ` + metricList(sql.Names()) + `
By name only, with the parameters of report --metrics quality:
  ` + metricList(sql.QualityNames()) + `
Counts and percentiles are the report's, means and rates to 12 digits. Trino has
no exact percentile; a comment says so. No file is read.`,
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "engine", Usage: "print for `ENGINE`: " + strings.Join(sql.EngineNames(), ", "), Value: "duckdb", Category: "Output"},
			&cli.StringFlag{Name: "files", Usage: "`FILES` to query: a path, a glob, or a URL of an object store (s3://, gs://)", Value: "run.parquet", Category: "Input"},
		}, settings.QualityParameterFlags()...),
		Action: func(c *cli.Context) error {
			quality, err := settings.QualityParameters(c)
			if err != nil {
				return err
			}
			script, err := sql.Script(c.String("engine"), c.String("files"), c.Args().Slice(), quality)
			if err != nil {
				return cmdline.Usagef("%v", err)
			}
			_, err = io.WriteString(c.App.Writer, script)
			return err
		},
	}
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
