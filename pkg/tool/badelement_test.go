package tool

import (
	"fmt"
	"strings"
	"testing"
)

// A bad element of an array, or of a file of lines, costs itself and nothing that follows, with a
// warning.
func TestBadElement(t *testing.T) {
	result := func(concurrency string) string {
		return strings.ReplaceAll(fmt.Sprintf(servingFrame, "", `"max_concurrency":`+concurrency+`,`, "3", "0.5", "[0.25,0.25]", "", ""), "\n", "")
	}
	const figures = `{"date":"d","backend":"openai","model_id":"m","tokenizer_id":"m","num_prompts":1,"max_concurrency":2,"duration":1.0,"completed":1,"total_input_tokens":4}`
	uneven := strings.Replace(result("2"), `"output_lens":[3]`, `"output_lens":[3,4]`, 1)
	const record = `{"metadata":{"session_num":%d,"request_start_ns":5},"metrics":{"request_latency":{"value":2,"unit":"ms"}}}` + "\n"
	const benchmark = `{"config":{"strategy":{"type_":"concurrent","streams":%d}},"requests":{"successful":[{"info":{"timings":{"request_start":1,"request_end":3}}}],"errored":[],"incomplete":[]}}`
	for _, tt := range []struct {
		name, text string
		levels     string
		requests   int
		warn       string // of the run or of the reader
	}{
		{"a result without details among lines", result("1") + "\n" + figures + "\n" + result("3") + "\n", "1 3", 2, "result 1 of the file (concurrency 2) is left out: it holds figures and no requests; run it with --save-detailed to keep them"},
		{"the first result has no details", figures + "\n" + result("3"), "3", 1, "result 0 of the file (concurrency 2) is left out: it holds figures"},
		{"results in an array", "[" + result("1") + "," + figures + ",null," + result("3") + "]", "1 3", 2, `result 2 of the file is left out: expected an object, found 'n'`},
		{"columns of different lengths", result("1") + uneven + result("3"), "1 2 3", 3, `column "ttfts" ends after 1 requests, but "output_lens" goes on; the rest of this result is left out`},
		{"a broken line of AIPerf", fmt.Sprintf(record, 0) + `{"metadata":{"session_num":1,,}` + "\n" + fmt.Sprintf(record, 2), "", 2, "requests like this are left out"},
		{"a broken first line of AIPerf", `{"metadata":{"request_start_ns":1},"x":,}` + "\n" + fmt.Sprintf(record, 2), "", 1, "byte 39: record 0: expected a value"},
		{"a benchmark of GuideLLM that is none", `{"benchmarks":[` + fmt.Sprintf(benchmark, 1) + `,null,` + fmt.Sprintf(benchmark, 3) + `]}`, "1 3", 2, "benchmark 1 of the file is left out: expected an object, found 'n'"},
		{"a benchmark of GuideLLM without requests", `{"benchmarks":[` + fmt.Sprintf(benchmark, 1) + `,{"requests":null,"metrics":[]},` + fmt.Sprintf(benchmark, 3) + `]}`, "1  3", 2, ""},
		{"a request of inference-perf that is none", `[{"start_time":1,"end_time":2,"request":"{}","response":"x"},7,{"start_time":3,"end_time":4,"request":"{}","response":"x"}]`, "", 2, "expected an object, found number"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := open(t, tt.text)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			n := 0
			for r.Next() {
				n++
			}
			if r.Err() != nil || n != tt.requests {
				t.Errorf("%d requests, %v, want %d", n, r.Err(), tt.requests)
			}
			var levels []string
			for _, e := range r.Run().Experiments {
				levels = append(levels, e.Value)
			}
			if got := strings.Join(levels, " "); got != tt.levels {
				t.Errorf("levels %q, want %q", got, tt.levels)
			}
			warnings := strings.Join(r.Run().Meta.Warnings, "\n")
			for _, w := range r.Warnings() {
				warnings += "\n" + w.String()
			}
			if !strings.Contains(warnings, tt.warn) {
				t.Errorf("warnings %q, want %q", warnings, tt.warn)
			}
		})
	}
	for _, tt := range []struct{ name, text, want string }{
		{"vllm bench sweep", "[" + figures + "," + figures + "]", "x.json: holds 2 results of vllm bench sweep: figures only, no requests; run it with --save-detailed"},
		{"lines of figures", figures + "\n" + figures, "x.json: holds 2 results and no requests: it holds figures and no requests; run it with --save-detailed to keep them"},
	} {
		if _, err := open(t, tt.text); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}
