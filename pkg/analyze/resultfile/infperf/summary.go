package infperf

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/pa-tools/pa/internal/numpy"
	"github.com/pa-tools/pa/internal/pyfmt"
	"github.com/pa-tools/pa/internal/pyjson"
	"github.com/pa-tools/pa/pkg/export"
)

// percentiles lists the percentiles of inference-perf's default configuration.
var percentiles = [...]float64{0.1, 1, 5, 10, 25, 50, 75, 90, 95, 99, 99.9}

// A Summary is one of the files beside that of the requests.
type Summary struct {
	Name string // "stage_0_lifecycle_metrics.json"
	sums *sums
	// level is the level of a stage; nil for the summary of all stages.
	level *export.Experiment
}

// sums are the values of the requests of a run or a stage, in seconds.
type sums struct {
	n                                   int
	first, last                         float64 // the earliest start, the latest end
	lastStart                           float64
	delays                              []float64
	latency, perToken, tpot, ttft, gaps []float64
	sizes, prompts, lengths, outputs    []float64
	cached                              float64
	noSizes                             bool // not of every request it is known what was sent
	mismatched, noPrompt, noOutput      int

	failedLatency []float64
	failures      failures
}

// time takes when a request was sent and over.
func (s *sums) time(start, end float64) {
	if s.n == 0 || start < s.first {
		s.first = start
	}
	s.last = max(s.last, end)
	s.lastStart = max(s.lastStart, start)
	s.n++
}

// Write writes the file.
func (f *Summary) Write(w io.Writer) error {
	_, err := w.Write(pyjson.Append(nil, f.object(), 2))
	return err
}

func (f *Summary) object() pyjson.Object {
	s := f.sums
	return pyjson.Object{
		{Name: "benchmark_time_seconds", Value: s.last - s.first},
		{Name: "load_summary", Value: f.load()},
		{Name: "successes", Value: s.successes()},
		{Name: "failures", Value: pyjson.Object{
			{Name: "count", Value: len(s.failedLatency)},
			{Name: "request_latency", Value: summarize(s.failedLatency)},
			{Name: "prompt_tokens", Value: promptTokens(make([]float64, len(s.failedLatency)), 0)}, // a failed request has none
			{Name: "by_label", Value: s.failures.object()},
		}},
	}
}

// load says what was asked of the server. Of a closed loop the rate is the
// number of requests, as the tool has it.
func (f *Summary) load() pyjson.Object {
	s := f.sums
	o := pyjson.Object{{Name: "count", Value: s.n}, {Name: "schedule_delay", Value: summarize(s.delays)}}
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
	o = append(o, pyjson.Member{Name: "send_duration", Value: sending}, pyjson.Member{Name: "requested_rate", Value: rate}, pyjson.Member{Name: "achieved_rate", Value: achieved})
	if f.level.Mode == export.ModeConcurrency {
		o = append(o, pyjson.Member{Name: "concurrency", Value: int64(level)})
	}
	return o
}

func (s *sums) successes() pyjson.Object {
	total := s.last - s.first
	rate := func(n float64) float64 {
		if !(total > 0) {
			return 0
		}
		return n / total
	}
	in, out := sum(s.prompts), sum(s.lengths)
	zeros := make([]float64, len(s.latency)) // images, films and audio clips
	var sizes any
	if !s.noSizes {
		sizes = summarize(s.sizes)
	}
	media := func(count any, names ...string) pyjson.Object {
		o := pyjson.Object{{Name: "count", Value: count}}
		for _, n := range names {
			o = append(o, pyjson.Member{Name: n, Value: nil})
		}
		return o
	}
	return pyjson.Object{
		{Name: "count", Value: len(s.latency)},
		{Name: "latency", Value: pyjson.Object{
			{Name: "request_latency", Value: summarize(s.latency)},
			{Name: "normalized_time_per_output_token", Value: summarize(s.perToken)},
			{Name: "time_per_output_token", Value: summarize(s.tpot)},
			{Name: "time_to_first_token", Value: summarize(s.ttft)},
			{Name: "inter_token_latency", Value: summarize(s.gaps)},
		}},
		{Name: "throughput", Value: pyjson.Object{
			{Name: "input_tokens_per_sec", Value: rate(in)},
			{Name: "output_tokens_per_sec", Value: rate(out)},
			{Name: "total_tokens_per_sec", Value: rate(in + out)},
			{Name: "requests_per_sec", Value: rate(float64(len(s.latency)))},
			{Name: "images_per_sec", Value: 0.0},
			{Name: "videos_per_sec", Value: 0.0},
			{Name: "audios_per_sec", Value: 0.0},
		}},
		{Name: "request_size_bytes", Value: sizes},
		{Name: "image", Value: media(summarize(zeros), "pixels", "bytes", "aspect_ratio")},
		{Name: "video", Value: media(summarize(zeros), "frames", "pixels", "bytes", "aspect_ratio")},
		{Name: "audio", Value: media(summarize(zeros), "seconds", "bytes")},
		{Name: "prompt_tokens", Value: promptTokens(s.prompts, s.cached)},
		{Name: "output_len", Value: summarize(s.lengths)},
		{Name: "output_tokens", Value: append(pyjson.Object{{Name: "total", Value: sum(s.outputs)}}, distribution(s.outputs)...)},
		{Name: "token_count_mismatches", Value: s.mismatched},
		{Name: "client_fallback_requests", Value: pyjson.Object{{Name: "prompt", Value: s.noPrompt}, {Name: "output", Value: s.noOutput}}},
	}
}

func promptTokens(all []float64, cached float64) pyjson.Object {
	total := sum(all)
	return append(pyjson.Object{
		{Name: "total", Value: total},
		{Name: "cached", Value: cached},
		{Name: "uncached", Value: max(total-cached, 0)},
	}, distribution(all)...)
}

// sum adds up one after the other, as Python does with whole numbers.
func sum(all []float64) float64 {
	total := 0.0
	for _, v := range all {
		total += v
	}
	return total
}

// summarize returns the statistics of values, null for none.
func summarize(x []float64) any {
	if len(x) == 0 {
		return nil
	}
	return distribution(x)
}

func distribution(x []float64) pyjson.Object {
	if len(x) == 0 {
		return nil
	}
	mean := numpy.Mean(numpy.Current, x) // in the order of the requests
	sorted := slices.Sorted(slices.Values(x))
	o := pyjson.Object{{Name: "mean", Value: mean}, {Name: "min", Value: sorted[0]}, {Name: "max", Value: sorted[len(sorted)-1]}}
	for _, p := range percentiles {
		name := "p" + pyfmt.Repr(p)
		if p == float64(int(p)) {
			name = fmt.Sprintf("p%d", int(p))
		}
		if p == 50 {
			name = "median"
		}
		o = append(o, pyjson.Member{Name: name, Value: numpy.Percentile(sorted, p)})
	}
	return o
}
