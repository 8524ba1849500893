package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/runtest"
	"github.com/pa-tools/pa/pkg/analyze/stated"
	"github.com/pa-tools/pa/pkg/export"
)

// A figure of each file that tools wrote, with the digits of the file. Files without requests are recognized and their figures returned.
func TestStatedFiles(t *testing.T) {
	for _, tt := range []struct {
		file, tool, load string
		figures          []string // "metric|statistic|text|unit"
		notes            string
	}{
		{"rayllmperf/testdata/sim_60_8_summary.json", "Ray LLMPerf", "concurrency 2", []string{
			"ttft_s|p50|0.022153078999963327|s", "number_output_tokens|max|20|", "error_rate||0.0|", "num_completed_requests_per_min||498.48557330785223|requests/min",
			"request_output_throughput_token_per_s|min|167.59052941280717|tokens/s",
		}, "is not a gap between tokens"},
		{"evalscope/testdata/benchmark_summary.json", "EvalScope perf", "concurrency 2", []string{
			"TTFT|Avg|36.62|ms", "Req Throughput||32.8187|req/s", "Success Requests||8|", "Latency|Avg|0.0603|s",
		}, ""},
		{"evalscope/testdata/benchmark_percentile.json", "EvalScope perf", "", []string{"TTFT|50%|32.1421|ms", "ITL|99%|14.7103|ms", "Output|max|116.779|tok/s"}, "the load is in benchmark_summary.json"},
		{"evalscope/testdata/early_summary.json", "EvalScope perf", "concurrency 50", []string{"time to first token|Average|0.0385|s", "Output token throughput||1250.25|tok/s"}, ""},
		{"aisbench/testdata/q.json", "AISBench", "concurrency 2", []string{"Success Requests||6|", "Concurrency||1.9301|", "Output Token Throughput||232.8308|token/s", "Benchmark Duration||154.6187|ms"}, ""},
		{"aisbench/testdata/q.csv", "AISBench", "", []string{"TTFT|N|6|", "OutputTokens|Average|6.0|", "TTFT|P90|26.1|ms", "OutputTokenThroughput|Max|125.834|token/s"}, "the load and the rates are in"},
		{"aisbench/testdata/stable.csv", "AISBench (stable stage)", "", []string{"E2EL|P99|61.5|ms", "E2EL|N|3|"}, ""},
		{"hfbench/testdata/results.json", "inference-benchmarker", "concurrency 8, request rate 2.5", []string{
			"time_to_first_token_ms|p99|31.25|ms", "e2e_latency_ms|avg|61.125|ms", "token_throughput_secs||412.5|tokens/s", "request_rate||7.5|requests/s",
		}, "warm-up"},
		{"k6/testdata/handle.json", "k6", "", []string{"http_req_duration|p(90)|39.326570000000004|ms", "http_reqs|rate|77.56374299897537|1/s", "data_sent|count|1458|bytes", "http_req_failed|rate|0.25|"}, ""},
		{"k6/testdata/export.json", "k6", "", []string{"http_req_duration|p(99)|31.97238147|ms", "data_sent|rate|15230.167472822692|bytes/s", "http_req_failed|passes|2|"}, ""},
		{"k6/testdata/new.json", "k6 1.8.1", "", []string{"http_req_duration|p90|34.3849193|ms", "http_req_duration|p95|n/a|ms", "duration||0.09896383|s"}, ""},
		{"locust/testdata/stats.json", "Locust", "", []string{"POST chat response_time|max|203.96395800025857|ms", "GET /missing num_failures||43|"}, "percentiles are in"},
		{"locust/testdata/lo_stats.csv", "Locust", "", []string{"POST chat Response Time|95%|54|ms", "Aggregated Requests/s||64.3929111378564|", "POST chat Response Time|Average|44.32598238097145|ms"}, ""},
	} {
		t.Run(tt.file, func(t *testing.T) {
			data, err := os.ReadFile(tt.file)
			if err != nil {
				t.Fatal(err)
			}
			_, err = open(t, string(data))
			s := new(stated.Error)
			if !errors.As(err, &s) {
				t.Fatalf("opened with error %v", err)
			}
			r := s.Result
			var loads []string
			for i := range r.Levels {
				loads = append(loads, r.Levels[i].Name())
			}
			if r.Tool() != tt.tool || strings.Join(loads, ", ") != tt.load || !strings.Contains(strings.Join(r.Notes, "\n"), tt.notes) {
				t.Errorf("%s at %q, notes %q; want %s at %q, %q", r.Tool(), loads, r.Notes, tt.tool, tt.load, tt.notes)
			}
			for _, want := range tt.figures {
				if !slices.ContainsFunc(r.Levels[0].Figures, func(f stated.Figure) bool {
					return strings.Join([]string{f.Metric, f.Statistic, f.Text, f.Unit}, "|") == want
				}) {
					t.Errorf("no figure %s among %v", want, r.Levels[0].Figures)
				}
			}
			for i := range r.Levels {
				seen := map[string]bool{}
				for _, f := range r.Levels[i].Figures {
					key := f.Metric + "|" + f.Statistic + "|" + f.Unit
					if seen[key] || !bytes.Contains(data, []byte(f.Text)) && !math.IsNaN(f.Value) {
						t.Errorf("%s: stated twice, or %s is not in the file", key, f.Text)
					}
					seen[key] = true
				}
			}
		})
	}
}

