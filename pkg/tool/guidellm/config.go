package guidellm

import (
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/py"
	"github.com/pa-tools/pa/pkg/export"
)

// withNulls returns an object with the named members; a member that is not known is null.
func withNulls(names []string, known py.Object) py.Object {
	o := make(py.Object, len(names))
	for i, name := range names {
		o[i].Name = name
		for k := range known {
			if known[k].Name == name {
				o[i].Value = known[k].Value
			}
		}
	}
	return o
}

// config returns how the run was made, as far as a recording knows it.
func (w *writer) config() py.Object {
	return py.Object{
		{Name: "metadata", Value: py.Object{{Name: "labels", Value: py.Object{}}}},
		{Name: "spec", Value: withNulls(w.release.spec, py.Object{
			{Name: "backend", Value: w.backend()},
			{Name: "profile", Value: w.profile()},
			{Name: "constraints", Value: py.Array{}},
			{Name: "data", Value: py.Array{}},
			{Name: "data_preprocessors", Value: py.Array{}},
			{Name: "outputs", Value: py.Array{py.Object{{Name: "kind", Value: "json"}, {Name: "path", Value: nil}}}},
			{Name: "metrics", Value: withNulls(w.release.specMetrics, py.Object{
				{Name: "kind", Value: "generative"}, {Name: "warnings", Value: py.Array{}}, {Name: "prefer_response_metrics", Value: true},
			})},
		})},
		{Name: "benchmarks", Value: py.Array{nil}},
	}
}

// backend returns the server, and how requests were sent to it.
func (w *writer) backend() py.Object {
	known := py.Object{{Name: "model", Value: textOrNull(w.model)}}
	if k := w.run.ServiceKind; k != nil && *k == "openai" {
		known = append(known, py.Member{Name: "kind", Value: "openai_http"})
	}
	if e := w.run.Endpoint; e != nil && *e != "" {
		known = append(known, py.Member{Name: "request_format", Value: "/" + strings.TrimPrefix(*e, "/")})
	}
	if m := w.run.Meta; m != nil {
		known = append(known, py.Member{Name: "target", Value: textOrNull(m.URL)}, py.Member{Name: "stream", Value: m.Streaming != nil && *m.Streaming})
	}
	return withNulls(w.release.backend, known)
}

// profile returns the load of the whole run; its kind is the first level's.
func (w *writer) profile() py.Object {
	var values py.Array
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
	return py.Object{
		{Name: "kind", Value: kind},
		{Name: "rampup_duration", Value: nil},
		{Name: "warmup", Value: bounds()},
		{Name: "cooldown", Value: bounds()},
		{Name: name, Value: values},
	}
}

// bounds returns the bounds of a run without a warmup or cooldown.
func bounds() py.Object {
	return py.Object{{Name: "percent", Value: nil}, {Name: "value", Value: nil}, {Name: "mode", Value: "prefer_duration"}}
}

// number returns the value of a level as the export writes it; null if it is no number.
func number(text string) any {
	if _, err := strconv.ParseFloat(text, 64); err != nil {
		return nil
	}
	return py.Raw(text)
}

// strategy returns the load of a level.
func strategy(e *export.Experiment) py.Object {
	switch e.Mode {
	case export.ModeConcurrency:
		return py.Object{
			{Name: "type_", Value: "concurrent"},
			{Name: "worker_count", Value: nil},
			{Name: "max_concurrency", Value: number(e.Value)},
			{Name: "streams", Value: number(e.Value)},
			{Name: "rampup_duration", Value: nil},
		}
	case export.ModeRequestRate:
		return py.Object{
			{Name: "type_", Value: "constant"},
			{Name: "worker_count", Value: nil},
			{Name: "max_concurrency", Value: nil},
			{Name: "rate", Value: number(e.Value)},
			{Name: "rampup_duration", Value: nil},
		}
	}
	return py.Object{{Name: "type_", Value: "throughput"}, {Name: "worker_count", Value: nil}, {Name: "max_concurrency", Value: nil}, {Name: "rampup_duration", Value: nil}}
}

