package tool

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
)

// Each version of GuideLLM's report is compared as far as its formulas are known, and says what
// was not compared.
func TestGuideLLMVersions(t *testing.T) {
	// One request: 2 s, first token after 0.5 s, last after 1.5 s, 5 tokens.
	const request = `{"info":{"timings":{"request_start":1,"first_token_iteration":1.5,"last_token_iteration":2.5,"request_end":3}},"prompt_tokens":4,"output_tokens":5}`
	one := func(name string, value, count float64) string {
		return fmt.Sprintf(`%q:{"successful":{"mean":%v,"std_dev":0,"min":%v,"max":%v,"count":%v,"percentiles":{"p50":%v}}}`, name, value, value, value, count, value)
	}
	document := func(metadata string, metrics ...string) string {
		return `{` + metadata + `"benchmarks":[{"config":{},"metrics":{"request_totals":{"successful":1,"errored":0},` + strings.Join(metrics, ",") + `},"requests":{"successful":[` + request + `],"errored":[],"incomplete":[]}}]}`
	}
	version := func(n int) string {
		return fmt.Sprintf(`"metadata":{"version":%d,"guidellm_version":"0.0"},`, n)
	}
	latency, ttft := one("request_latency", 2, 1), one("time_to_first_token_ms", 500, 1)
	tpot, itl := one("time_per_output_token_ms", 300, 5), one("inter_token_latency_ms", 250, 4)
	oldTPOT := one("time_per_output_token_ms", 200, 1)
	rate := one("requests_per_second", 0.5, 1)
	for _, tt := range []struct {
		name, text          string
		compared, differing int
		kinds, notCompared  string
	}{
		{"version 2", document(version(2), latency, ttft, tpot, itl, rate), 2 + 4*6, 0, "latencies, numbers of requests", "requests_per_second: pa-analyze cannot compute them from the requests for version 2 of the report"},
		{"version 1", document(version(1), latency, ttft, tpot, itl), 2 + 4*6, 0, "latencies, numbers of requests", ""},
		{"version 1, changed by hand", document(version(1), one("request_latency", 3, 1)), 2 + 6, 4, "latencies, numbers of requests", ""},
		{"before there were versions", document("", latency, ttft, oldTPOT, itl), 2 + 2*6, 0, "latencies, numbers of requests", "inter_token_latency_ms, time_per_output_token_ms: pa-analyze cannot compute them from the requests for version 0 of the report"},
		{"before there were versions, changed by hand", document("", one("time_to_first_token_ms", 400, 1)), 2 + 6, 4, "latencies, numbers of requests", ""},
		{"a version to come", document(version(3), latency, ttft), 0, 0, "", "request_latency, time_to_first_token_ms: version 3 of the report is newer than the versions that pa-analyze knows"},
		{"requests that are not kept", strings.Replace(document(version(1), latency), `"successful":1,`, `"successful":9,`, 1), 0, 0, "", "request_latency: they are of all requests, and the file keeps 1 of 9 requests"},
		{"fewer requests than are kept", strings.Replace(document(version(1), latency), `"successful":1,`, `"successful":0,`, 1), 2 + 6, 1, "latencies, numbers of requests", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := open(t, tt.text)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			for r.Next() {
			}
			if r.Err() != nil {
				t.Fatal(r.Err())
			}
			c, _ := export.Checked(r)
			if c.Compared != tt.compared || c.Differing != tt.differing || strings.Join(c.Kinds, ", ") != tt.kinds || strings.Join(c.NotCompared, "; ") != tt.notCompared {
				t.Errorf("%+v, want %d compared, %d differing, %q, not compared %q; %v", c, tt.compared, tt.differing, tt.kinds, tt.notCompared, r.Warnings())
			}
		})
	}
}

// Figures of answers that were not streamed are compared by GuideLLM's own formulas: it divides the whole time
// by the tokens, and takes 0 for each gap.
func TestGuideLLMNotStreamed(t *testing.T) {
	const text = `{"metadata":{"version":2,"guidellm_version":"0.8.1"},"benchmarks":[{"config":{},"metrics":{
		"time_per_output_token_ms":{"successful":{"mean":400,"std_dev":0,"min":400,"max":400,"count":5,"percentiles":{"p50":400}}},
		"inter_token_latency_ms":{"successful":{"mean":0,"std_dev":0,"min":0,"max":0,"count":4,"percentiles":{"p50":0}}}},
		"requests":{"successful":[{"info":{"timings":{"request_start":1,"request_end":3}},"prompt_tokens":4,"output_tokens":5}],"errored":[],"incomplete":[]}}]}`
	r, err := open(t, text)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for r.Next() {
	}
	if c, _ := export.Checked(r); r.Err() != nil || c.Compared != 12 || c.Differing != 0 {
		t.Errorf("%+v, want 12 compared and none differing; %v, %v", c, r.Warnings(), r.Err())
	}
}

// Figures of a result that do not follow from its rows are named.
func TestNotCompared(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"vllm", fmt.Sprintf(servingFrame, "", "", "2", "0.5", "[0.25]", "", `,"request_goodput":2.0,"mean_ttft_ms":500.0,"seed":7`), "duration, request_goodput: pa-analyze cannot compute them from the requests"},
		{"vllm that keeps a part", strings.Replace(fmt.Sprintf(servingFrame, "", "", "2", "0.5", "[0.25]", "", `,"mean_ttft_ms":500.0`), `"completed":1`, `"completed":8`, 1), "duration, mean_ttft_ms, total_input_tokens: they are of all requests, and the file keeps 1 of 8 requests"},
		{"llm_perf.py", `{"1":{"concurrency":1,"client_requests":1,"throughput":3,"perf_results":[{"ttft":0.5,"e2e_latency":0.75,"input_tokens":9,"output_tokens":1}]}}`, "throughput: pa-analyze cannot compute them from the requests"},
	} {
		r, err := open(t, tt.text)
		if err != nil {
			t.Fatal(err)
		}
		for r.Next() {
		}
		if c, _ := export.Checked(r); strings.Join(c.NotCompared, "; ") != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, c.NotCompared, tt.want)
		}
		_ = r.Close()
	}
}

// The model is in the settings, or in what was sent, by release.
func TestGuideLLMModel(t *testing.T) {
	const document = `{"benchmarks":[{%s"requests":{"successful":[{%s"info":{"timings":{"request_start":1,"request_end":3}}}],"errored":[],"incomplete":[]}}]}`
	for _, tt := range []struct{ name, text, want string }{
		{"0.8", fmt.Sprintf(document, `"config":{"backend":{"kind":"openai_http","model":"m/8"}},`, ""), "m/8"},
		{"0.6", fmt.Sprintf(document, `"config":{"backend":{"model":null}},`, `"request_args":"{'method': None, 'body': {'model': 'm/6', 'stream': True}}",`), "m/6"},
		{"0.4, as JSON", fmt.Sprintf(document, "", `"request_args":"{\"body\": {\"model\": \"m/4\"}}",`), "m/4"},
		{"before 0.3", fmt.Sprintf(document, `"worker":{"backend_target":"http://h","backend_model":"m/2"},`, ""), "m/2"},
		{"none", fmt.Sprintf(document, "", ""), ""},
	} {
		r, err := open(t, tt.text)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Run().Meta.Model; got != tt.want {
			t.Errorf("%s: model %q, want %q", tt.name, got, tt.want)
		}
		n := 0
		for r.Next() {
			n++
		}
		if n != 1 || r.Err() != nil {
			t.Errorf("%s: %d requests, %v", tt.name, n, r.Err())
		}
		_ = r.Close()
	}
}
