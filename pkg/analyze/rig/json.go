package rig

import (
	"github.com/pa-tools/pa/pkg/analyze/diff"
	"github.com/pa-tools/pa/pkg/analyze/runset"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

// Schema names the layout that JSON writes.
const Schema = "pa-rig/1"

// JSON writes one object in the layout of schemas/rig.schema.json, with full precision.
// Missing numbers are left out.
func JSON(res *Result) sheet.Renderer { return sheet.JSON(document(res)) }

type jsonResult struct {
	Schema      string                  `json:"schema"`
	Confidence  float64                 `json:"confidence"`
	Alpha       float64                 `json:"alpha"`
	Power       float64                 `json:"power"`
	Effect      *float64                `json:"effect,omitempty"`
	Measured    string                  `json:"measured"`
	Headlines   []string                `json:"headlines"`
	Runs        []diff.JSONRun          `json:"runs"`
	Comparable  bool                    `json:"comparable"`
	Differences []runset.JSONDifference `json:"differences"`
	Levels      []jsonLevel             `json:"levels"`
	Warnings    []string                `json:"warnings"`
}

type jsonLevel struct {
	Name    string       `json:"name"`
	Mode    string       `json:"mode"`
	Value   string       `json:"value"`
	Files   []string     `json:"files"`
	Metrics []jsonMetric `json:"metrics"`
}

type jsonMetric struct {
	Metric        string         `json:"metric"`
	Unit          string         `json:"unit"`
	Primary       bool           `json:"primary"`
	Runs          []*float64     `json:"runs"`
	Mean          *float64       `json:"mean,omitempty"`
	Deviation     *float64       `json:"deviation,omitempty"`
	DeviationLow  *float64       `json:"deviation_low,omitempty"`
	DeviationHigh *float64       `json:"deviation_high,omitempty"`
	Drift         *jsonDrift     `json:"drift,omitempty"`
	Smallest      []jsonSmallest `json:"smallest,omitempty"`
	NeededRuns    *int           `json:"needed_runs,omitempty"`
	Turns         *jsonTurns     `json:"turns,omitempty"`
	NA            string         `json:"na,omitempty"`
}

type jsonDrift struct {
	Change    *float64 `json:"change,omitempty"`
	Low       *float64 `json:"low,omitempty"`
	High      *float64 `json:"high,omitempty"`
	P         *float64 `json:"p,omitempty"`
	PAdjusted *float64 `json:"p_adjusted,omitempty"`
}

type jsonSmallest struct {
	RunsASide int      `json:"runs_a_side"`
	Change    *float64 `json:"change,omitempty"`
}

type jsonTurns struct {
	Neighbors *float64 `json:"neighbors_deviation,omitempty"`
	Ratio     *float64 `json:"variance_ratio,omitempty"`
	P         *float64 `json:"p,omitempty"`
	PAdjusted *float64 `json:"p_adjusted,omitempty"`
}

func document(res *Result) jsonResult {
	d := jsonResult{
		Schema: Schema, Confidence: confidence, Alpha: alpha, Power: power, Measured: res.Set.Runs[0].Measured(), Headlines: res.Headlines(),
		Runs: diff.JSONRuns(res.Set.Runs), Comparable: len(res.Set.Refused()) == 0, Differences: res.Set.JSONDifferences(), Levels: []jsonLevel{},
		Warnings: append([]string{}, res.Set.Warnings...),
	}
	if res.Options.Effect > 0 {
		d.Effect = &res.Options.Effect
	}
	for i := range res.Levels {
		l := &res.Levels[i]
		x := jsonLevel{Name: l.Name, Mode: l.Mode, Value: l.Value, Files: []string{}, Metrics: []jsonMetric{}}
		for _, r := range l.Runs {
			x.Files = append(x.Files, r.Name)
		}
		for j := range l.Rows {
			x.Metrics = append(x.Metrics, res.metric(&l.Rows[j]))
		}
		d.Levels = append(d.Levels, x)
	}
	return d
}

func (res *Result) metric(r *Row) jsonMetric {
	m := jsonMetric{
		Metric: r.Metric.Key, Unit: r.Metric.Unit(), Primary: r.Metric.Primary,
		Runs: sheet.JSONNumbers(r.Values), Mean: sheet.JSONNumber(r.Mean), NA: r.NA,
	}
	if r.NA != "" {
		return m
	}
	m.Deviation, m.DeviationLow, m.DeviationHigh = sheet.JSONNumber(r.Deviation), sheet.JSONNumber(r.DeviationInterval.Low), sheet.JSONNumber(r.DeviationInterval.High)
	m.Drift = &jsonDrift{
		sheet.JSONNumber(r.Drift.Change), sheet.JSONNumber(r.Drift.Interval.Low), sheet.JSONNumber(r.Drift.Interval.High),
		sheet.JSONNumber(r.Drift.P), sheet.JSONNumber(r.Drift.Adjusted),
	}
	for i, s := range r.Smallest {
		m.Smallest = append(m.Smallest, jsonSmallest{res.Options.RunsASide[i], sheet.JSONNumber(s)})
	}
	if r.Needed > 0 && r.Needed <= MaxRunsASide {
		m.NeededRuns = &r.Needed
	}
	m.Turns = &jsonTurns{sheet.JSONNumber(r.Turns.Neighbors), sheet.JSONNumber(r.Turns.Ratio), sheet.JSONNumber(r.Turns.P), sheet.JSONNumber(r.Turns.Adjusted)}
	return m
}
