package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/trend"
)

// A gate has the settings by which trend --baseline judges new runs.
type gate struct {
	trend.JudgeOptions
	dir          string
	last         int
	accept       bool
	noise        string // why the difference is noise; "": the runs are not accepted as noise
	inconclusive int    // exit code
}

// flags are the flags of the gate.
func (g *gate) flags() []cli.Flag {
	parseMargin := func(text string) (float64, error) {
		margin, err := parsePercent(text)
		if err == nil && margin == 0 {
			err = cmdline.Usagef("--margin %s: no data show that a change is 0%%; give the smallest change that matters", text)
		}
		return margin, err
	}
	parseNoise := func(text string) (string, error) {
		text = strings.TrimSpace(text)
		return text, refuse(text == "", "--accept-noise: say why the difference is noise, such as 'the fan failed'; the manifest keeps it")
	}
	return []cli.Flag{
		cmdline.Reads(&cli.StringFlag{Name: "baseline", Usage: "judge the runs by the accepted runs in `DIR`; exit code 3 if they are worse", Category: catGates, Destination: &g.dir}, trend.BaselineFiles),
		&cli.IntFlag{Name: "last", Usage: "judge by the last `K` accepted points", Value: trend.DefaultLast, Category: catGates, Destination: &g.last, Action: atLeast(trend.LeastPoints, fmt.Sprintf("--last %%d: give at least %d; fewer points do not show how much points differ", trend.LeastPoints))},
		&cli.BoolFlag{Name: "accept", Usage: fmt.Sprintf("add the runs to --baseline if they are not found to be worse, and make it if it has none; the first %d points are added even if they are worse", trend.BurnIn), Category: catGates, Destination: &g.accept},
		parsed(&g.noise, parseNoise, &cli.StringFlag{Name: "accept-noise", Usage: "add the runs to --baseline although they are worse, because a person found that `WHY` is noise; the manifest keeps WHY", Category: catGates}),
		&cli.BoolFlag{Name: "require-baseline", Usage: "exit code 3 if --baseline has no accepted point", Category: catGates},
		parsed(&g.Allow, parsePercent, &cli.StringFlag{Name: "allow", Usage: "let changes of up to `PERCENT` for the worse pass: 2%", Category: catGates}),
		parsed(&g.Margin, parseMargin, &cli.StringFlag{Name: "margin", Usage: "pass only if the runs show that no metric is worse by `PERCENT`; otherwise the gate cannot tell", DefaultText: "5%, or --allow if that is more", Category: catGates}),
		inconclusiveFlag(&g.inconclusive),
	}
}

// trendCommand returns the command trend.
func trendCommand() *cli.Command {
	a, g := newAnalysis(), &gate{}
	format := choice(&cli.StringFlag{Name: "format", Aliases: []string{"f"}, Usage: "print as `FORMAT`: text, markdown, csv, json or, with --baseline, junit", Value: "text", Category: catOutput}, "text", "markdown", "csv", "json", "junit")
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
		Flags: slices.Concat([]cli.Flag{format}, outputFlags(), []cli.Flag{widthFlag(), experimentFlag()}, g.flags(), []cli.Flag{ignoreFlag(ignoreOfSet)}, a.comparedFlags()),
		Action: analyzed(a, allPoints, func(c *call, args []labeledFiles, cfg analyze.Config) error {
			if cfg.Verify = g.dir != ""; cfg.Verify {
				return c.judge(args, g, cfg)
			}
			return c.trend(args, cfg)
		}, g.check),
	}
}

// check refuses the flags of a gate without --baseline.
func (g *gate) check(c *call) error {
	if g.Ignore = c.StringSlice("ignore"); g.dir != "" {
		g.accept = g.accept || g.noise != ""
		if !c.IsSet("margin") {
			g.Margin = max(trend.DefaultMargin, g.Allow)
		}
		return nil
	}
	if c.String("format") == "junit" {
		return cmdline.Usagef("--format junit needs --baseline DIR: it prints the gate")
	}
	f := c.given("accept", "accept-noise", "require-baseline", "last", "allow", "margin", "inconclusive")
	return refuse(f != "", "--%s needs --baseline DIR", f)
}

// allPoints returns the files of the points that all arguments name.
func allPoints(c *call) ([]labeledFiles, error) { return c.labeled(c.Args().Slice()) }

// trend prints the metrics of points.
func (c *call) trend(args []labeledFiles, cfg analyze.Config) error {
	if t, err := c.statedPoints(args, false); t != nil || err != nil {
		if err != nil {
			return err
		}
		return c.write(t.Formats().In(c.String("format"), c.width()))
	}
	points, err := c.readPoints(args, cfg)
	if err != nil {
		return err
	}
	res := trend.Analyze(trend.Points(points), trend.Options{Ignore: c.StringSlice("ignore")})
	err = c.write(res.Formats().In(c.String("format"), c.width()))
	c.warnAll(res.Set.Warnings)
	return errors.Join(err, res.Incomparable())
}

