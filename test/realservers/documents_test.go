//go:build realservers

package realservers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A documentLine is a command line of a document, as it is printed there but for
// the server, and for the name of the model where the server has another one.
type documentLine struct {
	document, line string
	// export is where the run puts its export; report is what must be in
	// pa-analyze report of it, which follows what the line says.
	export, report string
}

const (
	readme2403   = "--input-tokens-mean 200 --input-tokens-stddev 0 "
	tutorial2404 = "--prompt-source synthetic --num-prompts 100 --random-seed 123 --synthetic-input-tokens-mean 200 --synthetic-input-tokens-stddev 0 " +
		"--output-tokens-mean 100 --output-tokens-stddev 0 --concurrency 1 --measurement-interval 4000 --profile-export-file my_profile_export.json "
	// llamaTokenizer is the tutorial's, in the place of the hub's.
	llamaTokenizer = "--tokenizer built-in "
)

// tritonLines are the command lines for models of Triton.
var tritonLines = []documentLine{
	{"README of GenAI-Perf 24.03, TensorRT-LLM", "genai-perf -m ensemble --service-kind triton --output-format trtllm " + readme2403 + "--streaming --concurrency 1 -u URL", "profile_export.json", "PA LLM Metrics"},
	{"README of GenAI-Perf 24.03, vLLM", "genai-perf -m gpt2 --service-kind triton --output-format vllm " + readme2403 + "--streaming --concurrency 1 -u URL", "profile_export.json", "PA LLM Metrics"},
	{"tutorial of GenAI-Perf 24.04, TensorRT-LLM", "genai-perf -m ensemble --service-kind triton --backend trtllm " + tutorial2404 + llamaTokenizer + "--streaming --output-tokens-mean-deterministic --url URL", "my_profile_export.json", "Num input token"},
	{"tutorial of GenAI-Perf 24.04, vLLM", "genai-perf -m gpt2 --service-kind triton --backend vllm " + tutorial2404 + llamaTokenizer + "--streaming --output-tokens-mean-deterministic --url URL", "my_profile_export.json", "Num input token"},
	{"README of llm_perf", "llm_perf -u URL -i grpc -m ensemble --concurrency 1,4,8 --input-data ./prompts.json --tokenizer-path built-in", "profiling_results_profile_export.json", "Request concurrency: 8"},
}

// openAILines are the command lines for servers of the OpenAI API.
var openAILines = []documentLine{
	{"README of GenAI-Perf 24.03, chat", "genai-perf -m tiny --service-kind openai --endpoint v1/chat/completions --output-format openai_chat_completions " + readme2403 + "--streaming --concurrency 1 -u URL", "profile_export.json", "PA LLM Metrics"},
	{"tutorial of GenAI-Perf 24.04, chat", "genai-perf -m tiny --service-kind openai --endpoint v1/chat/completions --endpoint-type chat " + tutorial2404 + llamaTokenizer + "--streaming --url URL", "my_profile_export.json", "Num input token"},
	{"tutorial of GenAI-Perf 24.04, completions", "genai-perf -m tiny --service-kind openai --endpoint v1/completions --endpoint-type completions " + tutorial2404 + llamaTokenizer + "--url URL", "my_profile_export.json", "Num input token"},
	{
		"trtllm-serve", "benchmark_serving --model tiny --backend openai --dataset-name random --random-input-len 64 --random-output-len 32 --random-prefix-len 0 " +
			"--num-prompts 5 --max-concurrency 1 --ignore-eos --save-result --result-dir out --result-filename concurrency_1.json --percentile-metrics ttft,tpot,itl,e2el --base-url http://URL",
		"out/concurrency_1_profile_export.json", "Serving Benchmark Result",
	},
}

// TestDocumentsTriton runs the documents' command lines against Triton.
func TestDocumentsTriton(t *testing.T) {
	t.Parallel()
	runDocuments(t, tritonLines, startTriton(t, "models_documents").GRPC)
}

// TestDocumentsOpenAI runs them against servers of the OpenAI API. Of
// trtllm-serve's the lengths are shorter than the document's 1024: the model's
// context is small.
func TestDocumentsOpenAI(t *testing.T) {
	t.Parallel()
	kinds := []string{"llamacpp"}
	if os.Getenv("REALSERVERS") == "all" {
		kinds = append(kinds, "vllm")
	}
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			runDocuments(t, openAILines, startOpenAI(t, kind).HTTP)
		})
	}
}

// runDocuments runs lines against the server at address. Lines of GenAI-Perf end
// after some requests, and not after three windows.
func runDocuments(t *testing.T, lines []documentLine, address string) {
	const prompts = "{\"input\": \"prompt 1\"}\n{\"input\": \"prompt 2\"}\n{\"input\": \"prompt 3\"}\n{\"input\": \"prompt 4\"}\n"
	for _, l := range lines {
		t.Run(l.document, func(t *testing.T) {
			t.Parallel()
			args := strings.Fields(strings.ReplaceAll(l.line, "URL", address))
			if args[0] == "genai-perf" {
				args = append(args, "--", "--request-count", "5")
			}
			dir, r := record(t, prompts, args...)
			if r.Code != 0 {
				t.Fatalf("pa-record: %v", r)
			}
			if strings.Contains(r.Stdout, "Failed requests") {
				t.Errorf("requests failed: %v", r)
			}
			path := filepath.Join(dir, l.export)
			checkExport(t, path)
			if got := analyze(t, "report", path); !strings.Contains(got, l.report) {
				t.Errorf("pa-analyze report lacks %q:\n%s", l.report, got)
			}
		})
	}
}
