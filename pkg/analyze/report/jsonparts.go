package report

import (
	"math"

	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

// The parts of pa-report/1 that exist only on request.

// PartOf returns the selected part of a level in the layout of JSON, "selected" of the schemas; nil
// for nil.
func PartOf(s *analyze.Selected) sheet.Object {
	if s == nil {
		return nil
	}
	o := sheet.Object{"how", s.How, "start_ns", s.FromNS, "end_ns", s.ToNS, "level_start_ns", s.Level.FromNS, "level_end_ns", s.Level.ToNS}
	if x := s.Steady; x != nil {
		o = append(o, "steady", sheet.Object{"concurrency", x.Concurrency, "threshold", x.Threshold, "peak", x.Peak, "at_plateau", x.AtPlateau})
	}
	return o
}

// jsonAttainment returns how a level met an objective; target is 0 for a condition of it.
func jsonAttainment(x *analyze.Attainment, target float64) sheet.Object {
	if x == nil {
		return nil
	}
	attained := math.NaN()
	if x.Share.OK {
		attained = x.Share.V
	}
	return sheet.Object{
		"expression", x.SLO.String(), "target", sheet.Opt(target), "attained", attained, "na", sheet.Opt(x.Share.NA), // why it is unknown
		"met", x.Met, "missed", x.Missed, "failed", x.Failed, "unknown", x.Unknown, "lacking", byName(x.Lacking),
		"goodput", sheet.Object{"requests_per_s", rate(x.Requests), "output_tokens_per_s", rate(x.OutputTokens)},
		"conditions", sheet.Opt(sheet.List(x.Conditions, func(c *analyze.Attainment) sheet.Object { return jsonAttainment(c, 0) })),
	}
}

// MaxLoadJSON returns the estimate in the layout of JSON, "max_load" of the schemas; nil for nil.
func MaxLoadJSON(m *analyze.MaxLoad) sheet.Object {
	if m == nil {
		return nil
	}
	at := func(l *analyze.LoadLevel) sheet.Object {
		if l == nil {
			return nil
		}
		return sheet.Object{"load", l.Load, "attained", l.Share}
	}
	return sheet.Object{
		"mode", m.Mode, "target", m.Target, "estimate", m.Estimate, "low", m.Interval.Low, "high", m.Interval.High, "na", sheet.Opt(m.NA), // why a bound is missing
		"within", at(m.Within), "beyond", at(m.Beyond), "again", sheet.Opt(m.Again), "next", sheet.Opt(m.Next), "next_requests", sheet.Opt(m.NextRequests),
		"untold", sheet.Opt(m.Unknown),
	}
}

// bounded reports whether an end of an interval is a number.
func bounded(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
