package frontend

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/pkg/recorder/workload"
	"github.com/pa-tools/pa/pkg/recorder/workload/render"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// documentLines are the command lines of the documents that people have them
// from: the README of GenAI-Perf 24.03, its tutorial of 24.04, the page on
// trtllm-serve, the README of llm_perf. A backslash at the end of a line is
// taken out, a shell's variables are replaced.
var documentLines = []string{
	`genai-perf -m gpt2 --service-kind triton --output-format trtllm --input-tokens-mean 200 --input-tokens-stddev 0 --streaming --concurrency 1`,
	`genai-perf -m gpt2 --service-kind triton --output-format vllm --input-tokens-mean 200 --input-tokens-stddev 0 --streaming --concurrency 1`,
	`genai-perf -m gpt2 --service-kind openai --endpoint v1/chat/completions --output-format openai_chat_completions --input-tokens-mean 200 --input-tokens-stddev 0 --streaming --concurrency 1`,
	`genai-perf -m gpt2 --service-kind openai --endpoint v1/completions --output-format openai_completions --input-tokens-mean 200 --input-tokens-stddev 0 --concurrency 1`,
	`genai-perf -m gpt2 --service-kind triton --backend trtllm --prompt-source synthetic --num-prompts 100 --random-seed 123 --synthetic-input-tokens-mean 200 --synthetic-input-tokens-stddev 0 --streaming --output-tokens-mean 100 --output-tokens-stddev 0 --output-tokens-mean-deterministic --tokenizer hf-internal-testing/llama-tokenizer --concurrency 1 --measurement-interval 4000 --profile-export-file my_profile_export.json --url localhost:8001`,
	`genai-perf -m gpt2 --service-kind triton --backend vllm --prompt-source synthetic --num-prompts 100 --random-seed 123 --synthetic-input-tokens-mean 200 --synthetic-input-tokens-stddev 0 --streaming --output-tokens-mean 100 --output-tokens-stddev 0 --output-tokens-mean-deterministic --tokenizer hf-internal-testing/llama-tokenizer --concurrency 1 --measurement-interval 4000 --profile-export-file my_profile_export.json --url localhost:8001`,
	`genai-perf -m gpt2 --service-kind openai --endpoint v1/chat/completions --endpoint-type chat --prompt-source synthetic --num-prompts 100 --random-seed 123 --synthetic-input-tokens-mean 200 --synthetic-input-tokens-stddev 0 --streaming --output-tokens-mean 100 --output-tokens-stddev 0 --tokenizer hf-internal-testing/llama-tokenizer --concurrency 1 --measurement-interval 4000 --profile-export-file my_profile_export.json --url localhost:8000`,
	`genai-perf -m gpt2 --service-kind openai --endpoint v1/completions --endpoint-type completions --prompt-source synthetic --num-prompts 100 --random-seed 123 --synthetic-input-tokens-mean 200 --synthetic-input-tokens-stddev 0 --output-tokens-mean 100 --output-tokens-stddev 0 --tokenizer hf-internal-testing/llama-tokenizer --concurrency 1 --measurement-interval 4000 --profile-export-file my_profile_export.json --url localhost:8000`,
	`benchmark_serving --model /path/to/llama3.1_70B --backend openai --dataset-name random --random-input-len 1024 --random-output-len 1024 --random-prefix-len 0 --num-prompts 5 --max-concurrency 1 --ignore-eos --save-result --result-dir /tmp/llama3.1_output --result-filename concurrency_1.json --percentile-metrics ttft,tpot,itl,e2el`,
	`llm_perf -u localhost:9001 -i grpc -m ensemble --concurrency 1,4,8 --input-data ./prompts.jsonl --tokenizer-path /workspace/models/Qwen2-7B`,
}

// parseLine is Parse of the tool that the line names.
func parseLine(line string) (*Command, error) {
	args := strings.Fields(line)
	for _, t := range Tools() {
		if t.Name == args[0] {
			return t.Parse(args[1:])
		}
	}
	return nil, fmt.Errorf("no tool %s", args[0])
}

