package rig

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

// usualRuns is the number of runs a side in the headlines, if Options.RunsASide has it.
const usualRuns = 5

// Headlines returns a sentence for each level: the smallest changes in the primary metrics
// that usualRuns runs a side find, otherwise the first of Options.RunsASide. If there are
// several levels, each sentence begins with the level.
func (res *Result) Headlines() []string {
	if len(res.Set.Refused()) > 0 {
		return []string{"The runs are not comparable, so it is unknown how much runs differ by chance."}
	}
	at := max(0, slices.Index(res.Options.RunsASide, usualRuns))
	var lines []string
	for i := range res.Levels {
		l := &res.Levels[i]
		var found []string
		for j := range l.Rows {
			if r := &l.Rows[j]; r.Metric.Primary && at < len(r.Smallest) && !math.IsNaN(r.Smallest[at]) {
				found = append(found, fmt.Sprintf("%s %% in %s", sheet.Signed(r.Smallest[at]), r.Metric.Name))
			}
		}
		line := "the deviation of every primary metric is unknown"
		if found != nil {
			line = fmt.Sprintf("%d runs a side find %s (80 %% of the time%s)", res.Options.RunsASide[at], strings.Join(found, ", "), l.rough())
		}
		if len(res.Levels) > 1 {
			line = sanitize.Text(l.Name) + ": " + line
		}
		lines = append(lines, line)
	}
	return lines
}

// fewRuns is the number of runs below which the upper end of the interval of a deviation is more
// than two and a half times the deviation.
const fewRuns = 6

// rough returns a remark for the headline if the deviation comes from few runs.
func (l *Level) rough() string {
	if len(l.Runs) >= fewRuns {
		return ""
	}
	return fmt.Sprintf(", a rough estimate from %d runs", len(l.Runs))
}

// notes returns the sentences below the tables.
func (res *Result) notes() []string {
	if len(res.Set.Refused()) > 0 {
		return nil
	}
	var notes []string
	drift := res.byLevel(func(r *Row) string {
		if !(r.Drift.Adjusted <= alpha) {
			return ""
		}
		return fmt.Sprintf("%s %s (%s to %s)", r.Metric.Name, sheet.Change(r.Drift.Change), sheet.Change(r.Drift.Interval.Low), sheet.Change(r.Drift.Interval.High))
	})
	if drift != "" {
		notes = append(notes, "The rig drifts from the first run to the last: "+drift+". Use a longer warm-up (pa-record --warmup-duration), or find the cause.")
	}
	turns := res.byLevel(func(r *Row) string {
		if !(r.Turns.Adjusted <= alpha) {
			return ""
		}
		return fmt.Sprintf("%s (%s instead of %s)", r.Metric.Name, sheet.Percent(r.Turns.Neighbors), sheet.Percent(r.Deviation))
	})
	tested := res.byLevel(func(r *Row) string {
		if math.IsNaN(r.Turns.Adjusted) {
			return ""
		}
		return r.Metric.Name
	})
	switch {
	case turns != "":
		notes = append(notes, "Taking turns helps, because successive runs deviate less than all runs: "+turns+". Record the sides of a comparison in turn (old, new, new, old, …), not one after the other.")
	case tested != "":
		notes = append(notes, "The order of the runs shows no slow change, so taking turns is not known to help on this rig.")
	default:
		notes = append(notes, fmt.Sprintf("Too few runs to say whether taking turns would help: at least %d are needed.", minTurns))
	}
	legend := "* primary metric. deviation: from run to run, with its 95 % interval. drift: from the first run to the last, with its 95 % interval. N a side: the smallest change that N runs a side find 80 % of the time, judged alone at 5 %."
	if res.Options.Effect > 0 {
		legend += fmt.Sprintf(" %s: the number of runs a side that find this change 80 %% of the time.", res.neededHead())
	}
	notes = append(notes, legend+" neighbors: the deviation between successive runs. failed: "+ranked+".")
	return append(notes, res.reasons()...)
}

// byLevel joins what text returns for the rows of all levels, without empty texts. If there
// are several levels, each level is named once: "concurrency 1: a, b; concurrency 2: c".
func (res *Result) byLevel(text func(*Row) string) string {
	var parts []string
	for i := range res.Levels {
		l := &res.Levels[i]
		var texts []string
		for j := range l.Rows {
			if t := text(&l.Rows[j]); t != "" {
				texts = append(texts, t)
			}
		}
		if texts == nil {
			continue
		}
		part := strings.Join(texts, ", ")
		if len(res.Levels) > 1 {
			part = sanitize.Text(l.Name) + ": " + part
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}

// reasons returns a line for each reason why rows are n/a, with the metrics of these rows.
func (res *Result) reasons() []string {
	var reasons []string
	for i := range res.Levels {
		for j := range res.Levels[i].Rows {
			if why := res.Levels[i].Rows[j].NA; why != "" && why != ranked && !slices.Contains(reasons, why) {
				reasons = append(reasons, why)
			}
		}
	}
	var lines []string
	for _, why := range reasons {
		metrics := res.byLevel(func(r *Row) string {
			if r.NA != why {
				return ""
			}
			return r.Metric.Name
		})
		lines = append(lines, fmt.Sprintf("n/a, because %s: %s", why, metrics))
	}
	return lines
}
