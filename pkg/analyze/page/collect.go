package page

import (
	"context"
	"slices"

	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/analyze/pareto"
	"github.com/pa-tools/pa/pkg/analyze/quality"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/analyze/view"
	"github.com/pa-tools/pa/pkg/export"
)

// Collect analyzes the requests of r by cfg and collects what a page shows. The report in the Run is as
// [analyze.Run] makes it with cfg, and so is the error.
func Collect(ctx context.Context, name string, r export.Reader, cfg analyze.Config) (Run, error) {
	v := view.Config{Name: name, Analyze: cfg}
	if q := cfg.Quality; q != nil {
		v.Stalls = quality.Stalls{ThresholdNS: q.StallNS, Factor: q.StallFactor}
	}
	if cfg.Economics == nil { // the Pareto frontier needs it
		v.Analyze.Economics = &figure.EconomicsConfig{}
	}
	v.Analyze.Sessions = &figure.SessionsConfig{OnlyTrees: true}
	if cfg.Sessions != nil {
		sessions := *cfg.Sessions
		sessions.Trees = true
		v.Analyze.Sessions = &sessions
	}
	x, err := view.Collect(ctx, r, v)
	run := Run{Run: x}
	for i := range x.Report.Experiments {
		e := &x.Report.Experiments[i]
		run.economics = append(run.economics, e.Economics)
		if cfg.Economics == nil {
			e.Economics = nil
		}
		run.sessions = append(run.sessions, e.Sessions)
		if cfg.Sessions == nil {
			e.Sessions = nil
		}
	}
	return run, err
}

// Choose keeps these levels of the run, on the page and in its report. They are elements of r.Levels.
func (r *Run) Choose(levels []view.Level) {
	kept := make([]analyze.Experiment, 0, len(levels))
	var economics []*figure.Economics
	var sessions []*figure.Sessions
	at := make(map[*analyze.Experiment]int, len(r.Report.Experiments))
	for i := range r.Report.Experiments {
		at[&r.Report.Experiments[i]] = i
	}
	for _, l := range levels {
		if i, ok := at[l.Experiment]; ok {
			kept, economics = append(kept, *l.Experiment), append(economics, r.economics[i])
			sessions = append(sessions, r.sessions[i])
		}
	}
	for i := range kept {
		levels[i].Experiment = &kept[i]
	}
	r.Levels, r.Report.Experiments, r.economics = levels, kept, economics
	r.sessions = sessions
}

// New returns the page of runs that [Collect] made. program is the program that writes it, with its
// version.
func New(program string, runs []Run) Page {
	var inputs []report.Input
	for i := range runs {
		rep := *runs[i].Report
		rep.Experiments = slices.Clone(rep.Experiments)
		for j := range rep.Experiments {
			rep.Experiments[j].Economics = runs[i].economics[j]
		}
		inputs = append(inputs, report.Input{Name: runs[i].Name, Report: &rep})
	}
	return Page{Runs: runs, Pareto: pareto.Analyze(inputs, pareto.Options{}), Program: program}
}
