package serverfigures

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

func TestFiguresOfTriton(t *testing.T) {
	snap := func(edge export.StatsEdge, n uint64) export.StatsSnapshot {
		return export.StatsSnapshot{Edge: edge, Stats: []export.ModelStats{{Name: "m", Version: "1", InferenceStats: export.InferenceStats{
			Success: export.CountNS{Count: n, NS: 100 * n}, Queue: export.CountNS{Count: n, NS: 30 * n},
		}}}}
	}
	all := tritonFigures(&Level{Stats: &export.ServerStats{Models: []export.ServerModel{{Name: "m"}}, Snapshots: []export.StatsSnapshot{
		snap(export.EdgeLevel, 1), snap(export.EdgeMeasure, 2), snap(export.EdgeWindow, 5), snap(export.EdgeWindow, 9), snap(export.EdgeEnd, 20),
	}}})
	if len(all) != 2 || all[0].N != 7 || all[0].Mean != 100 || all[1].Name != "queue" || all[1].Mean != 30 || all[0].Compared {
		t.Errorf("%+v", all)
	}
}

// The time of a decoupled model at the server is not compared with the client's,
// which holds the stream. A model that is not is.
func TestFiguresDecoupled(t *testing.T) {
	latency := func(_ string, m answer.Metric) (float64, bool) { return 900, m == answer.E2EL }
	models := func(m ...export.ServerModel) []export.ServerModel { return m }
	for _, tt := range []struct {
		name   string
		models []export.ServerModel
		e      Level
		apart  bool
	}{
		{"one answer each", models(export.ServerModel{Name: "m"}), Level{ClientMean: latency}, false},
		{"decoupled", models(export.ServerModel{Name: "m", Decoupled: true}), Level{ClientMean: latency}, true},
		{"several responses", models(export.ServerModel{Name: "m"}), Level{ClientMean: latency, SeveralResponses: true}, true},
		{"an ensemble with a decoupled step", models(
			export.ServerModel{Name: "m", Platform: "ensemble", Composing: []int{1}}, export.ServerModel{Name: "step", Composing: []int{2, 0}}, export.ServerModel{Name: "last", Decoupled: true},
		), Level{ClientMean: latency}, true},
		{"it calls a decoupled one", models(export.ServerModel{Name: "m"}, export.ServerModel{Name: "b", BLS: true, Decoupled: true}), Level{ClientMean: latency}, true},
		{"another model of the run is", models(export.ServerModel{Name: "m"}, export.ServerModel{Name: "o", Decoupled: true, Asked: true}), Level{ClientMean: latency, SeveralModels: true, SeveralResponses: true}, false},
	} {
		snap := func(edge export.StatsEdge, n uint64) export.StatsSnapshot {
			return export.StatsSnapshot{Edge: edge, Stats: []export.ModelStats{{Name: "m", InferenceStats: export.InferenceStats{Success: export.CountNS{Count: n, NS: 100 * n}}}}}
		}
		tt.e.Stats = &export.ServerStats{Models: tt.models, Snapshots: []export.StatsSnapshot{snap(export.EdgeMeasure, 2), snap(export.EdgeEnd, 5)}}
		f := tritonFigures(&tt.e)[0]
		ns, ok := f.ClientMinusServer()
		if ok == tt.apart || !f.Compared || f.Mean != 100 || ok && ns != 800 || (f.Incomparable != "") != tt.apart {
			t.Errorf("%s: %+v: compared: %v", tt.name, f, ok)
		}
	}
	w := newWatch(100, 200, nil)
	for _, s := range scrapesOf([]uint64{90, 210}, map[string][]float64{
		"nv_inference_request_duration_us": {0, 30}, "nv_inference_request_success": {0, 3},
	}, seriesOf("nv_inference_request_duration_us"), seriesOf("nv_inference_request_success")) {
		w.add(&s)
	}
	for _, several := range []bool{false, true} {
		f := w.figures(&Level{ClientMean: latency, SeveralResponses: several}, false)
		if _, ok := f[0].ClientMinusServer(); ok == several {
			t.Errorf("Triton's counters, several responses %v: %+v", several, f[0])
		}
	}
}

