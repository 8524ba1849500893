package settings

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/journal"
	"github.com/pa-tools/pa/pkg/recorder/load"
)

// maxRepeat bounds --repeat, so that a slip of the pen is an error and not a
// run of weeks. Every export lists all runs.
const maxRepeat = 1000

// RunIndex counts the runs of --repeat, from 1. The zero value is a run without --repeat.
type RunIndex struct{ Index, Of int }

// String returns "run 2 of 3".
func (r RunIndex) String() string { return fmt.Sprintf("run %d of %d", r.Index, r.Of) }

// Prefix returns "run 2 of 3, ", or "" if there is only one run.
func (r RunIndex) Prefix() string {
	if r.Of < 2 {
		return ""
	}
	return r.String() + ", "
}

// A Run is one run of --repeat: its files and the order of its levels.
type Run struct {
	Exports []string `json:"profile_export_file"`
	CSV     string   `json:"csv_file,omitempty"` // of -f
	// Levels are named in the order of measurement; nil when that is the one of
	// the settings.
	Levels []string `json:"levels,omitempty"`

	Order []int `json:"-"` // for each of Levels its index in the settings'
}

// repeat reads how often, after the levels and exports.
func (p *parser) repeat(s *Settings) {
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
	case s.Interleave && s.LevelPlan != nil:
		p.errorf("--interleave and --latency-threshold exclude each other: a search goes through the levels in their order; drop one")
	case s.Interleave && len(s.Levels) < 2:
		p.errorf("--interleave: there is one level only; drop it, or give several levels")
	}
	for i := range s.Repeat {
		var r Run
		for _, path := range s.Exports {
			r.Exports = append(r.Exports, NumberedPath(path, strconv.Itoa(i+1)))
		}
		r.CSV = NumberedPath(s.CSV, strconv.Itoa(i+1))
		if s.Interleave {
			r.Order = load.Order(len(s.Levels), i, s.Seed)
			for _, level := range r.Order {
				r.Levels = append(r.Levels, s.Levels[level].String())
			}
		}
		s.Runs = append(s.Runs, r)
	}
	for _, path := range s.Exports {
		next := NumberedPath(path, strconv.Itoa(s.Repeat+1))
		if _, err := os.Stat(next); err == nil && next != path {
			s.Note("%s is there, of a longer series: %s means it too", next, NumberedPath(path, "*"))
		}
	}
}

// PlannedRuns returns the runs to make, at least one.
func (s *Settings) PlannedRuns() []Run {
	if s.Repeat == 0 {
		return []Run{{Exports: s.Exports, CSV: s.CSV}}
	}
	return s.Runs
}

// NumberedPath puts a number before the suffix of an export's path: x.json becomes
// x.1.json. The path of a device or a pipe keeps its name, because it takes all exports
// one after the other. So do "" and "-".
func NumberedPath(path, number string) string {
	if path == "" || path == "-" {
		return path
	}
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		return path
	}
	name := Stem(path)
	return name + "." + number + path[len(name):]
}

// Ordered returns levels, which are in the order of the settings, in the order in which
// the run measures them.
func (r *Run) Ordered(levels []load.Level) []load.Level {
	if r.Order == nil {
		return levels
	}
	ordered := make([]load.Level, len(levels))
	for i, level := range r.Order {
		ordered[i] = levels[level]
	}
	return ordered
}

// Listed is the reverse of Ordered: it returns measured levels in the order of the
// settings.
func (r *Run) Listed(levels []recorder.Level) []recorder.Level {
	if r.Order == nil {
		return levels
	}
	byIndex := make([]*recorder.Level, len(r.Order))
	for i := range levels {
		byIndex[r.Order[i]] = &levels[i]
	}
	var all []recorder.Level
	for _, l := range byIndex {
		if l != nil {
			all = append(all, *l)
		}
	}
	return all
}

// Stem returns the path of an export without the suffix that tells its format.
func Stem(path string) string { return strings.TrimSuffix(journal.PathFor(path), journal.Suffix) }
