package comparisons

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/cmd/pa-analyze/internal/reading"
	"github.com/pa-tools/pa/cmd/pa-analyze/internal/settings"
	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/analyze/diff"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/analyze/rig"
)

// Rig returns the command rig.
func Rig() *cli.Command {
	flags := []cli.Flag{settings.FormatFlag("text", "text, markdown, csv or json")}
	flags = append(append(flags, settings.OutputFlags()...), settings.WidthFlag(), settings.ExperimentFlag(),
		&cli.StringFlag{Name: "runs", Usage: "the smallest change that `N` runs a side find, for each N of a list", Value: "3,5,10", Category: "Rig"},
		&cli.StringFlag{Name: "effect", Usage: "the number of runs a side that find a change of `PERCENT`, such as 2%", Category: "Rig"},
		settings.IgnoreFlag(),
	)
	return &cli.Command{
		Name: "rig", Usage: "how much runs of one setting differ by chance", ArgsUsage: "RUNS…",
		Description: `Reads at least 3 runs of one setting (files, globs, or lists with commas), and
prints for each load level and metric: the mean, how much runs deviate by
chance, whether they drift in the order of time, the smallest change that 3, 5
and 10 runs a side find 80 % of the time, and whether taking turns would help.
The runs must be comparable, like the runs of one side of diff.
Exit codes: 0 ok, 1 not comparable or not readable, 2 wrong usage.`,
		Flags:  slices.Concat(flags, settings.MeasureFlags(), []cli.Flag{settings.StreamingFlag(), settings.TokenizerFlag()}, settings.SelectionFlags(), settings.InputFlags(), []cli.Flag{settings.MemoryFlag()}),
		Action: settings.Distinct(settings.ReadsLists, rigAction),
	}
}

func rigAction(c *cli.Context) (err error) {
	format, err := settings.CheckFormat(c, "text", "markdown", "csv", "json")
	if err != nil {
		return err
	}
	cfg, err := settings.ComparisonConfig(c)
	if err != nil {
		return err
	}
	o, err := rigOptions(c)
	if err != nil {
		return err
	}
	if err := settings.CheckIgnore(c); err != nil {
		return err
	}
	paths, err := settings.RunFiles(c.Args().Slice())
	if err != nil {
		return err
	}
	ahead := settings.OpenFiles{}
	defer func() { err = errors.Join(err, ahead.Close()) }()
	inputs, err := ahead.Inputs(c, "", paths, settings.ByRun)
	if err != nil {
		return err
	}
	if len(inputs) < rig.MinRuns {
		return cmdline.Usagef("%d of %d runs: give at least %d runs of one setting; pa-record --repeat records them", len(inputs), rig.MinRuns, rig.MinRuns)
	}
	if err := settings.CheckOutput(c); err != nil {
		return err
	}
	runs, readErr := reading.Side(c, ahead, inputs, reading.Figures(c, cfg))
	if readErr != nil && len(runs) < len(inputs) {
		return readErr
	}
	res := rig.Analyze(diff.OneServer(runs, c.StringSlice("ignore")), o)
	err = settings.Write(c, map[string]func(*rig.Result) report.Renderer{
		"text":     func(r *rig.Result) report.Renderer { return rig.Text(r, settings.ConsoleWidth(c)) },
		"markdown": rig.Markdown, "csv": rig.CSV, "json": rig.JSON,
	}[format](res))
	settings.WarnAll(c, res.Set.Warnings)
	return errors.Join(readErr, err, cmp.Or(res.Set.Incomparable(), res.Unmeasured()))
}

// rigOptions reads --runs and --effect.
func rigOptions(c *cli.Context) (o rig.Options, err error) {
	for text := range strings.SplitSeq(c.String("runs"), ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < rig.MinRuns || n > rig.MaxRunsASide {
			return o, cmdline.Usagef("--runs %q: give numbers of runs a side from %d to %d, such as 3,5,10", c.String("runs"), rig.MinRuns, rig.MaxRunsASide)
		}
		if !slices.Contains(o.RunsASide, n) {
			o.RunsASide = append(o.RunsASide, n)
		}
	}
	if c.IsSet("effect") {
		if o.Effect, err = percentFlag(c, "effect"); err != nil || o.Effect == 0 {
			return o, cmdline.Usagef("--effect %q: give a change above 0%% and at most 1000%%, such as 2%%", c.String("effect"))
		}
	}
	return o, nil
}

// percentFlag reads a flag such as "2%" as 0.02; the value is from 0 to 10.
func percentFlag(c *cli.Context, name string) (float64, error) {
	number, ok := strings.CutSuffix(c.String(name), "%")
	v, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || !(v >= 0 && v <= 1000) {
		return 0, fmt.Errorf("--%s %q: give a percentage from 0%% to 1000%%, such as 2%%", name, c.String(name))
	}
	return v / 100, nil
}
