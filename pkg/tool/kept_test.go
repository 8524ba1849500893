package tool

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
)

// A file that keeps a part of the requests that it counts says so, and lacks the rates: the kept
// requests do not give them. Figures of all requests are not held against the kept ones.
func TestKept(t *testing.T) {
	const timings = `{"info":{"timings":{"request_start":1,"request_end":3}},"prompt_tokens":4,"output_tokens":5}`
	const latency = `{"successful":{"mean":9,"std_dev":1,"min":2,"max":11,"count":%d,"percentiles":{}}}`
	aiperf := `{"metadata":{"session_num":0,"request_start_ns":10,"request_end_ns":20},"metrics":{"request_latency":{"value":2,"unit":"ms"}}}` + "\n"
	infperf := `[{"start_time":1,"end_time":2,"request":"{}","response":"x","info":{"input_tokens":1,"response_metrics":{"output_tokens":1,"output_token_times":[1.5]}},"error":null}]`
	for _, tt := range []struct {
		name, file, text string
		summary, figures string // a file beside it
		want             string // why requests are missing; "" for a file that keeps all
		warn             string // the warning of the run
		differ           int    // figures
	}{
		{
			"guidellm before 0.3", "benchmarks.json",
			`{"benchmarks":[{"args":{"strategy":{"type_":"synchronous"}},"request_totals":{"successful":46,"errored":0,"incomplete":1,"total":47},` +
				`"metrics":{"requests_per_second":{"successful":{"mean":1.548}},"request_latency":` + fmt.Sprintf(latency, 46) + `},"requests":{"successful":[` + timings + `],"errored":[],"incomplete":[]}}]}`,
			"", "", "the file keeps 1 of 46 requests; it states 1.548 requests/s",
			"the file keeps 1 of 46 requests: latencies are of the requests that it keeps, and rates and shares of all requests are n/a; it states 1.548 requests/s", 0,
		},
		{
			"guidellm of version 2", "benchmarks.json",
			`{"metadata":{"version":2,"guidellm_version":"0.8.0"},"benchmarks":[{"config":{"strategy":{"type_":"constant","rate":2}},` +
				`"metrics":{"request_totals":{"successful":990,"errored":10},"request_latency":` + fmt.Sprintf(latency, 990) + `},"requests":{"successful":[` + timings + `],"errored":[` + timings + `],"incomplete":[]}},` +
				`{"config":{"strategy":{"type_":"constant","rate":4}},"metrics":{"request_totals":{"successful":1,"errored":0}},"requests":{"successful":[` + timings + `],"errored":[],"incomplete":[]}}]}`,
			"", "", "the file keeps 2 of 1,000 requests",
			"the file keeps 2 of 1,000 requests of request rate 2: latencies are of the requests that it keeps, and rates and shares of this level are n/a", 0,
		},
		{
			"guidellm with no totals but a distribution", "benchmarks.json",
			`{"benchmarks":[{"config":{},"metrics":{"request_latency":` + fmt.Sprintf(latency, 7) + `},"requests":{"successful":[` + timings + `],"errored":[` + timings + `],"incomplete":[]}}]}`,
			"", "", "the file keeps 2 of 8 requests", "", 0,
		},
		{
			"guidellm that keeps all", "benchmarks.json",
			`{"benchmarks":[{"config":{},"metrics":{"request_totals":{"successful":1,"errored":1,"incomplete":5}},"requests":{"successful":[` + timings + `],"errored":[` + timings + `],"incomplete":[]}}]}`,
			"", "", "", "", 0,
		},
		{
			"vllm", "result.json", strings.Replace(fmt.Sprintf(servingFrame, "", "", "3", "0.5", "[0.25,0.25]", "", `,"request_throughput":1000.0,"mean_ttft_ms":7`), `"completed":1,`, `"completed":990,"failed":10,`, 1),
			"", "", "the file keeps 1 of 1,000 requests; it states 1000 requests/s", "", 2,
		},
		{
			"llm_perf.py", "result.json",
			`{"8":{"concurrency":8,"client_requests":10,"request_per_sec":2.5,"average_latency":3,"perf_results":[{"output_text":"x","ttft":0.5,"e2e_latency":0.75,"input_tokens":9,"output_tokens":1}]}}`,
			"", "", "the file keeps 1 of 10 requests; it states 2.5 requests/s", "", 1,
		},
		{
			"aiperf", "profile_export.jsonl", aiperf, "profile_export_aiperf.json",
			`{"aiperf_version":"0.4.0","request_count":{"unit":"requests","avg":60},"error_request_count":{"unit":"requests","avg":4},"request_throughput":{"unit":"requests/sec","avg":12.5},"request_latency":{"unit":"ms","avg":3}}`,
			"the file keeps 1 of 64 requests; it states 12.5 requests/s", "", 2,
		},
		{
			"aiperf that keeps all", "profile_export.jsonl", aiperf, "profile_export_aiperf.json",
			`{"aiperf_version":"0.4.0","request_count":{"unit":"requests","avg":1},"request_latency":{"unit":"ms","avg":2}}`, "", "", 0,
		},
		{
			"inference-perf", "per_request_lifecycle_metrics.json", infperf, "summary_lifecycle_metrics.json",
			`{"load_summary":{"count":120},"successes":{"count":120,"throughput":{"requests_per_sec":2.5},"latency":{"request_latency":{"mean":7}}},"failures":{"count":0}}`,
			"the file keeps 1 of 120 requests; it states 2.5 requests/s", "", 2,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{tt.file: tt.text, tt.summary: tt.figures} {
				if name == "" {
					continue
				}
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			o := export.Opener{Formats: Formats(), Beside: true}
			r, err := o.Open(t.Context(), filepath.Join(dir, tt.file))
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			for r.Next() {
			}
			if r.Err() != nil {
				t.Fatal(r.Err())
			}
			why, lacks := r.Run().Lacks(export.PartRequests)
			if starts, _ := r.Run().Lacks(export.PartStarts); lacks && starts == "" {
				t.Error("the starts of all requests seem to be known")
			}
			for i, e := range r.Run().Experiments { // the second level of a file, if there is one, is whole
				if _, partial := r.Run().LevelLacks(e.Mode, e.Value, export.PartStarts); partial != (lacks && i == 0) {
					t.Errorf("level %d lacks requests: %v", i, partial)
				}
			}
			if why != tt.want || lacks != (tt.want != "") {
				t.Errorf("%q, want %q", why, tt.want)
			}
			if warnings := strings.Join(r.Run().Meta.Warnings, "\n"); !strings.Contains(warnings, tt.warn) || strings.Contains(warnings, "the file keeps ") != lacks {
				t.Errorf("warnings %q, want %q", warnings, tt.warn)
			}
			if c, _ := export.Checked(r); c.Differing != tt.differ {
				t.Errorf("%+v, want %d to differ: %v", c, tt.differ, r.Warnings())
			}
		})
	}
}
