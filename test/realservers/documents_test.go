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
	// export is where the run puts its export; report holds the words that
	// pa-analyze report of it prints in this order, as the document does.
	export string
	report []string
}

const (
	readme2403   = "--input-tokens-mean 200 --input-tokens-stddev 0 "
	tutorial2404 = "--prompt-source synthetic --num-prompts 100 --random-seed 123 --synthetic-input-tokens-mean 200 --synthetic-input-tokens-stddev 0 " +
		"--output-tokens-mean 100 --output-tokens-stddev 0 --concurrency 1 --measurement-interval 4000 --profile-export-file my_profile_export.json "
	// llamaTokenizer is the tutorial's, in the place of the hub's.
	llamaTokenizer = "--tokenizer built-in "
)

// The words of the reports that the documents print.
var (
	throughputs     = []string{"Output token throughput (per sec): ", "Request throughput (per sec): "}
	report2403      = append([]string{"PA LLM Metrics", "Statistic ┃", "Time to first token (ns) │", "Inter token latency (ns) │", "Request latency (ns) │", "Num output token │"}, throughputs...)
	report2404      = append([]string{" LLM Metrics", "Statistic ┃", "Time to first token (ns) │", "Inter token latency (ns) │", "Request latency (ns) │", "Num output token │", "Num input token │"}, throughputs...)
	wholeReport2403 = append([]string{"PA LLM Metrics", "Statistic ┃", "Request latency (ns) │", "Num output token │"}, throughputs...)
	wholeReport2404 = append([]string{" LLM Metrics", "Statistic ┃", "Request latency (ns) │", "Num output token │", "Num input token │"}, throughputs...)
	llmPerfReport   = []string{
		"protocol: grpc, model: ensemble\n", "Request concurrency: 1\naverage_input_token_per_sec: ", "\naverage_output_token_per_sec: ", "\naverage_ttft: ",
		"\naverage_latency: ", "\np99_ttft: ", "\np99_latency: ", "\npayload and results: 4 4\nthroughput: ", " infer/sec. \n", "Request concurrency: 4\n", "Request concurrency: 8\n",
	}
	servingReport = []string{
		"============ Serving Benchmark Result ============\nSuccessful requests:                     5         \nBenchmark duration (s): ", "\nTotal input tokens: ",
		"\nTotal generated tokens: ", "\nRequest throughput (req/s): ", "\nOutput token throughput (tok/s): ", "\nTotal Token throughput (tok/s): ", "\nUser throughput (tok/s): ",
		"\nMean Request AR: ", "\nMedian Request AR: ", "\n---------------Time to First Token----------------\nMean TTFT (ms): ", "\nMedian TTFT (ms): ", "\nP99 TTFT (ms): ",
		"\n-----Time per Output Token (excl. 1st token)------\nMean TPOT (ms): ", "\n---------------Inter-token Latency----------------\nMean ITL (ms): ",
		"\n----------------End-to-end Latency----------------\nMean E2EL (ms): ", "\nP99 E2EL (ms): ", "\n==================================================\n",
	}
)

// tritonLines are the command lines for models of Triton.
var tritonLines = []documentLine{
	{"README of GenAI-Perf 24.03, TensorRT-LLM", "genai-perf -m ensemble --service-kind triton --output-format trtllm " + readme2403 + "--streaming --concurrency 1 -u URL", "profile_export.json", report2403},
	{"README of GenAI-Perf 24.03, vLLM", "genai-perf -m gpt2 --service-kind triton --output-format vllm " + readme2403 + "--streaming --concurrency 1 -u URL", "profile_export.json", report2403},
	{"tutorial of GenAI-Perf 24.04, TensorRT-LLM", "genai-perf -m ensemble --service-kind triton --backend trtllm " + tutorial2404 + llamaTokenizer + "--streaming --output-tokens-mean-deterministic --url URL", "my_profile_export.json", report2404},
	{"tutorial of GenAI-Perf 24.04, vLLM", "genai-perf -m gpt2 --service-kind triton --backend vllm " + tutorial2404 + llamaTokenizer + "--streaming --output-tokens-mean-deterministic --url URL", "my_profile_export.json", report2404},
	{"README of llm_perf", "llm_perf -u URL -i grpc -m ensemble --concurrency 1,4,8 --input-data ./prompts.json --tokenizer-path built-in", "profiling_results_profile_export.json", llmPerfReport},
}