// The translation of the command lines in the tools' documents, flag by flag. Their releases follow
// from their flags.
func TestDocuments(t *testing.T) {
	var b strings.Builder
	for _, line := range documentLines {
		cmd, err := parseLine(line)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		fmt.Fprintf(&b, "%s\n%s:", line, cmd.Tool)
		for _, arg := range cmd.Args {
			if strings.HasPrefix(arg, "-") {
				b.WriteString("\n  ")
			} else {
				b.WriteString(" ")
			}
			b.WriteString(arg)
		}
		b.WriteString("\n")
		for _, r := range cmd.Reports {
			fmt.Fprintf(&b, "> pa-analyze %s\n", strings.Join(r, " "))
		}
		b.WriteString("\n")
	}
	const path = "testdata/documents.golden"
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// The release follows from the flags, or from the subcommand.
func TestChooseGenAIPerf(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"-m m --concurrency 1", "genai-perf 24.04"}, // both know them: the later one
		{"-m m", "genai-perf 24.04"},
		{"-m m --concurrency 1 --output-format vllm", "genai-perf 24.03"},
		{"-m m --concurrency 1 --input-data x.json", "genai-perf 24.03"},
		{"-m m --num-of-output-prompts=3 --concurrency 1", "genai-perf 24.03"},
		{"-m m --num-prompts=3", "genai-perf 24.04"},
		{"-m m --backend vllm", "genai-perf 24.04"},
		{"--release 24.03 -m m --concurrency 1", "genai-perf 24.03"},
		{"-m m --concurrency 1 --release=24.03", "genai-perf 24.03"},
		{"profile -m m", "genai-perf latest profile"},
		{"--release latest profile -m m", "genai-perf latest profile"},
		{"analyze -m m --sweep-list 1,2", "genai-perf latest analyze"},
		{"-m m -- --release 3", "genai-perf 24.04"},
		{"profile -m m --endpoint-type chat --service-kind openai", "genai-perf latest profile"}, // up to 25.03
	} {
		cmd, err := GenAIPerf().Parse(strings.Fields(tt.args))
		if err != nil || cmd.Tool != tt.want {
			t.Errorf("%s: %v, %v; want %s", tt.args, cmd, err, tt.want)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{"genai-perf -m m --output-format vllm --num-prompts 3", "genai-perf: no release has all of these flags: 24.03 lacks --num-prompts, 24.04 lacks --output-format"},
		{"genai-perf -m m --nope", "genai-perf: unknown flag --nope"},
		{"genai-perf -m m --concurency 3", "genai-perf: unknown flag --concurency; did you mean --concurrency?"},
		{"genai-perf -m m --output-fromat vllm --num-promts 3", "genai-perf: unknown flag --num-promts; did you mean --num-prompts?\ngenai-perf: unknown flag --output-fromat; did you mean --output-format?"},
		{"genai-perf profile -m m --synthetic-input-token-mean 5", "unknown flag --synthetic-input-token-mean; did you mean --synthetic-input-tokens-mean?"},
		{"genai-perf -m m --input-tokens-mean 5 --input-tokens-stddev 6 --concurrency 1", "genai-perf 24.03: --input-tokens-stddev 6: larger than the mean, 5"},
		{"genai-perf -m m --output-tokens-mean 5 --output-tokens-stddev 6", "genai-perf 24.04: --output-tokens-stddev 6: larger than the mean, 5"},
		{"genai-perf -m m --synthetic-input-tokens-stddev -1", "genai-perf 24.04: --synthetic-input-tokens-stddev -1: must not be negative"},
		{"genai-perf -m m --concurrency 0", "genai-perf 24.04: --concurrency 0: must be at least 1"},
		{"genai-perf -m m --request-rate -2", "genai-perf 24.04: --request-rate -2: must be above 0"},
		{"genai-perf -m m --request-rate inf", "genai-perf 24.04: --request-rate inf: must be above 0"},
		{"genai-perf -m m --concurrency", "genai-perf 24.04: --concurrency needs a value"},
		{"genai-perf -m m --isl 5", "genai-perf: --isl: not a flag of 24.03 or 24.04; put profile in front for the last release"},
		{"genai-perf --release 23.01 -m m", "genai-perf: --release 23.01: expected 24.03, 24.04 or latest"},
		{"genai-perf --release", "--release needs a value"},
		{"genai-perf --release latest -m m", "--release latest needs a subcommand"},
		{"genai-perf --release 24.03 profile -m m", "--release 24.03 has no subcommand profile"},
		{"genai-perf compare --files a b", "genai-perf: compare is not supported: give the exports to pa-analyze diff"},
		{"genai-perf process-export-files -d x", "pa-analyze merge"},
		{"genai-perf proflie -m m", `unknown subcommand "proflie"; expected profile or analyze`},
		{"genai-perf -m m --output-format trtllm", "genai-perf 24.03: no load; give --concurrency or --request-rate"},
		{"genai-perf -m m --output-format trtllm --service-kind openai --concurrency 1", "--output-format trtllm does not fit --service-kind openai"},
		{"genai-perf -m m --backend tensorrtllm", "genai-perf 24.04: --backend tensorrtllm: expected trtllm or vllm"},
		{"genai-perf --backend vllm --concurrency x", "genai-perf 24.04: --concurrency x: expected a whole number"},
		{"genai-perf --backend vllm --service-kind openai", "genai-perf 24.04: no model; give its name with -m\ngenai-perf 24.04: --service-kind openai needs --endpoint-type"},
		{"genai-perf profile -m m --service-kind openai", "--service-kind openai does not fit --endpoint-type kserve"},
		{"genai-perf profile -m m --session-concurrency 2 --concurrency 3", "--concurrency and --session-concurrency exclude each other; drop all but one"},
		{"genai-perf profile -m m --tokenizer-revision v2", "--tokenizer-revision v2: only main is supported"},
		{"genai-perf profile -m m --profile-export-file a/b.json", "--profile-export-file a/b.json: a name, without folders"},
		{"genai-perf analyze -m m --sweep-range 1:6", "--sweep-range 1:6: the bounds of the concurrency must be powers of two"},
		{"genai-perf analyze -m m --sweep-range 4:2", "the maximum must be above the minimum"},
		{"genai-perf analyze -m m --sweep-range 1:4:1", "the concurrency has no step"},
		{"genai-perf analyze -m m --sweep-range 1", "expected MIN:MAX or MIN:MAX:STEP"},
		{"genai-perf analyze -m m --sweep-list 1,x", `"x" is not a positive whole number`},
		{"genai-perf analyze -m m --sweep-type request_rate --sweep-range 1:9999999:1", "more than 10000 values"},
		{"genai-perf analyze -m m --sweep-type batch_size", "--sweep-type batch_size is not supported: make a run for each value"},
		{"genai-perf analyze -m m --concurrency 3", "--concurrency does not fit analyze"},

		{"benchmark_serving --dataset-name random", "benchmark_serving: no model; give its name with --model"},
		{"benchmark_serving --model m --dataset-name random --backend vllm-pooling", "--endpoint /v1/completions: must end in pooling"},
		{"benchmark_serving --model m --dataset-name random --backend vllm-pooling --endpoint /pooling --top-k 3", "--top-k does not fit --backend vllm-pooling, whose answers are numbers; drop it"},
		{"benchmark_serving --model m --dataset-name random --num-prompts 0", "--num-prompts 0: must be at least 1"},
		{"benchmark_serving --model m --dataset-name random --max-concurrency 0", "--max-concurrency 0: must be at least 1"},
		{"benchmark_serving --model m --dataset-name random --request-rate 0", "--request-rate 0: must be positive"},
		{"benchmark_serving --model m --dataset-name random --request-rate nan", "--request-rate nan: must be positive"},
		{"benchmark_serving --model m --dataset-name random --burstiness -1", "--burstiness -1: must be positive"},
		{"benchmark_serving --model m --dataset-name random --random-range-ratio 1", "--random-range-ratio 1: must be at least 0 and less than 1"},
		{"benchmark_serving --model m --dataset-name random --random-input-len 0", "--random-input-len 0: must be at least 1"},
		{"benchmark_serving --model m --dataset-name random --temperature inf", "--temperature inf: expected a finite number"},
		{"benchmark_serving --model m --dataset-name random --endpoint /v1/chat", "--endpoint /v1/chat: must end in completions"},
		{"benchmark_serving --model m --dataset-name burstgpt", "--dataset-name burstgpt needs --dataset-path"},
		{"benchmark_serving --model m --dataset-name sonnet", "--dataset-name sonnet is not supported"},
		{"benchmark_serving --model m --dataset-name random_image", "--dataset-name random_image needs --backend openai-chat"},
		{"benchmark_serving --model m --dataset-name random_image --backend openai-chat --tokenize-on-client", "--tokenize-on-client does not fit --dataset-name random_image"},
		{"genai-perf profile -m m --endpoint-type multimodal --audio-length-mean 1 --audio-format mp3", "--audio-format mp3 is not supported: there is no encoder for it; take wav"},
		{"genai-perf profile -m m --endpoint-type multimodal --image-width-mean 9 --image-height-mean 9 --image-height-stddev 10", "--image-height-stddev 10: larger than the mean, 9"},
		{"genai-perf profile -m m --endpoint-type multimodal --image-width-mean -9", "--image-width-mean -9: must not be negative"},
		{"genai-perf profile -m m --endpoint-type image_retrieval", "--endpoint-type image_retrieval needs images"},
		{"genai-perf profile -m m --endpoint-type template", "--endpoint-type template is not supported: give the template to pa-record --request-template"},
		{"genai-perf profile -m m --endpoint-type dynamic_grpc", "only Triton's own gRPC service is supported"},
		{"genai-perf profile -m m --endpoint-type tensorrtllm_engine --extra-inputs set_end_id", "--extra-inputs set_end_id is not supported"},
		{"genai-perf profile -m m --endpoint-type embeddings -b 2 --input-file payload:x", "--batch-size-text 2: a trace has one text in a request"},
		{"benchmark_serving --model m --dataset-name mooncake", "--dataset-name mooncake: expected sharegpt, burstgpt,"},
		{"benchmark_serving --model m --lora_modules a b", "--lora-modules is not supported"},

		{"benchmark_serving --model m --max-concurency 4", "benchmark_serving: unknown flag --max-concurency; did you mean --max-concurrency?"},
		{"benchmark_serving --model m --seed -1", "benchmark_serving: --seed -1: must not be negative"},

		{"llm_perf", "llm_perf: no prompts; give --input-data FILE\nllm_perf: no tokenizer; give --tokenizer-path DIR"},
		{"llm_perf --input-data x --tokenizer-path y -i tcp", "-i tcp: expected grpc or http"},
		{"llm_perf --input-data x --tokenizer-path y --concurrency 1,0", `--concurrency 1,0: "0" is not a positive whole number`},
	} {
		_, err := parseLine(tt.line)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want an error with %q", tt.line, err, tt.want)
		}
	}
}

