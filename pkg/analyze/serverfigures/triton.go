package serverfigures

import (
	"slices"

	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// tritonFigures returns the times of the requests of each model, from the first
// snapshot of the measurement to the last.
func tritonFigures(e *Level) (all []Figure) {
	s := e.Stats
	if s == nil {
		return nil
	}
	var begin, end *export.StatsSnapshot
	for i := range s.Snapshots {
		x := &s.Snapshots[i]
		switch x.Edge {
		case export.EdgeMeasure:
			begin = x
		case export.EdgeWindow, export.EdgeEnd:
			if begin != nil && (end == nil || x.Edge == export.EdgeWindow) {
				end = x
			}
		}
	}
	if begin == nil || end == nil {
		return nil
	}
	delta, _ := export.Between(begin, end)
	for i := range delta {
		d := &delta[i]
		who := d.Name + " version " + d.Version
		t := &d.InferenceStats
		for _, x := range []struct {
			name string
			c    export.CountNS
		}{
			{"request", t.Success},
			{"queue", t.Queue},
			{"compute input", t.ComputeInput},
			{"compute infer", t.ComputeInfer},
			{"compute output", t.ComputeOutput},
			{"cache hit", t.CacheHit},
			{"cache miss", t.CacheMiss},
			{"failed request", t.Fail},
		} {
			mean, ok := x.c.MeanNS()
			if !ok {
				continue
			}
			f := Figure{Name: x.name, Metric: "ModelStatistics", Kind: Time, Of: who, Unit: "ns", N: x.c.Count, Mean: mean}
			if x.name == "request" {
				if e.SeveralModels || len(s.Models) > 0 && s.Models[0].Name == d.Name { // not one that another one called
					f.compare(e, d.Name, new(answer.E2EL))
				}
				if f.Compared && (e.SeveralResponses && !e.SeveralModels || decoupled(s, d.Name)) {
					f.Incomparable = decoupledTime
				}
			}
			all = append(all, f)
		}
	}
	return all
}

// decoupledTime is the reason not to compare the client's latency with Triton's. A
// request to a decoupled model may end for Triton when the model has taken it, long
// before its stream of responses ends.
const decoupledTime = "decoupled: without the stream"

// decoupled reports whether a model, or one that it hands requests on to, answers
// with any number of responses.
func decoupled(s *export.ServerStats, model string) bool {
	seen := make([]bool, len(s.Models))
	var is func(i int) bool
	is = func(i int) bool {
		if i < 0 || i >= len(s.Models) || seen[i] {
			return false
		}
		seen[i] = true
		return s.Models[i].Decoupled || slices.ContainsFunc(s.Models[i].Composing, is)
	}
	return slices.ContainsFunc(s.Models, func(m export.ServerModel) bool { return m.BLS && m.Decoupled }) ||
		is(slices.IndexFunc(s.Models, func(m export.ServerModel) bool { return m.Name == model }))
}
