package comparisons

import (
	"errors"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/cmd/pa-analyze/internal/reading"
	"github.com/pa-tools/pa/cmd/pa-analyze/internal/settings"
	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/analyze/trend"
	"github.com/pa-tools/pa/pkg/analyze/trend/baseline"
)

// Trend returns the command trend.
func Trend() *cli.Command {
	flags := []cli.Flag{settings.FormatFlag("text", "text, markdown, csv, json or, with --baseline, junit")}
	flags = append(append(flags, settings.OutputFlags()...), settings.WidthFlag(), settings.ExperimentFlag(),
		readsBaseline(&cli.StringFlag{Name: "baseline", Usage: "judge the runs by the accepted runs in `DIR`; exit code 3 if they are worse", Category: "Gates"}),
		&cli.IntFlag{Name: "last", Usage: "judge by the last `K` accepted points", Value: 10, Category: "Gates"},
		&cli.BoolFlag{Name: "accept", Usage: "add the runs to --baseline if they pass, and make it if it has none", Category: "Gates"},
		&cli.BoolFlag{Name: "require-baseline", Usage: "exit code 3 if --baseline has no accepted point", Category: "Gates"},
		&cli.StringFlag{Name: "allow", Usage: "let changes of up to `PERCENT` for the worse pass: 2%", Category: "Gates"},
		settings.IgnoreFlag(),
	)
	return &cli.Command{
		Name: "trend", Usage: "metrics over many runs, and a gate", ArgsUsage: "[LABEL=]RUNS…",
		Description: `Prints each metric over the runs, in the order of time, and the steps where it
changed. The runs of one pa-record --repeat are one point. LABEL=RUNS names a
point, for example after a commit; labeled points keep the order given.
With --baseline DIR the runs are one new point, and the accepted points in DIR
judge its primary metrics: 3 or more points by how much points differ, fewer by
their runs. A metric without a verdict fails, too. --accept adds the runs to DIR
if they pass, with a manifest of their SHA-256.
Exit codes: 0 ok, 1 not comparable or not readable, 2 wrong usage, 3 worse, not
judged, an accepted point whose files were changed, or no baseline where one is
required.`,
		Flags:  slices.Concat(flags, settings.MeasureFlags(), []cli.Flag{settings.StreamingFlag(), settings.TokenizerFlag()}, settings.SelectionFlags(), settings.InputFlags(), []cli.Flag{settings.MemoryFlag()}),
		Action: settings.Distinct(readsPoints, trendAction),
	}
}

// readsPoints adds the runs of all arguments.
func readsPoints(c *cli.Context) { reading.AddLabeled(c, c.Args().Slice()) }

// readsBaseline marks a flag that names a directory of accepted points.
func readsBaseline(f cli.Flag) cli.Flag { return cmdline.Reads(f, baseline.Files) }

func trendAction(c *cli.Context) error {
	format, err := settings.CheckFormat(c, "text", "markdown", "csv", "json", "junit")
	if err != nil {
		return err
	}
	cfg, err := settings.ComparisonConfig(c)
	if err != nil {
		return err
	}
	if err := settings.CheckIgnore(c); err != nil {
		return err
	}
	if c.String("baseline") == "" {
		if format == "junit" {
			return cmdline.Usagef("--format junit is about the gate of --baseline DIR, which is not given")
		}
		for _, name := range []string{"accept", "require-baseline", "last", "allow"} {
			if c.IsSet(name) {
				return cmdline.Usagef("--%s is about --baseline DIR, which is not given", name)
			}
		}
	}
	args, err := reading.LabeledFiles(c.Args().Slice())
	if err != nil {
		return err
	}
	if err := settings.CheckOutput(c); err != nil {
		return err
	}
	if c.String("baseline") != "" {
		return judge(c, cfg, format, args)
	}
	groups, err := reading.Points(c, args, cfg)
	if err != nil {
		return err
	}
	res := trend.Analyze(trend.Points(groups), trend.Options{Ignore: c.StringSlice("ignore")})
	err = settings.Write(c, map[string]func(*trend.Result) report.Renderer{
		"text":     func(r *trend.Result) report.Renderer { return trend.Text(r, settings.ConsoleWidth(c)) },
		"markdown": trend.Markdown, "csv": trend.CSV, "json": trend.JSON,
	}[format](res))
	settings.WarnAll(c, res.Set.Warnings)
	return errors.Join(err, res.Incomparable())
}