// Requests of benchmark_serving as TensorRT-LLM 1.0 and main send them: the
// first four are recorded ones but for prompt and model, the others are what
// its async_request_openai_completions and its twin for chat build.
func TestBenchmarkServingRequests(t *testing.T) {
	const base = "benchmark_serving --model llama --dataset-name random --random-output-len 67 "
	for _, tt := range []struct{ args, want string }{
		{"", `{"model":"llama","prompt":"PROMPT","temperature":0.0,"repetition_penalty":1.0,"max_tokens":67,"logprobs":null,"stream":true,"stream_options":{"include_usage":true}}`},
		{"--backend openai-chat", `{"model":"llama","messages":[{"role":"user","content":[{"type":"text","text":"PROMPT"}]}],"temperature":0.0,"max_completion_tokens":67,"stream":true,"stream_options":{"include_usage":true}}`},
		{"--backend openai-embeddings --endpoint /v1/embeddings", `{"model":"llama","input":"PROMPT","truncate_prompt_tokens":-1}`},
		{"--backend vllm-pooling --endpoint /pooling", `{"model":"llama","input":"PROMPT","truncate_prompt_tokens":-1}`},
		{"--backend vllm-rerank --endpoint /v1/rerank", `{"model":"llama","query":"PROMPT","documents":["a","b"],"truncate_prompt_tokens":-1}`},
		{"--non-streaming", `{"model":"llama","prompt":"PROMPT","temperature":0.0,"repetition_penalty":1.0,"max_tokens":67,"logprobs":null,"stream":false}`},
		{"--served-model-name x", `{"model":"x","prompt":"PROMPT","temperature":0.0,"repetition_penalty":1.0,"max_tokens":67,"logprobs":null,"stream":true,"stream_options":{"include_usage":true}}`},
		{"--ignore-eos --logprobs 3", `{"model":"llama","prompt":"PROMPT","temperature":0.0,"repetition_penalty":1.0,"max_tokens":67,"logprobs":3,"stream":true,"stream_options":{"include_usage":true},"ignore_eos":true}`},
		{"--temperature 0.70 --top-p 1 --top-k 5 --min-p .1", `{"model":"llama","prompt":"PROMPT","temperature":0.7,"repetition_penalty":1.0,"max_tokens":67,"logprobs":null,"stream":true,"stream_options":{"include_usage":true},"top_p":1.0,"top_k":5,"min_p":0.1}`},
		{"--tokenize-on-client", `{"model":"llama","prompt":[7,8],"temperature":0.0,"repetition_penalty":1.0,"max_tokens":67,"logprobs":null,"stream":true,"stream_options":{"include_usage":true}}`},
		{"--backend openai-chat --dataset-name random_image --random-num-images 2", `{"model":"llama","messages":[{"role":"user","content":[{"type":"text","text":"PROMPT"},{"type":"image_url","image_url":{"url":"data:image/jpeg;base64,A"}},{"type":"image_url","image_url":{"url":"data:image/jpeg;base64,A"}}]}],"temperature":0.0,"max_completion_tokens":67,"stream":true,"stream_options":{"include_usage":true}}`},
		{"--tokenize-on-client --backend openai-chat", `{"model":"llama","messages":[],"temperature":0.0,"max_completion_tokens":67,"stream":true,"prompt_token_ids":[7,8],"stream_options":{"include_usage":true}}`},
	} {
		t.Run(tt.args, func(t *testing.T) {
			cmd, err := parseLine(base + tt.args)
			if err != nil {
				t.Fatal(err)
			}
			tpl, err := render.ParseTemplate([]byte(value(cmd.Args, "--request-template")))
			if err != nil {
				t.Fatal(err)
			}
			p := &workload.Prompt{Text: "PROMPT", IDs: []uint32{7, 8}, MaxTokens: 67}
			picture := workload.Medium{Kind: workload.Image, URL: "data:image/" + value(cmd.Args, "--image-format") + ";base64,A"}
			if tpl.Uses(render.PlaceholderDocuments) {
				p.More = []string{"a", "b"}
			}
			p.Media = slices.Repeat([]workload.Medium{picture}, wholeOf(t, cmd, "--batch-size-image"))
			got, err := render.Body(0, p, render.Options{Model: value(cmd.Args, "-m"), Template: tpl})
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tt.want {
				t.Errorf("request\n%s, want\n%s", got, tt.want)
			}
		})
	}
}

