package diff

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/inference"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
	"github.com/pa-tools/pa/pkg/answer"
)

// JSON returns the comparison in the layout of schemas/diff.schema.json.
func (r *Result) JSON() sheet.Object {
	mode := "several-runs"
	if r.Single {
		mode = "single-run"
	}
	var together sheet.Object
	if r.Together != nil {
		together = r.Together.json()
	}
	return sheet.Object{
		"schema", "pa-diff/1", "headline", r.Headline(), "answer", r.jsonAnswer(), "margin", r.o.margin(), "turns", sheet.Opt(r.apart.String()),
		"outlying", sheet.List(r.Outlying, (*Outlying).json),
		"left_out", sheet.ListOf(r.LeftOut, func(x *Run) sheet.Object { return sheet.Object{"run", r.numbers[x], "file", x.Name} }),
		"mode", mode, "confidence", confidence, "alpha", alpha, "family", r.Family, "measured", jsonMeasured(&r.Old[0].cfg),
		"old",
		sheet.Object{"label", sheet.Opt(r.o.Sides.Old), "runs", JSONRuns(r.Old)},
		"new",
		sheet.Object{"label", sheet.Opt(r.o.Sides.New), "runs", JSONRuns(r.New)},
		"comparable", len(r.Refused()) == 0, "differences", sheet.ListOf(r.Differences, (*Difference).json), "unchecked", r.Unchecked,
		"together", together, "levels", sheet.ListOf(r.Levels, (*LevelDiff).json), "paired_by", sheet.Opt(string(r.o.Pair)), "old_only", r.OldOnly, "new_only", r.NewOnly,
		"gates", sheet.ListOf(r.Gates, (*GateResult).json), "warnings", r.Warnings,
	}
}

func (o *Outlying) json() sheet.Object {
	return sheet.Object{
		"run", o.Run, "file", o.File, "metric", o.Metric.Key, "level", sheet.Opt(o.Level),
		"factor", o.Factor, "value", o.Value, "others_least", o.Least, "others_most", o.Most,
	}
}

func (d *Difference) json() sheet.Object {
	return sheet.Object{"name", d.Name, "level", sheet.Opt(d.Level), "old", d.Old, "new", d.New, "refuses", d.Refuses, "ignored", d.Ignored}
}

func (g *GateResult) json() sheet.Object {
	return sheet.Object{"expr", g.Expr, "level", g.Level, "required", g.Required, "result", g.State.String(), "because", g.Because}
}

func (l *LevelDiff) json() sheet.Object {
	return sheet.Object{
		"name", l.Name, "mode", l.Mode, "value", l.Value, "answer", l.jsonAnswer(), "old_runs", len(l.Old), "new_runs", len(l.New), "pairs", sheet.Opt(l.Pairs),
		"old_selected", sheet.Opt(selected(l.Old)), "new_selected", sheet.Opt(selected(l.New)), // the part of each run that has the level
		"metrics", sheet.ListOf(l.Rows, (*Row).json), "server", sheet.Opt(sheet.ListOf(l.Server, (*ServerRow).json)),
	}
}

// jsonAnswer returns the answer of a level in a word.
func (l *LevelDiff) jsonAnswer() sheet.Object {
	a := sheet.Object{"verdict", l.Answer.String(), "because", sheet.Opt(l.Because)}
	if l.Answer == NoDifference {
		a = append(a, "within", l.Within)
	}
	return a
}

// decisive returns the level whose answer is the answer of the comparison; nil if it is of several levels.
func (r *Result) decisive() *LevelDiff {
	switch l := r.Together; {
	case len(r.Levels) == 1 && len(r.Refused()) == 0:
		return r.Levels[0]
	case l != nil && l.Answer == r.Answer:
		return l
	}
	return nil
}

// jsonAnswer returns the answer of the comparison, and the answer without the outlying runs.
func (r *Result) jsonAnswer() sheet.Object {
	a := sheet.Object{"verdict", r.Answer.String()}
	if l := r.decisive(); l != nil {
		a = l.jsonAnswer()
	}
	if r.Without != nil {
		a = append(a, "without", append(r.Without.jsonAnswer(), "text", sheet.Opt(r.Without.short())))
	}
	return a
}

// JSONRuns returns runs for JSON.
func JSONRuns(runs []*Run) []sheet.Object {
	return sheet.ListOf(runs, func(r *Run) sheet.Object {
		o := sheet.Object{"file", r.Name, "model", sheet.Opt(r.Model)}
		if m := r.Header.Meta; m != nil {
			o = append(o, "tool", sheet.Opt(m.Tool))
		}
		return o
	})
}

