package openai

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/export"
)

func n(v int64) export.Int { return export.IntOf(v) }

// The bodies are in the shape of each server. Times are in milliseconds, or in seconds at SGLang and Groq.
var stated = []struct {
	name, body string
	want       export.ServerDetails
}{
	{
		"vLLM", `{"choices":[],"object":"chat.completion.chunk","metrics":{"time_to_first_token_ms":3.5,"generation_time_ms":19,"queue_time_ms":0.25,"mean_itl_ms":1.7,"tokens_per_second":528.5}}`,
		export.ServerDetails{Queue: n(250_000), Prefill: n(3_500_000), TTFT: n(3_750_000), Decode: n(19_000_000)},
	},
	{"vLLM without the times of the queue", `{"choices":[],"metrics":{"time_to_first_token_ms":3.5,"queue_time_ms":null}}`, export.ServerDetails{Prefill: n(3_500_000)}},
	{
		"vLLM, prefix cache", `{"choices":[],"metrics":{"prefix_cache":{"num_computed_tokens":3,"num_cached_tokens":48,"num_local_cached_tokens":32,"num_external_cached_tokens":16,"num_block_evictions":0,"prefill_time_ms":2},"queue_time_ms":1,"time_to_first_token_ms":3}}`,
		export.ServerDetails{Queue: n(1_000_000), Prefill: n(2_000_000), TTFT: n(4_000_000), CachedLocal: n(32), CachedExternal: n(16)},
	},
	{
		"vLLM, drafts", `{"choices":[],"metrics":{"speculative_decoding":{"mean_acceptance_length":2.5,"draft_acceptance_rate":0.5,"acceptance_histogram":[1,0,0,1],"num_spec_steps":2,"num_accepted_draft_tokens":3,"num_draft_tokens":6,"num_spec_tokens":3,"per_step_accepted":[0,3],"per_step_drafted":[3,3]}}}`,
		export.ServerDetails{DraftSteps: n(2), DraftTokens: n(6), AcceptedTokens: n(3)},
	},
	{
		"vLLM, numbers as Python writes them", `{"choices":[],"metrics":{"queue_time_ms":NaN,"time_to_first_token_ms":-Infinity,"generation_time_ms":2,"prefix_cache":{"num_local_cached_tokens":Infinity}}}`,
		export.ServerDetails{Decode: n(2_000_000)},
	},
	{"vLLM, several choices", `{"choices":[],"object":"x","metrics":null}`, export.ServerDetails{}},
	{"vLLM, no drafts", `{"choices":[],"metrics":{"queue_time_ms":1,"speculative_decoding":null}}`, export.ServerDetails{Queue: n(1_000_000)}},
	{
		"vLLM, whole Responses", `{"object":"response","status":"completed","output":[],"metrics":{"queue_time_ms":1}}`,
		export.ServerDetails{Queue: n(1_000_000)},
	},
	{
		"vLLM, the end of a stream of Responses", `{"type":"response.completed","response":{"id":"r","status":"completed","metrics":{"generation_time_ms":2}}}`,
		export.ServerDetails{Decode: n(2_000_000)},
	},
	{
		"SGLang", `{"text":"a","output_ids":[1],"meta_info":{"id":"r","prompt_tokens":9,"completion_tokens":1,"cached_tokens":7,"cached_tokens_details":{"device":4,"host":2,"storage":1,"storage_backend":"file"},"queue_time":0.5,"e2e_latency":1.25,"response_sent_to_client_ts":1780931883.5,"spec_verify_ct":4,"spec_accept_length":2.5,"spec_accept_token_num":6,"spec_draft_token_num":12,"num_retractions":1,"finish_reason":{"type":"length","length":1}}}`,
		export.ServerDetails{
			Queue: n(500_000_000), E2E: n(1_250_000_000), SentNS: n(1_780_931_883_500_000_000), CachedLocal: n(4), CachedHost: n(2), CachedStorage: n(1),
			DraftSteps: n(4), DraftTokens: n(12), AcceptedTokens: n(6), Retractions: n(1),
		},
	},
	{
		"SGLang, beside chunks", `{"choices":[],"object":"chat.completion.chunk","sglext":{"cached_tokens_details":{"device":4,"host":0},"spec_tokens_details":{"spec_verify_ct":4,"spec_num_correct_drafts":6,"spec_num_proposed_drafts":12}}}`,
		export.ServerDetails{CachedLocal: n(4), CachedHost: n(0), DraftSteps: n(4), DraftTokens: n(12), AcceptedTokens: n(6)},
	},
	{"SGLang, in a choice", `{"choices":[{"index":0,"message":{"content":"a"},"meta_info":{"e2e_latency":2,"total_retractions":0}}]}`, export.ServerDetails{E2E: n(2_000_000_000), Retractions: n(0)}},
	{
		"llama.cpp", `{"choices":[],"timings":{"cache_n":28,"prompt_n":1,"prompt_ms":1.184,"predicted_n":16,"predicted_ms":3.466,"draft_n":8,"draft_n_accepted":5}}`,
		export.ServerDetails{Prefill: n(1_184_000), Decode: n(3_466_000), CachedLocal: n(28), DraftTokens: n(8), AcceptedTokens: n(5)},
	},
	{
		"Ollama", `{"model":"m","message":{"role":"assistant","content":""},"done":true,"total_duration":9007199254740993,"load_duration":2,"prompt_eval_duration":3,"eval_duration":4}`,
		export.ServerDetails{E2E: n(9007199254740993), Queue: n(2), Prefill: n(3), Decode: n(4)},
	},
	{
		"Dynamo", `{"choices":[],"nvext":{"worker_id":{"prefill_worker_id":18446744073709551615,"prefill_dp_rank":0,"decode_worker_id":"w-2"},"timing":{"prefill_wait_time_ms":1,"prefill_time_ms":2,"ttft_ms":3.5,"total_time_ms":10,"kv_hit_rate":0.5}}}`,
		export.ServerDetails{Queue: n(1_000_000), Prefill: n(2_000_000), TTFT: n(3_500_000), E2E: n(10_000_000), PrefillWorker: "18446744073709551615", DecodeWorker: "w-2"},
	},
	{"Groq", `{"choices":[],"usage":{"queue_time":0.25,"prompt_tokens":1,"prompt_time":0.002,"completion_tokens":2,"completion_time":0.5,"total_time":0.502}}`, export.ServerDetails{Queue: n(250_000_000), Prefill: n(2_000_000), Decode: n(500_000_000)}},
	{"Groq, the end of a stream", `{"choices":[],"x_groq":{"id":"r","usage":{"prompt_tokens":1,"prompt_time":0.002}}}`, export.ServerDetails{Prefill: n(2_000_000)}},
	{"Bedrock", `{"usage":{"inputTokens":1,"outputTokens":2},"metrics":{"latencyMs":7}}`, export.ServerDetails{E2E: n(7_000_000)}},

	// Numbers that cannot be true stay what they are, or the nearest int64; answer.Meter leaves them out, and says it.
	{
		"negative and huge", `{"choices":[],"metrics":{"queue_time_ms":-0.5,"time_to_first_token_ms":1e300,"generation_time_ms":-1e300},"timings":{"cache_n":-3,"draft_n":1e30,"draft_n_accepted":99999999999999999999}}`,
		export.ServerDetails{
			Queue: n(-500_000), Prefill: n(math.MaxInt64), TTFT: n(math.MaxInt64 - 500_000), Decode: n(math.MinInt64),
			CachedLocal: n(-3), DraftTokens: n(math.MaxInt64), AcceptedTokens: n(math.MaxInt64),
		},
	},
	{"both huge", `{"choices":[],"metrics":{"queue_time_ms":1e300,"time_to_first_token_ms":1e300}}`, export.ServerDetails{Queue: n(math.MaxInt64), Prefill: n(math.MaxInt64), TTFT: n(math.MaxInt64)}},
	{"texts, lists and null", `{"object":"x","choices":[],"metrics":{"queue_time_ms":"1","time_to_first_token_ms":[1],"generation_time_ms":{},"prefix_cache":3,"speculative_decoding":"x"},"timings":true,"sglext":[],"nvext":{"worker_id":7,"timing":null,"prefill_worker_id":{}}}`, export.ServerDetails{}},
	{"a long id", `{"choices":[],"nvext":{"worker_id":{"decode_worker_id":"a\u0000` + strings.Repeat("b", 3000) + `"}}}`, export.ServerDetails{DecodeWorker: OneLine([]byte("a\x00" + strings.Repeat("b", 3000)))}},
}