// The load of benchmark_serving: a closed loop without a rate.
func TestBenchmarkServingLoad(t *testing.T) {
	const base = "benchmark_serving --model m --dataset-name random --num-prompts 40 "
	for _, tt := range []struct{ args, want, wantNot string }{
		{"", "--concurrency-range 40 --request-count 40 --warmup-request-count 1", "--request-rate-range"},
		{"--max-concurrency 8", "--concurrency-range 8 --request-count 40", "--max-concurrency"},
		{"--max_concurrency=8 --no_test_input", "--concurrency-range 8 --request-count 40", "--warmup"},
		{"--request-rate 12.5", "--request-rate-range 12.5 --request-distribution poisson --request-count 40", "--concurrency-range"},
		{"--request-rate 12 --burstiness 0.5 --max-concurrency 4", "--request-rate-range 12.0 --request-distribution gamma --burstiness 0.5 --max-concurrency 4 --request-count 40", "--concurrency-range"},
		{"--random-range-ratio 0.25 --random-output-len 10", "--synthetic-input-tokens uniform:768,1280 --output-tokens uniform:7,12 --num-dataset-entries 40", "-mean"},
		{"--backend openai-chat --dataset-name random_image", "--image-width-mean 512 --image-height-mean 512 --image-format jpeg --image-content noise --batch-size-image 1", ""},
		{"--backend openai-chat --dataset-name random_image --random-image-size 64 --random-num-images 3", "--image-width-mean 64 --image-height-mean 64 --image-format jpeg --image-content noise --batch-size-image 3", ""},
		{"--backend openai-chat --dataset-name random_image --random-image-size 64 --random-image-width 100", "--image-width-mean 100 --image-height-mean 512 --image-format jpeg --image-content noise", ""},
		{"--backend openai-chat --dataset-name random_image --random-num-images 0", "--synthetic-input-tokens-mean 1024", "--image"},
		{"--random-prefix-len 12", "--num-prefix-prompts 1 --prefix-prompt-length 12", "uniform"},
		{"", "-u 127.0.0.1:8000", ""},
		{"--host h --port 99", "-u h:99", ""},
		{"--base-url http://x:1", "-u http://x:1", ""},
		{"--seed 5 --tokenizer t", "--tokenizer t", "--default-tokenizer"},
		{"", "--default-tokenizer m", "--tokenizer "},
		{"--metadata a=b c=d", "--analysis-hint metadata=a=b c=d", ""},
		{"-- --calibrate --concurrency-range 3", "--calibrate --concurrency-range 3", ""},
	} {
		cmd, err := parseLine(base + tt.args)
		if err != nil {
			t.Errorf("%s: %v", tt.args, err)
			continue
		}
		line := strings.Join(cmd.Args, " ") + " "
		if !strings.Contains(line, tt.want+" ") || tt.wantNot != "" && strings.Contains(line, tt.wantNot) {
			t.Errorf("%s: %s\nwant %q, and not %q", tt.args, line, tt.want, tt.wantNot)
		}
	}
}

