package sim

import (
	"regexp"
	"strings"
	"testing"
)

// SGLang's generate and vLLM's inference/v1/generate, whole and streamed.
func TestIDs(t *testing.T) {
	s := start(t, fast())
	words := regexp.MustCompile(`"text":"[^"]*"`)
	for _, row := range []struct {
		path, body, want string
		protocol         Protocol
		input, tokens    int
	}{
		{
			"/generate", `{"input_ids":[5,6,7],"sampling_params":{"max_new_tokens":2,"ignore_eos":true}}`,
			`{"text":"WORDS","output_ids":[1000,1001],"meta_info":{"id":"generate-sim-0","finish_reason":{"type":"length","length":2},"prompt_tokens":3,"completion_tokens":2,"cached_tokens":0}}`,
			SGLangGenerate, 3, 2,
		},
		{
			"/generate", `{"text":"a b","stream":true,"sampling_params":{"max_new_tokens":2,"ignore_eos":true}}`,
			`data: {"text":"WORDS","output_ids":[1000],"meta_info":{"id":"generate-sim-1","finish_reason":null,"prompt_tokens":2,"completion_tokens":1,"cached_tokens":0}}` + "\n\n" +
				`data: {"text":"WORDS","output_ids":[1000,1001],"meta_info":{"id":"generate-sim-1","finish_reason":{"type":"length","length":2},"prompt_tokens":2,"completion_tokens":2,"cached_tokens":0}}` + "\n\ndata: [DONE]\n\n",
			SGLangGenerate, 2, 2,
		},
		{"/generate", `{"text":"a b","stream":true,"sim_incremental_output":true,"sampling_params":{"max_new_tokens":2,"ignore_eos":true}}`, `"output_ids":[1001],`, SGLangGenerate, 2, 2},
		{"/generate", `{"inputs":"a"}`, `text or input_ids: expected one of them`, SGLangGenerate, 0, 0},
		{
			"/inference/v1/generate", `{"token_ids":[5,6,7],"stream":true,"stream_options":{"include_usage":true},"sampling_params":{"max_tokens":1}}`,
			`data: {"request_id":"generate-sim-4","choices":[{"index":0,"logprobs":null,"finish_reason":"length","stop_reason":null,"token_ids":[1000]}],"usage":null}` + "\n\n" +
				`data: {"request_id":"generate-sim-4","choices":[],"usage":{"prompt_tokens":3,"total_tokens":4,"completion_tokens":1}}` + "\n\ndata: [DONE]\n\n",
			VLLMGenerate, 3, 1,
		},
		{
			"/inference/v1/generate", `{"token_ids":[5],"output_mode":"text","sampling_params":{"max_tokens":2,"n":2,"ignore_eos":true}}`,
			`{"index":1,"logprobs":null,"finish_reason":"length","stop_reason":null,"token_ids":[1000,1001],"text":"WORDS"}],"model":"sim","usage":`,
			VLLMGenerate, 1, 4,
		},
		{"/inference/v1/generate", `{"token_ids":"a","sampling_params":{}}`, `token_ids: expected a list of token ids`, VLLMGenerate, 0, 0},
		{"/inference/v1/generate", `{"token_ids":[5],"stream":true,"sim_fault":"error_event","sim_fault_after":1,"sampling_params":{"max_tokens":3,"ignore_eos":true}}`, `data: {"error":{"message":`, VLLMGenerate, 1, 1},
	} {
		_, body, err := post(t, s.OpenAIURL()+row.path, row.body)
		if err != nil {
			t.Fatal(err)
		}
		if got := words.ReplaceAllString(string(body), `"text":"WORDS"`); !strings.Contains(got, row.want) {
			t.Errorf("%s:\n%s, want\n%s", row.body, got, row.want)
		}
		if e := last(t, s); e.Protocol != row.protocol || e.InputTokens != row.input || len(e.TokenTimesNS()) != row.tokens {
			t.Errorf("%s: ledger: %+v", row.body, e)
		}
	}
}
