package guidellm

import (
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/pyjson"
	"github.com/pa-tools/pa/pkg/export"
)

// set returns an object whose members are null, but for those given.
func set(names string, known pyjson.Object) pyjson.Object {
	var o pyjson.Object
	for name := range strings.FieldsSeq(names) {
		m := pyjson.Member{Name: name}
		for i := range known {
			if known[i].Name == name {
				m.Value = known[i].Value
			}
		}
		o = append(o, m)
	}
	return o
}

// config says how the run was made, as far as a recording has the same words for
// it.
func (w *Writer) config() pyjson.Object {
	const spec = "backend profile constraints tokenizer data data_column_mapper data_preprocessors data_finalizer data_loader seed outputs metrics"
	return pyjson.Object{
		{Name: "metadata", Value: pyjson.Object{{Name: "labels", Value: pyjson.Object{}}}},
		{Name: "spec", Value: set(spec, pyjson.Object{
			{Name: "backend", Value: w.backend()},
			{Name: "profile", Value: w.profile()},
			{Name: "constraints", Value: pyjson.Array{}},
			{Name: "data", Value: pyjson.Array{}},
			{Name: "data_preprocessors", Value: pyjson.Array{}},
			{Name: "outputs", Value: pyjson.Array{pyjson.Object{{Name: "kind", Value: "json"}, {Name: "path", Value: nil}}}},
			{Name: "metrics", Value: set("kind warnings sample_size prefer_response_metrics confidence slo", pyjson.Object{
				{Name: "kind", Value: "generative"}, {Name: "warnings", Value: pyjson.Array{}}, {Name: "prefer_response_metrics", Value: true},
			})},
		})},
		{Name: "benchmarks", Value: pyjson.Array{nil}},
	}
}

// backend says what was asked, and how.
func (w *Writer) backend() pyjson.Object {
	const names = "kind target model request_format api_key api_routes timeout timeout_connect http2 follow_redirects verify validate_backend stream extras max_tokens server_history tool_call_missing_behavior multiturn_reasoning"
	known := pyjson.Object{{Name: "model", Value: textOrNull(w.model)}}
	if k := w.run.ServiceKind; k != nil && *k == "openai" {
		known = append(known, pyjson.Member{Name: "kind", Value: "openai_http"})
	}
	if e := w.run.Endpoint; e != nil && *e != "" {
		known = append(known, pyjson.Member{Name: "request_format", Value: "/" + strings.TrimPrefix(*e, "/")})
	}
	if m := w.run.Meta; m != nil {
		known = append(known, pyjson.Member{Name: "target", Value: textOrNull(m.URL)}, pyjson.Member{Name: "stream", Value: m.Streaming != nil && *m.Streaming})
	}
	return set(names, known)
}

// profile is the kind of load of the whole run, by its first level.
func (w *Writer) profile() pyjson.Object {
	rest := pyjson.Object{{Name: "rampup_duration", Value: nil}, {Name: "warmup", Value: bounds()}, {Name: "cooldown", Value: bounds()}}
	var values pyjson.Array
	for i := range w.run.Experiments {
		values = append(values, number(w.run.Experiments[i].Value))
	}
	kind, name := "throughput", "max_concurrency"
	if len(w.run.Experiments) > 0 {
		switch w.run.Experiments[0].Mode {
		case export.ModeConcurrency:
			kind, name = "concurrent", "streams"
		case export.ModeRequestRate:
			kind, name = "constant", "rate"
		}
	}
	return append(append(pyjson.Object{{Name: "kind", Value: kind}}, rest...), pyjson.Member{Name: name, Value: values})
}

// bounds of a warmup or cooldown: none.
func bounds() pyjson.Object {
	return pyjson.Object{{Name: "percent", Value: nil}, {Name: "value", Value: nil}, {Name: "mode", Value: "prefer_duration"}}
}

// number is the number of a level as it is written there.
func number(text string) any {
	if _, err := strconv.ParseFloat(text, 64); err != nil {
		return nil
	}
	return pyjson.Raw(text)
}

// strategy is the load of a level.
func strategy(e *export.Experiment) pyjson.Object {
	switch e.Mode {
	case export.ModeConcurrency:
		return pyjson.Object{
			{Name: "type_", Value: "concurrent"},
			{Name: "worker_count", Value: nil},
			{Name: "max_concurrency", Value: number(e.Value)},
			{Name: "streams", Value: number(e.Value)},
			{Name: "rampup_duration", Value: nil},
		}
	case export.ModeRequestRate:
		return pyjson.Object{
			{Name: "type_", Value: "constant"},
			{Name: "worker_count", Value: nil},
			{Name: "max_concurrency", Value: nil},
			{Name: "rate", Value: number(e.Value)},
			{Name: "rampup_duration", Value: nil},
		}
	}
	return pyjson.Object{{Name: "type_", Value: "throughput"}, {Name: "worker_count", Value: nil}, {Name: "max_concurrency", Value: nil}, {Name: "rampup_duration", Value: nil}}
}

