package serving

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/internal/test/runtest"
	"github.com/pa-tools/pa/pkg/tool/dialect"
	"github.com/pa-tools/pa/pkg/tool/guidellm"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
)

// A tool's report of its own result has what the result says of the run: the
// model, the tokenizer, the date, and the duration, with the rates over it.
func TestOwnResult(t *testing.T) {
	for _, tt := range []struct{ tool, file string }{
		{"vllm", "vllm/ok/result.json"},
		{"vllm", "vllm/cut/result.json"},
	} {
		data, err := fs.ReadFile(golden.FS(t, "peers"), tt.file)
		if err != nil {
			t.Fatal(err)
		}
		rep, err := reportOf(tt.tool, runtest.Import(t, data, resultfile.Formats(ResultFile(), guidellm.ResultFile())...), dialect.Config{Explain: true})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := rep.JSON(&b); err != nil {
			t.Fatal(err)
		}
		var want, got map[string]any
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"date", "model_id", "tokenizer_id", "duration", "request_throughput", "output_throughput", "total_token_throughput"} {
			if want[name] == nil || got[name] != want[name] {
				t.Errorf("%s: %s is %v, want %v", tt.file, name, got[name], want[name])
			}
		}
		if rep, err = reportOf(tt.tool, runtest.Import(t, data, resultfile.Formats(ResultFile(), guidellm.ResultFile())...), dialect.Config{Explain: true, Args: map[string]string{
			"model": "mine", "benchmark_duration_ns": "2000000000", "date": "20260101-000000",
		}}); err != nil || rep.Levels[0].model != "mine" || rep.Levels[0].Duration != 2 || rep.Levels[0].date != "20260101-000000" {
			t.Errorf("%s: %v, %+v: the command line does not go before the file", tt.file, err, rep.Levels[0])
		}
	}
}

// Latencies that end too early, because the file does not hold the ends of answers,
// are reported with a warning and with what the file says of them.
func TestEndsNotHeld(t *testing.T) {
	data, err := fs.ReadFile(golden.FS(t, "peers"), "sglang/ok/result.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`"mean_e2e_latency_ms": *([0-9.]+)`).FindSubmatch(data) // the file is no JSON: it has Infinity
	mean, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range []string{"sglang", "vllm"} {
		rep, err := reportOf(tool, runtest.Import(t, data, resultfile.Formats(ResultFile(), guidellm.ResultFile())...), dialect.Config{Explain: true})
		if err != nil {
			t.Fatal(err)
		}
		warned := fmt.Sprint(rep.Warnings())
		for _, want := range []string{
			"end with the last token",
			fmt.Sprintf("their mean is %.3f ms here, and %.3f ms in the file", rep.Levels[0].E2EL.Mean, mean),
		} {
			if !strings.Contains(warned, want) {
				t.Errorf("%s: warnings %s, want %q", tool, warned, want)
			}
		}
	}
	held, err := fs.ReadFile(golden.FS(t, "peers"), "vllm/ok/result.json")
	if err != nil {
		t.Fatal(err)
	}
	rep, err := reportOf("vllm", runtest.Import(t, held, resultfile.Formats(ResultFile())...), dialect.Config{Explain: true})
	if err != nil || strings.Contains(fmt.Sprint(rep.Warnings()), "end-to-end") {
		t.Errorf("%v: warnings %v of a file that holds the ends", err, rep.Warnings())
	}
}