func TestServerDetails(t *testing.T) {
	var used Chunk
	for _, tt := range stated {
		for name, c := range map[string]*Chunk{"new": {}, "used": &used} {
			if err := ParseFrame([]byte("data: "+tt.body+"\n\n"), c); err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			var got export.ServerDetails
			if c.Server != nil {
				got = *c.Server
			}
			if (c.Server == nil) != (tt.want == export.ServerDetails{}) {
				t.Errorf("%s, %s chunk: Server is %v", tt.name, name, c.Server)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s, %s chunk (-want +got):\n%s", tt.name, name, diff)
			}
		}
	}
}

// The numbers were read in the files by hand.
func TestServerDetailsRecorded(t *testing.T) {
	for name, want := range map[string]export.ServerDetails{
		"vllm_chat_stream.http":     {Queue: n(26_099), Prefill: n(3_608_652), TTFT: n(3_634_751), Decode: n(19_093_568)},
		"llamacpp_completions.http": {Prefill: n(710_000), Decode: n(1_199_000), CachedLocal: n(0)},
	} {
		data, err := os.ReadFile(filepath.Join("testdata", "serverdetails", name))
		if err != nil {
			t.Fatal(err)
		}
		_, body, _ := strings.Cut(string(data), "\r\n\r\n")
		var st Stream
		var c Chunk
		for _, line := range strings.Split(body, "\n") {
			if strings.HasPrefix(line, "data: ") {
				if err := ParseFrame([]byte(line+"\n\n"), &c); err != nil {
					t.Fatal(err)
				}
				st.Add(&c)
			}
		}
		if diff := cmp.Diff(want, st.Server); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A stream keeps what earlier chunks stated, and takes the last of several statements of a number.
func TestServerDetailsOfStream(t *testing.T) {
	var st Stream
	var c Chunk
	for _, body := range []string{
		`{"choices":[{"text":"a"}],"nvext":{"worker_id":{"decode_worker_id":7}},"timings":{"prompt_ms":1,"predicted_ms":1}}`,
		`{"choices":[{"text":"b"}],"timings":{"prompt_ms":1,"predicted_ms":2}}`,
		`{"choices":[{"text":"c"}]}`,
		`{"choices":[{"text":"d"}]}`,
		`{"choices":[],"nvext":{"timing":{"ttft_ms":5}}}`,
	} {
		if err := ParseFrame([]byte("data: "+body+"\n\n"), &c); err != nil {
			t.Fatal(err)
		}
		st.Add(&c)
	}
	want := export.ServerDetails{Prefill: n(1_000_000), Decode: n(2_000_000), TTFT: n(5_000_000), DecodeWorker: "7"}
	if diff := cmp.Diff(want, st.Server); diff != "" {
		t.Error(diff)
	}
	if st.Reset(); st.Server != (export.ServerDetails{}) {
		t.Errorf("after Reset: %+v", st.Server)
	}
}

func TestUsageSynonyms(t *testing.T) {
	for _, tt := range []struct {
		name, usage string
		want        Usage
		cached      bool
	}{
		{"DeepSeek", `{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11,"prompt_cache_hit_tokens":8,"prompt_cache_miss_tokens":1}`, Usage{9, 2, 11, 8, 0}, true},
		{"Bedrock", `{"inputTokens":3,"outputTokens":5,"totalTokens":20,"cacheReadInputTokens":8,"cacheWriteInputTokens":4}`, Usage{15, 5, 20, 8, 0}, true},
		{"Bedrock without a cache", `{"outputTokens":5,"inputTokens":3}`, Usage{3, 5, 0, 0, 0}, false},
		{"Cohere", `{"billed_units":{"input_tokens":1,"output_tokens":2},"tokens":{"input_tokens":70,"output_tokens":4}}`, Usage{70, 4, 0, 0, 0}, false},
		{"Bedrock, hostile", `{"inputTokens":9223372036854775807,"cacheReadInputTokens":9223372036854775807,"cacheWriteInputTokens":1,"outputTokens":"5"}`, Usage{PromptTokens: math.MaxInt64, CachedTokens: math.MaxInt64}, true},
	} {
		var c Chunk
		if err := Parse(fmt.Appendf(nil, `{"choices":[],"usage":%s}`, tt.usage), &c); err != nil {
			t.Fatal(err)
		}
		if c.Usage != tt.want || !c.HasUsage || c.HasCached != tt.cached {
			t.Errorf("%s: %+v, %v, cached %v", tt.name, c.Usage, c.HasUsage, c.HasCached)
		}
	}
}

// What a body states does not depend on the body before it, and a body of any size takes little memory.
func FuzzServerDetails(f *testing.F) {
	for _, tt := range stated {
		f.Add([]byte(tt.body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		testenv.BoundMemory(t, len(body), 1<<20, 200, func() { _ = Parse(body, new(Chunk)) })
		var c, used Chunk
		if err := Parse([]byte(stated[0].body), &used); err != nil {
			t.Fatal(err)
		}
		if Parse(body, &c) != nil {
			return
		}
		if err := Parse(body, &used); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.Server, used.Server); diff != "" {
			t.Errorf("a used Chunk differs:\n%s", diff)
		}
		if c.Server == nil {
			return
		}
		var st Stream
		st.Add(&c)
		if st.Server != *c.Server {
			t.Errorf("stream: %+v, chunk: %+v", st.Server, *c.Server)
		}
	})
}

// What the user says wins.
func TestAskServerDetails(t *testing.T) {
	for extra, want := range map[string]string{
		``: `{"return_cached_tokens_details":true,"return_spec_tokens_details":true,"nvext":{"extra_fields":["worker_id","timing"]}}`,
		`{"top_k":1,"return_spec_tokens_details":false,"nvext":{}}`: `{"return_cached_tokens_details":true,"return_spec_tokens_details":false,"nvext":{},"top_k":1}`,
		`[1]`: `[1]`,
	} {
		if got := string(AskServerDetails([]byte(extra))); got != want {
			t.Errorf("%s: %s, want %s", extra, got, want)
		}
	}
}
