package comparisons

import (
	"errors"
	"fmt"
	"slices"
	"strings"

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
		&cli.IntFlag{Name: "last", Usage: "judge by the last `K` accepted points", Value: trend.DefaultLast, Category: "Gates"},
		&cli.BoolFlag{Name: "accept", Usage: fmt.Sprintf("add the runs to --baseline if they are not found to be worse, and make it if it has none; the first %d points are added even if they are worse", trend.BurnIn), Category: "Gates"},
		&cli.StringFlag{Name: "accept-noise", Usage: "add the runs to --baseline although they are worse, because a person found that `WHY` is noise; the manifest keeps WHY", Category: "Gates"},
		&cli.BoolFlag{Name: "require-baseline", Usage: "exit code 3 if --baseline has no accepted point", Category: "Gates"},
		&cli.StringFlag{Name: "allow", Usage: "let changes of up to `PERCENT` for the worse pass: 2%", Category: "Gates"},
		&cli.StringFlag{Name: "margin", Usage: "pass only if it is shown that no metric is worse by `PERCENT`; otherwise the gate cannot tell", DefaultText: "5%, or --allow if that is more", Category: "Gates"},
		settings.InconclusiveFlag(),
		settings.IgnoreFlag(),
	)
	return &cli.Command{
		Name: "trend", Usage: "metrics over many runs, and a gate", ArgsUsage: "[LABEL=]RUNS…",
		Description: `Prints each metric over the runs, in the order of time, and the steps where it
changed. The runs of one pa-record --repeat are one point. LABEL=RUNS names a
point, for example after a commit; labeled points keep the order given.
With --baseline DIR the runs are one new point, which the accepted points in DIR
judge: by how much points differ, from 3 points on. The gate passes if no primary
metric is worse, fails if one is, and cannot tell in between or without enough
points. --accept adds the runs to DIR unless they are worse, with a manifest of
their SHA-256.
Exit codes: 0 ok, 1 not comparable or not readable, 2 wrong usage, 3 worse, an
accepted point whose files were changed, or no baseline where one is required,
4 cannot tell (--inconclusive).`,
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
		for _, name := range []string{"accept", "accept-noise", "require-baseline", "last", "allow", "margin", "inconclusive"} {
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

// A gate has the settings of a judgement.
type gate struct {
	trend.JudgeOptions
	dir          string
	last         int
	accept       bool
	noise        string // "": the runs are not accepted as noise
	inconclusive int    // exit code
}

// gateOf reads the settings of a judgement.
func gateOf(c *cli.Context) (*gate, error) {
	g := &gate{
		dir: c.String("baseline"), last: c.Int("last"), accept: c.Bool("accept") || c.IsSet("accept-noise"), noise: strings.TrimSpace(c.String("accept-noise")),
		JudgeOptions: trend.JudgeOptions{Margin: trend.DefaultMargin, Ignore: c.StringSlice("ignore")},
	}
	var err error
	if g.inconclusive, err = settings.InconclusiveCode(c); err != nil {
		return nil, err
	}
	if c.IsSet("allow") {
		if g.Allow, err = percentFlag(c, "allow"); err != nil {
			return nil, cmdline.Usagef("%v", err)
		}
	}
	g.Margin = max(g.Margin, g.Allow)
	if c.IsSet("margin") {
		if g.Margin, err = percentFlag(c, "margin"); err != nil {
			return nil, cmdline.Usagef("%v", err)
		}
		if g.Margin == 0 {
			return nil, cmdline.Usagef("--margin %s: no data show that a change is 0%%; give the smallest change that matters", c.String("margin"))
		}
	}
	switch {
	case g.last < trend.LeastPoints:
		return nil, cmdline.Usagef("--last %d: give at least %d; fewer points do not show how much points differ", g.last, trend.LeastPoints)
	case c.IsSet("accept-noise") && g.noise == "":
		return nil, cmdline.Usagef("--accept-noise: say why the difference is noise, such as 'the fan failed'; the manifest keeps it")
	}
	return g, nil
}

// judge judges the runs by the accepted ones.
func judge(c *cli.Context, cfg analyze.Config, format string, args []reading.Labeled) error {
	g, err := gateOf(c)
	if err != nil {
		return err
	}
	base, err := baseline.Read(c.Context, g.dir, g.last)
	if err != nil {
		return err
	}
	lost, unverified := checkBaseline(c, g.dir, base)
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
	for _, p := range base.Points {
		all = append(all, reading.Labeled{Label: p.Name, Files: p.Files})
	}
	cfg.Verify = true
	groups, err := reading.Points(c, append(all, reading.Labeled{Label: label, Files: files}), cfg)
	if err != nil {
		return err
	}
	accepted := groups[:len(groups)-1]
	for i := range accepted {
		accepted[i].Noise = base.Points[i].Noise
	}
	j := trend.Judge(accepted, trend.Point{Label: label, Runs: groups[len(groups)-1].Runs}, g.JudgeOptions)
	j.LeftOut, j.Unverified = lost, unverified
	err = settings.Write(c, map[string]func(*trend.Judgement) report.Renderer{
		"text":     func(r *trend.Judgement) report.Renderer { return trend.JudgementText(r, settings.ConsoleWidth(c)) },
		"markdown": trend.JudgementMarkdown, "csv": trend.JudgementCSV, "json": trend.JudgementJSON, "junit": trend.JudgementJUnit,
	}[format](j))
	if err = errors.Join(err, j.Set.Incomparable()); err != nil {
		return errors.Join(err, trend.LeftOutError(lost))
	}
	added := false
	if refused := j.Refusal(base.Total < trend.BurnIn, g.noise != ""); g.accept && refused != nil {
		if base.Total == 0 {
			return &cmdline.CodeError{Code: cmdline.ExitGate, Err: fmt.Errorf("not accepted as the first point of --baseline %s: %w", g.dir, refused)}
		}
		settings.Warnf(c, "not accepted: %v", refused)
	} else if g.accept && (base.Total > 0 || !c.Bool("require-baseline")) {
		if err := accept(c, g.dir, j.New, files, g.noise); err != nil {
			return err
		}
		added = true
	}
	return g.ended(c, j, added)
}

// ended returns the error of a gate, with its exit code. added says that the runs were accepted.
func (g *gate) ended(c *cli.Context, j *trend.Judgement, added bool) error {
	if len(j.Accepted)+len(j.LeftOut) == 0 && c.Bool("require-baseline") {
		return &cmdline.CodeError{Code: cmdline.ExitGate, Err: fmt.Errorf("--baseline %s has no accepted point, so nothing was compared; --accept without --require-baseline makes one of these runs", g.dir)}
	}
	failures, unclear := j.Failures(), j.Inconclusive()
	switch {
	case added && g.noise != "": // a person decided
		return settings.Inconclusive(c, cmdline.ExitOK, errors.Join(failures, unclear))
	case failures == nil:
		return settings.Inconclusive(c, g.inconclusive, unclear)
	case added:
		settings.Warnf(c, "accepted although worse, as each of the first %d points is, so that they show how much points differ; if the difference is no noise, delete the folder", trend.BurnIn)
	}
	return &cmdline.CodeError{Code: cmdline.ExitGate, Err: failures}
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

// accept adds the runs of a point to the baseline.
func accept(c *cli.Context, dir string, p trend.Point, files []string, noise string) error {
	start, ok := p.Runs[0].Start()
	for _, r := range p.Runs {
		if ns, known := r.Start(); known && ns < start {
			start = ns
		}
	}
	if !ok {
		return fmt.Errorf("%s does not say when it was recorded, so it cannot be accepted", p.Runs[0].Name)
	}
	folder, err := baseline.Accept(dir, baseline.Name(start, p.Label), files, noise)
	if err == nil {
		settings.Notef(c, "accepted as %s", folder)
	}
	return err
}
