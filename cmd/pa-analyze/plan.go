package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/diff"
	"github.com/pa-tools/pa/pkg/analyze/rig"
	"github.com/pa-tools/pa/pkg/export"
)

// planCommand returns the command plan.
func planCommand() *cli.Command {
	const category = "Plan"
	a := newAnalysis()
	a.Series = true
	var o rig.PlanOptions
	flags := slices.Concat([]cli.Flag{formatFlag("text", "markdown", "json")}, outputFlags(), []cli.Flag{
		widthFlag(), experimentFlag(),
		parsed(&o.Change, parseChange, &cli.StringFlag{Name: "change", Usage: "plan to find a change of `PERCENT`, and to show that there is none", Value: "5%", Category: category}),
		parsed(&o.Power, parsePower, &cli.StringFlag{Name: "power", Usage: "find it in `PERCENT` of all comparisons, from 50% to 99%", Value: "80%", Category: category}),
		ignoreFlag(ignoreOfSet),
	})
	return &cli.Command{
		Name: "plan", Usage: "how many runs a comparison on this machine needs", ArgsUsage: "RUNS…",
		Description: `Reads runs of one setting (files, globs, or lists with commas), and prints how many
runs a side find a change of 5 %, how many show that there is none, and how many
requests and minutes these runs take. Prints the pa-record command that records them. Three
or more runs show how much runs differ by chance; five to ten are better. One or
two runs show only how many requests would be enough if runs did not differ.
Exit codes: 0 ok, 1 not comparable or not readable, 2 wrong usage.`,
		Flags:  append(flags, a.comparedFlags()...),
		Action: analyzed(a, listedFiles, func(c *call, files fileNames, cfg analyze.Config) error { return c.plan(files, cfg, o) }),
	}
}

// plan prints how many runs a side, and how long ones, find a change.
func (c *call) plan(files fileNames, cfg analyze.Config, o rig.PlanOptions) error {
	var within rig.Within
	read := c.comparedRun(cfg)
	runs, readErr := c.readSetting(files, 1, func(path string, r export.Reader) (*diff.Run, error) {
		run, err := read(path, r)
		if err == nil {
			within.Add(run)
		}
		return run, errors.Join(err, run.Close()) // only the figures are used further on
	})
	if runs == nil {
		return readErr
	}
	res := rig.MakePlan(diff.OneServer(runs, c.StringSlice("ignore")), &within, o)
	err := c.write(res.Formats().In(c.String("format"), c.width()))
	c.warnAll(res.Set.Warnings)
	return errors.Join(readErr, err, res.Set.Incomparable())
}

func parsePower(text string) (float64, error) {
	v, err := parsePercent(text)
	if err != nil || v < rig.MinPower || v > rig.MaxPower {
		return 0, fmt.Errorf("%q: give a percentage from %.0f%% to %.0f%%, such as 90%%", text, 100*rig.MinPower, 100*rig.MaxPower)
	}
	return v, nil
}
