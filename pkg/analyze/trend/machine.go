package trend

import (
	"math"
	"strconv"

	"github.com/pa-tools/pa/pkg/analyze/diff"
	"github.com/pa-tools/pa/pkg/analyze/inference"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

// Schema names the layout that JSON and JudgementJSON write.
const Schema = "pa-trend/1"

// JSON writes the history as one object in the layout of schemas/trend.schema.json.
func JSON(res *Result) sheet.Renderer {
	levels := sheet.List(res.Levels, func(l *Level) sheet.Object {
		return sheet.Object{"name", l.Name, "mode", l.Mode, "value", l.Value, "metrics", sheet.List(l.Rows, (*Row).json)}
	})
	return sheet.JSON(sheet.Object{
		"schema", Schema, "headline", res.Headline(), "confidence", confidence, "measured", res.Set.Runs[0].Measured(),
		"comparable", len(res.Set.Refused()) == 0, "differences", res.Set.JSONDifferences(), "points", sheet.List(res.Points, (*Point).json), "levels", levels,
	})
}

func (r *Row) json() sheet.Object {
	values := sheet.List(r.Values, func(v *Value) sheet.Object {
		return sheet.Object{"mean", v.Mean, "low", v.Interval.Low, "high", v.Interval.High, "runs", v.Runs}
	})
	steps := sheet.List(r.Steps, func(s *Step) sheet.Object {
		return sheet.Object{"point", s.At, "change", s.Change, "low", s.Interval.Low, "high", s.Interval.High, "p", s.P}
	})
	return sheet.Object{
		"metric", r.Metric.Key, "unit", r.Metric.Unit(), "primary", r.Metric.Primary, "values", sheet.Opt(values), "steps", sheet.Opt(steps), "na", sheet.Opt(r.NA),
	}
}

func (p *Point) json() sheet.Object {
	return sheet.Object{"label", p.Label, "start_ns", p.start(), "runs", diff.JSONRuns(p.Runs), "noise", sheet.Opt(p.Noise)}
}

// JudgementJSON writes a judgement as one object in the layout of
// schemas/trend.schema.json. The new point is the last one.
func JudgementJSON(j *Judgement) sheet.Renderer {
	answer := sheet.Object{"verdict", j.Answer().String()}
	if err := j.Inconclusive(); err != nil {
		answer = append(answer, "because", sheet.Opt(err.Error()))
	}
	levels := sheet.List(j.Levels, func(l *JudgedLevel) sheet.Object {
		return sheet.Object{"name", l.Name, "mode", l.Mode, "value", l.Value, "metrics", sheet.List(l.Rows, j.json)}
	})
	leftOut := sheet.List(j.LeftOut, func(l *LeftOut) sheet.Object { return sheet.Object{"label", l.Label, "reason", l.Reason} })
	return sheet.JSON(sheet.Object{
		"schema", Schema, "headline", j.Headline(), "passed", j.Passed(), "answer", answer, "margin", j.Margin, "confidence", confidence,
		"measured", j.New.Runs[0].Measured(), "comparable", len(j.Set.Refused()) == 0, "differences", j.Set.JSONDifferences(),
		"points", append(sheet.List(j.Accepted, (*Point).json), j.New.json()), "levels", levels,
		"missing_levels", sheet.Opt(j.Missing), "added_levels", sheet.Opt(j.Added), "left_out_points", sheet.Opt(leftOut), "unverified_points", sheet.Opt(j.Unverified),
	})
}

func (j *Judgement) json(r *Judged) sheet.Object {
	outlying := sheet.List(r.Outlying, func(o *OutlyingRun) sheet.Object { return sheet.Object{"file", o.File, "factor", o.Factor, "p", o.P} })
	return sheet.Object{
		"metric", r.Metric.Key, "unit", r.Metric.Unit(), "primary", true, "accepted", sheet.Opt(r.Accepted), "new", r.New,
		"change", r.Change, "low", r.Interval.Low, "high", r.Interval.High, "interval_confidence", r.Level, "within", j.within(r),
		"p", r.P, "p_adjusted", r.Adjusted, "verdict", sheet.Opt(r.Verdict.String()), "na", sheet.Opt(r.NA), "outlying_runs", sheet.Opt(outlying),
	}
}

// within returns the interval that shows whether a metric is not worse by the margin; nil for none.
func (j *Judgement) within(r *Judged) sheet.Object {
	if math.IsNaN(r.Bounds.Low) {
		return nil
	}
	_, most := r.forTheWorse()
	return sheet.Object{"low", r.Bounds.Low, "high", r.Bounds.High, "shown", most < j.margin()}
}

// csvHeader is the header line; schemas/trend_csv.md describes the columns.
var csvHeader = []string{"record", "level", "name", "unit", "point", "value", "low", "high", "p", "p_adjusted", "verdict", "primary", "reason", "file", "confidence"}

// CSV writes a line for each value of a point, step and difference, in the columns of
// schemas/trend_csv.md.
func CSV(res *Result) sheet.Renderer {
	rows := res.Set.CSVDifferences()
	number := sheet.CSVNumber
	for i := range res.Levels {
		l := &res.Levels[i]
		for k := range l.Rows {
			r := &l.Rows[k]
			row := func(record string, point int, value float64, ends inference.Interval) sheet.CSVRow {
				return sheet.CSVRow{
					"record": record, "level": l.Name, "name": r.Metric.Key, "unit": r.Metric.Unit(), "point": res.Points[point].Label,
					"value": number(value), "low": number(ends.Low), "high": number(ends.High), "primary": strconv.FormatBool(r.Metric.Primary),
				}
			}
			for p, v := range r.Values {
				rows = append(rows, row("value", p, v.Mean, v.Interval))
			}
			for _, s := range r.Steps {
				x := row("step", s.At, s.Change, s.Interval)
				x["unit"], x["p_adjusted"] = "ratio", number(s.P)
				rows = append(rows, x)
			}
		}
	}
	return sheet.CSV(csvHeader, rows)
}

// JudgementCSV writes a line for each primary metric and difference, in the columns of
// schemas/trend_csv.md.
func JudgementCSV(j *Judgement) sheet.Renderer {
	answer := sheet.CSVRow{"record": "answer", "verdict": j.Answer().String()}
	if err := j.Inconclusive(); err != nil {
		answer["reason"] = err.Error()
	}
	rows := append([]sheet.CSVRow{answer}, j.Set.CSVDifferences()...)
	for _, l := range j.LeftOut {
		rows = append(rows, sheet.CSVRow{"record": "left_out", "point": l.Label, "reason": l.Reason})
	}
	for _, name := range j.Unverified {
		rows = append(rows, sheet.CSVRow{"record": "unverified", "point": name})
	}
	number := sheet.CSVNumber
	for i := range j.Levels {
		l := &j.Levels[i]
		for k := range l.Rows {
			r := &l.Rows[k]
			rows = append(rows, sheet.CSVRow{
				"record": "judged", "level": l.Name, "name": r.Metric.Key, "unit": "ratio", "value": number(r.Change),
				"low": number(r.Interval.Low), "high": number(r.Interval.High), "p": number(r.P), "p_adjusted": number(r.Adjusted),
				"verdict": r.Verdict.String(), "primary": "true", "reason": r.NA, "confidence": number(r.Level),
			})
			for p, v := range r.Accepted {
				rows = append(rows, sheet.CSVRow{"record": "accepted", "level": l.Name, "name": r.Metric.Key, "unit": r.Metric.Unit(), "point": strconv.Itoa(p + 1), "value": number(v)})
			}
			rows = append(rows, sheet.CSVRow{"record": "new", "level": l.Name, "name": r.Metric.Key, "unit": r.Metric.Unit(), "value": number(r.New)})
		}
	}
	return sheet.CSV(csvHeader, rows)
}
