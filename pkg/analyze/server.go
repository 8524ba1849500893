package analyze

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/pa-tools/pa/pkg/export"
)

// A ServerFigure is what a server or a GPU said of itself, over the measurement
// of a level: the windows, or what was selected.
type ServerFigure struct {
	// Name is ours ("queue", "GPU utilization"), Metric the source's.
	Name, Metric string
	// Of says what it is of: a model, a GPU's UUID, a source.
	Of string
	// Unit is "ns", "ratio", "W", "bytes" or "count".
	Unit string
	// N counts the scrapes that a gauge was in, or the requests that a time is of.
	N uint64
	// Mean of a gauge is that of its scrapes in the measurement; of a time it is
	// Δsum/Δcount of the server's own counters.
	Mean float64
	// Min and Max are of gauges only: a sum and a count do not tell them.
	Min, Max float64
	Gauge    bool
	// Client is the mean that the recorder measured of the same, where there is
	// one: the rest is the network, and the client.
	Client   float64
	Compared bool
}

// ClientMinusServer returns what the client saw on top of the server's own time;
// ok is false where the two cannot be compared.
func (f *ServerFigure) ClientMinusServer() (ns float64, ok bool) {
	return f.Client - f.Mean, f.Compared
}

// A serverMetric is a metric that is known.
type serverMetric struct {
	names []string // at the sources
	name  string
	unit  string
	scale float64 // what the source's number is multiplied by
	// client is the key of the client's metric of the same.
	client string
}

// gauges and times are what is shown, in this order. Times are histograms (or
// summaries) of seconds.
var gauges = []serverMetric{
	{names: []string{"vllm:num_requests_running", "sglang:num_running_reqs", "tgi_batch_current_size", "llamacpp:requests_processing"}, name: "running requests", unit: "count", scale: 1},
	{names: []string{"vllm:num_requests_waiting", "sglang:num_queue_reqs", "tgi_queue_size", "llamacpp:requests_deferred"}, name: "waiting requests", unit: "count", scale: 1},
	{names: []string{"vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc", "sglang:token_usage", "llamacpp:kv_cache_usage_ratio", "trtllm_kv_cache_utilization"}, name: "KV cache usage", unit: "ratio", scale: 1},
	{names: []string{"nv_gpu_utilization"}, name: "GPU utilization", unit: "ratio", scale: 1},
	{names: []string{"DCGM_FI_DEV_GPU_UTIL", "nvidia_smi_utilization_gpu"}, name: "GPU utilization", unit: "ratio", scale: 0.01},
	{names: []string{"nv_gpu_power_usage", "DCGM_FI_DEV_POWER_USAGE", "nvidia_smi_power_draw"}, name: "GPU power", unit: "W", scale: 1},
	{names: []string{"nv_gpu_memory_used_bytes"}, name: "GPU memory used", unit: "bytes", scale: 1},
	{names: []string{"DCGM_FI_DEV_FB_USED", "nvidia_smi_memory_used"}, name: "GPU memory used", unit: "bytes", scale: 1 << 20},
}

var times = []serverMetric{
	{names: []string{"vllm:time_to_first_token_seconds", "sglang:time_to_first_token_seconds", "trtllm_time_to_first_token_seconds"}, name: "time to first token", client: "ttft_ns"},
	{names: []string{"vllm:e2e_request_latency_seconds", "sglang:e2e_request_latency_seconds", "trtllm_e2e_request_latency_seconds", "tgi_request_duration"}, name: "request", client: "e2el_ns"},
	{names: []string{"vllm:request_queue_time_seconds", "sglang:queue_time_seconds", "trtllm_request_queue_time_seconds", "tgi_request_queue_duration"}, name: "queue"},
	{names: []string{"vllm:request_prefill_time_seconds"}, name: "prefill"},
	{names: []string{"vllm:request_decode_time_seconds"}, name: "decode"},
	{names: []string{"vllm:request_inference_time_seconds", "tgi_request_inference_duration"}, name: "inference"},
}

