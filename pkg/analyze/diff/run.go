package diff

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/export"
)

// A Run is the part of a recorded run that a comparison needs.
type Run struct {
	Name   string // as the user gave it
	Header *export.Run
	Model  string
	// Levels are in the order of the file. A level with a Problem is not compared.
	Levels []RunLevel
	// Contradictions are the warnings of [analyze.Report.Contradictions].
	Contradictions []error

	cfg        analyze.Config
	firstNS    uint64 // start of the first request
	requests   int
	clockSteps int         // steps of the wall clock that the recorder saw
	store      *stat.Store // of the levels' series; nil without them
}

// Read reads a run to its end. Both sides must be read with the same cfg. To
// compare one run with one run, cfg must ask for the Series; other comparisons do not use them. Close the
// Run when the comparison has been written. Read returns the error of [analyze.Run]. The Run is never nil
// and holds everything that could be read.
func Read(ctx context.Context, name string, r export.Reader, cfg analyze.Config) (*Run, error) {
	cfg = Follow(cfg)
	rep, err := analyze.Run(ctx, r, cfg)
	run, unread := OfReport(name, rep, cfg)
	return run, errors.Join(err, unread)
}

// OfReport returns the Run of a report that [analyze.Run] made with cfg, a result of [Follow]. The error is from
// reading values back from a temporary file.
func OfReport(name string, rep *analyze.Report, cfg analyze.Config) (*Run, error) {
	run := &Run{Name: name, Header: rep.Run, Model: rep.Model, cfg: cfg, firstNS: rep.FirstNS, requests: rep.Requests, Contradictions: rep.Contradictions()}
	if m := rep.Run.Meta; m != nil {
		for _, w := range m.Warnings {
			if strings.HasPrefix(w, export.ClockStepWarning) {
				run.clockSteps++
			}
		}
	}
	f, _ := cfg.Follower.(*follower)
	if f != nil {
		f.endLevel()
		run.store = f.store
	}
	run.Levels = make([]RunLevel, 0, len(rep.Experiments))
	for i := range rep.Experiments {
		l := level(&rep.Experiments[i], rep.Run, rep.Run.Experiments[i].Meta)
		l.Run = run
		if f != nil {
			l.follow = f.level(i)
			l.follow.finish(l.Unreadable == 0)
		}
		run.Levels = append(run.Levels, l)
	}
	if f == nil {
		return run, nil
	}
	return run, f.err
}

// sameAs reports whether two files hold the same run: their first requests start in
// the same nanosecond. It is false for files without start times.
func (r *Run) sameAs(o *Run) bool {
	if _, lacks := r.Header.Lacks(export.PartStarts); lacks {
		return false
	}
	return r.requests > 0 && r.requests == o.requests && r.firstNS == o.firstNS
}

// label returns the label that pa-record gave to the server of the run; "" without one.
func (r *Run) label() string {
	if m := r.Header.Meta; m != nil && m.Repeat != nil {
		return m.Repeat.Label
	}
	return ""
}

// Start returns the start of the first request in Unix nanoseconds. ok is false if the
// run has no request, or its file has no start times.
func (r *Run) Start() (ns uint64, ok bool) {
	if _, lacks := r.Header.Lacks(export.PartStarts); lacks || r.requests == 0 {
		return 0, false
	}
	return r.firstNS, true
}

// Measured returns the definitions by which the run was measured, for people:
// "pa-analyze's definitions, latencies from the first byte sent".
func (r *Run) Measured() string { return (&Result{Old: []*Run{r}}).measured() }

// NotKnown says that no file of these runs states the model, or the load of a level; "" if one
// states both. A property that no file states has not been compared.
func NotKnown(runs []*Run) string {
	model, loads := false, false
	for _, r := range runs {
		model = model || r.Model != ""
		loads = loads || !slices.ContainsFunc(r.Levels, func(l RunLevel) bool { return l.Problem == nil && !l.loadKnown() })
	}
	var missing []string
	if !loads {
		missing = append(missing, "load")
	}
	if !model {
		missing = append(missing, "model")
	}
	if missing == nil || len(runs) == 0 {
		return ""
	}
	return strings.Join(missing, " and ") + ": not known of any run, so not compared"
}
