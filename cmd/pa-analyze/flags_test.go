package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// untouched is standard input that says whether it was read.
type untouched struct{ read bool }

func (u *untouched) Read([]byte) (int, error) {
	u.read = true
	return 0, io.EOF
}

// A wrong flag is refused before a file is opened, also if it is wrong only beside another flag or
// only for one of the definitions that the file may ask for.
func TestFlagsBeforeFiles(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"report - --format nope",
		"report - --width 0",
		"report - --names nope",
		"report - --names otel --format csv",
		"report - --from nope",
		"report - --token-source nope",
		"report - --window nope",
		"report - --window 1s:2s --steady-state",
		"report - --windows never",
		"report - --slo nope",
		"report - --slo-target 50%",
		"report - --metrics nope",
		"report - --due-next 50ms",
		"report - --metrics quality --stall 25h",
		"report - --gpus 4",
		"report - --metrics economics --gpus 0",
		"report - --memory-limit 1",
		"report - --max-value 0",
		"report - --dialect nope",
		"report - --dialect vllm --windows 1s",
		"report - --dialect vllm --format markdown",
		"report - --dialect vllm --verbose",
		"report - --dialect vllm --experiment 1 --experiment 2",
		"report - --dialect perf_analyzer --percentile 100",
		"report - --dialect strict --verbose",
		"report - --windows 1s --verbose", // the windows are of our own definitions, whatever the file asks for
		"report - --format html --dialect vllm",
		"html - --slo-gate",
		"diff - new.json --fail-on nope",
		"diff - new.json --margin 0%",
		"diff - new.json --primary nope",
		"diff - new.json --inconclusive fail",
		"diff - new.json --html -",
		"rig - --runs 1",
		"plan - --power 10%",
		"plan",
		"trend - --accept",
		"trend - --baseline points --last 1",
		"check - --profile nope",
		"check - --min-duration 0s",
		"pareto - --user-rate nope",
		"pareto - --reference 1",
		"plot nope -",
		"plot cdf - --x ttft",
		"plot scatter - --x nope",
		"requests - --sort nope",
		"requests - --limit -1",
		"validate - --max-spool -1",
		"definitions - --dialect nope",
		"definitions - --endpoint-type nope",
		"convert - out.xyz",
		"convert - out.json --tokenizer built-in",
		"convert - out.json --backend vllm",
		"convert - out.json --as nope",
		"merge - out.xyz",
		"sql --windows 1s --windows-of - --engine nope",
		"sql --windows-of -",
		"trace - --token-source nope",
		"tokenize - --as nope",
		"write -",
		"write - --to nope",
		"write - --to influx --time yesterday",
		"write - --to influx --folder x",
		"write - --to pytorch-hud --time 2026-01-31T12:00:00Z",
		"write - --to mlflow",
		"write - --to mlflow --folder x -o y",
	} {
		var stdin untouched
		var stderr bytes.Buffer
		code := run(t.Context(), append([]string{"pa-analyze"}, strings.Fields(line)...), &stdin, io.Discard, &stderr)
		if code != 2 || stdin.read {
			t.Errorf("%s: exit code %d, the file was read: %t; want 2 before that: %s", line, code, stdin.read, &stderr)
		}
	}
}