// Prompts of a file, too, have what is put in front of them and go together.
func TestInputFile(t *testing.T) {
	const base = "genai-perf profile -m m --endpoint-type "
	for _, tt := range []struct{ args, want, wantNot, note string }{
		{"chat --input-file f --num-prefix-prompts 2", "--input-data f --num-prefix-prompts 2 --prefix-prompt-length 100", "--num-dataset-entries", ""},
		{"embeddings --input-file f -b 3 --num-prompts 7", "--input-data f --num-dataset-entries 7 --batch-size-text 3", "", ""},
		{"embeddings --input-file f", "--input-data f", "--num-dataset-entries", ""},
		{"image_retrieval --input-file f --batch-size-image 2", "--input-data f --num-dataset-entries 100 --batch-size-image 2", "", ""},
		{"rankings --input-file folder -b 2", "--input-data folder --num-dataset-entries 100 --batch-size-text 2", "", ""},
		{"chat --input-file payload:f --num-prefix-prompts 2", "--input-data f", "prefix", "--num-prefix-prompts has no effect on a trace, as in GenAI-Perf"},
		{"chat --image-width-mean 9 --image-height-mean 9", "--num-dataset-entries 100", "--image", "no images for --endpoint-type chat, as in GenAI-Perf; give --endpoint-type multimodal"},
		{"multimodal --audio-length-mean 1 --num-sessions 2", "--num-sessions 2", "--audio", "no audio clips in the turns of --num-sessions, as in GenAI-Perf"},
		{"multimodal --image-width-mean 9", "--num-dataset-entries 100", "--image", "no images are made, as in GenAI-Perf; give both --image-width-mean and --image-height-mean"},
	} {
		cmd, err := parseLine(base + tt.args)
		if err != nil {
			t.Errorf("%s: %v", tt.args, err)
			continue
		}
		line := strings.Join(cmd.Args, " ")
		if !strings.Contains(line, tt.want+" ") || tt.wantNot != "" && strings.Contains(line, tt.wantNot) || strings.Join(cmd.Notes, "\n") != tt.note {
			t.Errorf("%s: %s, notes %q\nwant %q, not %q, note %q", tt.args, line, cmd.Notes, tt.want, tt.wantNot, tt.note)
		}
	}
}

