package main

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/perfanalyzer"
)

// avgFirstToken returns the command avg-first-token.
func avgFirstToken() *cli.Command {
	return &cli.Command{
		Name: "avg-first-token", Usage: "perf_analyzer's average first-token latency", ArgsUsage: "[FILE]",
		Description: `Prints the line of calculate_avg_first_token_latency.py, digit for digit: the
mean of first response - timestamp over the requests of the first experiment.
Responses without a token count too: see report for better figures. FILE is
profile_export.json by default.`,
		Flags:  inputFlags(),
		Action: average(perfanalyzer.AverageFirstToken),
	}
}

// avgTokenToToken returns the command avg-token-to-token.
func avgTokenToToken() *cli.Command {
	return &cli.Command{
		Name: "avg-token-to-token", Usage: "perf_analyzer's average token-to-token latency", ArgsUsage: "[FILE]",
		Description: `Prints the line of calculate_avg_token_to_token_latency.py, digit for digit: the
mean of all gaps between responses, pooled over the requests of the first
experiment. Responses without a token count too: see report for better figures.
FILE is profile_export.json by default.`,
		Flags:  inputFlags(),
		Action: average(perfanalyzer.AverageTokenToToken),
	}
}

// average returns the action of a command that prints one line about a run: of returns the line.
func average(of func(export.Reader) (string, error)) cli.ActionFunc {
	return action(oneRunFiles, func(c *call, files fileNames) error {
		return c.useOne(files, func(run recording, r export.Reader) error {
			line, err := of(r)
			if unread := r.Err(); errors.Is(unread, export.ErrContradiction) {
				return unread
			}
			if line != "" {
				c.warnings(r)
				if _, err := fmt.Fprintln(c.App.Writer, line); err != nil {
					return err
				}
			}
			// The reader's error comes before the script's: it is the cause.
			if err := r.Err(); err != nil {
				return err
			}
			return named(run.name, err)
		})
	})
}