// scrapesOf returns scrapes of one source at these times. Each scrape has the next value of each
// series, and lacks a series whose value is NaN.
func scrapesOf(times []uint64, values map[string][]float64, series ...*export.Series) (all []export.Scrape) {
	for i, ns := range times {
		s := export.Scrape{Source: "http://h1:9400/metrics", StartNS: ns, EndNS: ns}
		for _, x := range series {
			if v := values[x.String()][i]; !math.IsNaN(v) {
				s.Samples = append(s.Samples, export.Sample{Series: x, Value: v})
			}
		}
		all = append(all, s)
	}
	return all
}

func seriesOf(name string, labels ...string) *export.Series {
	s := &export.Series{Source: "http://h1:9400/metrics", Name: name}
	for i := 0; i < len(labels); i += 2 {
		s.Labels = append(s.Labels, export.Label{Name: labels[i], Value: labels[i+1]})
	}
	return s
}

// figuresOf watches a measurement from 100 to 200.
func figuresOf(scrapes []export.Scrape, told bool) []Figure {
	w := newWatch(100, 200, map[string]string{"http://h1:9400/metrics": "h1"})
	for i := range scrapes {
		w.add(&scrapes[i])
	}
	return w.figures(&Level{}, told)
}

// Energy is measured over the measurement itself, for each GPU of each host, whatever the
// times of the scrapes.
func TestServerEnergy(t *testing.T) {
	triton, dcgm := seriesOf("nv_energy_consumption", "gpu_uuid", "GPU-a"), seriesOf("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "gpu", "1", "UUID", "GPU-b", "Hostname", "node7")
	for _, tt := range []struct {
		name  string
		times []uint64
		j, mj []float64
		want  string
	}{
		// 10 J a nanosecond: 1000 J from 100 to 200.
		{"scrapes beyond both ends", []uint64{80, 120, 180, 240}, []float64{800, 1200, 1800, 2400}, []float64{8e5, 12e5, 18e5, 24e5}, "1000 1000"},
		{"scrapes at the ends", []uint64{50, 100, 200, 300}, []float64{0, 1000, 2000, 9999}, []float64{0, 1e6, 2e6, 9e6}, "1000 1000"},
		{"begins late: from the first scrape", []uint64{120, 140, 160, 200}, []float64{1200, 1400, 1600, 2000}, []float64{12e5, 14e5, 16e5, 20e5}, "800 800"},
		{"not at each scrape", []uint64{90, 110, 190, 210}, []float64{900, math.NaN(), math.NaN(), 2100}, []float64{math.NaN(), 11e5, 19e5, 21e5}, "1000 900"},
		{"one scrape", []uint64{10, 150, 300, 400}, []float64{math.NaN(), 5, math.NaN(), math.NaN()}, []float64{1e5, 15e5, 30e5, 40e5}, "1000"},
		{"the driver was loaded again", []uint64{50, 120, 150, 250}, []float64{500, 1200, 10, 1010}, []float64{5e5, 12e5, 15e5, 25e5}, "nv_energy_consumption fell from 1200 to 10 1000"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			for _, f := range figuresOf(scrapesOf(tt.times, map[string][]float64{triton.String(): tt.j, dcgm.String(): tt.mj}, triton, dcgm), false) {
				if f.Name != "GPU energy" || f.Kind != Counter || f.Unit != "J" {
					t.Errorf("%+v", f)
				}
				if want := map[string]string{"GPU-a": "h1", "GPU-b": "node7"}[f.GPU]; f.Host != want || f.Of != f.GPU+" "+want {
					t.Errorf("of %q, host %q, want %q", f.Of, f.Host, want)
				}
				if f.NA != "" {
					got += " " + f.NA
					continue
				}
				got += fmt.Sprintf(" %.6g", f.Total)
			}
			if got != " "+tt.want {
				t.Errorf("energies%s, want %s", got, tt.want)
			}
		})
	}
}

// At today's times the counter is read to the nanosecond: 1000 J a nanosecond, over 101 ns.
func TestServerEnergyToday(t *testing.T) {
	const today = 1_795_741_064_359_983_425
	counter := seriesOf("nv_energy_consumption", "gpu_uuid", "GPU-a")
	w := newWatch(today+101, today+202, nil)
	for _, s := range scrapesOf([]uint64{today, today + 150, today + 300}, map[string][]float64{counter.String(): {0, 150e3, 300e3}}, counter) {
		w.add(&s)
	}
	if all := w.figures(&Level{}, false); len(all) != 1 || all[0].Total != 101e3 {
		t.Errorf("%+v", all)
	}
}