func jsonMeasured(c *analyze.Config) sheet.Object {
	o := sheet.Object{"from", c.From.String()}
	if c.TokenSource != answer.TokenAuto {
		o = append(o, "token_source", c.TokenSource.String())
	}
	return append(o, "include_warmup", c.IncludeWarmup, "part", sheet.Opt(c.Selection.String()))
}

// selected returns the parts of levels; nil where all of each counts.
func selected(levels []*RunLevel) []sheet.Object {
	var parts []sheet.Object
	for _, l := range levels {
		if l.Selected != nil {
			parts = append(parts, report.PartOf(l.Selected))
		}
	}
	return parts
}

func (r *Row) json() sheet.Object {
	i := r.Shown()
	o := sheet.Object{
		"metric", r.Metric.Key, "unit", r.Metric.Unit, "better", r.Metric.better(), "primary", r.Primary, "paired", r.Paired,
		"old", r.Old.Value, "new", r.New.Value, "old_n", r.Old.N, "new_n", r.New.N, "old_runs", r.OldRuns, "new_runs", r.NewRuns,
		"change", r.Change, "low", i.Low, "high", i.High,
	}
	if !r.NA.Missing() {
		o = append(o, "interval_confidence", r.Level)
	}
	o = append(o, "p", r.P, "p_adjusted", r.Adjusted)
	if r.Rank != nil {
		o = append(o, "rank_p", r.Rank.P)
	}
	if r.Primary {
		o = append(o, "verdict", r.Verdict.String())
		if r.Equal || !r.NA.Missing() { // the interval for the question whether the change is within the margin
			o = append(o, "within", sheet.Object{"low", r.bound.Low, "high", r.bound.High, "shown", r.inMargin()})
		}
		o = append(o, "spoiled", sheet.Opt(r.Spoiled))
	}
	return append(o, "na", jsonNA(r.NA))
}

// better says which values are better, for programs.
func (m *Metric) better() string {
	switch m.Direction {
	case inference.HigherIsBetter:
		return "higher"
	case inference.NoDirection:
		return "none"
	}
	return "lower"
}

// jsonNA returns why there is no interval; nil if there is one.
func jsonNA(na inference.NA) sheet.Object {
	if !na.Missing() {
		return nil
	}
	return sheet.Object{"reason", na.Reason, "needs", sheet.Opt(na.Needs)}
}

func (r *ServerRow) json() sheet.Object {
	i := r.Interval(confidence)
	return sheet.Object{
		"name", r.Name, "metric", r.Metric, "unit", r.Unit, "old_of", sheet.Opt(r.OldOf), "new_of", sheet.Opt(r.NewOf),
		"old", r.Old.Value, "new", r.New.Value, "old_runs", r.OldRuns, "new_runs", r.NewRuns,
		"change", r.Change, "low", i.Low, "high", i.High, "p", r.P, "na", jsonNA(r.NA),
	}
}

// csvHeader is the first line of CSV.
var csvHeader = []string{
	"record", "level", "name", "unit", "old", "new", "old_n", "new_n", "change", "low", "high",
	"p", "p_adjusted", "rank_p", "verdict", "reason", "needs", "better", "primary", "paired", "file", "confidence",
}

