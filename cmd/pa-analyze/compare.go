package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/diff"
	"github.com/pa-tools/pa/pkg/analyze/trend"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// readRun reads a run for a comparison, to its end.
type readRun func(path string, r export.Reader) (*diff.Run, error)

// comparedRun returns a readRun that reads what a comparison needs, and nothing else.
func (c *call) comparedRun(cfg analyze.Config) readRun {
	return func(path string, r export.Reader) (*diff.Run, error) { return diff.Read(c.Context, path, r, cfg) }
}

// readSide reads the runs of a side of a comparison as far as they can be read. It returns no run
// if two of them are the same. The caller closes the runs.
func (c *call) readSide(runs []recording, read readRun) ([]*diff.Run, error) {
	var all []*diff.Run
	errs := c.useEach(runs, func(source recording, r export.Reader) error {
		run, err := read(source.name, r)
		c.warnings(r)
		c.warnEach(source.name, run.Contradictions)
		switch {
		case c.Err() != nil, errors.Is(err, export.ErrContradiction):
			return errors.Join(err, run.Close())
		case err == nil && len(run.Levels) == 0:
			return errors.Join(named(source.name, dialect.ErrNoExperiment), run.Close())
		}
		err = errors.Join(err, leftOut(source.name, r, "not in the comparison"))
		var problem error
		if run.Levels, problem = chooseLevels(source.name, run.Levels, diffLevel, c.StringSlice("experiment")); problem != nil {
			if err = errors.Join(err, problem); len(run.Levels) == 0 {
				return errors.Join(err, run.Close())
			}
		}
		all = append(all, run)
		return err
	})
	if a, b, found := diff.SameRun(all); found {
		errs = append(errs, fmt.Errorf("%s and %s hold the same run, which would count twice; give one of them", a.Name, b.Name))
		for _, r := range all {
			errs = append(errs, r.Close())
		}
		return nil, errors.Join(errs...)
	}
	return all, errors.Join(errs...)
}

// readSetting reads the runs of one setting; least is the number of runs that it takes. The error is
// fatal if there are no runs.
func (c *call) readSetting(files fileNames, least int, read readRun) ([]*diff.Run, error) {
	all, err := c.recordings(files, byRun)
	if err != nil {
		return nil, err
	}
	if len(all) < least {
		return nil, cmdline.Usagef("expected at least %s of one setting, found %d; pa-record --repeat records them", plural.Of(least, "run"), len(all))
	}
	runs, err := c.readSide(all, read)
	if err != nil && len(runs) < len(all) {
		return nil, err
	}
	return runs, err
}

// readPoints reads the runs of each argument as a point.
func (c *call) readPoints(args []labeledFiles, cfg analyze.Config) (points []trend.Point, err error) {
	var all []recording
	var counts []int // number of runs of each argument
	for _, a := range args {
		runs, err := c.recordings(fileNames{paths: a.files}, byRun)
		if err != nil {
			return nil, err
		}
		all, counts = append(all, runs...), append(counts, len(runs))
	}
	runs, err := c.readSide(all, c.comparedRun(cfg))
	if err != nil {
		return nil, err
	}
	for i, a := range args {
		points = append(points, trend.Point{Label: a.label, Runs: slices.Clone(runs[:counts[i]])})
		runs = runs[counts[i]:]
	}
	return points, nil
}
