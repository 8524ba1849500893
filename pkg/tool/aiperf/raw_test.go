package aiperf

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/py"
	"github.com/pa-tools/pa/internal/test/runtest"
	"github.com/pa-tools/pa/pkg/tool/dialect"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
)

// Figures of raw records as AIPerf 0.13.0 itself reports them: of answers that call tools, of a server that counts 0, of errors
// in a stream, and of failed requests.
func TestRawRecords(t *testing.T) {
	t.Parallel()
	chat := func(delta string) string {
		return `{"object":"chat.completion.chunk","choices":[{"index":0,"delta":` + delta + `}]}`
	}
	call := chat(`{"content":"unseen","tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}]}`)
	usage := func(completion, cached, reasoning int) string {
		return fmt.Sprintf(`{"object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":5,"completion_tokens":%d,"total_tokens":9,`+
			`"prompt_tokens_details":{"cached_tokens":%d},"completion_tokens_details":{"reasoning_tokens":%d}}}`, completion, cached, reasoning)
	}
	block := func(kind, rest string) string { return `{"type":"content_block_` + kind + `","index":0,` + rest + `}` }
	limits := []dialect.Limit{{Metric: "output_token_throughput_per_user", Value: 1}}
	for _, tt := range []struct {
		name   string
		server bool // --use-server-token-count
		failed string
		events []string
		want   map[string]string // the averages of metrics; "" for none
	}{
		{
			"a call is output, the text beside it is not", false, "",
			[]string{chat(`{"content":"a"}`), call},
			map[string]string{"output_sequence_length": "4", "good_request_count": "1", "request_latency": "1.9999999999999998e-05", "time_to_second_token": "9.999999999999999e-06"},
		},
		{
			"a call beside reasoning is not", false, "",
			[]string{chat(`{"reasoning":"b","tool_calls":[{"function":{"name":"f"}}]}`)},
			map[string]string{"output_sequence_length": "1", "reasoning_token_count": "1", "output_token_count": ""},
		},
		{"the input of a call of Messages", false, "", []string{
			block("start", `"content_block":{"type":"tool_use","id":"t","name":"ls","input":{}}`),
			block("delta", `"delta":{"type":"input_json_delta","partial_json":"{}"}`),
			`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"input_tokens":5,"output_tokens":2}}`,
		}, map[string]string{"usage_prompt_tokens": "5", "usage_total_tokens": "", "output_sequence_length": "2", "time_to_first_token": "1.9999999999999998e-05"}},
		{"counts of 0", true, "", []string{chat(`{"content":"a"}`), usage(0, 0, 0)}, map[string]string{
			"output_sequence_length": "0", "usage_completion_tokens": "0", "usage_prompt_tokens": "5", "usage_total_tokens": "9", "reasoning_token_count": "0",
			"usage_prompt_cache_read_tokens": "0", "usage_reasoning_tokens": "0", "output_token_count": "",
		}},
		{
			"more reasoning than tokens", true, "",
			[]string{chat(`{"content":"a"}`), usage(2, 1, 3)},
			map[string]string{"output_sequence_length": "3", "usage_completion_tokens": "2", "output_token_count": ""},
		},
		{
			"an error without a name has no content", true, "",
			[]string{chat(`{"content":"a"}`), `{"error":{"message":"boom"}}`},
			map[string]string{"request_count": "1", "error_request_count": "", "good_request_count": "", "goodput": "", "good_request_fraction": "0"},
		},
		{
			"usage without content", true, `{"type":"InvalidInferenceResultError","message":"none"}`,
			[]string{usage(0, 0, 0)},
			map[string]string{"error_request_count": "1", "error_isl": "5"},
		},
		{
			"usage before a cut", true, `{"type":"ClientPayloadError","message":"cut"}`,
			[]string{usage(0, 0, 0)},
			map[string]string{"error_request_count": "1", "error_isl": ""},
		},
		{
			"a failure keeps its type", true, `{"type":"ClientPayloadError","message":"cut","cause":"<cut>","cause_chain":["ClientPayloadError","Cut"]}`,
			[]string{chat(`{"content":"a"}`)},
			map[string]string{"error_request_count": "1", "error_summary": `[{"error_details": {"type": "ClientPayloadError", "message": "cut", ` +
				`"cause": "<cut>", "cause_chain": ["ClientPayloadError", "Cut"]}, "count": 1}]`},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var events []string
			for i, e := range tt.events {
				events = append(events, fmt.Sprintf(`{"perf_ns":%d,"packets":[{"name":"data","value":%q}]}`, 1010+10*i, e))
			}
			failed := ""
			if tt.failed != "" {
				failed = `"error":` + tt.failed + ","
			}
			line := `{"metadata":{"session_num":0,"x_request_id":"a","request_start_ns":1700000000000000000,"request_end_ns":1700000000000000090,` +
				`"benchmark_phase":"profiling","was_cancelled":false},"start_perf_ns":1000,"status":200,"responses":[` + strings.Join(events, ",") +
				`],` + failed + `"payload":{"model":"m","stream":true,"messages":[{"role":"user","content":"q"}]}}` + "\n"
			streaming := true
			cfg := dialect.Config{Streaming: &streaming, Args: map[string]string{}, Goodput: limits}
			if tt.server {
				cfg.Args["use_server_token_count"] = "true"
			} else {
				cfg.Tokenizer = runtest.Tokenizers{}.Named(t, "aiperf", "tok-bytebpe")
			}
			rep, err := reportOf(runtest.Import(t, []byte(line), resultfile.Formats(ResultFile())...), cfg)
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			if err := rep.JSON(&b); err != nil {
				t.Fatal(err)
			}
			all, err := py.ParseJSON(b.String(), py.JSON)
			if err != nil {
				t.Fatal(err)
			}
			for tag, want := range tt.want {
				v, _ := all.Member(tag)
				got := strings.Join(strings.Fields(v.Raw()), " ")
				if avg, ok := v.Member("avg"); ok {
					got = avg.Raw()
				}
				if number := strings.TrimSuffix(got, ".0"); number != want && !sameNumber(number, want) &&
					strings.NewReplacer(" ", "").Replace(got) != strings.ReplaceAll(want, " ", "") {
					t.Errorf("%s: %s, want %s", tag, got, want)
				}
			}
		})
	}
}

// Records after a failed one tell that the run was streamed, also if each answer has one chunk.
func TestStreamedAfterFailure(t *testing.T) {
	t.Parallel()
	record := func(rest string) string {
		return `{"metadata":{"session_num":0,"x_request_id":"a","request_start_ns":1700000000000000000,"request_end_ns":1700000000000000090,` +
			`"benchmark_phase":"profiling","was_cancelled":false},` + rest + "}\n"
	}
	data := record(`"metrics":{},"error":{"type":"X","message":"boom","code":500}`) +
		record(`"metrics":{"request_latency":{"value":5,"unit":"ms"},"time_to_first_token":{"value":5,"unit":"ms"}}`)
	rep, err := reportOf(runtest.Import(t, []byte(data), resultfile.Formats(ResultFile())...), dialect.Config{Args: map[string]string{"use_server_token_count": "true"}})
	if err != nil {
		t.Fatal(err)
	}
	if rep.Metric(firstToken) == nil {
		t.Errorf("no %s", firstToken)
	}
}

// sameNumber reports whether two texts are the same number.
func sameNumber(a, b string) bool {
	var x, y float64
	_, err1 := fmt.Sscan(a, &x)
	_, err2 := fmt.Sscan(b, &y)
	return err1 == nil && err2 == nil && x == y
}