// csv returns a line for each difference, metric, value of a run and gate.
func (r *Result) csv() []sheet.CSVRow {
	c := &r.Old[0].cfg
	because := ""
	if l := r.decisive(); l != nil {
		because = l.Because
	}
	rows := []sheet.CSVRow{
		{"record": "headline", "verdict": r.Headline()},
		{"record": "answer", "verdict": r.Answer.String(), "reason": because},
	}
	measured := func(name, value string) {
		rows = append(rows, sheet.CSVRow{"record": "measured", "name": name, "old": value, "new": value})
	}
	measured("from", c.From.String())
	measured("include_warmup", strconv.FormatBool(c.IncludeWarmup))
	if r.o.Sides != (Sides{}) {
		rows = append(rows, sheet.CSVRow{"record": "side", "name": "label", "old": r.o.Sides.old(), "new": r.o.Sides.new()})
	}
	if c.TokenSource != answer.TokenAuto {
		measured("token_source", c.TokenSource.String())
	}
	if part := c.Selection.String(); part != "" {
		measured("part", part)
	}
	for _, d := range r.Differences {
		rows = append(rows, sheet.CSVRow{"record": "difference", "level": d.Level, "name": d.Name, "old": d.Old, "new": d.New, "verdict": d.verdict()})
	}
	for _, name := range r.Unchecked {
		rows = append(rows, sheet.CSVRow{"record": "unchecked", "name": name})
	}
	for _, level := range r.OldOnly {
		rows = append(rows, sheet.CSVRow{"record": "level", "level": level, "old": "1", "new": "0"})
	}
	for _, level := range r.NewOnly {
		rows = append(rows, sheet.CSVRow{"record": "level", "level": level, "old": "0", "new": "1"})
	}
	for _, x := range r.LeftOut {
		rows = append(rows, sheet.CSVRow{"record": "left_out", "name": r.numbers[x], "file": x.Name})
	}
	for _, o := range r.Outlying {
		rows = append(rows, sheet.CSVRow{"record": "outlying", "name": o.Run, "level": o.Level, "reason": o.Metric.Key, "change": sheet.CSVNumber(o.Factor - 1), "file": o.File})
	}
	for _, l := range r.allLevels() {
		rows = append(rows, csvParts(l.Name, "old", l.Old)...)
		rows = append(rows, csvParts(l.Name, "new", l.New)...)
		for _, r := range l.Rows {
			rows = append(rows, l.csvMetric(r)...)
		}
		for j := range l.Server {
			rows = append(rows, l.csvServer(l.Server[j]))
		}
	}
	for _, g := range r.Gates {
		rows = append(rows, sheet.CSVRow{"record": "gate", "level": g.Level, "name": g.title(), "verdict": g.State.String(), "reason": strings.Join(g.Because, "; ")})
	}
	return rows
}

// csvParts returns the lines of the selected parts of a side's runs.
func csvParts(level, side string, levels []*RunLevel) []sheet.CSVRow {
	var rows []sheet.CSVRow
	for _, l := range levels {
		if l.Selected != nil {
			rows = append(rows, sheet.CSVRow{"record": "part", "level": level, "name": l.Selected.How, side: report.Selected(l.Selected), "file": l.Run.Name})
		}
	}
	return rows
}

// csvMetric returns the line of a metric and the lines of its runs.
func (l *LevelDiff) csvMetric(r *Row) []sheet.CSVRow {
	number, i := sheet.CSVNumber, r.Shown()
	row := sheet.CSVRow{
		"record": "metric", "level": l.Name, "name": r.Metric.Key, "unit": r.Metric.Unit,
		"old": number(r.Old.Value), "new": number(r.New.Value), "old_n": strconv.Itoa(r.Old.N), "new_n": strconv.Itoa(r.New.N),
		"change": number(r.Change), "low": number(i.Low), "high": number(i.High), "p": number(r.P), "p_adjusted": number(r.Adjusted),
		"better": r.Metric.better(), "primary": strconv.FormatBool(r.Primary), "paired": strconv.FormatBool(r.Paired), "reason": r.Spoiled,
	}
	if r.Primary {
		row["verdict"] = r.Verdict.String()
	}
	if r.Rank != nil {
		row["rank_p"] = number(r.Rank.P)
	}
	csvNA(row, r.NA)
	if !r.NA.Missing() {
		row["confidence"] = number(r.Level)
	}
	rows := []sheet.CSVRow{row}
	run := func(side string, v float64, level *RunLevel) {
		rows = append(rows, sheet.CSVRow{"record": "run", "level": l.Name, "name": r.Metric.Key, "unit": r.Metric.Unit, side: number(v), "file": level.Run.Name})
	}
	for j, v := range r.OldRuns {
		run("old", v, l.Old[j])
	}
	for j, v := range r.NewRuns {
		run("new", v, l.New[j])
	}
	return rows
}

// csvNA adds why a line has no interval; nothing if it has one.
func csvNA(row sheet.CSVRow, na inference.NA) {
	if !na.Missing() {
		return
	}
	row["reason"] = na.Reason
	if na.Needs > 0 {
		row["needs"] = strconv.Itoa(na.Needs)
	}
}

// csvServer returns the line of a figure of a server or GPU.
func (l *LevelDiff) csvServer(r *ServerRow) sheet.CSVRow {
	i := r.Interval(confidence)
	number := sheet.CSVNumber
	row := sheet.CSVRow{
		"record": "server", "level": l.Name, "name": r.Name + " of " + r.of(), "unit": r.Unit,
		"old": number(r.Old.Value), "new": number(r.New.Value), "old_n": strconv.Itoa(r.Old.N), "new_n": strconv.Itoa(r.New.N),
		"change": number(r.Change), "low": number(i.Low), "high": number(i.High), "p": number(r.P),
	}
	csvNA(row, r.NA)
	return row
}