// benchmarkConfig returns the configuration of level i.
func (w *writer) benchmarkConfig(i int) py.Object {
	return withNulls(w.release.benchmark, py.Object{
		{Name: "run_index", Value: i},
		{Name: "strategy", Value: strategy(&w.run.Experiments[i])},
		{Name: "constraints", Value: py.Object{}},
		{Name: "warmup", Value: bounds()},
		{Name: "cooldown", Value: bounds()},
		{Name: "prefer_response_metrics", Value: true},
		{Name: "warnings", Value: py.Array{}},
		{Name: "profile", Value: w.profile()},
		{Name: "requests", Value: py.Object{}},
		{Name: "backend", Value: w.backend()},
		{Name: "environment", Value: py.Object{}},
	})
}

// times returns when the level began and ended: as the recorder says or, if it does not,
// from the first start to the last end of its requests.
func (b *benchmark) times(e *export.Experiment) (start, end float64) {
	if m := e.Meta; m != nil && m.StartNS != 0 && m.EndNS != 0 {
		return seconds(m.StartNS), seconds(m.EndNS)
	}
	return b.window.from, b.window.to
}

// schedulerState returns the state of GuideLLM's scheduler at the end of the level.
func (b *benchmark) schedulerState(e *export.Experiment) py.Object {
	start, end := b.times(e)
	g := b.groups
	n := len(g[successful]) + len(g[errored]) + len(g[incomplete])
	return withNulls(b.release.schedulerState, py.Object{
		{Name: "start_time", Value: start},
		{Name: "end_time", Value: end},
		{Name: "start_requests_time", Value: b.window.from},
		{Name: "end_requests_time", Value: b.window.to},
		{Name: "end_queuing_constraints", Value: py.Object{}},
		{Name: "end_processing_constraints", Value: py.Object{}},
		{Name: "scheduler_constraints", Value: py.Object{}},
		{Name: "progress", Value: withNulls(b.release.progress, nil)},
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

// schedulerMetrics returns how late GuideLLM's scheduler was; -1 is an unknown time.
func (b *benchmark) schedulerMetrics(e *export.Experiment) py.Object {
	start, end := b.times(e)
	g := b.groups
	mean := func(of func(*requestStat) float64) float64 {
		total, n := 0.0, 0
		for i := range g {
			for k := range g[i] {
				if v := of(&g[i][k]); isKnown(v) {
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
	const none = -1.0
	return py.Object{
		{Name: "start_time", Value: start},
		{Name: "request_start_time", Value: b.window.from},
		{Name: "measure_start_time", Value: b.window.from},
		{Name: "measure_end_time", Value: b.window.to},
		{Name: "request_end_time", Value: b.window.to},
		{Name: "end_time", Value: end},
		{Name: "requests_made", Value: g.counts()},
		{Name: "generation_delay", Value: b.release.distribution(nil)},
		{Name: "queued_time_avg", Value: none},
		{Name: "resolve_start_delay_avg", Value: none},
		{Name: "resolve_targeted_start_delay_avg", Value: none},
		{Name: "request_start_delay_avg", Value: mean(func(s *requestStat) float64 { return s.start - s.resolveStart })},
		{Name: "request_targeted_start_delay_avg", Value: mean((*requestStat).delay)},
		{Name: "request_time_avg", Value: mean((*requestStat).latency)},
		{Name: "resolve_end_delay_avg", Value: none},
		{Name: "resolve_time_avg", Value: none},
		{Name: "finalized_delay_avg", Value: none},
		{Name: "processed_delay_avg", Value: none},
		{Name: "dataset_incomplete", Value: false},
		{Name: "strategy_type", Value: strategy(e)[0].Value},
	}
}
