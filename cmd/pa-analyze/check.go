package main

import (
	"errors"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/check"
	"github.com/pa-tools/pa/pkg/analyze/stated"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// checkCommand returns the command check.
func checkCommand() *cli.Command {
	const category = "Checklist"
	a := newAnalysis()
	a.Verify = true
	var profile check.Profile
	flags := slices.Concat([]cli.Flag{formatFlag("text", "markdown", "json", "csv", "junit")}, outputFlags(), []cli.Flag{
		widthFlag(), experimentFlag(),
		parsed(&profile, check.FindProfile, &cli.StringFlag{Name: "profile", Usage: "use the thresholds of `NAME`: default, or mlperf-server (MLPerf's least duration and samples, Poisson arrivals)", Value: check.Default().Name, Category: category}),
		&cli.DurationFlag{Name: "min-duration", Usage: "a level lasts at least `LENGTH`", DefaultText: "1m, or as the profile says", Category: category, Action: atLeast(time.Nanosecond, "--min-duration %v: give a duration above 0, such as 30s")},
		&cli.BoolFlag{Name: "gate", Usage: "exit with code 3 if an item fails", Category: category},
	}, a.measureOwnFlags(), inputFlags(), []cli.Flag{memoryFlag(&a.MemoryLimit)})
	return &cli.Command{
		Name: "check", Usage: "a checklist for a run, and certified percentiles", ArgsUsage: "FILE…",
		Description: `Goes through a checklist for each load level: warm-up, duration, samples, kind of
load, coordinated omission, client, clock, token source, failures, steady state.
Each item passes, fails, or is n/a with the reason, and shows its number.
Then come percentiles that MLPerf's early stopping certifies at 99 % confidence.
Exit codes: 0 also if items fail, 1 not readable, 2 wrong usage, 3 an item failed
and --gate is given.`,
		Flags: flags,
		Action: analyzed(a, allFiles, func(c *call, files fileNames, cfg analyze.Config) error {
			if c.IsSet("min-duration") {
				profile.MinDuration = c.Duration("min-duration")
			}
			return c.checkRuns(files, cfg, profile)
		}),
	}
}

// checkRuns prints the checklist of the runs in files. With --gate the error names the items that failed.
func (c *call) checkRuns(files fileNames, cfg analyze.Config, profile check.Profile) error {
	runs, err := c.runs(files)
	if err != nil {
		return err
	}
	var results []*check.Result
	errs := c.useEach(runs, func(run recording, r export.Reader) error {
		res, rep, err := check.Run(c.Context, run.name, r, cfg, profile)
		if errors.Is(err, export.ErrContradiction) {
			return err
		}
		err = errors.Join(err, leftOut(run.name, r, "not in the checklist"))
		c.warnings(r)
		for _, w := range rep.Warnings { // the items show the others
			if x := analyze.AsWarning(w); x.Kind == analyze.KindIncomplete || x.Kind == analyze.KindNoEffect {
				c.warnf("%s: %v", run.name, x)
			}
		}
		c.warnEach(run.name, rep.Contradictions())
		if err == nil && len(rep.Experiments) == 0 {
			return named(run.name, dialect.ErrNoExperiment)
		}
		var problem error
		res.Levels, problem = chooseLevels(run.name, res.Levels, func(l *check.LevelChecklist) fileLevel {
			return fileLevel{export.Experiment{Mode: l.Mode, Value: l.Value}, l.Problem}
		}, c.StringSlice("experiment"))
		if len(res.Levels) > 0 {
			results = append(results, res)
		}
		return errors.Join(err, problem)
	})
	if len(results) > 0 {
		errs = append([]error{c.write(check.Checklist(results).Formats().In(c.String("format"), c.width()))}, errs...)
	}
	err = stated.NoChecks(errors.Join(errs...))
	var failed []error
	for _, r := range results {
		failed = append(failed, r.Failed()...)
	}
	if err != nil || !c.Bool("gate") || len(failed) == 0 {
		return err
	}
	return &cmdline.CodeError{Code: cmdline.ExitGate, Err: errors.Join(failed...)}
}
