package tool

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/pkg/analyze/levelpair"
	"github.com/pa-tools/pa/pkg/analyze/stated"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
)

// Each result file and summary that tools wrote states figures with the digits of the file.
func TestStatedFigures(t *testing.T) {
	for _, tt := range []struct {
		archive, pattern, definitions string
		least                         int
		figures                       int // of a file, at least
		load                          string
	}{
		{"peers", "aiperf/*/profile_export_aiperf.json", "AIPerf", 3, 100, "concurrency"},
		{"peers", "vllm/*/result.json", "vllm bench serve", 2, 24, "concurrency"},
		{"peers", "vllm_rs/*/result.json", "vllm-bench", 2, 25, "concurrency"},
		{"peers", "sglang/*/result.jsonl", "SGLang bench_serving", 2, 20, "concurrency"},
		{"peers", "endpoints/*/performance/result_summary.json", "mlcommons/endpoints", 2, 20, ""},
		{"genai_perf", "25.08/*/report.json", "GenAI-Perf", 10, 10, ""},
		{"aiperf", "*/profile_export_aiperf.json", "AIPerf", 2, 50, ""},
	} {
		t.Run(tt.pattern, func(t *testing.T) {
			golden.Each(t, tt.archive, tt.pattern, tt.least, func(file string, data []byte) {
				r, err := Stated(file, data)
				if err != nil || r == nil {
					t.Fatalf("%s: %v, error %v", file, r, err)
				}
				if r.Definitions != tt.definitions || len(r.Levels) != 1 || len(r.Levels[0].Figures) < tt.figures || tt.load != "" && r.Levels[0].Mode != tt.load {
					t.Errorf("%s: %s, %d levels, %d figures at %q", file, r.Tool(), len(r.Levels), len(r.Levels[0].Figures), r.Levels[0].Name())
				}
				seen := map[string]bool{}
				for _, f := range r.Levels[0].Figures {
					if !bytes.Contains(data, []byte(f.Text)) && !math.IsNaN(f.Value) {
						t.Errorf("%s: %s %s: %s is not in the file", file, f.Metric, f.Statistic, f.Text)
					}
					key := f.Metric + " " + f.Statistic
					if seen[key] {
						t.Errorf("%s: %s is stated twice", file, key)
					}
					seen[key] = true
				}
			})
		})
	}
}

