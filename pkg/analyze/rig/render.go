package rig

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/diff"
	"github.com/pa-tools/pa/pkg/analyze/inference"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

// Formats returns the forms of the result: text, Markdown, JSON in the layout of schemas/rig.schema.json, and CSV
// with the columns of schemas/rig_csv.md.
func (res *Result) Formats() *sheet.Formats {
	return &sheet.Formats{Sheets: sheet.One(res.sheet), JSON: res.json, Columns: csvHeader, CSV: res.csv}
}

// sheet returns the result for people.
func (res *Result) sheet() *sheet.Sheet {
	s := &sheet.Sheet{Heads: res.Headlines(), About: []string{res.source()}, Notes: res.notes()}
	s.Part("").Table(res.Set.DifferenceTable())
	units := res.Set.Units()
	for _, l := range res.Levels {
		s.Part(l.Name + ", " + plural.Of(len(l.Levels), "run")).Table(res.table(l, &units))
	}
	return s
}

// source returns the line that names the runs and the definitions of their metrics.
func (res *Result) source() string {
	return fmt.Sprintf("%s, %s", res.Set.Named(), res.Set.Runs[0].Measured())
}

// table returns the table of a level.
func (res *Result) table(l *LevelSpread, u *diff.Units) sheet.Table {
	header := []string{"", "mean", "deviation", "its interval", "drift", "its interval"}
	for _, n := range res.Options.RunsASide {
		header = append(header, strconv.Itoa(n)+" a side")
	}
	if res.Options.Effect > 0 {
		header = append(header, res.neededHead())
	}
	rows := [][]string{append(header, "neighbors")}
	for _, r := range l.Rows {
		name := r.Metric.Name
		if r.Metric.Primary {
			name += " *"
		}
		cells := []string{name, u.Amount(r.Metric, r.Mean)}
		if r.NA != "" {
			missing := "n/a"
			if r.NA == ranked {
				missing = ""
			}
			cells = append(cells, missing, "", missing, "")
			for range len(header) - len(cells) + 1 {
				cells = append(cells, missing)
			}
			rows = append(rows, cells)
			continue
		}
		cells = append(cells, sheet.Percent(r.Deviation), sheet.Percent(r.DeviationInterval.Low)+" "+sheet.Percent(r.DeviationInterval.High),
			sheet.Change(r.Drift.Change), interval(r.Drift.Interval))
		for _, s := range r.Smallest {
			cells = append(cells, sheet.Change(s))
		}
		if res.Options.Effect > 0 {
			cells = append(cells, needed(r.Needed))
		}
		rows = append(rows, append(cells, sheet.Percent(r.Turns.Neighbors)))
	}
	return sheet.Table{Rows: rows}
}

// interval formats the ends of an interval; "" without an interval.
func interval(i inference.Interval) string {
	if math.IsNaN(i.Low) {
		return ""
	}
	return sheet.Change(i.Low) + " " + sheet.Change(i.High)
}

// neededHead returns the head of the column for Options.Effect.
func (res *Result) neededHead() string {
	return "runs a side for " + sheet.Signed(res.Options.Effect) + "%"
}

// needed formats Row.Needed.
func needed(n int) string {
	if n > MaxRunsASide {
		return ">" + strconv.Itoa(MaxRunsASide)
	}
	return strconv.Itoa(n)
}

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
	for _, l := range res.Levels {
		var found []string
		for _, r := range l.Rows {
			if r.Metric.Primary && at < len(r.Smallest) && !math.IsNaN(r.Smallest[at]) {
				found = append(found, fmt.Sprintf("%s %% in %s", sheet.Signed(r.Smallest[at]), r.Metric.Name))
			}
		}
		line := "the deviation of every primary metric is unknown"
		if found != nil {
			line = fmt.Sprintf("%d runs a side find %s (80 %% of the time if judged alone%s)", res.Options.RunsASide[at], strings.Join(found, ", "), l.rough())
		}
		lines = append(lines, ofLevel(res.Set, l.Group, ": ", line))
	}
	return lines
}

// ofLevel returns a text after the name of its level, if the set has several levels.
func ofLevel(set *diff.Set, l *diff.Group, between, text string) string {
	if len(set.Levels) < 2 {
		return text
	}
	return sanitize.Text(l.Name) + between + text
}

// fewRuns is the number of runs below which the upper end of the interval of a deviation is more
// than two and a half times the deviation.
const fewRuns = 6

// rough returns a remark for the headline if the deviation comes from few runs.
func (l *LevelSpread) rough() string {
	if len(l.Levels) >= fewRuns {
		return ""
	}
	return fmt.Sprintf(", a rough estimate from %d runs", len(l.Levels))
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
	for _, l := range res.Levels {
		var texts []string
		for _, r := range l.Rows {
			if t := text(r); t != "" {
				texts = append(texts, t)
			}
		}
		if texts == nil {
			continue
		}
		parts = append(parts, ofLevel(res.Set, l.Group, ": ", strings.Join(texts, ", ")))
	}
	return strings.Join(parts, "; ")
}

