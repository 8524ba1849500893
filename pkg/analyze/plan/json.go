package plan

import (
	"github.com/pa-tools/pa/pkg/analyze/diff"
	"github.com/pa-tools/pa/pkg/analyze/rig"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

// Schema names the layout that JSON writes.
const Schema = "pa-plan/1"

// JSON writes one object in the layout of schemas/plan.schema.json. Missing numbers are left out.
func JSON(res *Result) sheet.Renderer {
	var command sheet.Object
	if c := &res.Command; c.Line != "" {
		command = sheet.Object{"line", c.Line, "runs", c.Runs, "all_sides", c.AllSides, "files", c.Files, "pilot", c.Pilot, "hidden_credentials", c.Hidden}
	}
	return sheet.JSON(sheet.Object{
		"schema", Schema, "change", res.Options.Change, "power", res.Options.Power, "alpha", alpha,
		"measured", res.Set.Runs[0].Measured(), "headlines", res.Headlines(), "run_seconds", res.RunSeconds, "command", command, "no_command", sheet.Opt(res.NoCommand),
		"runs", diff.JSONRuns(res.Set.Runs), "comparable", len(res.Set.Refused()) == 0, "differences", res.Set.JSONDifferences(),
		"levels", sheet.List(res.Levels, func(l *Level) sheet.Object {
			return append(l.JSON(),
				"requests_a_run", l.Requests, "find", res.sides(l.Find, l), "exclude", res.sides(l.Exclude, l),
				"single_run_requests", count(l.SingleRequests), // rounded like the text
				"na", sheet.Opt(l.NA), "metrics", sheet.List(l.Rows, (*Row).json))
		}),
		"warnings", res.Set.Warnings,
	})
}

func (r *Row) json() sheet.Object {
	return sheet.Object{
		"metric", r.Metric.Key, "deviation", r.Deviation, "within", r.Within, "between", r.Between,
		"find_runs_a_side", known(r.Find), "exclude_runs_a_side", known(r.Exclude), "single_run_requests", count(r.SingleRequests), "na", sheet.Opt(r.NA),
	}
}

// known returns a number of runs a side; nil if it is not known or too large.
func known(k int) any {
	if k > rig.MaxRunsASide {
		return nil
	}
	return sheet.Opt(k)
}

// sides returns a number of runs a side with its requests and time; nil if it is not known or too large.
func (res *Result) sides(k int, l *Level) sheet.Object {
	if known(k) == nil {
		return nil
	}
	return sheet.Object{"runs_a_side", k, "requests", 2 * k * l.Requests, "seconds", res.Seconds(k)}
}

// count returns a number of requests; nil for 0.
func count(n float64) any {
	if n == 0 {
		return nil
	}
	return tidy(n)
}