// openAILines are the command lines for servers of the OpenAI API.
var openAILines = []documentLine{
	{"README of GenAI-Perf 24.03, chat", "genai-perf -m tiny --service-kind openai --endpoint v1/chat/completions --output-format openai_chat_completions " + readme2403 + "--streaming --concurrency 1 -u URL", "profile_export.json", report2403},
	{"README of GenAI-Perf 24.03, completions", "genai-perf -m tiny --service-kind openai --endpoint v1/completions --output-format openai_completions " + readme2403 + "--concurrency 1 -u URL", "profile_export.json", wholeReport2403},
	{"tutorial of GenAI-Perf 24.04, chat", "genai-perf -m tiny --service-kind openai --endpoint v1/chat/completions --endpoint-type chat " + tutorial2404 + llamaTokenizer + "--streaming --url URL", "my_profile_export.json", report2404},
	{"tutorial of GenAI-Perf 24.04, completions", "genai-perf -m tiny --service-kind openai --endpoint v1/completions --endpoint-type completions " + tutorial2404 + llamaTokenizer + "--url URL", "my_profile_export.json", wholeReport2404},
	{
		"trtllm-serve", "benchmark_serving --model tiny --backend openai --dataset-name random --random-input-len 64 --random-output-len 32 --random-prefix-len 0 " +
			"--num-prompts 5 --max-concurrency 1 --ignore-eos --save-result --result-dir out --result-filename concurrency_1.json --percentile-metrics ttft,tpot,itl,e2el --base-url http://URL",
		"out/concurrency_1_profile_export.json", servingReport,
	},
}

// TestDocumentsTriton runs the documents' command lines against Triton.
func TestDocumentsTriton(t *testing.T) {
	t.Parallel()
	address := startTriton(t, "models_documents").GRPC
	runDocuments(t, tritonLines, address, false) // again takes a minute more
	t.Run("README of llm_perf, perf_analyzer", func(t *testing.T) {
		t.Parallel()
		// The document's windows are longer.
		const line = "-u URL -i grpc -m ensemble --async --input-data prompts.json --measurement-interval 500 --profile-export-file qwen2-7b-1024_1.json " +
			"--service-kind triton -v --endpoint v1/chat/completions --concurrency-range 6:8:1 --stability-percentage 999 --streaming --shape max_tokens:1 --shape text_input:1"
		args := strings.Fields(strings.ReplaceAll(line, "URL", address))
		dir, r := record(t, `{"data": [{"text_input": ["prompt 1"], "max_tokens": [1]}, {"text_input": ["prompt 2"], "max_tokens": [1]}]}`, args...)
		if r.Code != 0 {
			t.Fatalf("pa-record: %v", r)
		}
		checkOrder(t, r.Stdout, []string{
			" Successfully read data for 1 stream/streams with 2 step/steps.\n*** Measurement Settings ***\n  Batch size: 1\n  Service Kind: TRITON\n",
			"  Measurement window: 500 msec\n  Latency limit: 0 msec\n  Concurrency limit: 8 concurrent requests\n",
			"  Detected decoupled model, using the first response for measuring latency\n\nRequest concurrency: 6\n  Pass [1] throughput: ", "  Pass [2] throughput: ", "  Pass [3] throughput: ",
			"  Client: \n    Request count: ", "\n    p99 latency: ", "  Server: \n    Inference count: ", "Request concurrency: 7\n", "Request concurrency: 8\n",
			"Inferences/Second vs. Client Average Batch Latency\nConcurrency: 6, throughput: ", "\nConcurrency: 8, throughput: ",
		})
		// perf_analyzer refuses an existing export, too.
		if second := runProgram(t, dir, program(t, "pa-record"), args...); second.Code != 2 || !strings.Contains(second.Stderr, "--overwrite") {
			t.Errorf("the line pasted a second time: %v", second)
		}
	})
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
			runDocuments(t, openAILines, startOpenAI(t, kind).HTTP, true)
		})
	}
}

// runDocuments runs lines against the server at address, each twice if again. Lines of
// GenAI-Perf end after some requests, and not after three windows.
func runDocuments(t *testing.T, lines []documentLine, address string, again bool) {
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
			checkOrder(t, analyze(t, "report", path), l.report)
			if !again {
				return
			}
			if second := runProgram(t, dir, program(t, "pa-record"), args...); second.Code != 0 {
				t.Errorf("the line pasted a second time: %v", second)
			}
		})
	}
}

// checkOrder fails the test unless text holds all words in their order.
func checkOrder(t *testing.T, text string, words []string) {
	t.Helper()
	rest := text
	for _, w := range words {
		_, after, found := strings.Cut(rest, w)
		if !found {
			t.Errorf("the output lacks %q, or has it too early:\n%s", w, text)
			return
		}
		rest = after
	}
}
