package diff

import (
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/inference"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
	"github.com/pa-tools/pa/pkg/answer"
)

// Schema names the layout that JSON writes.
const Schema = "pa-diff/1"

// JSON writes one object in the layout of schemas/diff.schema.json, with full
// precision. Numbers that do not exist are absent.
func JSON(r *Result) sheet.Renderer {
	mode := "several-runs"
	if r.Single {
		mode = "single-run"
	}
	var together sheet.Object
	if r.Together != nil {
		together = r.Together.json()
	}
	return sheet.JSON(sheet.Object{
		"schema", Schema, "headline", r.Headline(), "answer", r.jsonAnswer(), "margin", r.o.margin(), "turns", sheet.Opt(r.apart.String()),
		"outlying", sheet.List(r.Outlying, (*Outlying).json),
		"left_out", sheet.List(r.LeftOut, func(x **Run) sheet.Object { return sheet.Object{"run", r.numbers[*x], "file", (*x).Name} }),
		"mode", mode, "confidence", confidence, "alpha", alpha, "family", r.Family, "measured", jsonMeasured(&r.Old[0].cfg),
		"old", sheet.Object{"label", sheet.Opt(r.o.Sides.Old), "runs", JSONRuns(r.Old)}, "new", sheet.Object{"label", sheet.Opt(r.o.Sides.New), "runs", JSONRuns(r.New)},
		"comparable", len(r.Refused()) == 0, "differences", sheet.List(r.Differences, (*Difference).json), "unchecked", r.Unchecked,
		"together", together, "levels", sheet.List(r.Levels, (*LevelResult).json), "old_only", r.OldOnly, "new_only", r.NewOnly,
		"gates", sheet.List(r.Gates, (*GateResult).json), "warnings", r.Warnings,
	})
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

func (l *LevelResult) json() sheet.Object {
	return sheet.Object{
		"name", l.Name, "mode", l.Mode, "value", l.Value, "answer", l.jsonAnswer(), "old_runs", len(l.Old), "new_runs", len(l.New), "pairs", sheet.Opt(l.Pairs),
		"old_selected", sheet.Opt(selected(l.Old)), "new_selected", sheet.Opt(selected(l.New)), // the part of each run that has the level
		"metrics", sheet.List(l.Rows, (*Row).json), "server", sheet.Opt(sheet.List(l.Server, (*ServerRow).json)),
	}
}

// jsonAnswer returns the answer of a level in a word.
func (l *LevelResult) jsonAnswer() sheet.Object {
	a := sheet.Object{"verdict", l.Answer.String(), "because", sheet.Opt(l.Because)}
	if l.Answer == NoDifference {
		a = append(a, "within", l.Within)
	}
	return a
}

// decisive returns the level whose answer is the answer of the comparison; nil if it is of several levels.
func (r *Result) decisive() *LevelResult {
	switch l := r.Together; {
	case len(r.Levels) == 1 && len(r.Refused()) == 0:
		return &r.Levels[0]
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
	return sheet.List(runs, func(r **Run) sheet.Object {
		o := sheet.Object{"file", (*r).Name, "model", sheet.Opt((*r).Model)}
		if m := (*r).Header.Meta; m != nil {
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
func selected(levels []*Level) []sheet.Object {
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
		"metric", r.Metric.Key, "unit", r.Metric.Unit(), "better", r.Metric.better(), "primary", r.Primary, "paired", r.Paired,
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
