package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/diff"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/analyze/view"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// analyzeRuns analyzes each run, with the levels that --experiment chooses. config returns the
// configuration of run i; consequence says what becomes of requests that cannot be read. A run
// without any load level is an error, and has a report without levels.
func (c *call) analyzeRuns(runs []recording, consequence string, config func(i int) analyze.Config) (inputs []report.Input, errs []error) {
	i := -1
	errs = c.useEach(runs, func(run recording, r export.Reader) error {
		i++
		rep, err := analyze.Run(c.Context, r, config(i))
		levels, shown, err := levelsOf(c, run.name, r, consequence, err, rep.Experiments, experimentLevel)
		rep.Experiments = levels
		if shown {
			inputs = append(inputs, report.Input{Name: run.name, Report: rep})
		}
		return err
	})
	return inputs, errs
}

// levelsOf returns the levels of a run that --experiment chooses, and whether there is something to
// show. err is the error of the analysis of r; the returned error joins err with the problems of the
// levels.
func levelsOf[L any](c *call, path string, r export.Reader, consequence string, err error, all []L, levelOf func(*L) fileLevel) (levels []L, shown bool, _ error) {
	if errors.Is(err, export.ErrContradiction) {
		return nil, false, err
	}
	err = errors.Join(err, leftOut(path, r, consequence))
	if err == nil && len(r.Run().Experiments) == 0 {
		return all, true, named(path, dialect.ErrNoExperiment)
	}
	levels, problem := chooseLevels(path, all, levelOf, c.StringSlice("experiment"))
	return levels, problem == nil || len(levels) > 0, errors.Join(err, problem)
}

// viewLevel returns the fileLevel of a level in a chart or on a page.
func viewLevel(l *view.Level) fileLevel { return experimentLevel(l.Experiment) }

// A fileLevel is a load level of a file, by its name.
type fileLevel struct {
	export.Experiment       // its Mode, Value and Load
	Problem           error // why the level lacks the part of the run that was asked for
}

// experimentLevel returns the fileLevel of an analyzed experiment.
func experimentLevel(e *analyze.Experiment) fileLevel {
	return fileLevel{export.Experiment{Mode: e.Mode, Value: e.Value, Meta: &export.ExperimentMeta{Load: e.Load}}, e.Problem}
}

// diffLevel returns the fileLevel of a load level of a comparison.
func diffLevel(l *diff.RunLevel) fileLevel {
	return fileLevel{export.Experiment{Mode: l.Mode, Value: l.Value, Meta: &export.ExperimentMeta{Load: l.Load}}, l.Problem}
}

// chooseLevels returns the levels of a file that were asked for ("8" or "concurrency:8",
// compared as numbers) and that have the part of the run that was asked for. If a level
// does not exist, chooseLevels returns no levels and an error that names it. Levels that lack
// the part are left out and explained in the error; the levels returned with that error
// can be used. chooseLevels moves the levels that it returns to the front of all.
func chooseLevels[L any](path string, all []L, levelOf func(*L) fileLevel, levels []string) ([]L, error) {
	asked := make([]bool, len(all))
	for _, level := range levels {
		found := false
		for i := range all {
			if l := levelOf(&all[i]); dialect.ParseLevel(level).Matches(&l.Experiment) {
				asked[i], found = true, true
			}
		}
		if !found {
			var have []string
			for i := range all {
				l := levelOf(&all[i])
				have = append(have, l.Name())
			}
			return nil, fmt.Errorf("%s: no load level %q; the file has %s", path, level, sanitize.Text(strings.Join(have, ", ")))
		}
	}
	selected := all
	if len(levels) > 0 {
		selected = all[:0]
		for i := range all {
			if asked[i] {
				selected = append(selected, all[i])
			}
		}
	}
	keep := selected[:0]
	var errs []error
	for i := range selected {
		switch l := levelOf(&selected[i]); {
		case l.Problem == nil:
			keep = append(keep, selected[i])
		case len(selected) == 1:
			errs = append(errs, named(path, l.Problem))
		default:
			errs = append(errs, named(path+": "+l.Name(), l.Problem))
		}
	}
	return keep, errors.Join(errs...)
}