// A serverWatch sums up the series of one level.
type serverWatch struct {
	from, to uint64
	series   map[*export.Series]*seriesSum
	order    []*export.Series
	// before says of which sources there is a scrape from before the measurement:
	// a counter that appears later began at 0.
	before map[string]bool
}

// A seriesSum is a series over the measurement.
type seriesSum struct {
	gauge         bool
	n             uint64
	sum, min, max float64
	begin, end    float64 // of a counter
	begun, ended  bool
	reset         bool
	last          float64
}

// known finds the metric that a series belongs to: a gauge, or the sum or count
// of times.
func known(name string) (m *serverMetric, part string) {
	for i := range gauges {
		if slices.Contains(gauges[i].names, name) {
			return &gauges[i], ""
		}
	}
	for _, suffix := range []string{"_sum", "_count"} {
		base, ok := strings.CutSuffix(name, suffix)
		for i := range times {
			if ok && slices.Contains(times[i].names, base) {
				return &times[i], suffix
			}
		}
	}
	return nil, ""
}

func (w *serverWatch) add(s *export.Scrape) {
	if s.Error != "" {
		return
	}
	if s.StartNS <= w.from {
		w.before[s.Source] = true
	}
	for i := range s.Samples {
		x := &s.Samples[i]
		sum := w.series[x.Series]
		if sum == nil {
			m, part := known(x.Series.Name)
			if m == nil {
				w.series[x.Series] = &seriesSum{ended: true} // to be passed over
				continue
			}
			sum = &seriesSum{gauge: part == "", min: math.Inf(1), max: math.Inf(-1)}
			w.series[x.Series] = sum
			w.order = append(w.order, x.Series)
			sum.last = math.Inf(-1)
		}
		switch {
		case sum.ended:
		case sum.gauge:
			if s.EndNS >= w.from && s.StartNS <= w.to && !math.IsNaN(x.Value) && !math.IsInf(x.Value, 0) {
				sum.n++
				sum.sum += x.Value
				sum.min, sum.max = min(sum.min, x.Value), max(sum.max, x.Value)
			}
		default:
			sum.counter(s, x.Value, w.from, w.to, w.before[s.Source])
		}
	}
}

// counter takes the value of a counter: from the last scrape before the
// measurement to the first after it.
func (c *seriesSum) counter(s *export.Scrape, v float64, from, to uint64, before bool) {
	switch {
	case s.StartNS <= from:
		c.begin, c.begun, c.reset = v, true, false
	case !c.begun:
		c.begun = true
		if !before { // what it was at the beginning is not known: from here on
			c.begin = v
		}
	case v < c.last:
		c.reset = true // the server was started again
	}
	c.last, c.end = v, v
	c.ended = s.StartNS >= to
}

// watchServers reads the telemetry of r for the experiments of rep.
func watchServers(ctx context.Context, r export.Reader, rep *Report) error {
	run := r.Run()
	watches := make([]*serverWatch, len(rep.Experiments))
	for i := range rep.Experiments {
		if from, to := measuredSpan(&rep.Experiments[i], &run.Experiments[i]); to > from {
			watches[i] = &serverWatch{from: from, to: to, series: map[*export.Series]*seriesSum{}, before: map[string]bool{}}
		}
	}
	err := r.Scrapes(ctx, func(s *export.Scrape) error {
		for _, w := range watches {
			if w != nil {
				w.add(s)
			}
		}
		return nil
	})
	for i, w := range watches {
		e := &rep.Experiments[i]
		if w != nil {
			w.figures(e)
			if m := run.Experiments[i].Meta; m != nil && m.ServerStats != nil {
				tritonFigures(e, m.ServerStats)
			}
		}
	}
	return err
}

