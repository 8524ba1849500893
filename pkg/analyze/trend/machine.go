package trend

import (
	"math"
	"strconv"

	"github.com/pa-tools/pa/pkg/analyze/diff"
	"github.com/pa-tools/pa/pkg/analyze/inference"
	"github.com/pa-tools/pa/pkg/analyze/runset"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

// Schema names the layout that JSON and JudgementJSON write.
const Schema = "pa-trend/1"

// JSON writes the history as one object in the layout of schemas/trend.schema.json.
func JSON(res *Result) sheet.Renderer {
	d := jsonDocument{
		Schema: Schema, Headline: res.Headline(), Confidence: confidence, Measured: res.Set.Runs[0].Measured(),
		Comparable: len(res.Set.Refused()) == 0, Differences: res.Set.JSONDifferences(), Points: jsonPoints(res.Points), Levels: []jsonLevel{},
	}
	for i := range res.Levels {
		l := &res.Levels[i]
		x := jsonLevel{Name: l.Name, Mode: l.Mode, Value: l.Value, Metrics: []jsonMetric{}}
		for k := range l.Rows {
			r := &l.Rows[k]
			m := jsonMetric{Metric: r.Metric.Key, Unit: r.Metric.Unit(), Primary: r.Metric.Primary, NA: r.NA}
			for _, v := range r.Values {
				m.Values = append(m.Values, jsonValue{
					Mean: sheet.JSONNumber(v.Mean), Low: sheet.JSONNumber(v.Interval.Low), High: sheet.JSONNumber(v.Interval.High), Runs: sheet.JSONNumbers(v.Runs),
				})
			}
			for _, s := range r.Steps {
				m.Steps = append(m.Steps, jsonStep{
					Point: s.At, Change: sheet.JSONNumber(s.Change), Low: sheet.JSONNumber(s.Interval.Low), High: sheet.JSONNumber(s.Interval.High), P: sheet.JSONNumber(s.P),
				})
			}
			x.Metrics = append(x.Metrics, m)
		}
		d.Levels = append(d.Levels, x)
	}
	return sheet.JSON(d)
}

// JudgementJSON writes a judgement as one object in the layout of
// schemas/trend.schema.json. The new point is the last one.
func JudgementJSON(j *Judgement) sheet.Renderer {
	passed := j.Passed()
	d := jsonDocument{
		Schema: Schema, Headline: j.Headline(), Confidence: confidence, Measured: j.New.Runs[0].Measured(), Passed: &passed, Answer: &jsonAnswer{Verdict: j.Answer().String()}, Margin: &j.Margin,
		Comparable: len(j.Set.Refused()) == 0, Differences: j.Set.JSONDifferences(),
		Points: append(jsonPoints(j.Accepted), jsonPoints([]Point{j.New})...), Levels: []jsonLevel{},
		Missing: j.Missing, Added: j.Added, Unverified: j.Unverified,
	}
	if err := j.Inconclusive(); err != nil {
		d.Answer.Because = err.Error()
	}
	for _, l := range j.LeftOut {
		d.LeftOut = append(d.LeftOut, jsonLeftOut(l))
	}
	for i := range j.Levels {
		l := &j.Levels[i]
		x := jsonLevel{Name: l.Name, Mode: l.Mode, Value: l.Value, Metrics: []jsonMetric{}}
		for k := range l.Rows {
			r := &l.Rows[k]
			x.Metrics = append(x.Metrics, jsonMetric{
				Metric: r.Metric.Key, Unit: r.Metric.Unit(), Primary: true, NA: r.NA, Accepted: sheet.JSONNumbers(r.Accepted), New: sheet.JSONNumber(r.New),
				Change: sheet.JSONNumber(r.Change), Low: sheet.JSONNumber(r.Interval.Low), High: sheet.JSONNumber(r.Interval.High),
				Within: j.within(r), Outlying: jsonOutlyings(r.Outlying),
				Level: sheet.JSONNumber(r.Level), P: sheet.JSONNumber(r.P), PAdjusted: sheet.JSONNumber(r.Adjusted), Verdict: r.Verdict.String(),
			})
		}
		d.Levels = append(d.Levels, x)
	}
	return sheet.JSON(d)
}

type jsonDocument struct {
	Schema      string                  `json:"schema"`
	Headline    string                  `json:"headline"`
	Passed      *bool                   `json:"passed,omitempty"`
	Answer      *jsonAnswer             `json:"answer,omitempty"`
	Margin      *float64                `json:"margin,omitempty"`
	Confidence  float64                 `json:"confidence"`
	Measured    string                  `json:"measured"`
	Comparable  bool                    `json:"comparable"`
	Differences []runset.JSONDifference `json:"differences"`
	Points      []jsonPoint             `json:"points"`
	Levels      []jsonLevel             `json:"levels"`
	Missing     []string                `json:"missing_levels,omitempty"`
	Added       []string                `json:"added_levels,omitempty"`
	LeftOut     []jsonLeftOut           `json:"left_out_points,omitempty"`
	Unverified  []string                `json:"unverified_points,omitempty"`
}

type jsonLeftOut struct {
	Label  string `json:"label"`
	Reason string `json:"reason"`
}

type jsonPoint struct {
	Label string         `json:"label"`
	Start uint64         `json:"start_ns"`
	Runs  []diff.JSONRun `json:"runs"`
	Noise string         `json:"noise,omitempty"`
}

type jsonLevel struct {
	Name    string       `json:"name"`
	Mode    string       `json:"mode"`
	Value   string       `json:"value"`
	Metrics []jsonMetric `json:"metrics"`
}

type jsonMetric struct {
	Metric    string         `json:"metric"`
	Unit      string         `json:"unit"`
	Primary   bool           `json:"primary"`
	Values    []jsonValue    `json:"values,omitempty"`
	Steps     []jsonStep     `json:"steps,omitempty"`
	Accepted  []*float64     `json:"accepted,omitempty"`
	New       *float64       `json:"new,omitempty"`
	Change    *float64       `json:"change,omitempty"`
	Low       *float64       `json:"low,omitempty"`
	High      *float64       `json:"high,omitempty"`
	Level     *float64       `json:"interval_confidence,omitempty"`
	Within    *jsonWithin    `json:"within,omitempty"`
	P         *float64       `json:"p,omitempty"`
	PAdjusted *float64       `json:"p_adjusted,omitempty"`
	Verdict   string         `json:"verdict,omitempty"`
	NA        string         `json:"na,omitempty"`
	Outlying  []jsonOutlying `json:"outlying_runs,omitempty"`
}

// A jsonAnswer is the answer about the new point.
type jsonAnswer struct {
	Verdict string `json:"verdict"`
	Because string `json:"because,omitempty"`
}

type jsonWithin struct {
	Low   *float64 `json:"low,omitempty"`
	High  *float64 `json:"high,omitempty"`
	Shown bool     `json:"shown"`
}

// within returns the interval that shows whether a metric is not worse by the margin; nil for none.
func (j *Judgement) within(r *Judged) *jsonWithin {
	if math.IsNaN(r.Bounds.Low) {
		return nil
	}
	_, most := r.forTheWorse()
	return &jsonWithin{sheet.JSONNumber(r.Bounds.Low), sheet.JSONNumber(r.Bounds.High), most < j.margin()}
}

type jsonOutlying struct {
	File   string  `json:"file"`
	Factor float64 `json:"factor"`
	P      float64 `json:"p"`
}

// jsonOutlyings returns the outlying runs of the new point.
func jsonOutlyings(all []OutlyingRun) (listed []jsonOutlying) {
	for _, o := range all {
		listed = append(listed, jsonOutlying{o.File, o.Factor, o.P})
	}
	return listed
}

type jsonValue struct {
	Mean *float64   `json:"mean,omitempty"`
	Low  *float64   `json:"low,omitempty"`
	High *float64   `json:"high,omitempty"`
	Runs []*float64 `json:"runs"`
}

type jsonStep struct {
	Point  int      `json:"point"`
	Change *float64 `json:"change,omitempty"`
	Low    *float64 `json:"low,omitempty"`
	High   *float64 `json:"high,omitempty"`
	P      *float64 `json:"p,omitempty"`
}

func jsonPoints(points []Point) []jsonPoint {
	all := []jsonPoint{}
	for i := range points {
		all = append(all, jsonPoint{points[i].Label, points[i].start(), diff.JSONRuns(points[i].Runs), points[i].Noise})
	}
	return all
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
