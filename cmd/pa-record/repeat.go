package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/journal"
	"github.com/pa-tools/pa/pkg/recorder/load"
)

// maxRepeat bounds --repeat, so that a slip of the pen is an error and not a
// run of weeks. Every export lists all runs.
const maxRepeat = 1000

// A plannedRun is what is special about one run of several.
type plannedRun struct {
	Exports []string `json:"profile_export_file"`
	CSV     string   `json:"csv_file,omitempty"` // of -f
	// Levels are named in the order of measurement; nil when that is the one of
	// the settings.
	Levels []string `json:"levels,omitempty"`

	order []int // for each of Levels its index in the settings'
}

// repeat reads how often, after the levels and exports.
func (p *settingsParser) repeat(s *settings) {
	s.Interleave = p.c.Bool("interleave")
	if !p.c.IsSet("repeat") {
		if s.Interleave {
			p.errorf("--interleave needs --repeat: it is about the order of levels from run to run")
		}
		return
	}
	s.Repeat = p.c.Int("repeat")
	switch {
	case s.Repeat < 1 || s.Repeat > maxRepeat:
		p.errorf("--repeat %d: must be 1 to %d", s.Repeat, maxRepeat)
		return
	case s.Interleave && s.Repeat == 1:
		p.errorf("--interleave needs a --repeat of 2 or more: it is about the order of levels from run to run")
	case s.BinarySearch:
		p.errorf("--binary-search and --repeat exclude each other: every run would measure other levels; search once, and repeat what is found with a list of levels")
	case s.Interleave && s.levelPlan != nil:
		p.errorf("--interleave and --latency-threshold exclude each other: a search goes through the levels in their order; drop one")
	case s.Interleave && len(s.levels) < 2:
		p.errorf("--interleave: there is one level only; drop it, or give several levels")
	}
	for i := range s.Repeat {
		var r plannedRun
		for _, path := range s.Exports {
			r.Exports = append(r.Exports, numbered(path, strconv.Itoa(i+1)))
		}
		r.CSV = numbered(s.CSV, strconv.Itoa(i+1))
		if s.Interleave {
			r.order = load.Order(len(s.levels), i, s.Seed)
			for _, level := range r.order {
				r.Levels = append(r.Levels, s.levels[level].String())
			}
		}
		s.Runs = append(s.Runs, r)
	}
	for _, path := range s.Exports {
		next := numbered(path, strconv.Itoa(s.Repeat+1))
		if _, err := os.Stat(next); err == nil && next != path {
			s.note("%s is there, of a longer series: %s means it too", next, numbered(path, "*"))
		}
	}
}

// plan returns the runs to make, at least one.
func (s *settings) plan() []plannedRun {
	if s.Repeat == 0 {
		return []plannedRun{{Exports: s.Exports, CSV: s.CSV}}
	}
	return s.Runs
}

// numbered puts a number before what tells the format of an export: x.json
// becomes x.1.json. What is there and no regular file (/dev/null, a pipe) keeps
// its name and gets all exports, one after the other; so does what is no name
// of a file at all.
func numbered(path, number string) string {
	if path == "" || path == "-" {
		return path
	}
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		return path
	}
	name := stem(path)
	return name + "." + number + path[len(name):]
}

// checkFiles refuses runs whose exports or journals cannot or must not be
// written. The error is of type *cmdline.UsageError.
func checkFiles(runs []plannedRun, overwrite bool) error {
	var taken []*journal.Export
	for i := range runs {
		r, err := runs[i].recording(overwrite)
		if err != nil {
			return err
		}
		for _, e := range r.exports {
			if i := slices.IndexFunc(taken, e.Same); i >= 0 && !e.InPlace() {
				return cmdline.Refusedf("%s and %s are one file; every run needs its own", taken[i].Path(), e.Path())
			}
			taken = append(taken, e)
		}
	}
	return nil
}

// recording returns what takes the run in. The error is of type
// *cmdline.UsageError.
func (r *plannedRun) recording(overwrite bool) (*recording, error) {
	exports, err := newExports(r.Exports, overwrite)
	if err != nil {
		return nil, err
	}
	return newRecording(exports, overwrite)
}

// ordered returns the levels of the settings in the order of their measurement.
func (r *plannedRun) ordered(levels []load.Level) []load.Level {
	if r.order == nil {
		return levels
	}
	ordered := make([]load.Level, len(levels))
	for i, level := range r.order {
		ordered[i] = levels[level]
	}
	return ordered
}

// listed returns levels, which are in the order of their measurement, in that of
// the settings.
func (r *plannedRun) listed(levels []recorder.Level) []recorder.Level {
	if r.order == nil {
		return levels
	}
	byIndex := make([]*recorder.Level, len(r.order))
	for i := range levels {
		byIndex[r.order[i]] = &levels[i]
	}
	var all []recorder.Level
	for _, l := range byIndex {
		if l != nil {
			all = append(all, *l)
		}
	}
	return all
}

// A place is that of a run among those of --repeat; the zero value is that of a
// run without it.
type place struct{ index, of int }

// String returns "run 2 of 3".
func (p place) String() string { return fmt.Sprintf("run %d of %d", p.index, p.of) }

// prefix returns "run 2 of 3, ", and "" when there is but one.
func (p place) prefix() string {
	if p.of < 2 {
		return ""
	}
	return p.String() + ", "
}