// measuredSpan is the time that figures of servers are about.
func measuredSpan(e *Experiment, x *export.Experiment) (from, to uint64) {
	if e.Selected != nil {
		return e.Selected.FromNS, e.Selected.ToNS
	}
	if n := len(x.WindowBoundaries); n > 1 && x.WindowBoundaries[n-1] != math.MaxUint64 {
		return x.WindowBoundaries[0], x.WindowBoundaries[n-1]
	}
	if x.Meta != nil {
		return x.Meta.StartNS, x.Meta.EndNS
	}
	return 0, 0
}

// of says what a series is of: the GPU, the model, else its source.
func of(s *export.Series) string {
	for _, label := range []string{"gpu_uuid", "UUID", "model_name", "model"} {
		if v := s.Label(label); v != "" {
			return v + " " + s.Source
		}
	}
	return s.Source
}

// figures sums up what was watched, in the order of gauges and times.
func (w *serverWatch) figures(e *Experiment) {
	for i := range times {
		w.time(e, &times[i])
	}
	for i := range gauges {
		m := &gauges[i]
		for _, s := range w.order {
			if x := w.series[s]; slices.Contains(m.names, s.Name) && x.n > 0 {
				e.Server = append(e.Server, ServerFigure{
					Name: m.name, Metric: s.Name, Of: of(s), Unit: m.unit, N: x.n, Gauge: true,
					Mean: x.sum / float64(x.n) * m.scale, Min: x.min * m.scale, Max: x.max * m.scale,
				})
			}
		}
	}
}

// time makes Δsum/Δcount of the histograms of a metric.
func (w *serverWatch) time(e *Experiment, m *serverMetric) {
	for _, s := range w.order {
		base, isSum := strings.CutSuffix(s.Name, "_sum")
		if !isSum || !slices.Contains(m.names, base) {
			continue
		}
		for _, c := range w.order {
			if c.Name != base+"_count" || c.Source != s.Source || !slices.Equal(c.Labels, s.Labels) {
				continue
			}
			sum, count := w.series[s], w.series[c]
			n, total := count.end-count.begin, sum.end-sum.begin
			if sum.reset || count.reset || !(n > 0) || !(total >= 0) || math.IsInf(n, 0) || math.IsInf(total, 0) {
				continue
			}
			f := ServerFigure{Name: m.name, Metric: base, Of: of(s), Unit: "ns", N: uint64(n), Mean: total / n * 1e9}
			f.compare(e, m.client)
			e.Server = append(e.Server, f)
		}
	}
}

// clientOf returns what the client measured of the requests to a model that it
// asked itself: of all requests where there was one; nil for a model that another
// one called.
func (e *Experiment) clientOf(s *export.ServerStats, model string) metered {
	for i := range e.Models {
		if e.Models[i].Model == model {
			return &e.Models[i]
		}
	}
	if len(e.Models) == 0 && len(s.Models) > 0 && s.Models[0].Name == model {
		return e
	}
	return nil
}

// A metered has metrics.
type metered interface {
	// Metric returns nil where there is none of that key.
	Metric(key string) *Summary
}

// compare sets the client's mean of the same; nil: there is none.
func (f *ServerFigure) compare(m metered, key string) {
	if key == "" || m == nil {
		return
	}
	if s := m.Metric(key); s != nil && s.N > 0 {
		f.Client, f.Compared = s.Mean, true
	}
}

// tritonFigures are the times of the requests of each model, from the first
// snapshot of the measurement to the last.
func tritonFigures(e *Experiment, s *export.ServerStats) {
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
	if begin == nil || end == nil || e.Selected != nil {
		return // of another part of the level
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
			f := ServerFigure{Name: x.name, Metric: "ModelStatistics", Of: who, Unit: "ns", N: x.c.Count, Mean: mean}
			if x.name == "request" {
				f.compare(e.clientOf(s, d.Name), "e2el_ns")
			}
			e.Server = append(e.Server, f)
		}
	}
}