// judge judges the runs by the accepted ones.
func judge(c *cli.Context, cfg analyze.Config, format string, args []reading.Labeled) error {
	allow := 0.0
	if c.IsSet("allow") {
		var err error
		if allow, err = percentFlag(c, "allow"); err != nil {
			return cmdline.Usagef("%v", err)
		}
	}
	if c.Int("last") < 1 {
		return cmdline.Usagef("--last %d: give at least 1", c.Int("last"))
	}
	dir := c.String("baseline")
	base, err := baseline.Read(c.Context, dir, c.Int("last"))
	if err != nil {
		return err
	}
	points := base.Points
	lost, unverified := checkBaseline(c, dir, base)
	var files []string
	label := ""
	for _, a := range args {
		if a.Label != "" && label != "" && a.Label != label {
			return cmdline.Usagef("%s= and %s=: with --baseline all runs are one new point", label, a.Label)
		}
		label = a.Label
		files = append(files, a.Files...)
	}
	var all []reading.Labeled
	for _, p := range points {
		all = append(all, reading.Labeled{Label: p.Name, Files: p.Files})
	}
	cfg.Verify = true
	groups, err := reading.Points(c, append(all, reading.Labeled{Label: label, Files: files}), cfg)
	if err != nil {
		return err
	}
	next := trend.Point{Label: label, Runs: groups[len(groups)-1].Runs}
	if len(points) == 0 {
		if lost != nil {
			return &cmdline.CodeError{Code: cmdline.ExitGate, Err: fmt.Errorf("--baseline %s: no accepted point is left, so nothing was compared: %w", dir, trend.LeftOutError(lost))}
		}
		if c.Bool("require-baseline") {
			return &cmdline.CodeError{Code: cmdline.ExitGate, Err: fmt.Errorf("--baseline %s has no accepted point, so nothing was compared; --accept without --require-baseline makes one of these runs", dir)}
		}
		if c.Bool("accept") {
			if err := next.Unfit(c.StringSlice("ignore")); err != nil {
				return &cmdline.CodeError{Code: cmdline.ExitGate, Err: fmt.Errorf("not accepted as the first point of --baseline %s: %w", dir, err)}
			}
		}
		settings.Warnf(c, "--baseline %s has no accepted point, so nothing was compared", dir)
		return accept(c, dir, next, files)
	}
	j := trend.Judge(groups[:len(groups)-1], next, allow, c.StringSlice("ignore"))
	j.LeftOut, j.Unverified = lost, unverified
	err = settings.Write(c, map[string]func(*trend.Judgement) report.Renderer{
		"text":     func(r *trend.Judgement) report.Renderer { return trend.JudgementText(r, settings.ConsoleWidth(c)) },
		"markdown": trend.JudgementMarkdown, "csv": trend.JudgementCSV, "json": trend.JudgementJSON, "junit": trend.JudgementJUnit,
	}[format](j))
	if err = errors.Join(err, j.Set.Incomparable()); err != nil {
		return errors.Join(err, trend.LeftOutError(lost))
	}
	failures := j.Failures()
	if early := j.TooEarly(); early != nil && c.Bool("require-baseline") {
		failures = errors.Join(failures, early)
	} else if early != nil {
		settings.Warnf(c, "%v", early)
	}
	if failures != nil {
		return &cmdline.CodeError{Code: cmdline.ExitGate, Err: failures}
	}
	return accept(c, dir, next, files)
}

// checkBaseline returns the points of a baseline that are left out, and the points that cannot be
// verified. It warns about the latter and about leftovers of --accept.
func checkBaseline(c *cli.Context, dir string, b *baseline.Baseline) (lost []trend.LeftOut, unverified []string) {
	for _, l := range b.Lost {
		lost = append(lost, trend.LeftOut{Label: l.Name, Reason: l.Err.Error()})
	}
	for _, p := range b.Points {
		if p.Unverified {
			unverified = append(unverified, p.Name)
			settings.Warnf(c, "--baseline %s: point %s has no %s, so changes of its files cannot be found; its files are used as they are", dir, p.Name, baseline.ManifestName)
		}
	}
	for _, folder := range b.Leftovers {
		settings.Warnf(c, "%s was left by an --accept that is running or was killed; the folder is no point: delete it if no --accept is running", folder)
	}
	return lost, unverified
}

// accept adds the runs of a point to the baseline if the user asked for that.
func accept(c *cli.Context, dir string, p trend.Point, files []string) error {
	if !c.Bool("accept") {
		return nil
	}
	start, ok := p.Runs[0].Start()
	for _, r := range p.Runs {
		if ns, known := r.Start(); known && ns < start {
			start = ns
		}
	}
	if !ok {
		return fmt.Errorf("%s does not say when it was recorded, so it cannot be accepted", p.Runs[0].Name)
	}
	folder, err := baseline.Accept(dir, baseline.Name(start, p.Label), files)
	if err == nil {
		settings.Notef(c, "accepted as %s", folder)
	}
	return err
}
