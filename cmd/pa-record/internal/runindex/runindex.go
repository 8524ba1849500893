package runindex

import (
	"fmt"
	"strings"
)

// Index counts the runs of --repeat, from 1; with labels the runs of each label. The
// zero value is a run without --repeat and label.
type Index struct {
	Index, Of int
	Label     string // of the server; "" if it has none
	// Warmup says that the run is one of --warmup-runs, which are counted by themselves.
	Warmup bool
}

// String returns "run 2 of 3", with a label "old, run 2 of 3", or "old" if that is the
// label's only run. A warm-up run is "warm-up run 1 of 1".
func (r Index) String() string {
	run := fmt.Sprintf("run %d of %d", r.Index, r.Of)
	if r.Warmup {
		run = "warm-up " + run
	}
	switch {
	case r.Label == "":
		return run
	case r.Of == 1 && !r.Warmup:
		return r.Label
	default:
		return r.Label + ", " + run
	}
}

// Prefix returns "run 2 of 3, ", with a label "old, run 2 of 3, "; "" if there is only
// one run.
func (r Index) Prefix() string {
	if r.Of < 2 && r.Label == "" && !r.Warmup {
		return ""
	}
	return r.String() + ", "
}

// Title returns "Run 2 of 3", the heading of a run's figures; with a label as String does.
func (r Index) Title() string {
	if r.Label != "" {
		return r.String()
	}
	text := r.String()
	return strings.ToUpper(text[:1]) + text[1:]
}

// Place returns "run: 2", with a label "server: old, run: 2".
func (r Index) Place() string {
	if r.Label != "" {
		return fmt.Sprintf("server: %s, run: %d", r.Label, r.Index)
	}
	return fmt.Sprintf("run: %d", r.Index)
}

// Short returns "run 2/3", with a label "old 2/3"; "" if there is only one run. Of a warm-up run it
// returns String.
func (r Index) Short() string {
	switch {
	case r.Warmup:
		return r.String()
	case r.Of < 2:
		return r.Label
	case r.Label != "":
		return fmt.Sprintf("%s %d/%d", r.Label, r.Index, r.Of)
	}
	return fmt.Sprintf("run %d/%d", r.Index, r.Of)
}
