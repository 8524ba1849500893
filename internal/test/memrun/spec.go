package memrun

import (
	"github.com/pa-tools/pa/pkg/export"
)

// A Spec is how a run is made: at each level, requests one after the other, each with
// four tokens.
type Spec struct {
	Name   string
	Second uint64   // of the start
	TTFT   float64  // milliseconds
	ITL    float64  // milliseconds
	Levels []string // concurrency; nil is "1"
	Model  string   // "" is "tiny"
	Group  string   // of pa-record --repeat
	Label  string   // of the server, with --repeat
	// Saturated adds the warning that the client may have been the limit, at each level.
	Saturated bool
	// Requests is the number of requests, 0 for 10; the first Failed of them fail.
	Requests, Failed int
}

// startSeconds is second 0: 2023-11-14 22:13:20 UTC.
const startSeconds = 1_700_000_000

// Reader returns a reader of the run.
func (s Spec) Reader() *Reader {
	kind, endpoint, streaming := "openai", "v1/chat/completions", true
	model, levels, n := s.Model, s.Levels, s.Requests
	if model == "" {
		model = "tiny"
	}
	if levels == nil {
		levels = []string{"1"}
	}
	if n == 0 {
		n = 10
	}
	r := &Reader{Header: export.Run{ServiceKind: &kind, Endpoint: &endpoint, Meta: &export.RunMeta{
		Schema: export.Schema, Tool: "pa-record 0.1.0", Model: model, Streaming: &streaming,
	}}}
	if s.Group != "" {
		r.Header.Meta.Repeat = &export.RepeatMeta{Group: s.Group, Label: s.Label}
	}
	var warnings []string
	if s.Saturated {
		warnings = []string{export.SaturationWarning + "one core was busy"}
	}
	now := (startSeconds + s.Second) * 1e9
	for _, level := range levels {
		var all []export.Request
		for i := range n {
			x := export.Request{ID: uint64(i), StartNS: now, StartSource: export.SourceKernel, HasMeta: true, Status: export.StatusOK, Phase: export.PhaseMeasured}
			now += uint64(s.TTFT * 1e6)
			if i < s.Failed {
				x.Status, x.FailedNS = export.StatusTimeout, now
				all = append(all, x)
				continue
			}
			for t := range 4 {
				if t > 0 {
					now += uint64(s.ITL * 1e6)
				}
				x.Responses = append(x.Responses, export.Response{RecvNS: now, Source: export.SourceKernel, Outputs: export.Fields{{
					Name: "response", Value: export.Text(`data: {"choices":[{"index":0,"delta":{"content":"a"}}]}` + "\n\n"),
				}}})
			}
			all = append(all, x)
		}
		r.Header.Experiments = append(r.Header.Experiments, export.Experiment{Mode: export.ModeConcurrency, Value: level, Meta: &export.ExperimentMeta{Warnings: warnings}})
		r.Requests = append(r.Requests, all)
	}
	return r
}