// reasons returns a line for each reason why rows are n/a, with the metrics of these rows.
func (res *Result) reasons() []string {
	var reasons []string
	for _, l := range res.Levels {
		for _, r := range l.Rows {
			if why := r.NA; why != "" && why != ranked && !slices.Contains(reasons, why) {
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

func (res *Result) json() sheet.Object {
	return sheet.Object{
		"schema", "pa-rig/1", "confidence", confidence, "alpha", alpha, "power", power, "effect", sheet.Opt(res.Options.Effect),
		"measured", res.Set.Runs[0].Measured(), "headlines", res.Headlines(), "runs", diff.JSONRuns(res.Set.Runs),
		"comparable", len(res.Set.Refused()) == 0, "differences", res.Set.JSONDifferences(),
		"levels", sheet.ListOf(res.Levels, func(l *LevelSpread) sheet.Object {
			return append(l.JSON(), "metrics", sheet.ListOf(l.Rows, res.metric))
		}),
		"warnings", res.Set.Warnings,
	}
}

func (res *Result) metric(r *Row) sheet.Object {
	m := sheet.Object{"metric", r.Metric.Key, "unit", r.Metric.Unit, "primary", r.Metric.Primary, "runs", r.Values, "mean", r.Mean}
	if r.NA != "" {
		return append(m, "na", r.NA)
	}
	var smallest []sheet.Object
	for i, s := range r.Smallest {
		smallest = append(smallest, sheet.Object{"runs_a_side", res.Options.RunsASide[i], "change", s})
	}
	d, t, needed := &r.Drift, &r.Turns, r.Needed
	if needed > MaxRunsASide {
		needed = 0
	}
	return append(m,
		"deviation", r.Deviation, "deviation_low", r.DeviationInterval.Low, "deviation_high", r.DeviationInterval.High,
		"drift", sheet.Object{"change", d.Change, "low", d.Interval.Low, "high", d.Interval.High, "p", d.P, "p_adjusted", d.Adjusted},
		"smallest", sheet.Opt(smallest), "needed_runs", sheet.Opt(needed),
		"turns", sheet.Object{"neighbors_deviation", t.Neighbors, "variance_ratio", t.Ratio, "p", t.P, "p_adjusted", t.Adjusted})
}

// csvHeader is the header line of CSV.
var csvHeader = []string{"record", "level", "name", "unit", "value", "low", "high", "p", "p_adjusted", "runs", "primary", "reason", "file"}

// csv returns a line for each difference, metric, number of runs a side and value of a run.
func (res *Result) csv() []sheet.CSVRow {
	rows := []sheet.CSVRow{{"record": "measured", "value": res.Set.Runs[0].Measured()}}
	rows = append(rows, res.Set.CSVDifferences()...)
	for _, l := range res.Levels {
		for _, r := range l.Rows {
			rows = append(rows, res.csvMetric(l, r)...)
		}
	}
	return rows
}

// csvMetric returns the lines of a metric.
func (res *Result) csvMetric(l *LevelSpread, r *Row) []sheet.CSVRow {
	var rows []sheet.CSVRow
	add := func(record, value string, more sheet.CSVRow) {
		row := sheet.CSVRow{
			"record": record, "level": l.Name, "name": r.Metric.Key, "unit": r.Metric.Unit, "value": value,
			"primary": strconv.FormatBool(r.Metric.Primary),
		}
		for k, v := range more {
			row[k] = v
		}
		rows = append(rows, row)
	}
	number := sheet.CSVNumber
	add("mean", number(r.Mean), sheet.CSVRow{"runs": strconv.Itoa(len(r.Values)), "reason": r.NA})
	for i, v := range r.Values {
		add("run", number(v), sheet.CSVRow{"file": l.Levels[i].Run.Name})
	}
	if r.NA != "" {
		return rows
	}
	const ratio = "ratio"
	add("deviation", number(r.Deviation), sheet.CSVRow{"unit": ratio, "low": number(r.DeviationInterval.Low), "high": number(r.DeviationInterval.High)})
	add("drift", number(r.Drift.Change), sheet.CSVRow{
		"unit": ratio, "low": number(r.Drift.Interval.Low), "high": number(r.Drift.Interval.High), "p": number(r.Drift.P), "p_adjusted": number(r.Drift.Adjusted),
	})
	for i, s := range r.Smallest {
		add("smallest", number(s), sheet.CSVRow{"unit": ratio, "runs": strconv.Itoa(res.Options.RunsASide[i])})
	}
	if res.Options.Effect > 0 {
		row := sheet.CSVRow{"unit": ratio, "runs": strconv.Itoa(r.Needed)}
		if r.Needed > MaxRunsASide {
			row["runs"], row["reason"] = "", "more than "+strconv.Itoa(MaxRunsASide)+" runs a side"
		}
		add("needed", number(res.Options.Effect), row)
	}
	add("neighbors", number(r.Turns.Neighbors), sheet.CSVRow{"unit": ratio, "p": number(r.Turns.P), "p_adjusted": number(r.Turns.Adjusted)})
	return rows
}
