package aiperf

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/internal/test/runtest"
	"github.com/pa-tools/pa/pkg/tool/dialect"
	"github.com/pa-tools/pa/pkg/tool/guidellm"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
	"github.com/pa-tools/pa/pkg/tool/serving"
)

// What the file of another tool does not hold is in no metric, and a warning says
// why: gaps of GuideLLM, starts of SGLang.
func TestLacking(t *testing.T) {
	for _, c := range []struct {
		file          string
		without, with []string
		why           string
	}{
		{
			"guidellm/ok/benchmarks.json",
			[]string{secondToken, "inter_chunk_latency", "effective_decode_throughput", "active_decode_throughput_per_user", "tokens_in_flight"},
			[]string{firstToken, interToken, requestLatency, requestRate, "effective_concurrency"},
			"GuideLLM keeps the times of the first and the last token",
		},
		{
			"sglang/ok/result.jsonl",
			[]string{requestRate, outputRate, "benchmark_duration", "effective_concurrency", "active_total_throughput"},
			[]string{firstToken, secondToken, interToken, requestLatency},
			"SGLang",
		},
	} {
		data, err := fs.ReadFile(golden.FS(t, "peers"), c.file)
		if err != nil {
			t.Fatal(err)
		}
		rep, err := reportOf(runtest.Import(t, data, resultfile.Formats(guidellm.ResultFile(), serving.ResultFile())...), dialect.Config{})
		if err != nil {
			t.Fatal(err)
		}
		for _, tag := range c.without {
			if m := rep.Metric(tag); m != nil {
				t.Errorf("%s: there is a %s: %v", c.file, tag, m.Avg)
			}
		}
		for _, tag := range c.with {
			if rep.Metric(tag) == nil {
				t.Errorf("%s: there is no %s", c.file, tag)
			}
		}
		if len(rep.Warnings()) == 0 || !strings.Contains(rep.Warnings()[0].Error(), c.why) {
			t.Errorf("%s: warnings %v, want one with %q", c.file, rep.Warnings(), c.why)
		}
	}
}