// Series of one metric that differ in what means nothing here are one time or one
// sum; gauges and GPUs stay apart.
func TestServerSeriesOfOne(t *testing.T) {
	var series []*export.Series
	values := map[string][]float64{}
	add := func(begin, end float64, name string, labels ...string) {
		s := seriesOf(name, labels...)
		series, values[s.String()] = append(series, s), []float64{begin, end}
	}
	for engine, f := range map[string]float64{"0": 1, "1": 3} {
		add(0, 2*f, "vllm:e2e_request_latency_seconds_sum", "engine", engine, "model_name", "m")
		add(0, f, "vllm:e2e_request_latency_seconds_count", "engine", engine, "model_name", "m")
		add(f, f, "vllm:num_requests_running", "engine", engine, "model_name", "m")
	}
	add(5, 6, "vllm:request_success_total", "finished_reason", "stop", "model_name", "m")
	add(5, 9, "vllm:request_success_total", "finished_reason", "length", "model_name", "m")
	got := map[string]Figure{}
	for _, f := range figuresOf(scrapesOf([]uint64{100, 200}, values, series...), false) {
		got[f.Name+" of "+f.Of] = f
	}
	const source = "m http://h1:9400/metrics"
	if f := got["request of "+source]; f.N != 4 || f.Mean != 2e9 {
		t.Errorf("request %+v", f)
	}
	if f := got["requests of "+source]; f.Total != 5 || f.N != 2 {
		t.Errorf("requests %+v", f)
	}
	a, b := got["running requests of "+source+" engine=0"], got["running requests of "+source+" engine=1"]
	if len(got) != 4 || a.Mean != 1 || b.Mean != 3 {
		t.Errorf("%d figures, running %+v, %+v", len(got), a, b)
	}
}

// Each name of a metric gives a figure, in our units.
func TestServerMetricNames(t *testing.T) {
	for _, m := range serverTimes {
		for k, of := range m.metrics {
			sum, count, grown := of+"_sum", of+"_count", 3.0
			if m.counts != nil {
				sum, count, grown = of, m.counts[k], 3e6
			}
			s, c := seriesOf(sum), seriesOf(count)
			figures := figuresOf(scrapesOf([]uint64{100, 200}, map[string][]float64{s.String(): {0, grown}, c.String(): {0, 2}}, s, c), false)
			if i := slices.IndexFunc(figures, func(f Figure) bool { return f.Kind == Time }); i < 0 || figures[i].Metric != of || figures[i].Name != m.name || figures[i].Mean != 1.5e9 || figures[i].N != 2 {
				t.Errorf("%s: %+v", of, figures)
			}
			if m.spare && len(figuresOf(scrapesOf([]uint64{100, 200}, map[string][]float64{s.String(): {0, grown}, c.String(): {0, 2}}, s, c), true)) != 0 {
				t.Errorf("%s is shown beside ModelStatistics", of)
			}
		}
	}
	for _, tt := range []struct {
		series *export.Series
		want   string
	}{
		{seriesOf("nv_trt_llm_request_metrics", "request_type", "waiting", "model", "tensorrt_llm"), "waiting requests 0.5"},
		{seriesOf("nv_trt_llm_request_metrics", "request_type", "scheduled"), "running requests 0.5"},
		{seriesOf("nv_trt_llm_request_metrics", "request_type", "max"), ""},
		{seriesOf("nv_trt_llm_kv_cache_block_metrics", "kv_cache_block_type", "fraction"), "KV cache usage 0.5"},
		{seriesOf("nv_trt_llm_kv_cache_block_metrics", "kv_cache_block_type", "free"), ""},
		{seriesOf("trtllm_kv_cache_utilization"), "KV cache usage 0.5"},
		{seriesOf("tgi_batch_current_size"), "running requests 0.5"},
		{seriesOf("sglang:token_usage"), "KV cache usage 0.5"},
		{seriesOf("DCGM_FI_DEV_GPU_UTIL", "UUID", "GPU-a"), "GPU utilization 0.005"},
		{seriesOf("DCGM_FI_DEV_FB_USED", "UUID", "GPU-a"), "GPU memory used 524288"},
		{seriesOf("nvidia_smi_power_draw", "gpu_uuid", "GPU-a"), "GPU power 0.5"},
		{seriesOf("process_cpu_seconds_total"), ""},
	} {
		got := ""
		for _, f := range figuresOf(scrapesOf([]uint64{150}, map[string][]float64{tt.series.String(): {0.5}}, tt.series), false) {
			got += fmt.Sprintf("%s %g", f.Name, f.Mean)
		}
		if got != tt.want {
			t.Errorf("%v: %q, want %q", tt.series, got, tt.want)
		}
	}
}

