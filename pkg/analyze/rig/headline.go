package rig

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/runset"
)

// usualRuns is the number of runs a side of the first lines, if Options.RunsASide has it.
const usualRuns = 5

// Headlines returns a sentence for each level: the changes in the primary metrics that
// five runs a side find, or the first of Options.RunsASide. The level is named if there
// are several.
func (res *Result) Headlines() []string {
	if len(res.Set.Refused()) > 0 {
		return []string{"The runs are not comparable, so they do not tell how runs differ."}
	}
	at := max(0, slices.Index(res.Options.RunsASide, usualRuns))
	var lines []string
	for i := range res.Levels {
		l := &res.Levels[i]
		var found []string
		for j := range l.Rows {
			if r := &l.Rows[j]; r.Metric.Primary && at < len(r.Smallest) && !math.IsNaN(r.Smallest[at]) {
				found = append(found, fmt.Sprintf("+%s %% in %s", runset.Rounded(r.Smallest[at]), r.Metric.Name))
			}
		}
		line := "no primary metric tells how runs differ"
		if found != nil {
			line = fmt.Sprintf("%d runs a side find %s (80 %% of the time)", res.Options.RunsASide[at], strings.Join(found, ", "))
		}
		if len(res.Levels) > 1 {
			line = sanitize.Text(l.Name) + ": " + line
		}
		lines = append(lines, line)
	}
	return lines
}

// notes returns the sentences below the tables.
func (res *Result) notes() []string {
	if len(res.Set.Refused()) > 0 {
		return nil
	}
	var notes, drift, turns []string
	tested := false
	for i := range res.Levels {
		l := &res.Levels[i]
		for j := range l.Rows {
			r := &l.Rows[j]
			name := r.Metric.Name + " at " + sanitize.Text(l.Name)
			if r.Drift.Adjusted <= alpha {
				drift = append(drift, fmt.Sprintf("%s %s (%s to %s)", name, runset.Change(r.Drift.Change), runset.Change(r.Drift.Interval.Low), runset.Change(r.Drift.Interval.High)))
			}
			if r.Turns.Adjusted <= alpha {
				turns = append(turns, fmt.Sprintf("%s (%s instead of %s)", name, runset.Percent(r.Turns.Neighbors), runset.Percent(r.Deviation)))
			}
			tested = tested || !math.IsNaN(r.Turns.Adjusted)
		}
	}
	if drift != nil {
		notes = append(notes, "The rig drifts from the first run to the last: "+strings.Join(drift, ", ")+". Record for longer before the first run counts, or find the cause.")
	}
	switch {
	case turns != nil:
		notes = append(notes, "Taking turns helps: runs that follow each other deviate less than all runs in "+strings.Join(turns, ", ")+". Record the sides of a comparison in turn (old, new, new, old, …), not one after the other.")
	case tested:
		notes = append(notes, "The order of the runs shows no slow change, so taking turns would change little on this rig.")
	default:
		notes = append(notes, fmt.Sprintf("Not enough runs to tell whether taking turns would help: %d are needed.", minTurns))
	}
	notes = append(notes, "* primary metric. deviation: from run to run, with its 95% interval. drift: from the first run to the last. N a side: the smallest change that N runs a side find 80 % of the time, judged alone at 5 %. neighbors: the deviation between runs that follow each other.")
	return append(notes, res.reasons()...)
}

// reasons returns why rows are missing: each reason once, with its rows.
func (res *Result) reasons() []string {
	var order []string
	rows := map[string][]string{}
	for i := range res.Levels {
		l := &res.Levels[i]
		for j := range l.Rows {
			r := &l.Rows[j]
			if r.NA == "" {
				continue
			}
			name := r.Metric.Name
			if len(res.Levels) > 1 {
				name += " at " + sanitize.Text(l.Name)
			}
			if rows[r.NA] == nil {
				order = append(order, r.NA)
			}
			rows[r.NA] = append(rows[r.NA], name)
		}
	}
	var lines []string
	for _, why := range order {
		lines = append(lines, fmt.Sprintf("n/a: %s: %s", strings.Join(rows[why], ", "), why))
	}
	return lines
}
