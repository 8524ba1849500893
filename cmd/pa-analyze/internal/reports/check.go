package reports

import (
	"errors"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/cmd/pa-analyze/internal/settings"
	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/check"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// Check returns the command check.
func Check() *cli.Command {
	p := check.Default()
	flags := []cli.Flag{settings.FormatFlag("text", "text, markdown, json, csv or junit")}
	flags = append(append(flags, settings.OutputFlags()...), settings.WidthFlag(), settings.ExperimentFlag(),
		&cli.StringFlag{Name: "profile", Usage: "use the thresholds of `NAME`: default, or mlperf-server (MLPerf's least duration and samples, Poisson arrivals)", Value: p.Name, Category: "Checklist"},
		&cli.DurationFlag{Name: "min-duration", Usage: "the least `LENGTH` of a level (default: 1m, or as the profile says)", Category: "Checklist"},
		&cli.BoolFlag{Name: "gate", Usage: "exit with code 3 if an item fails", Category: "Checklist"},
	)
	flags = append(flags, settings.MeasureFlags()...)
	flags = append(flags, settings.StreamingFlag(), settings.TokenizerFlag())
	return &cli.Command{
		Name: "check", Usage: "a checklist for a run, and certified percentiles", ArgsUsage: "FILE…",
		Description: `Goes through a checklist for each load level: warm-up, duration, samples, kind of
load, coordinated omission, client, clock, token source, failures, steady state.
Each item passes, fails, or is n/a with the reason, and shows its number.
Then come percentiles that MLPerf's early stopping certifies at 99 % confidence.
Exit codes: 0 also if items fail, 1 not readable, 2 wrong usage, 3 an item failed
and --gate is given.`,
		Flags:  append(append(flags, settings.InputFlags()...), settings.MemoryFlag()),
		Action: settings.Distinct(settings.ReadsRuns, checkAction),
	}
}

func checkAction(c *cli.Context) (err error) {
	format, err := settings.CheckFormat(c, "text", "markdown", "json", "csv", "junit")
	if err != nil {
		return err
	}
	profile, err := check.FindProfile(c.String("profile"))
	if err != nil {
		return cmdline.Usagef("--profile %v", err)
	}
	if c.IsSet("min-duration") {
		if profile.MinDuration = c.Duration("min-duration"); profile.MinDuration <= 0 {
			return cmdline.Usagef("--min-duration %v: give a duration above 0, such as 30s", profile.MinDuration)
		}
	}
	cfg, err := settings.Config(c)
	if err != nil {
		return err
	}
	cfg.Verify = true
	if cfg.MemoryLimit, err = settings.MemoryLimit(c); err != nil {
		return err
	}
	ahead := settings.OpenFiles{}
	defer func() { err = errors.Join(err, ahead.Close()) }()
	runs, err := ahead.Runs(c)
	if err != nil {
		return err
	}
	if err := settings.CheckOutput(c); err != nil {
		return err
	}
	var results []*check.Result
	var errs []error
	for _, run := range runs {
		path := run.Name
		errs = append(errs, ahead.Use(c, run, func(r export.Reader) error {
			res, rep, err := check.Run(c.Context, path, r, cfg, profile)
			if errors.Is(err, export.ErrContradiction) {
				return err
			}
			err = errors.Join(err, settings.LeftOut(path, r, "not in the checklist"))
			settings.Warnings(c, r)
			for _, w := range rep.Warnings { // the items show the others
				if x := analyze.AsWarning(w); x.Kind == analyze.KindIncomplete || x.Kind == analyze.KindNoEffect {
					settings.Warnf(c, "%s: %v", path, x)
				}
			}
			settings.WarnEach(c, path, rep.Contradictions())
			if err == nil && len(rep.Experiments) == 0 {
				return settings.Named(path, dialect.ErrNoExperiment)
			}
			var problem error
			res.Levels, problem = settings.Chosen(path, res.Levels, func(l *check.Level) settings.Level {
				return settings.Level{Experiment: export.Experiment{Mode: l.Mode, Value: l.Value}, Problem: l.Problem}
			}, c.StringSlice("experiment"))
			if len(res.Levels) > 0 {
				results = append(results, res)
			}
			return errors.Join(err, problem)
		}))
		if c.Err() != nil {
			break
		}
	}
	if len(results) > 0 {
		errs = append([]error{settings.Write(c, map[string]func([]*check.Result) report.Renderer{
			"text":     func(all []*check.Result) report.Renderer { return check.Text(all, settings.ConsoleWidth(c)) },
			"markdown": check.Markdown, "json": check.JSON, "csv": check.CSV, "junit": check.JUnit,
		}[format](results))}, errs...)
	}
	err = errors.Join(errs...)
	var failed []error
	for _, r := range results {
		failed = append(failed, r.Failed()...)
	}
	if err != nil || !c.Bool("gate") || len(failed) == 0 {
		return err
	}
	return &cmdline.CodeError{Code: cmdline.ExitGate, Err: errors.Join(failed...)}
}
