package rig

import (
	"github.com/pa-tools/pa/pkg/analyze/diff"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

// Schema names the layout that JSON writes.
const Schema = "pa-rig/1"

// JSON writes one object in the layout of schemas/rig.schema.json, with full precision.
// Missing numbers are left out.
func JSON(res *Result) sheet.Renderer {
	return sheet.JSON(sheet.Object{
		"schema", Schema, "confidence", confidence, "alpha", alpha, "power", power, "effect", sheet.Opt(res.Options.Effect),
		"measured", res.Set.Runs[0].Measured(), "headlines", res.Headlines(), "runs", diff.JSONRuns(res.Set.Runs),
		"comparable", len(res.Set.Refused()) == 0, "differences", res.Set.JSONDifferences(),
		"levels", sheet.List(res.Levels, func(l *Level) sheet.Object {
			return append(l.JSON(), "metrics", sheet.List(l.Rows, res.metric))
		}),
		"warnings", res.Set.Warnings,
	})
}

func (res *Result) metric(r *Row) sheet.Object {
	m := sheet.Object{"metric", r.Metric.Key, "unit", r.Metric.Unit(), "primary", r.Metric.Primary, "runs", r.Values, "mean", r.Mean}
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