// A ratio below 0 or above 1, in the unit of its source, is n/a with the reason, but not one that
// only rounding puts above 1.
func TestServerRatios(t *testing.T) {
	kv, smi, memory := seriesOf("vllm:kv_cache_usage_perc"), seriesOf("nvidia_smi_utilization_gpu", "gpu_uuid", "GPU-a"), seriesOf("nv_gpu_memory_used_bytes", "gpu_uuid", "GPU-a")
	for _, tt := range []struct {
		name            string
		kv, smi, memory float64
		want            string
	}{
		{"possible", 1 + 1e-9, 100, 5e9, "KV cache usage 1; GPU utilization 1; GPU memory used 5e+09; "},
		{"above", 1.5, 101, 5e9, "KV cache usage n/a: vllm:kv_cache_usage_perc is as high as 1.5; GPU utilization n/a: nvidia_smi_utilization_gpu is as high as 101; GPU memory used 5e+09; "},
		{"below", -5, -1, -1, "KV cache usage n/a: vllm:kv_cache_usage_perc is as low as -5; GPU utilization n/a: nvidia_smi_utilization_gpu is as low as -1; GPU memory used n/a: nv_gpu_memory_used_bytes is as low as -1; "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			for _, f := range figuresOf(scrapesOf([]uint64{150}, map[string][]float64{kv.String(): {tt.kv}, smi.String(): {tt.smi}, memory.String(): {tt.memory}}, kv, smi, memory), false) {
				if f.NA != "" {
					got += f.Name + " n/a: " + f.NA + "; "
				} else {
					got += fmt.Sprintf("%s %.6g; ", f.Name, f.Mean)
				}
			}
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// A measurement between two scrapes has no value of a gauge, and one warning says so for all gauges. A gauge
// that the scrapes of the measurement lack has no figure.
func TestGaugesBetweenScrapes(t *testing.T) {
	kv, running, requests := seriesOf("vllm:kv_cache_usage_perc"), seriesOf("vllm:num_requests_running"), seriesOf("vllm:request_success_total")
	values := map[string][]float64{kv.String(): {0.5, 0.5, 0.5}, running.String(): {8, math.NaN(), 8}, requests.String(): {10, 15, 30}}
	for _, tt := range []struct {
		name    string
		times   []uint64
		figures string
		warning string
	}{
		{
			"between",
			[]uint64{50, 90, 201},
			"requests 15; running requests n/a: no scrape fell into the measurement; KV cache usage n/a: no scrape fell into the measurement; ",
			"[running requests, KV cache usage have no value: no scrape fell into the measurement, which took 100 ns; a shorter --metrics-interval reads more often]",
		},
		{"at its end", []uint64{50, 90, 200}, "requests 15; running requests 8; KV cache usage 0.5; ", "[]"},
		{"one lacks a gauge", []uint64{50, 150, 250}, "requests 20; KV cache usage 0.5; ", "[]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, got := newWatch(100, 200, nil), ""
			for _, s := range scrapesOf(tt.times, values, kv, running, requests) {
				w.add(&s)
			}
			all := w.figures(&Level{}, false)
			for i := range all {
				f := &all[i]
				switch f.dropImpossible(); {
				case f.NA != "":
					got += f.Name + " n/a: " + f.NA + "; "
				default:
					got += fmt.Sprintf("%s %g; ", f.Name, f.Mean+f.Total)
				}
			}
			if warnings := fmt.Sprint(w.warnings(all)); got != tt.figures || warnings != tt.warning {
				t.Errorf("got  %s %s\nwant %s %s", got, warnings, tt.figures, tt.warning)
			}
		})
	}
}

// Thousands of figures differ by a label.
func TestFiguresMany(t *testing.T) {
	n := 20_000 / testenv.Stride(4)
	s := export.Scrape{Source: "http://h1:9400/metrics", StartNS: 150, EndNS: 150}
	for i := range n {
		s.Samples = append(s.Samples, export.Sample{Series: seriesOf("vllm:num_requests_running", "engine", "0", "id", fmt.Sprint(i)), Value: 1})
	}
	all := figuresOf([]export.Scrape{s}, false)
	if len(all) != n || all[n-1].Of != fmt.Sprintf("http://h1:9400/metrics id=%d", n-1) {
		t.Errorf("%d figures, %+v", len(all), all[len(all)-1])
	}
}
