package infperf

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/pa-tools/pa/internal/py"
	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/export"
)

// A summary is a file beside the file of requests.
type summary struct {
	release *release
	name    string // "stage_0_lifecycle_metrics.json"
	sums    *sums
	// level is the level of a stage; nil for the summary of all stages.
	level *export.Experiment
}

// sums collects the values of the requests of a run or a stage. Times are in seconds.
type sums struct {
	n           int
	first, last float64 // the earliest start, the latest end
	lastStart   float64
	delays      []float64 // how late requests started

	// Requests that succeeded.
	latency, perToken, tpot, ttft, gaps []float64
	sizes, prompts, lengths, outputs    []float64 // bytes sent; tokens: input, output, output as the server counts
	cached                              float64   // tokens
	lacksSizes                          bool      // the body of a request is not known
	mismatched                          int       // the server counts other output tokens than the client
	noPrompt, noOutput                  int       // the server counts none

	failedLatency []float64
	failures      failures
}

// time adds the start and the end of a request.
func (s *sums) time(start, end float64) {
	if s.n == 0 || start < s.first {
		s.first = start
	}
	s.last = max(s.last, end)
	s.lastStart = max(s.lastStart, start)
	s.n++
}

// write writes the file.
func (f *summary) write(w io.Writer) error {
	_, err := w.Write(py.AppendJSON(nil, f.object(), 2))
	return err
}

// object returns the summary as the tool's JSON document.
func (f *summary) object() py.Object {
	r, s := f.release, f.sums
	return py.Object{
		{Name: "benchmark_time_seconds", Value: s.last - s.first},
		{Name: "load_summary", Value: f.load()},
		{Name: "successes", Value: f.successes()},
		{Name: "failures", Value: py.Object{
			{Name: "count", Value: len(s.failedLatency)},
			{Name: "request_latency", Value: r.summarize(s.failedLatency)},
			{Name: "prompt_tokens", Value: r.promptTokens(make([]float64, len(s.failedLatency)), 0)}, // a failed request has none
			{Name: "by_label", Value: s.failures.object()},
		}},
	}
}

// load returns the load of the level. The requested rate of a closed loop is the number
// of requests, as inference-perf writes it.
func (f *summary) load() py.Object {
	s := f.sums
	o := py.Object{{Name: "count", Value: s.n}, {Name: "schedule_delay", Value: f.release.summarize(s.delays)}}
	if f.level == nil {
		return o
	}
	level, err := strconv.ParseFloat(f.level.Value, 64)
	if err != nil || f.level.Mode != export.ModeConcurrency && f.level.Mode != export.ModeRequestRate {
		return o
	}
	rate, sending := level, s.lastStart-s.first
	if f.level.Mode == export.ModeConcurrency {
		rate = float64(s.n)
	}
	achieved := 0.0
	if sending > 0 {
		achieved = float64(s.n) / sending
	}
	o = append(o, py.Member{Name: "send_duration", Value: sending}, py.Member{Name: "requested_rate", Value: rate}, py.Member{Name: "achieved_rate", Value: achieved})
	if f.level.Mode == export.ModeConcurrency {
		o = append(o, py.Member{Name: "concurrency", Value: int64(level)})
	}
	return o
}

// successes returns the metrics of the requests that succeeded.
func (f *summary) successes() py.Object {
	r, s := f.release, f.sums
	total := s.last - s.first
	rate := func(n float64) float64 {
		if !(total > 0) {
			return 0
		}
		return n / total
	}
	var sizes any
	if !s.lacksSizes {
		sizes = r.summarize(s.sizes)
	}
	var latencies, throughputs py.Object
	for _, m := range r.latencies {
		latencies = append(latencies, py.Member{Name: m.name, Value: r.summarize(m.values(s))})
	}
	for _, m := range r.throughputs {
		throughputs = append(throughputs, py.Member{Name: m.name, Value: rate(m.amount(s))})
	}
	o := py.Object{
		{Name: "count", Value: len(s.latency)},
		{Name: "latency", Value: latencies},
		{Name: "throughput", Value: throughputs},
		{Name: "request_size_bytes", Value: sizes},
	}
	for _, m := range r.media {
		properties := py.Object{{Name: "count", Value: r.summarize(make([]float64, len(s.latency)))}} // none
		for _, name := range m.properties {
			properties = append(properties, py.Member{Name: name})
		}
		o = append(o, py.Member{Name: m.name, Value: properties})
	}
	return append(o, py.Object{
		{Name: "prompt_tokens", Value: r.promptTokens(s.prompts, s.cached)},
		{Name: "output_len", Value: r.summarize(s.lengths)},
		{Name: "output_tokens", Value: append(py.Object{{Name: "total", Value: sum(s.outputs)}}, r.distribution(s.outputs)...)},
		{Name: "token_count_mismatches", Value: s.mismatched},
		{Name: "client_fallback_requests", Value: py.Object{{Name: "prompt", Value: s.noPrompt}, {Name: "output", Value: s.noOutput}}},
	}...)
}

// promptTokens returns the distribution of the prompts' tokens and their sums.
func (r *release) promptTokens(all []float64, cached float64) py.Object {
	total := sum(all)
	return append(py.Object{
		{Name: "total", Value: total},
		{Name: "cached", Value: cached},
		{Name: "uncached", Value: max(total-cached, 0)},
	}, r.distribution(all)...)
}

// sum adds the values in order, as Python does with whole numbers.
func sum(all []float64) float64 {
	total := 0.0
	for _, v := range all {
		total += v
	}
	return total
}

// summarize returns the statistics of values, null for none.
func (r *release) summarize(x []float64) any {
	if len(x) == 0 {
		return nil
	}
	return r.distribution(x)
}

// distribution returns the statistics of values; nil for none.
func (r *release) distribution(x []float64) py.Object {
	if len(x) == 0 {
		return nil
	}
	mean := stat.NumpyMean(stat.NumpyCurrent, x) // in the order of the requests
	sorted := slices.Sorted(slices.Values(x))
	o := py.Object{{Name: "mean", Value: mean}, {Name: "min", Value: sorted[0]}, {Name: "max", Value: sorted[len(sorted)-1]}}
	for _, p := range r.percentiles {
		name := "p" + py.Repr(p)
		if p == float64(int(p)) {
			name = fmt.Sprintf("p%d", int(p))
		}
		if p == 50 {
			name = "median"
		}
		o = append(o, py.Member{Name: name, Value: stat.NumpyPercentile(sorted, p)})
	}
	return o
}
