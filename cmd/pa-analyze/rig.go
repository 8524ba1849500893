package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/diff"
	"github.com/pa-tools/pa/pkg/analyze/rig"
)

// rigCommand returns the command rig.
func rigCommand() *cli.Command {
	const category = "Rig"
	a := newAnalysis()
	var o rig.Options
	flags := slices.Concat([]cli.Flag{formatFlag("text", "markdown", "csv", "json")}, outputFlags(), []cli.Flag{
		widthFlag(), experimentFlag(),
		parsed(&o.RunsASide, parseRunsASide, &cli.StringFlag{Name: "runs", Usage: "show the smallest change that `N` runs a side find, for each N of a list", Value: "3,5,10", Category: category}),
		parsed(&o.Effect, parseChange, &cli.StringFlag{Name: "effect", Usage: "show the number of runs a side that find a change of `PERCENT`, such as 2%", Category: category}),
		ignoreFlag(ignoreOfSet),
	})
	return &cli.Command{
		Name: "rig", Usage: "how much runs of one setting differ by chance", ArgsUsage: "RUNS…",
		Description: `Reads at least 3 runs of one setting (files, globs, or lists with commas), and
prints for each load level and metric: the mean, how much runs deviate by
chance, whether they drift in the order of time, the smallest change that 3, 5
and 10 runs a side find 80 % of the time, and whether taking turns would help.
The runs must be comparable, like the runs of one side of diff.
Exit codes: 0 ok, 1 not comparable or not readable, 2 wrong usage.`,
		Flags:  append(flags, a.comparedFlags()...),
		Action: analyzed(a, listedFiles, func(c *call, files fileNames, cfg analyze.Config) error { return c.rig(files, cfg, o) }),
	}
}

// rig prints how much runs of one setting differ by chance.
func (c *call) rig(files fileNames, cfg analyze.Config, o rig.Options) error {
	runs, readErr := c.readSetting(files, rig.MinRuns, c.comparedRun(cfg))
	if runs == nil {
		return readErr
	}
	res := rig.Analyze(diff.OneServer(runs, c.StringSlice("ignore")), o)
	err := c.write(res.Formats().In(c.String("format"), c.width()))
	c.warnAll(res.Set.Warnings)
	return errors.Join(readErr, err, cmp.Or(res.Set.Incomparable(), res.Unmeasured()))
}

// parseRunsASide parses a list such as 3,5,10.
func parseRunsASide(text string) (all []int, err error) {
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < rig.MinRuns || n > rig.MaxRunsASide {
			return nil, fmt.Errorf("%q: give numbers of runs a side from %d to %d, such as 3,5,10", text, rig.MinRuns, rig.MaxRunsASide)
		}
		if !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	return all, nil
}
