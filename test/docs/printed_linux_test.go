package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// printedCommand is a command of a program within one of its messages.
var printedCommand = regexp.MustCompile(`: (pa-(?:analyze|record) .*)$`)

// Each command that a recording prints runs as it is, again and again, and reports as the
// recording asked: with its tokenizer, in the layout of its tool. With --report the recording
// prints the first of these reports itself.
func TestPrintedCommands(t *testing.T) {
	t.Parallel()
	tokenizer, err := os.ReadFile("../../pkg/tokenizer/builtin/tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	const (
		sim     = "'sim://?ttft=1ms&itl=1ms&output_tokens=4'"
		triton  = "'sim://?ttft=1ms&itl=1ms&output_tokens=4&triton_model=m:vllm'"
		noUsage = " --extra-body '{\"stream_options\":{\"include_usage\":false}}'"
		few     = " -- --request-count 4"
		path    = "'my tokenizer/it'\\''s'" // with a blank and a quote
	)
	for _, tt := range []struct {
		name, line string
		commands   int
		stdout     string // of each command; "" for the commands that write a file
	}{
		{"chat", "pa-record -u " + sim + " --streaming --request-count 4", 1, "TTFT"},
		{"awkward names", "pa-record -u " + sim + " --streaming --request-count 4 --artifact-dir 'o u[t]' --profile-export-file -x.json", 1, "TTFT"},
		{"no usage", "pa-record -u " + sim + noUsage + " --streaming --request-count 4 --synthetic-input-tokens-mean 8 --tokenizer " + path, 1, "tokenizer"},
		{"triton", "pa-record -m m -u " + triton + " -i grpc --async --streaming --request-count 4 --synthetic-input-tokens-mean 8 --tokenizer " + path, 1, "tokenizer"},
		{"repeat", "pa-record -u " + sim + " --streaming --request-count 4 --repeat 2 --profile-export-file 'a [1].json'", 2, ""},
		{"servers", "pa-record -u ours=" + sim + " -u old=" + sim + " -u third=" + sim + " --streaming --request-count 4", 2, ""},
		{"rank", "pa-record -u " + sim + " --streaming --request-count 4 --rank 0 --world-size 1 --profile-export-file 'r{rank}.json'", 1, "TTFT"},
		{"genai-perf 24.03", "pa-record genai-perf -m m --output-format vllm --streaming --concurrency 1 -u " + triton + few + " --tokenizer " + path, 2, "Time to first token"},
		{"genai-perf 24.04", "pa-record genai-perf -m m --service-kind openai --endpoint-type chat --streaming --concurrency 1 -u " + sim + " --tokenizer " + path + few, 2, "Output sequence length|Num output token"},
		{"genai-perf profile", "pa-record genai-perf profile -m m --endpoint-type chat --streaming --concurrency 1 --request-count 4 -u " + sim + " --tokenizer " + path, 3, `Output Sequence Length`},
		{"benchmark_serving", "pa-record benchmark_serving --backend openai --base-url " + sim + " --model m --tokenizer " + path + " --dataset-name random --random-input-len 8 --random-output-len 3 --num-prompts 4 --max-concurrency 2 --save-result --result-filename r.json", 2, "Serving Benchmark Result"},
		{"llm_perf", "pa-record llm_perf -u " + sim + " -m ensemble --concurrency 1,2 --input-data prompts.jsonl --tokenizer-path " + path, 2, "concurrency"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := runner{page: tt.name, dir: t.TempDir(), addresses: strings.NewReplacer()}
			for name, content := range map[string][]byte{
				"my tokenizer/it's/tokenizer.json": tokenizer,
				"prompts.jsonl":                    []byte("{\"input\": \"one\"}\n{\"input\": \"two\"}\n"),
			} {
				file := filepath.Join(r.dir, name)
				if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, content, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			line := tt.line + " --report"
			if strings.Contains(line, "genai-perf") || strings.Contains(line, "llm_perf") || strings.Contains(line, "benchmark_serving") {
				before, after, _ := strings.Cut(tt.line, " -- ")
				line = before + " -- --report " + after
			}
			reported, stderr, code := r.bash(t, line, false)
			if code != 0 {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			var commands []string
			for line := range strings.Lines(stderr) {
				if m := printedCommand.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
					commands = append(commands, m[1])
				}
			}
			if len(commands) != tt.commands {
				t.Errorf("%d commands, want %d: %s", len(commands), tt.commands, stderr)
			}
			if len(commands) > 0 && !strings.Contains(commands[0], " diff ") { // --report has printed the same
				if stdout, _, _ := r.bash(t, commands[0], false); !strings.HasSuffix(reported, "\n"+stdout) {
					t.Errorf("--report printed\n%s\n%s prints\n%s", reported, commands[0], stdout)
				}
			}
			shown := false
			for range 2 { // the second time the files are there
				for _, command := range commands {
					if strings.Contains(command, "OTHER") { // the name of a series to come
						if out, errs, code := r.bash(t, "for i in 1 2; do cp \"a [1].$i.json\" OTHER.$i.json; sed -i s/group/other/ OTHER.$i.json; done", false); code != 0 {
							t.Fatal(out, errs)
						}
					}
					stdout, stderr, code := r.bash(t, command, false)
					if code != 0 || strings.Contains(stderr, "own definitions") || strings.Contains(stderr, "token counts are n/a") {
						t.Errorf("%s: exit code %d: %s", command, code, stderr)
					}
					if ok, err := regexp.MatchString(tt.stdout, stdout); err != nil {
						t.Fatal(err)
					} else if ok {
						shown = true
					}
				}
			}
			if !shown {
				t.Errorf("no command prints %q", tt.stdout)
			}
		})
	}
}
