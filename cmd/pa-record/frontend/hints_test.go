package frontend

import (
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/tool/llmperf"
	servingdialect "github.com/pa-tools/pa/pkg/tool/serving"
)

// The dialects of pa-analyze know every key of the hints. A key that no dialect reads would be lost
// in silence.
func TestHintsAreKnown(t *testing.T) {
	ofReports := []string{"dialect", "tokenizer", "default_tokenizer", "experiment"}
	genaiPerf := []string{"streaming", "backend", "endpoint_type", "goodput"}
	for _, tt := range []struct {
		line    string
		dialect string
		known   []string
	}{
		{"benchmark_serving --model m --dataset-name random --max-concurrency 3 --goodput ttft:3 tpot:4 --save-detailed --metadata a=b", "trtllm-1.0", servingdialect.Keys("trtllm-1.0")},
		{"llm_perf --input-data x --tokenizer-path y", "llm_perf-v1", llmperf.Keys()},
		{"genai-perf -m m --output-format vllm --concurrency 3", "genai-perf-24.03", genaiPerf},
		{"genai-perf -m m --service-kind openai --endpoint-type chat --tokenizer x", "genai-perf-24.04", genaiPerf},
		{"genai-perf profile -m m --endpoint-type chat --streaming --goodput request_latency:3", "genai-perf-latest", genaiPerf},
	} {
		cmd, err := parseLine(tt.line)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for i, arg := range cmd.Args {
			if arg != "--analysis-hint" {
				continue
			}
			n++
			key, value, _ := strings.Cut(cmd.Args[i+1], "=")
			if !slices.Contains(ofReports, key) && !slices.Contains(tt.known, key) {
				t.Errorf("%s: %s is known to nobody", tt.line, key)
			}
			if key == "dialect" && value != tt.dialect {
				t.Errorf("%s: dialect %s, want %s", tt.line, value, tt.dialect)
			}
		}
		if n < 3 {
			t.Errorf("%s: %d hints", tt.line, n)
		}
	}
}

// A tokenizer that is passed through to pa-record is the one that the report counts
// with.
func TestTokenizerPassedThrough(t *testing.T) {
	t.Parallel()
	const latest = "genai-perf profile -m m --endpoint-type chat --streaming"
	for _, tt := range []struct{ line, flags, hints string }{
		{latest + " --tokenizer org/t", "--tokenizer org/t", "tokenizer=org/t"},
		{latest + " --tokenizer org/t -- --tokenizer built-in", "--tokenizer built-in", "tokenizer=built-in"},
		{latest + " --tokenizer org/t -- --tokenizer=built-in", "--tokenizer=built-in", "tokenizer=built-in"},
		{latest + " -- --tokenizer built-in", "--tokenizer built-in", "tokenizer=built-in"},
		{latest + " -- --default-tokenizer x", "--default-tokenizer x", "default_tokenizer=x"},
		{latest + " --tokenizer org/t -- --default-tokenizer x", "--default-tokenizer x", "default_tokenizer=x"},
		{latest + " -- --tokenizer a --tokenizer b", "--tokenizer a --tokenizer b", "tokenizer=b"},
		{"benchmark_serving --model m --dataset-name random -- --tokenizer built-in", "--tokenizer built-in", "tokenizer=built-in"},
		{"llm_perf --input-data x --tokenizer-path y -- --tokenizer built-in", "--tokenizer built-in", "tokenizer=built-in"},
		// 24.03 counts with GPT-2's, whatever makes the prompts
		{"genai-perf -m m --output-format vllm --concurrency 3 -- --tokenizer built-in", "--tokenizer built-in", "default_tokenizer=gpt2"},
	} {
		cmd, err := parseLine(tt.line)
		if err != nil {
			t.Fatal(err)
		}
		var flags, hints []string
		for i, arg := range cmd.Args {
			switch {
			case strings.HasPrefix(arg, "--tokenizer=") || strings.HasPrefix(arg, "--default-tokenizer="):
				flags = append(flags, arg)
			case arg == "--tokenizer" || arg == "--default-tokenizer":
				flags = append(flags, arg, cmd.Args[i+1])
			case arg == "--analysis-hint" && strings.Contains(strings.SplitN(cmd.Args[i+1], "=", 2)[0], "tokenizer") && !strings.HasPrefix(cmd.Args[i+1], "tokenizer_id="):
				hints = append(hints, cmd.Args[i+1])
			}
		}
		if got := strings.Join(flags, " "); got != tt.flags {
			t.Errorf("%s: flags %q, want %q", tt.line, got, tt.flags)
		}
		if got := strings.Join(hints, " "); got != tt.hints {
			t.Errorf("%s: hints %q, want %q", tt.line, got, tt.hints)
		}
	}
}
