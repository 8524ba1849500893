package reading

import (
	"errors"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/cmd/pa-analyze/internal/settings"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/analyze/view"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// Analyze analyzes each run, with the levels that --experiment chooses. config returns the
// configuration of run i; leftOut says what becomes of requests that cannot be read. A run
// without any load level is an error, and has a report without levels.
func Analyze(c *cli.Context, ahead settings.OpenFiles, runs []settings.Input, leftOut string, config func(i int) analyze.Config) (inputs []report.Input, errs []error) {
	for i, run := range runs {
		path := run.Name
		errs = append(errs, ahead.Use(c, run, func(r export.Reader) error {
			rep, err := analyze.Run(c.Context, r, config(i))
			levels, shown, err := Levels(c, path, r, leftOut, err, rep.Experiments, settings.OfExperiment)
			rep.Experiments = levels
			if shown {
				inputs = append(inputs, report.Input{Name: path, Report: rep})
			}
			return err
		}))
		if c.Err() != nil {
			break
		}
	}
	return inputs, errs
}

// Levels returns the levels of a run that --experiment chooses, and whether there is something to
// show. err is the error of the analysis of r; the returned error joins err with the problems of the
// levels.
func Levels[L any](c *cli.Context, path string, r export.Reader, leftOut string, err error, all []L, of func(*L) settings.Level) (levels []L, shown bool, _ error) {
	if errors.Is(err, export.ErrContradiction) {
		return nil, false, err
	}
	err = errors.Join(err, settings.LeftOut(path, r, leftOut))
	if err == nil && len(r.Run().Experiments) == 0 {
		return all, true, settings.Named(path, dialect.ErrNoExperiment)
	}
	levels, problem := settings.Chosen(path, all, of, c.StringSlice("experiment"))
	return levels, problem == nil || len(levels) > 0, errors.Join(err, problem)
}

// OfView returns the Level of a level in a chart or on a page.
func OfView(l *view.Level) settings.Level { return settings.OfExperiment(l.Experiment) }
