package plan

import (
	"math"

	"github.com/pa-tools/pa/pkg/analyze/diff"
	"github.com/pa-tools/pa/pkg/analyze/rig"
	"github.com/pa-tools/pa/pkg/analyze/runset"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

// Schema names the layout that JSON writes.
const Schema = "pa-plan/1"

// JSON writes one object in the layout of schemas/plan.schema.json. Missing numbers are left out.
func JSON(res *Result) sheet.Renderer { return sheet.JSON(document(res)) }

type jsonResult struct {
	Schema      string                  `json:"schema"`
	Change      float64                 `json:"change"`
	Power       float64                 `json:"power"`
	Alpha       float64                 `json:"alpha"`
	Measured    string                  `json:"measured"`
	Headlines   []string                `json:"headlines"`
	RunSeconds  *float64                `json:"run_seconds,omitempty"`
	Command     *jsonCommand            `json:"command,omitempty"`
	NoCommand   string                  `json:"no_command,omitempty"`
	Runs        []diff.JSONRun          `json:"runs"`
	Comparable  bool                    `json:"comparable"`
	Differences []runset.JSONDifference `json:"differences"`
	Levels      []jsonLevel             `json:"levels"`
	Warnings    []string                `json:"warnings"`
}

type jsonCommand struct {
	Line     string `json:"line"`
	Runs     int    `json:"runs"`
	AllSides bool   `json:"all_sides"`
	Files    string `json:"files"`
	Pilot    bool   `json:"pilot"`
	Hidden   bool   `json:"hidden_credentials"`
}

type jsonLevel struct {
	Name     string     `json:"name"`
	Mode     string     `json:"mode"`
	Value    string     `json:"value"`
	Files    []string   `json:"files"`
	Requests int        `json:"requests_a_run"`
	Find     *jsonSides `json:"find,omitempty"`
	Exclude  *jsonSides `json:"exclude,omitempty"`
	// SingleRequests is rounded like the text.
	SingleRequests *float64     `json:"single_run_requests,omitempty"`
	NA             string       `json:"na,omitempty"`
	Metrics        []jsonMetric `json:"metrics"`
}

type jsonSides struct {
	RunsASide int      `json:"runs_a_side"`
	Requests  int      `json:"requests"`
	Seconds   *float64 `json:"seconds,omitempty"`
}

type jsonMetric struct {
	Metric         string   `json:"metric"`
	Deviation      *float64 `json:"deviation,omitempty"`
	Within         *float64 `json:"within,omitempty"`
	Between        *float64 `json:"between,omitempty"`
	Find           int      `json:"find_runs_a_side,omitempty"`
	Exclude        int      `json:"exclude_runs_a_side,omitempty"`
	SingleRequests *float64 `json:"single_run_requests,omitempty"`
	NA             string   `json:"na,omitempty"`
}

func document(res *Result) jsonResult {
	d := jsonResult{
		Schema: Schema, Change: res.Options.Change, Power: res.Options.Power, Alpha: alpha,
		Measured: res.Set.Runs[0].Measured(), Headlines: res.Headlines(), RunSeconds: sheet.JSONNumber(res.RunSeconds), NoCommand: res.NoCommand,
		Runs: diff.JSONRuns(res.Set.Runs), Comparable: len(res.Set.Refused()) == 0, Differences: res.Set.JSONDifferences(), Levels: []jsonLevel{},
		Warnings: append([]string{}, res.Set.Warnings...),
	}
	if res.Command.Line != "" {
		c := jsonCommand(res.Command)
		d.Command = &c
	}
	for i := range res.Levels {
		l := &res.Levels[i]
		x := jsonLevel{
			Name: l.Name, Mode: l.Mode, Value: l.Value, Files: []string{}, Requests: l.Requests, NA: l.NA, Metrics: []jsonMetric{},
			Find: res.sides(l.Find, l), Exclude: res.sides(l.Exclude, l), SingleRequests: count(l.SingleRequests),
		}
		for _, r := range l.Runs {
			x.Files = append(x.Files, r.Name)
		}
		for j := range l.Rows {
			r := &l.Rows[j]
			m := jsonMetric{
				Metric: r.Metric.Key, Deviation: sheet.JSONNumber(r.Deviation), Within: sheet.JSONNumber(r.Within), Between: sheet.JSONNumber(r.Between),
				SingleRequests: count(r.SingleRequests), NA: r.NA,
			}
			if r.Find <= rig.MaxRunsASide {
				m.Find = r.Find
			}
			if r.Exclude <= rig.MaxRunsASide {
				m.Exclude = r.Exclude
			}
			x.Metrics = append(x.Metrics, m)
		}
		d.Levels = append(d.Levels, x)
	}
	return d
}

// sides returns a number of runs a side with its requests and time; nil if it is not known or too large.
func (res *Result) sides(k int, l *Level) *jsonSides {
	if k == 0 || k > rig.MaxRunsASide {
		return nil
	}
	return &jsonSides{k, 2 * k * l.Requests, sheet.JSONNumber(res.Seconds(k))}
}

// count returns a number of requests; nil for 0.
func count(n float64) *float64 {
	if n == 0 {
		n = math.NaN()
	}
	return sheet.JSONNumber(tidy(n))
}