// The tensors of llm_perf, in its order. Floats have a point: they are FP32.
func TestLLMPerfRequests(t *testing.T) {
	for protocol, stream := range map[string]string{"grpc": "true", "http": "false"} {
		cmd, err := parseLine("llm_perf --input-data p.jsonl --tokenizer-path t -i " + protocol)
		if err != nil {
			t.Fatal(err)
		}
		want := `{"text_input":["{{prompt}}"],"max_tokens":[300],"top_k":[1],"top_p":[0.0],"temperature":[1.0],"length_penalty":[1.0],"repetition_penalty":[1.0],"random_seed":[0],"beam_width":[1],"stream":[` + stream + `]}`
		if got := value(cmd.Args, "--request-template"); got != want {
			t.Errorf("%s: %s, want %s", protocol, got, want)
		}
	}
}

// A template in a user's text is text.
func TestLiteralBraces(t *testing.T) {
	for _, extra := range []string{"a:{{prompt}}", `{"a":"{{prompt}}"}`} {
		cmd, err := GenAIPerf().Parse([]string{"profile", "-m", "{{m}}", "--endpoint-type", "chat", "--extra-inputs", extra})
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		tpl, err := render.ParseTemplate([]byte(value(cmd.Args, "--request-template")))
		if err != nil {
			t.Fatalf("%s: %v", extra, err)
		}
		js, err := tpl.Append(nil, func(string) ([]byte, bool) { return []byte(`"X"`), true })
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(js, &got); err != nil || got["a"] != "{{prompt}}" {
			t.Errorf("%s: %s, %v", extra, js, err)
		}
	}
}

// Shells complete each flag that some release of a tool accepts, once.
func TestFlags(t *testing.T) {
	for _, tool := range Tools() {
		listed := map[string]int{}
		for _, f := range Flags(tool.Name) {
			for _, n := range f.Names() {
				listed[n]++
			}
		}
		accepted := map[string]bool{}
		for _, r := range tool.releases() {
			for _, o := range r.options {
				for _, n := range o.names {
					accepted[strings.TrimLeft(n, "-")] = accepted[strings.TrimLeft(n, "-")] || o.support != refused
				}
			}
		}
		for n, ok := range accepted {
			if want := map[bool]int{true: 1}[ok]; listed[n] != want {
				t.Errorf("%s: %s is listed %d times, want %d", tool.Name, n, listed[n], want)
			}
		}
		if len(listed) < 8 {
			t.Errorf("%s: %d flags", tool.Name, len(listed))
		}
	}
	if got := Flags("pa-record"); got != nil {
		t.Errorf("of no tool: %d flags", len(got))
	}
}
