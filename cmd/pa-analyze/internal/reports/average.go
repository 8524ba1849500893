package reports

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/cmd/pa-analyze/internal/settings"
	"github.com/pa-tools/pa/pkg/analyze/exampleavg"
	"github.com/pa-tools/pa/pkg/export"
)

// AvgFirstToken returns the command avg-first-token.
func AvgFirstToken() *cli.Command {
	return &cli.Command{
		Name: "avg-first-token", Usage: "perf_analyzer's average first-token latency", ArgsUsage: "[FILE]",
		Description: `Prints the line of calculate_avg_first_token_latency.py, digit for digit: the
mean of first response - timestamp over the requests of the first experiment.
Responses without a token count too: see report for better figures. FILE is
profile_export.json by default.`,
		Flags:  settings.InputFlags(),
		Action: settings.Distinct(settings.ReadsRuns, average(exampleavg.FirstToken)),
	}
}

// AvgTokenToToken returns the command avg-token-to-token.
func AvgTokenToToken() *cli.Command {
	return &cli.Command{
		Name: "avg-token-to-token", Usage: "perf_analyzer's average token-to-token latency", ArgsUsage: "[FILE]",
		Description: `Prints the line of calculate_avg_token_to_token_latency.py, digit for digit: the
mean of all gaps between responses, pooled over the requests of the first
experiment. Responses without a token count too: see report for better figures.
FILE is profile_export.json by default.`,
		Flags:  settings.InputFlags(),
		Action: settings.Distinct(settings.ReadsRuns, average(exampleavg.TokenToToken)),
	}
}

func average(f func(export.Reader) (string, error)) cli.ActionFunc {
	return func(c *cli.Context) (err error) {
		ahead := settings.OpenFiles{}
		defer func() { err = errors.Join(err, ahead.Close()) }()
		run, err := ahead.OneRun(c)
		if err != nil {
			return err
		}
		return ahead.Use(c, run, func(r export.Reader) error {
			line, err := f(r)
			if unread := r.Err(); errors.Is(unread, export.ErrContradiction) {
				return unread
			}
			if line != "" {
				settings.Warnings(c, r)
				if _, err := fmt.Fprintln(c.App.Writer, line); err != nil {
					return err
				}
			}
			// The reader's error comes before the script's: it is the cause.
			if err := r.Err(); err != nil {
				return err
			}
			return settings.Named(run.Name, err)
		})
	}
}