// Files that are damaged, or of no tool, state nothing, and nothing in them makes the reader fail badly.
func FuzzStated(f *testing.F) {
	f.Add([]byte(`{"duration":1,"completed":2,"request_throughput":2.0,"mean_ttft_ms":1e400,"request_rate":"inf","num_prompts":3}`))
	f.Add([]byte(`[{"request_latency":{"unit":"ms","avg":1},"request_count":{"unit":"requests","avg":NaN}}]`))
	f.Add([]byte(`{"load_summary":{"count":1},"successes":{"count":1,"latency":{"ttft":{"p99.9":1}}}}{"load_summary":`))
	f.Add([]byte(`{"n_samples_issued":1,"n_samples_completed":1,"duration_ns":1,"ttft":{"percentiles":{"99.0":1}}}`))
	f.Add([]byte("Metric,avg,sum,p99\nTime to First Token (ms),\"1,035.17\",,2\n\nMetric,Value\nRequest Count,\"1,234.00\"\n"))
	f.Add([]byte("Run Info,Benchmark,Request Counts\nRun Index,Strategy,Total\n,,\n0,constant,2\n"))
	f.Add([]byte("metadata:\n  guidellm_version: 1\nbenchmarks:\n- metrics: {request_totals: {total: 2}, x: &a [1, *a]}\n"))
	f.Add([]byte(`[{"hw":"a","conc":4,"framework":"v","tput_per_gpu":1},{"hw":"b","conc":4,"framework":"v","tput_per_gpu":1,"mean_intvty":"x"}]`))
	for _, text := range []string{
		`{"config":{"model_name":"m"},"results":[{"id":"a","executor_type":"ConstantVUs","config":{"max_vus":8},"total_requests":1,"e2e_latency_ms":{"p50":1,"avg":2}},{"id":"b"}]}`,
		`{"root_group":{"path":""},"metrics":{"iterations":{"count":1},"http_req_duration{url:a.b}":{"p(99.9)":1e999}}}`,
		`{"metadata":{"k6_version":"1"},"results":{"metrics":[{"name":"a","contains":"time","values":{"avg":1}}]}}`,
		`{"Benchmark Duration":{"total":"1.5 ms"},"Max Concurrency":{"total":2}}`, "Performance Parameters,Stage,Average,N\nTTFT,stable,1.5 ms,\"2\"\n",
		"Type,Name,Request Count,Failure Count,50%\nGET,a,1,0,N/A\n,Aggregated,1\n", `[{"name":"a","method":"GET","num_requests":1,"total_response_time":NaN,"response_times":{"1":1}}]`,
		`{"Test Duration (s)":1,"Success Requests":1,"Concurrency":2,"Avg TTFT (ms)":3}`, `[{"Percentiles":"50%","Latency (s)":1}]`,
		`{"num_concurrent_requests":1,"results_num_requests_started":1,"results_ttft_s_mean":1,"results_number_input_tokens_min":"5"}`,
		`{"aggregated_metrics":{"scenario":"D","num_requests":1,"stats":{"ttft":{"p99":1}}}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Stated("x.json", data)
		if err != nil || r == nil {
			return
		}
		var b strings.Builder
		if err := stated.Report([]*stated.Result{r}).In("csv", 0)(&b); err != nil {
			t.Fatal(err)
		}
		trend, err := stated.NewTrend([]*stated.Result{r, r}, []string{"", ""}, false)
		if err != nil {
			t.Fatal(err)
		}
		if err := trend.Formats().In("text", 0)(&b); err != nil {
			t.Fatal(err)
		}
		if _, err := stated.Compare(r, r, levelpair.Load); err != nil && !slices.ContainsFunc(r.Levels, func(l stated.Level) bool { return l.Mode == "" }) {
			t.Fatal(err)
		}
	})
}

// A file of figures is no recording, and its error has the figures.
func TestStatedError(t *testing.T) {
	var found int
	golden.Each(t, "peers", "aiperf/ok/profile_export_aiperf.json", 1, func(file string, data []byte) {
		for _, format := range Formats() {
			if !format.Sniff(data[:min(len(data), 4096)]) {
				continue
			}
			_, err := format.Open(t.Context(), file, bytes.NewReader(data), int64(len(data)), export.Limits{})
			s := new(stated.Error)
			if !errors.As(err, &s) || s.Result.File != file || !strings.Contains(fmt.Sprint(err), "give profile_export.jsonl") {
				t.Errorf("error %v", err)
			}
			found++
			break
		}
	})
	if found == 0 {
		t.Error("no format knows the file")
	}
}

// A file that is too large for a file of figures is named as such.
func TestStatedSize(t *testing.T) {
	data := []byte(`{"date":"d","backend":"b","model_id":"m","tokenizer_id":"m","num_prompts":1,"request_rate":1,"max_concurrency":1,"duration":1,"completed":1,"request_throughput":1.0` + strings.Repeat(" ", resultfile.MaxStatedBytes) + `}`)
	for _, format := range Formats() {
		if !format.Sniff(data[:4096]) {
			continue
		}
		_, err := format.Open(t.Context(), "big.json", bytes.NewReader(data), int64(len(data)), export.Limits{})
		if !strings.Contains(fmt.Sprint(err), "figures are read from files of at most 16777216") {
			t.Errorf("error %v", err)
		}
		return
	}
	t.Error("no format knows the file")
}

// Long names, many values and deep nesting cost no more memory than the bound, and no more time than their size.
func TestStatedHostile(t *testing.T) {
	long := strings.Repeat("n", 1<<20)
	for name, text := range map[string]string{
		"a long name of many values": `{"` + long + `":[` + strings.Repeat("1,", 1<<20) + `1]}`,
		"many values":                `{"a":[` + strings.Repeat("1,", 3<<20) + `1]}`,
		"many benchmarks":            `{"metadata":{"guidellm_version":"1"},"benchmarks":[` + strings.Repeat(`{"a":1},`, 1<<17) + `{}]}`,
		"many levels of one load":    `[` + strings.Repeat(`{"hw":"a","conc":4,"framework":"v","tput_per_gpu":1},`, 1<<12) + `{}]`,
		"deep":                       strings.Repeat(`{"a":`, 1<<20),
		"deep YAML":                  "benchmarks:\n- " + strings.Repeat("{a: ", 5000),
		"wide CSV":                   "Metric," + strings.Repeat("avg,", 1<<18) + "\n" + strings.Repeat("a\n", 1<<18),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			r, err := Stated("x", []byte(text))
			runtime.ReadMemStats(&after)
			if grown := after.TotalAlloc - before.TotalAlloc; grown > 2<<30 {
				t.Errorf("%d bytes are allocated for %d", grown, len(text))
			}
			if r != nil && err == nil {
				if _, err := stated.Compare(r, r, levelpair.Load); err != nil && len(r.Levels[0].Figures) > 0 && r.Levels[0].Mode != "" {
					t.Error(err)
				}
			}
		})
	}
}

// Tables with more cells than any tool writes are refused before they take memory.
func TestStatedTableCells(t *testing.T) {
	const rows = 1<<20 + 1
	for name, text := range map[string]string{
		"NVIDIA's":   "Metric,avg\n" + strings.Repeat("Request Latency (ms),1\n", rows),
		"GuideLLM's": strings.Repeat("Run Info,Run Info,x,Request Counts,x\n", 3) + strings.Repeat("1,1,1,1,1\n", rows/4+1),
		"Locust's":   "Type,Name,Request Count,Failure Count,\n" + strings.Repeat(",a,1,1,\n", rows/4+1),
	} {
		if _, err := Stated("a.csv", []byte(text)); err == nil || !strings.Contains(err.Error(), "this file has more") {
			t.Errorf("%s: error %.100v", name, err)
		}
	}
}
