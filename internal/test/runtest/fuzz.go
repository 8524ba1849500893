package runtest

import (
	"bytes"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
)

// FuzzWriter fuzzes a writer of another tool's files. Every export that can be read must
// be written or refused with a reason, and the written file must read back with as many
// requests. formats has the formats of the seeds: AIPerf, inference-perf, GuideLLM and the
// serving benchmarks. write reports whether it wrote a file, which it has looked at; perRequest
// stands in that once for each request.
func FuzzWriter(f *testing.F, perRequest string, formats []export.Format, write func(t *testing.T, r export.Reader, b *bytes.Buffer) bool) {
	// A file of AIPerf, of inference-perf, of GuideLLM and of SGLang.
	f.Add([]byte(`{"metadata":{"session_num":0,"request_start_ns":5,"request_end_ns":9},"metrics":{"time_to_first_token":{"value":2,"unit":"ms"},"request_latency":{"value":4,"unit":"ms"},"output_sequence_length":{"value":3,"unit":"tokens"},"inter_chunk_latency":{"value":[1,1],"unit":"ms"}}}` + "\n" + `{"metadata":{"session_num":1,"request_start_ns":6,"request_end_ns":7},"metrics":{},"error":{"code":503,"type":"X","message":"\u00e4"}}`))
	f.Add([]byte(`[{"start_time":4020.5,"end_time":4021,"request":"{\"model\":\"m\",\"messages\":[]}","response":"","info":{"input_tokens":3,"response_metrics":{"output_tokens":2,"server_usage":{"prompt_tokens":3,"completion_tokens":2},"response_chunks":["{\"choices\":[{\"text\":\"a\"}]}","{}"],"chunk_times":[4020.6,4020.75],"output_token_times":[]}},"error":null}]`))
	f.Add([]byte(`{"metadata":{"version":2,"guidellm_version":"0.8.1"},"benchmarks":[{"config":{"strategy":{"type_":"constant","rate":2.5}},"requests":{"successful":[{"output":"a b","info":{"conversation_id":"c","turn_index":1,"timings":{"targeted_start":1,"request_start":2,"first_token_iteration":3,"last_token_iteration":4,"token_iterations":5,"request_end":6}},"prompt_tokens":3,"output_tokens":4}],"errored":[{"info":{"timings":{"resolve_start":1,"resolve_end":2},"error":"x"}}],"incomplete":[]}}]}`))
	f.Add([]byte(`{"backend":"openai","tokenizer_id":"t","num_prompts":2,"duration":1.0,"completed":1,"ttfts":[0.1,0.2],"itls":[[0.2],[]],"output_lens":[2,0],"errors":["","x"],"start_times":[1,2],"latencies":[0.3,0]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := imported(t, data, formats)
		if r == nil {
			return
		}
		var b bytes.Buffer
		if !write(t, r, &b) || r.Err() != nil {
			return
		}
		again := imported(t, b.Bytes(), formats)
		if again == nil {
			t.Fatalf("cannot be read: %s", b.Bytes())
		}
		n := 0
		for again.Next() {
			n++
		}
		if want := bytes.Count(b.Bytes(), []byte(perRequest)); again.Err() != nil || n != want {
			t.Fatalf("%d requests of %d, then %v, %v: %s", n, want, again.Err(), again.Warnings(), b.Bytes())
		}
	})
}

// imported returns nil for an unreadable export.
func imported(t *testing.T, data []byte, formats []export.Format) export.Reader {
	t.Helper()
	r, err := open(t, data, export.Limits{MaxValueBytes: 1 << 16}, formats)
	if err != nil {
		return nil
	}
	return r
}