// benchmarkConfig is the configuration of level i.
func (w *Writer) benchmarkConfig(i int) pyjson.Object {
	const names = "id_ run_id run_index strategy constraints sample_size warmup cooldown prefer_response_metrics slo confidence warnings profile requests backend environment"
	return set(names, pyjson.Object{
		{Name: "run_index", Value: i},
		{Name: "strategy", Value: strategy(&w.run.Experiments[i])},
		{Name: "constraints", Value: pyjson.Object{}},
		{Name: "warmup", Value: bounds()},
		{Name: "cooldown", Value: bounds()},
		{Name: "prefer_response_metrics", Value: true},
		{Name: "warnings", Value: pyjson.Array{}},
		{Name: "profile", Value: w.profile()},
		{Name: "requests", Value: pyjson.Object{}},
		{Name: "backend", Value: w.backend()},
		{Name: "environment", Value: pyjson.Object{}},
	})
}

// times of a level: of the recorder where it says them, else of the requests.
func times(e *export.Experiment, in window) (start, end float64) {
	start, end = in.from, in.to
	if m := e.Meta; m != nil && m.StartNS != 0 && m.EndNS != 0 {
		start, end = seconds(m.StartNS), seconds(m.EndNS)
	}
	return start, end
}

// schedulerState is how far GuideLLM's scheduler came: to the end.
func schedulerState(l *level, e *export.Experiment, in window) pyjson.Object {
	const names = "node_id num_processes start_time end_time start_requests_time end_requests_time end_queuing_time end_queuing_constraints " +
		"end_processing_time end_processing_constraints scheduler_constraints progress created_requests queued_requests pending_requests " +
		"processing_requests processed_requests successful_requests errored_requests cancelled_requests"
	start, end := times(e, in)
	g := &l.requests
	n := len(g[successful]) + len(g[errored]) + len(g[incomplete])
	return set(names, pyjson.Object{
		{Name: "start_time", Value: start},
		{Name: "end_time", Value: end},
		{Name: "start_requests_time", Value: in.from},
		{Name: "end_requests_time", Value: in.to},
		{Name: "end_queuing_constraints", Value: pyjson.Object{}},
		{Name: "end_processing_constraints", Value: pyjson.Object{}},
		{Name: "scheduler_constraints", Value: pyjson.Object{}},
		{Name: "progress", Value: set("remaining_requests total_requests remaining_duration total_duration stop_time", nil)},
		{Name: "created_requests", Value: n},
		{Name: "queued_requests", Value: 0},
		{Name: "pending_requests", Value: 0},
		{Name: "processing_requests", Value: 0},
		{Name: "processed_requests", Value: n},
		{Name: "successful_requests", Value: len(g[successful])},
		{Name: "errored_requests", Value: len(g[errored])},
		{Name: "cancelled_requests", Value: len(g[incomplete])},
	})
}

// schedulerMetrics is how late that scheduler was: -1 stands for what it does not
// know.
func schedulerMetrics(l *level, e *export.Experiment, in window) pyjson.Object {
	start, end := times(e, in)
	g := &l.requests
	mean := func(of func(*stat) float64) float64 {
		total, n := 0.0, 0
		for i := range g {
			for k := range g[i] {
				if v := of(&g[i][k]); has(v) {
					total += v
					n++
				}
			}
		}
		if n == 0 || total == 0 {
			return -1
		}
		return total / float64(n)
	}
	unknown := -1.0
	return pyjson.Object{
		{Name: "start_time", Value: start},
		{Name: "request_start_time", Value: in.from},
		{Name: "measure_start_time", Value: in.from},
		{Name: "measure_end_time", Value: in.to},
		{Name: "request_end_time", Value: in.to},
		{Name: "end_time", Value: end},
		{Name: "requests_made", Value: g.counts()},
		{Name: "generation_delay", Value: distribution(nil)},
		{Name: "queued_time_avg", Value: unknown},
		{Name: "resolve_start_delay_avg", Value: unknown},
		{Name: "resolve_targeted_start_delay_avg", Value: unknown},
		{Name: "request_start_delay_avg", Value: mean(func(s *stat) float64 { return s.start - s.resolveStart })},
		{Name: "request_targeted_start_delay_avg", Value: mean(func(s *stat) float64 { return s.start - s.targeted })},
		{Name: "request_time_avg", Value: mean((*stat).latency)},
		{Name: "resolve_end_delay_avg", Value: unknown},
		{Name: "resolve_time_avg", Value: unknown},
		{Name: "finalized_delay_avg", Value: unknown},
		{Name: "processed_delay_avg", Value: unknown},
		{Name: "dataset_incomplete", Value: false},
		{Name: "strategy_type", Value: strategy(e)[0].Value},
	}
}
