package comparisons

import (
	"errors"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/cmd/pa-analyze/internal/reading"
	"github.com/pa-tools/pa/cmd/pa-analyze/internal/settings"
	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/analyze/diff"
	"github.com/pa-tools/pa/pkg/analyze/plan"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/export"
)

// Plan returns the command plan.
func Plan() *cli.Command {
	flags := []cli.Flag{settings.FormatFlag("text", "text, markdown or json")}
	flags = append(append(flags, settings.OutputFlags()...), settings.WidthFlag(), settings.ExperimentFlag(),
		&cli.StringFlag{Name: "change", Usage: "plan to find, or to exclude, a change of `PERCENT`", Value: "5%", Category: "Plan"},
		&cli.StringFlag{Name: "power", Usage: "how often the comparison should find it, as a `PERCENT` of all comparisons, from 50% to 99%", Value: "80%", Category: "Plan"},
		settings.IgnoreFlag(),
	)
	return &cli.Command{
		Name: "plan", Usage: "how many runs a comparison on this machine needs", ArgsUsage: "RUNS…",
		Description: `Reads runs of one setting (files, globs, or lists with commas), and prints how many
runs a side, of how many requests and minutes, find a change of 5 %, and how many
show that there is none. Prints the pa-record command that records them. Three
or more runs show how much runs differ by chance; five to ten are better. One or
two runs show only how many requests would be enough if runs did not differ.
Exit codes: 0 ok, 1 not comparable or not readable, 2 wrong usage.`,
		Flags:  slices.Concat(flags, settings.MeasureFlags(), []cli.Flag{settings.StreamingFlag(), settings.TokenizerFlag()}, settings.SelectionFlags(), settings.InputFlags(), []cli.Flag{settings.MemoryFlag()}),
		Action: settings.Distinct(settings.ReadsLists, planAction),
	}
}

func planAction(c *cli.Context) (err error) {
	format, err := settings.CheckFormat(c, "text", "markdown", "json")
	if err != nil {
		return err
	}
	cfg, err := settings.ComparisonConfig(c)
	if err != nil {
		return err
	}
	o, err := planOptions(c)
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
	if err := settings.CheckOutput(c); err != nil {
		return err
	}
	cfg.Series = true
	var within plan.Within
	read := reading.Figures(c, cfg)
	runs, readErr := reading.Side(c, ahead, inputs, func(path string, r export.Reader) (*diff.Run, error) {
		run, err := read(path, r)
		if err == nil {
			within.Add(run)
		}
		return run, errors.Join(err, run.Close()) // only the figures are used further on
	})
	if readErr != nil && len(runs) < len(inputs) {
		return readErr
	}
	res := plan.Make(diff.OneServer(runs, c.StringSlice("ignore")), &within, o)
	err = settings.Write(c, map[string]func(*plan.Result) report.Renderer{
		"text":     func(r *plan.Result) report.Renderer { return plan.Text(r, settings.ConsoleWidth(c)) },
		"markdown": plan.Markdown, "json": plan.JSON,
	}[format](res))
	settings.WarnAll(c, res.Set.Warnings)
	return errors.Join(readErr, err, res.Set.Incomparable())
}

// planOptions reads --change and --power.
func planOptions(c *cli.Context) (o plan.Options, err error) {
	if o.Change, err = percentFlag(c, "change"); err != nil || o.Change == 0 {
		return o, cmdline.Usagef("--change %q: give a change above 0%% and at most 1000%%, such as 2%%", c.String("change"))
	}
	if o.Power, err = percentFlag(c, "power"); err != nil || o.Power < plan.MinPower || o.Power > plan.MaxPower {
		return o, cmdline.Usagef("--power %q: give a percentage from %.0f%% to %.0f%%, such as 90%%", c.String("power"), 100*plan.MinPower, 100*plan.MaxPower)
	}
	return o, nil
}