// judge judges the runs by the accepted ones, prints the judgement, and adds the runs to the baseline if --accept asks
// for it.
func (c *call) judge(args []labeledFiles, g *gate, cfg analyze.Config) error {
	var files []string
	label := ""
	for _, a := range args {
		if a.label != "" && label != "" && a.label != label {
			return cmdline.Usagef("%s= and %s=: with --baseline all runs are one new point", label, a.label)
		}
		label = cmp.Or(a.label, label)
		files = append(files, a.files...)
	}
	base, err := trend.ReadBaseline(c.Context, g.dir, g.last)
	if err != nil {
		return err
	}
	unverified := c.checkBaseline(g.dir, base)
	var all []labeledFiles
	for _, p := range base.Points {
		all = append(all, labeledFiles{p.Name, p.Files})
	}
	groups, err := c.readPoints(append(all, labeledFiles{label, files}), cfg)
	if err != nil {
		return err
	}
	accepted := groups[:len(groups)-1]
	for i := range accepted {
		accepted[i].Noise = base.Points[i].Noise
	}
	j := trend.Judge(accepted, trend.Point{Label: label, Runs: groups[len(groups)-1].Runs}, g.JudgeOptions)
	j.LeftOut, j.Unverified = base.Lost, unverified
	err = c.write(j.Formats().In(c.String("format"), c.width()))
	if err = errors.Join(err, j.Set.Incomparable()); err != nil {
		return errors.Join(err, trend.LeftOutError(base.Lost))
	}
	added := false
	if refused := j.Refusal(base.Total < trend.BurnIn, g.noise != ""); g.accept && refused != nil {
		if base.Total == 0 {
			return &cmdline.CodeError{Code: cmdline.ExitGate, Err: fmt.Errorf("not accepted as the first point of --baseline %s: %w", g.dir, refused)}
		}
		c.warnf("not accepted: %v", refused)
	} else if g.accept && (base.Total > 0 || !c.Bool("require-baseline")) {
		if err := c.accept(g.dir, j.New, files, g.noise); err != nil {
			return err
		}
		added = true
	}
	return c.judged(g, j, added)
}

// judged returns the error of a gate, with its exit code. added says that the runs were accepted.
func (c *call) judged(g *gate, j *trend.Judgement, added bool) error {
	if len(j.Accepted)+len(j.LeftOut) == 0 && c.Bool("require-baseline") {
		return &cmdline.CodeError{Code: cmdline.ExitGate, Err: fmt.Errorf("--baseline %s has no accepted point, so nothing was compared; --accept without --require-baseline makes one of these runs", g.dir)}
	}
	failures, unclear := j.Failures(), j.Inconclusive()
	switch {
	case added && g.noise != "": // a person decided
		return c.inconclusive(cmdline.ExitOK, errors.Join(failures, unclear))
	case failures == nil:
		return c.inconclusive(g.inconclusive, unclear)
	case added:
		c.warnf("accepted although worse, as each of the first %d points is, so that they show how much points differ; if the difference is not noise, delete the folder", trend.BurnIn)
	}
	return &cmdline.CodeError{Code: cmdline.ExitGate, Err: failures}
}

// checkBaseline returns the points of a baseline that cannot be verified. It warns about them and about leftovers of
// --accept.
func (c *call) checkBaseline(dir string, b *trend.Baseline) (unverified []string) {
	for _, p := range b.Points {
		if p.Unverified {
			unverified = append(unverified, p.Name)
			c.warnf("--baseline %s: point %s has no %s, so changes of its files cannot be found; its files are used as they are", dir, p.Name, trend.ManifestName)
		}
	}
	for _, folder := range b.Leftovers {
		c.warnf("%s was left by an --accept that is running or was killed, and is not a point; delete the folder if no --accept is running", folder)
	}
	return unverified
}

// accept adds the runs of a point to the baseline.
func (c *call) accept(dir string, p trend.Point, files []string, noise string) error {
	start, ok := p.Runs[0].Start()
	for _, r := range p.Runs {
		if ns, known := r.Start(); known && ns < start {
			start = ns
		}
	}
	if !ok {
		return fmt.Errorf("%s does not say when it was recorded, so it cannot be accepted", p.Runs[0].Name)
	}
	folder, err := trend.Accept(dir, trend.PointName(start, p.Label), files, noise)
	if err == nil {
		c.notef("accepted as %s", folder)
	}
	return err
}
