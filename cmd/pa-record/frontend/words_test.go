package frontend

import (
	"strings"
	"testing"
)

// An error of pa-record names the flags of the command line that the user wrote.
func TestInToolsWords(t *testing.T) {
	tools := map[string]*Tool{"genai-perf": GenAIPerf(), "benchmark_serving": BenchmarkServing(), "llm_perf": LLMPerf()}
	const serving, genai = "benchmark_serving --model m --base-url sim:// ", "genai-perf profile -m m -u sim:// --endpoint-type chat "
	for _, tt := range []struct{ line, message, want string }{
		{"llm_perf --input-data x --tokenizer-path y", "--tokenizer: y; --tokenizer built-in", "--tokenizer-path: y; --tokenizer-path built-in"},
		{"llm_perf --input-data x --tokenizer-path y", "--tokenizer-x, a--tokenizer, --default-tokenizer", "--tokenizer-x, a--tokenizer, --default-tokenizer"},
		{"llm_perf --input-data x --tokenizer-path y", "--tokenizer y: run pa-analyze a --tokenizer y", "--tokenizer-path y: run pa-analyze a --tokenizer y"},
		{"llm_perf --input-data x --tokenizer-path y", "--concurrency-range 1", "--concurrency-range 1"}, // the default
		{"llm_perf --input-data x --tokenizer-path y --concurrency 2", "--concurrency-range 2", "--concurrency 2"},
		{"llm_perf -u sim:// --input-data x --tokenizer-path y", "-u sim://", "-u sim://"},
		{"llm_perf --input-data x --tokenizer-path y -- --tokenizer z", "--tokenizer z", "--tokenizer z"},
		{"llm_perf --input-data x --tokenizer-path y -- --tokenizer=z", "--tokenizer z", "--tokenizer z"},
		{serving + "--dataset-name sharegpt --dataset-path x", "--input-data x, -u sim://", "--dataset-path x, --base-url sim://"},
		{serving + "--dataset-name random --random-output-len 8 --sharegpt-output-len 9", "--output-tokens-mean 8", "--output-tokens-mean 8"},
		{serving + "--dataset-name random", "the server lists \"a\"; choose one with --model", "the server lists \"a\"; choose one with --served-model-name"},
		{genai + "--input-file x --concurrency 3", "--input-data x\n--concurrency-range 3", "--input-file x\n--concurrency 3"},
		{genai + "--artifact-dir x --profile-export-file y", "--profile-export-file y", "--profile-export-file y"},
		{"llm_perf -i http --input-data x --tokenizer-path y", "model m is decoupled; use -i grpc --async --streaming", "model m is decoupled; use -i grpc"},
		{serving + "--dataset-name random", "pa-record: note: --random-seed has no effect: nothing is random\n", ""},
		{serving + "--dataset-name random --seed 3", "pa-record: note: --random-seed has no effect: nothing is random\n", "pa-record: note: --seed has no effect: nothing is random\n"},
		{serving + "--dataset-name random -- --random-seed 3", "pa-record: note: --random-seed has no effect: nothing is random\n", "pa-record: note: --random-seed has no effect: nothing is random\n"},
		{serving + "--dataset-name random", "--request-template has no {{model}}", "the request template of benchmark_serving has no {{model}}"},
		{serving + "--dataset-name random -- --request-template {}", "--request-template has no {{model}}", "--request-template has no {{model}}"},
		{serving + "--dataset-name random --non-streaming", "add --streaming for them", "drop --non-streaming for them"},
		{serving + "--dataset-name sharegpt --dataset-path x", "--num-dataset-entries 1000: there are only 2", "--num-prompts 1000: there are only 2"},
		{genai + "--random-seed 3", "pa-record: note: --random-seed has no effect: nothing is random\n", "pa-record: note: --random-seed has no effect: nothing is random\n"},
		{genai, "pa-record: note: --random-seed has no effect: nothing is random\n", ""},
		{"genai-perf profile -m m --service-kind triton --backend tensorrtllm", "--shape max_tokens: model m has no such input", "--backend tensorrtllm sends max_tokens: model m has no such input"},
	} {
		words := strings.Fields(tt.line)
		cmd, err := tools[words[0]].Parse(words[1:])
		if err != nil {
			t.Errorf("%s: %v", tt.line, err)
			continue
		}
		if got := cmd.InToolsWords(tt.message); got != tt.want {
			t.Errorf("%s: %q became %q, want %q", tt.line, tt.message, got, tt.want)
		}
	}
}
