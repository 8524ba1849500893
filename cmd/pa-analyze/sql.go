package main

import (
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/analyze/sql"
)

func sqlCommand() *cli.Command {
	return &cli.Command{
		Name: "sql", Usage: "queries that compute the report's figures", ArgsUsage: "[METRIC…]",
		Description: `Prints views over Parquet files (pa-record --profile-export-file run.parquet, or
convert) and a statement for each METRIC, all by default:
  ` + metricList() + `
Counts and percentiles are the report's, means and rates to 12 digits. Trino has
no exact percentile; a comment says so. No file is read.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "engine", Usage: "print for `ENGINE`: " + strings.Join(sql.EngineNames(), ", "), Value: "duckdb", Category: "Output"},
			&cli.StringFlag{Name: "files", Usage: "`FILES` to query: a path, a glob, or a URL of an object store (s3://, gs://)", Value: "run.parquet", Category: "Input"},
		},
		Action: func(c *cli.Context) error {
			script, err := sql.Script(c.String("engine"), c.String("files"), c.Args().Slice())
			if err != nil {
				return cmdline.Usagef("%v", err)
			}
			_, err = io.WriteString(c.App.Writer, script)
			return err
		},
	}
}

// metricList lists the metrics in lines of the help.
func metricList() string {
	var b strings.Builder
	width := 0
	for i, name := range sql.Names() {
		if i > 0 {
			b.WriteString(", ")
		}
		if width += len(name) + 2; width > 76 {
			b.WriteString("\n  ")
			width = len(name) + 2
		}
		b.WriteString(name)
	}
	return b.String()
}