// junit returns the comparison as tests. The first suite says whether the sides are comparable, and has the answer. A suite for each level has a case for each
// primary metric. The last suite has the gates, if there are any.
//
// Without gates, a metric that got worse is a failure. With gates, only gates fail. A metric that the data
// cannot decide is skipped, with the reason; a gate is an error then if Options.InconclusiveFails is set.
func (r *Result) junit() (name string, all []sheet.Suite) {
	all = []sheet.Suite{r.junitComparable()}
	for _, l := range r.allLevels() {
		all = append(all, r.junitLevel(l))
	}
	if len(r.Gates) > 0 {
		all = append(all, r.junitGates())
	}
	return r.Headline(), all
}

// junitComparable returns the suite that says whether the sides are comparable, and how
// their settings differ.
func (r *Result) junitComparable() sheet.Suite {
	c := sheet.Case{Class: "comparison", Name: "comparable"}
	var lines []string
	for _, d := range r.Differences {
		lines = append(lines, fmt.Sprintf("%s%s: %s %s, %s %s", d.Name, d.at(), r.o.Sides.old(), short(d.Old), r.o.Sides.new(), short(d.New)))
	}
	if unknown := r.notKnown(); unknown != "" {
		lines = append([]string{unknown}, lines...)
	}
	c.Out = strings.Join(lines, "\n")
	if len(r.Refused()) > 0 || len(r.Levels) == 0 {
		c.Error = r.Headline()
	}
	answer := sheet.Case{Class: "comparison", Name: "answer"}
	switch headline := r.Headline(); r.Answer {
	case NotComparable:
		return sheet.Suite{Name: "comparison", Cases: []sheet.Case{c}}
	case CannotTell:
		answer.Skipped = headline
	case FailsMore, Worse, BetterAndWorse:
		if answer.Out = headline; len(r.Gates) == 0 {
			answer.Out, answer.Failure = "", headline
		}
	default:
		if answer.Out = headline; r.lacking() != "" { // the answer is not about all levels
			answer.Out, answer.Skipped = "", headline
		}
	}
	return sheet.Suite{Name: "comparison", Cases: []sheet.Case{c, answer}}
}

// junitLevel returns the suite of a level: a case for each primary metric.
func (r *Result) junitLevel(l *LevelDiff) sheet.Suite {
	u := r.units()
	name := l.Name
	s := sheet.Suite{Name: name}
	for _, row := range l.Rows {
		if !row.Primary {
			continue
		}
		text := fmt.Sprintf("%s to %s, %s", u.Amount(row.Metric, row.Old.Value), u.Amount(row.Metric, row.New.Value), row.changed())
		if ends := row.interval(); ends != "" && ends != "n/a" {
			text += " (" + strings.Replace(ends, " ", " to ", 1) + ")"
		}
		text = row.Metric.Name + ": " + text
		c := sheet.Case{Class: name, Name: row.Metric.Key, Out: text}
		switch {
		case row.Verdict == inference.NotAvailable:
			c.Skipped = cmp.Or(l.reasonOf(row), "no verdict")
		case row.Verdict == inference.NoDifference && row.Metric.of == failedShare:
			if why := l.failures.doubt(l); why != "" {
				c.Skipped = "cannot tell: " + why
			}
		case row.Verdict == inference.NoDifference && !row.inMargin():
			c.Skipped = "cannot tell: " + row.mayMatter()
		case row.Verdict == inference.Worse && len(r.Gates) == 0:
			c.Failure = text
		}
		s.Cases = append(s.Cases, c)
	}
	return s
}

// junitGates returns the suite of the gates: a case for each gate at each level.
func (r *Result) junitGates() sheet.Suite {
	s := sheet.Suite{Name: "gates"}
	for _, g := range r.Gates {
		c := sheet.Case{Class: "gates", Name: g.title() + r.at(g.Level)}
		because := g.outcome() + ": " + strings.Join(g.Because, ", ")
		switch g.State {
		case GateTripped:
			c.Failure = because
		case GateUnknown:
			if c.Skipped = because; r.o.InconclusiveFails {
				c.Skipped, c.Error = "", because
			}
		case GateClear:
			c.Out = because
		}
		s.Cases = append(s.Cases, c)
	}
	return s
}

// outcome returns the state for people: "cannot tell" instead of "n/a", as in the answer.
func (g *GateResult) outcome() string {
	if g.State == GateUnknown {
		return "cannot tell"
	}
	return g.State.String()
}

// title returns the gate as people read it: its condition, after "require" if it must hold.
func (g *GateResult) title() string {
	if g.Required {
		return "require " + g.Expr
	}
	return g.Expr
}