// Files that hold requests beside figures agree with their own figures.
func TestMoreSelfChecks(t *testing.T) {
	for _, tt := range []struct {
		file               string
		requests, compared int
		load, model        string
		notCompared        string
	}{
		{"rayllmperf/testdata/sim_60_8_individual_responses.json", 8, 60, "concurrency 2", "sim", "mean_output_throughput_token_per_s, num_completed_requests_per_min: pa-analyze cannot compute them from the requests"},
		{"genaibench/testdata/D8_6_text-to-text_num_concurrency_2_time_1s.json", 38, 58, "concurrency 2", "sim", "error_rate, mean_input_throughput_tokens_per_s"},
	} {
		t.Run(tt.file, func(t *testing.T) {
			opener := export.Opener{Formats: Formats(), Beside: true}
			r, err := opener.Open(t.Context(), tt.file)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			n := 0
			for r.Next() {
				n++
			}
			c, ok := export.Checked(r)
			e := r.Run().Experiments[0]
			if r.Err() != nil || !ok || n != tt.requests || c.Compared != tt.compared || c.Differing != 0 || e.Mode+" "+e.Value != tt.load || r.Run().Meta.Model != tt.model {
				t.Errorf("%d requests of %s at %s %s, %+v, error %v, warnings %v", n, r.Run().Meta.Model, e.Mode, e.Value, c, r.Err(), r.Warnings())
			}
			if !strings.Contains(strings.Join(c.NotCompared, "; "), tt.notCompared) {
				t.Errorf("not compared: %q", c.NotCompared)
			}
		})
	}
}

// A request of k6 is its sample of http_req_duration, and the samples of the file give its figures.
func TestK6Points(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("k6", "testdata", "points.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := open(t, string(data))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var got []string
	for r.Next() {
		got = append(got, runtest.Shown(r.Request()))
	}
	// 01.243035386 − 39.059336 ms.
	const first = "0@1795999921203976050 ok 39059336 streamed=false"
	if r.Err() != nil || len(got) != 8 || got[0] != first || !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, "http_error 404") }) {
		t.Errorf("%d requests, error %v:\n%s", len(got), r.Err(), strings.Join(got, "\n"))
	}
}

// The summary of LLMPerf says how many requests the file should hold.
func TestRayLLMPerfLacksRequests(t *testing.T) {
	dir := t.TempDir()
	const front = "rayllmperf/testdata/sim_60_8_"
	text, err := os.ReadFile(front + "individual_responses.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	some, err := json.Marshal(all[:5])
	if err != nil {
		t.Fatal(err)
	}
	summary, err := os.ReadFile(front + "summary.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"a_individual_responses.json": some, "a_summary.json": summary} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	opener := export.Opener{Formats: Formats(), Beside: true}
	r, err := opener.Open(t.Context(), filepath.Join(dir, "a_individual_responses.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for r.Next() {
	}
	why, lacks := r.Run().Lacks(export.PartRequests)
	const want = "the file keeps 5 of 8 requests"
	if c, ok := export.Checked(r); r.Err() != nil || !lacks || why != want || !ok || c.Differing != 2 || !strings.Contains(strings.Join(c.NotCompared, "; "), want) {
		t.Errorf("error %v, lacks %q, check %+v, warnings %v", r.Err(), why, c, r.Warnings())
	}
}
