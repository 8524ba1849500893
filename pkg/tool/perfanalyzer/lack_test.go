package perfanalyzer

import (
	"bytes"
	"io/fs"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/internal/test/runtest"
	"github.com/pa-tools/pa/pkg/analyze/explain"
	"github.com/pa-tools/pa/pkg/tool/dialect"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
	"github.com/pa-tools/pa/pkg/tool/serving"
)

// A result of SGLang says neither when requests were sent nor when they ended:
// there are a count, and no rates and latencies.
func TestImportedWithoutTimes(t *testing.T) {
	const starts, ends = "a result of SGLang bench_serving does not say when requests were sent", "bench_serving measures latencies to [DONE], whose time is not in the file"
	data, err := fs.ReadFile(golden.FS(t, "peers"), "sglang/ok/result.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	rep, err := reportOf(nil, runtest.Import(t, data, resultfile.Formats(serving.ResultFile())...), dialect.Config{Explain: true, Verbose: true, VerboseCSV: true})
	if err != nil {
		t.Fatal(err)
	}
	var console, csv bytes.Buffer
	if err := rep.Console(&console, 0); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"    Request count: 8\n", "    Throughput: n/a infer/sec\n", "    Avg latency: n/a usec (standard deviation n/a usec)\n", "    p50 latency: n/a usec\n",
		"    p99 latency: n/a usec\n", "throughput: n/a infer/sec. Avg latency: n/a usec (std n/a usec). \n",
		"Concurrency: 4, throughput: n/a infer/sec, latency n/a usec\n",
	} {
		if !strings.Contains(console.String(), want) {
			t.Errorf("no %q in\n%s", want, &console)
		}
	}
	if err := rep.CSV(&csv); err != nil {
		t.Fatal(err)
	}
	const row = "\n4,n/a,n/a,n/a,n/a,n/a,n/a,n/a,n/a,n/a,n/a\n"
	if !strings.HasSuffix(csv.String(), row) {
		t.Errorf("CSV\n%s\nwant it to end in %s", &csv, row)
	}
	want := map[explain.Measure]string{explain.RequestRate: starts, explain.Latency: ends}
	for _, d := range rep.Definitions() {
		if why, ok := want[d.Measure]; ok && d.NA != why {
			t.Errorf("%s: n/a: %q, want %q", d.Measure, d.NA, why)
		}
		if d.Measure == explain.Requests && (!d.Has() || d.Values.Mean != 8) {
			t.Errorf("%s: %+v, want 8", d.Measure, d)
		}
	}
	said := strings.Join(rep.Remarks(), "\n")
	for _, why := range want {
		if !strings.Contains(said, "are n/a: "+why) {
			t.Errorf("warnings %q, want one that says %s", said, why)
		}
	}
}
