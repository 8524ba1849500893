package frontend

import (
	"strconv"
	"strings"
	"sync"

	"github.com/pa-tools/pa/internal/cmdline"
)

// LLMPerf returns the front end of llm_perf.py of triton_trtllm_tools.
func LLMPerf() *Tool {
	return &Tool{
		Name:  "llm_perf",
		Usage: "take a command line of llm_perf.py",
		About: `Takes the command lines of llm_perf.py: every prompt of a JSON Lines file is
sent once at each concurrency, with the tool's fixed tensors. Prints the
pa-record command that this stands for, and runs that. Flags
after -- are pa-record's: -- --dry-run.`,
		Examples: []cmdline.Example{
			{Does: "every prompt at each of three levels, over gRPC", Line: "pa-record llm_perf -u localhost:8001 -m ensemble --concurrency 1,4,8 \\\n  --input-data prompts.jsonl --tokenizer-path /models/Qwen2-7B"},
			{Does: "against the simulated server", Line: "pa-record llm_perf -u sim:// --input-data prompts.jsonl \\\n  --tokenizer-path built-in"},
			{Does: "print what a command line stands for, and send nothing", Line: "pa-record llm_perf --input-data prompts.jsonl --tokenizer-path built-in \\\n  -- --dry-run"},
		},
		releases: sync.OnceValue(func() []*release {
			return []*release{{options: llmPerfOptions(), translate: translateLLMPerf}}
		}),
		choose: onlyRelease,
	}
}

func llmPerfOptions() options {
	return options{
		{names: []string{"-u", "--uri"}, arg: "URL", defaultValue: "localhost:8001", group: "Endpoint", usage: "the server's address", support: alias, note: "-u"},
		{names: []string{"-i", "--protocol"}, arg: "PROTOCOL", defaultValue: "grpc", group: "Endpoint", usage: "grpc, streamed, or http, not streamed", support: same},
		{names: []string{"-m", "--triton-model"}, arg: "MODEL", defaultValue: "ensemble", group: "Endpoint", usage: "the model to ask", support: alias, note: "-m"},
		{names: []string{"--concurrency"}, arg: "N,N,…", defaultValue: "1,4,8", group: "Profiling", usage: "the requests in flight, one level after the other", support: alias, note: "--concurrency-range"},
		{names: []string{"--measurement-interval"}, arg: "S", kind: whole, defaultValue: "30", group: "Profiling", usage: "does nothing: pa-record makes no pause after a level", support: unneeded, note: "a level begins when the last request of the previous level has ended"},
		{names: []string{"--input-data"}, arg: "FILE", group: "Input", usage: "JSON lines with the prompt as \"input\" or \"text_input\"", support: same},
		{names: []string{"--tokenizer-path"}, arg: "DIR", group: "Input", usage: "the tokenizer that counts tokens in reports", support: alias, note: "--tokenizer"},
		{names: []string{"--profile-export-file"}, arg: "FILE", defaultValue: "profiling_results.json", group: "Output", usage: "the tool's result; pa-analyze writes it", support: hint, note: "the export goes beside it, as FILE_profile_export.json"},
	}
}

func translateLLMPerf(b *builder, a *arguments) {
	protocol := strings.ToLower(a.text("--protocol"))
	b.refuse(protocol != "grpc" && protocol != "http", "-i %s: expected grpc or http", clip(a.text("--protocol")))
	b.refuse(!a.has("--input-data"), "no prompts; give --input-data FILE")
	b.refuse(!a.has("--tokenizer-path"), "no tokenizer; give --tokenizer-path DIR")
	levels, err := parseWholes(a.text("--concurrency"))
	b.refuse(err != nil, "--concurrency %s: %w", clip(a.text("--concurrency")), err)
	stream := protocol == "grpc"
	b.set("-m", a.text("--triton-model"))
	b.flag("--async")
	b.set("--service-kind", kindTriton)
	b.set("-i", protocol)
	if stream {
		b.flag("--streaming")
	}
	b.advice = [][2]string{{"-i grpc --async --streaming", "-i grpc"}}
	b.set("-u", a.text("--uri"))
	var list []string
	for _, n := range levels {
		list = append(list, strconv.Itoa(n))
	}
	b.set("--concurrency-range", strings.Join(list, ","))
	b.set("--request-count", "all")
	b.set("--connection-reuse", "fresh") // a client for each request
	b.set("--input-data", a.text("--input-data"))
	b.tokenizer(a.text("--tokenizer-path"), true)
	b.set("--request-template", llmPerfTensors(stream))

	result := a.text("--profile-export-file")
	export := b.export("", besideResult(result))
	b.hint("dialect", "llm_perf-v1")
	if uri := a.text("--uri"); !strings.ContainsAny(uri, "@?") { // which may be secret
		b.hint("uri", uri)
	}
	b.hint("protocol", protocol)
	b.hint("model", a.text("--triton-model"))
	b.hint("concurrency", strings.Join(list, ","))
	b.Reports = [][]string{{"report", export}, {"report", export, "--format", "json", "-o", result}}
}

// llmPerfTensors returns the request template: llm_perf.py sends fixed inputs.
func llmPerfTensors(stream bool) string {
	var r requestTemplate
	r.set("text_input", []string{placeholderPrompt})
	r.set("max_tokens", []int{300})
	r.set("top_k", []int{1})
	for _, f := range []struct{ name, value string }{{"top_p", "0.0"}, {"temperature", "1.0"}, {"length_penalty", "1.0"}, {"repetition_penalty", "1.0"}} {
		r.set(f.name, array([]byte(f.value))) // FP32, which the point says
	}
	r.set("random_seed", []int{0})
	r.set("beam_width", []int{1})
	r.set("stream", []bool{stream})
	return r.String()
}

// besideResult returns the name of the export for a tool's result file.
func besideResult(result string) string {
	return strings.TrimSuffix(result, ".json") + "_profile_export.json"
}
