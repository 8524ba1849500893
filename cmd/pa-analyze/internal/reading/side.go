package reading

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/cmd/pa-analyze/internal/settings"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/diff"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// A ReadRun reads a run for a comparison, to its end.
type ReadRun func(path string, r export.Reader) (*diff.Run, error)

// Figures returns a ReadRun that reads what a comparison needs, and nothing else.
func Figures(c *cli.Context, cfg analyze.Config) ReadRun {
	return func(path string, r export.Reader) (*diff.Run, error) { return diff.Read(c.Context, path, r, cfg) }
}

// Side reads the runs of a side of a comparison as far as they can be read. It returns no run if two
// of them are the same. The caller closes the runs.
func Side(c *cli.Context, ahead settings.OpenFiles, inputs []settings.Input, read ReadRun) ([]*diff.Run, error) {
	var runs []*diff.Run
	var errs []error
	for _, in := range inputs {
		path := in.Name
		errs = append(errs, ahead.Use(c, in, func(r export.Reader) error {
			run, err := read(path, r)
			settings.Warnings(c, r)
			settings.WarnEach(c, path, run.Contradictions)
			switch {
			case c.Err() != nil, errors.Is(err, export.ErrContradiction):
				return errors.Join(err, run.Close())
			case err == nil && len(run.Levels) == 0:
				return errors.Join(settings.Named(path, dialect.ErrNoExperiment), run.Close())
			}
			err = errors.Join(err, settings.LeftOut(path, r, "not in the comparison"))
			var problem error
			if run.Levels, problem = settings.Chosen(path, run.Levels, settings.OfLevel, c.StringSlice("experiment")); problem != nil {
				if err = errors.Join(err, problem); len(run.Levels) == 0 {
					return errors.Join(err, run.Close())
				}
			}
			runs = append(runs, run)
			return err
		}))
	}
	if a, b, found := diff.SameRun(runs); found {
		errs = append(errs, fmt.Errorf("%s and %s hold the same run, which would count twice; give one of them", a.Name, b.Name))
		for _, r := range runs {
			errs = append(errs, r.Close())
		}
		return nil, errors.Join(errs...)
	}
	return runs, errors.Join(errs...)
}
