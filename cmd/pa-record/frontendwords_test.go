package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/cmd/pa-record/frontend"
)

// The forecast, the notes and the warnings of a front end name no flag that the tool lacks, whatever the input.
func TestFrontEndsWords(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"one.jsonl":    `{"text_input": "one"}` + "\n",
		"chat.jsonl":   `{"text": "a question", "output_length": 5}` + "\n" + `{"text": "another one", "output_length": 7}` + "\n",
		"perf.jsonl":   `{"input": "a question"}` + "\n" + `{"input": "another one"}` + "\n",
		"share.json":   `[{"conversations":[{"from":"human","value":"What is the first question here?"},{"from":"gpt","value":"It is this one, and nothing else."}]},{"conversations":[{"from":"human","value":"And what is the other question here?"},{"from":"gpt","value":"It is that one, and nothing else."}]}]`,
		"turns.jsonl":  `{"session_id": "s", "delay": 1, "text": "one"}` + "\n" + `{"session_id": "s", "delay": 1, "text": "two"}` + "\n",
		"trace.jsonl":  `{"timestamp": 0, "text_input": "one"}` + "\n" + `{"timestamp": 10, "text_input": "two"}` + "\n",
		"burst.csv":    "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n1,GPT-4,20,5,25,Conversation log\n2,GPT-4,20,5,25,Conversation log\n",
		"tensors.json": `{"data": [{"text_input": ["one"], "max_tokens": [4]}]}`,
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const latest = "genai-perf profile -m vllm --tokenizer built-in -u sim://?ttft=0s&itl=0s&output_tokens=2 "
	const serving = "benchmark_serving --model m --tokenizer built-in --base-url sim://?ttft=0s&itl=0s&output_tokens=2 --num-prompts 3 "
	flag := regexp.MustCompile(`(^|[^a-z0-9-])(--[a-z][a-z0-9-]*)`)
	printed := regexp.MustCompile(`\bpa-(record|analyze) `) // begins a command line
	var lines []string
	for _, kind := range []string{
		"--service-kind triton", "--service-kind triton --backend vllm", "--service-kind openai --endpoint-type chat", "--service-kind openai --endpoint-type completions --streaming",
	} {
		for _, input := range []string{"", "--synthetic-input-tokens-mean 10 --output-tokens-mean 5", "--input-file one.jsonl", "--input-file chat.jsonl --output-tokens-mean 5", "--input-file one.jsonl --extra-inputs max_tokens:9"} {
			lines = append(lines, latest+kind+" "+input)
		}
	}
	for _, kind := range []string{"embeddings", "rankings", "image_retrieval", "multimodal", "huggingface_generate", "nvclip"} {
		lines = append(lines, latest+"--service-kind openai --endpoint-type "+kind+" --input-file one.jsonl")
	}
	for _, input := range []string{
		"--input-file turns.jsonl", "--input-file payload:trace.jsonl", "--num-sessions 2 --session-concurrency 2 --session-turns-mean 2", "--image-width-mean 10 --image-height-mean 10", "--request-rate 5 --request-count 10 --warmup-request-count 2",
		"--measurement-interval 100", "--num-prefix-prompts 2 --prefix-prompt-length 5", "--random-seed 5", "--num-dataset-entries 3 --request-count 9",
	} {
		lines = append(lines, latest+"--endpoint-type chat "+input)
	}
	for _, backend := range []string{"openai", "openai-chat"} {
		endpoint := " --backend " + backend + map[string]string{"openai": "", "openai-chat": " --endpoint /v1/chat/completions"}[backend]
		for _, input := range []string{
			"--dataset-name random", "--dataset-name random --ignore-eos", "--dataset-name random --random-output-len 8 --random-range-ratio 0.5", "--dataset-name sharegpt --dataset-path share.json", "--dataset-name sharegpt --dataset-path share.json --sharegpt-output-len 9",
			"--dataset-name burstgpt --dataset-path burst.csv", "--dataset-name random --request-rate 5 --burstiness 2", "--dataset-name random --max-concurrency 2",
			"--dataset-name random --non-streaming", "--dataset-name random --trust-remote-code --save-result", "--dataset-name random --temperature 0 --logprobs 2",
		} {
			lines = append(lines, serving+input+endpoint)
		}
	}
	for _, old := range []string{
		"--input-tokens-mean 10 --expected-output-tokens 5 --concurrency 1 --output-format openai_chat_completions --service-kind openai", "--input-tokens-mean 10 --concurrency 2 --output-format vllm",
		"--input-tokens-mean 10 --concurrency 2 --output-format trtllm --measurement-interval 100", "--input-type file --input-data tensors.json --concurrency 1 --output-format vllm", "--input-type synthetic --request-rate 5 --output-format vllm",
		"--synthetic-input-tokens-mean 10 --output-tokens-mean 5 --backend vllm --streaming", "--backend trtllm --measurement-interval 100", "--service-kind openai --endpoint-type completions --prompt-source dataset --input-dataset openorca", "--prompt-source synthetic --extra-inputs max_tokens:7 --service-kind openai --endpoint-type chat",
	} {
		lines = append(lines, "genai-perf -m vllm -u sim://?ttft=0s&itl=0s&output_tokens=2 "+old)
	}
	for _, input := range []string{"", "--protocol http", "--concurrency 2", "--measurement-interval 1"} {
		lines = append(lines, "llm_perf -u sim://?ttft=0s&itl=0s&output_tokens=2 --input-data perf.jsonl --tokenizer-path built-in "+input)
	}
	for _, line := range lines {
		words := strings.Fields(line)
		tool := frontend.Tools()[slices.IndexFunc(frontend.Tools(), func(t *frontend.Tool) bool { return t.Name == words[0] })]
		rest := []string{"--"}
		if words[0] == "genai-perf" && words[1] != "profile" {
			rest = append(rest, "--tokenizer", "built-in") // the tool's own is on the network
		}
		runs := [][]string{append(rest, "--dry-run")}
		if strings.Contains(line, "--num-prompts 3") || strings.Contains(line, "--request-count") || words[0] == "llm_perf" { // else it takes seconds
			runs = append(runs, rest)
		}
		for _, rest := range runs {
			_, _, stderr := inProcess(t.Context(), t, slices.Concat(words, rest)...)
			set := map[string]bool{} // by the translation
			for text := range strings.Lines(stderr) {
				if strings.HasPrefix(text, "  ") {
					set[strings.Fields(text)[0]] = true
					continue
				}
				text := printed.Split(text, 2)[0]
				for _, m := range flag.FindAllStringSubmatch(text, -1) {
					if name := m[2]; set[name] && !slices.Contains(words, name) && !slices.Contains(rest, name) && !slices.Contains(tool.Flags(), strings.TrimPrefix(name, "--")) {
						t.Errorf("%s\nnames %s, which nobody gave: %s", line, name, text)
					}
				}
				if strings.Contains(text, "note: --random-seed has no effect") && !slices.Contains(words, "--random-seed") {
					t.Errorf("%s\n%s", line, text)
				}
			}
			if !strings.Contains(stderr, "equivalent command:") || len(set) < 5 {
				t.Errorf("%s: not translated:\n%s", line, stderr)
			}
		}
	}
}
