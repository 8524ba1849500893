package serving

import (
	"bytes"
	"io/fs"
	"math"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/internal/test/runtest"
	"github.com/pa-tools/pa/pkg/analyze/explain"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/dialect"
	"github.com/pa-tools/pa/pkg/tool/guidellm"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
)

// A result that is written and read again has the same numbers for each request.
func TestRoundTrip(t *testing.T) {
	tokenizers := runtest.Tokenizers{}
	for _, g := range goldenCases(t) {
		if _, crashed := g.file(t, "error.txt"); crashed {
			continue // no such file of the tool
		}
		t.Run(g.tool+"/"+g.name, func(t *testing.T) {
			data, _ := g.file(t, "profile_export.json")
			args := map[string]string{}
			for k, v := range g.args {
				args[k] = v
			}
			args["save_detailed"] = "True"
			cfg := dialect.Config{Tokenizer: tokenizers.Named(t, g.tool, g.args["tokenizer"]), Args: args}
			rep, err := reportOf(g.tool, runtest.Open(t, data), cfg)
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			if err := rep.JSON(&b); err != nil {
				t.Fatal(err)
			}
			r := runtest.Import(t, b.Bytes(), resultfile.Formats(ResultFile())...)
			rows := rep.Levels[0].rows
			i := 0
			for ; r.Next(); i++ {
				sameRequest(t, rows.at(i, true), r.Request(), rep.release)
			}
			if r.Err() != nil || i != rows.n {
				t.Errorf("%d requests read, %d written: %v", i, rows.n, r.Err())
			}
			if c, ok := export.Checked(r); !ok || c.Differing > 0 {
				t.Errorf("self-check: %+v; %v", c, r.Warnings())
			}
		})
	}
}

// sameRequest holds an imported request to the outcome that was written.
func sameRequest(t *testing.T, o *outcome, q *export.Request, tool *release) {
	t.Helper()
	if ok := q.Status == export.StatusOK; ok != o.success {
		t.Fatalf("request %d: status %v, success %v", q.ID, q.Status, o.success)
	}
	if !o.success {
		return
	}
	if got := q.Stated.OutputTokens; *got != o.output || *q.Stated.InputTokens != o.inputShown || *q.Stated.Text != o.text {
		t.Errorf("request %d: %d output tokens, want %d", q.ID, *got, o.output)
	}
	near := func(what string, got, want float64) {
		if math.Abs(got-want) > 1.5e-9 { // a nanosecond, of sums of gaps
			t.Errorf("request %d: %s %v, want %v", q.ID, what, got, want)
		}
	}
	if o.whole {
		near("latency", dialect.Seconds(q.StartNS, q.Responses[0].RecvNS), o.latency)
		return
	}
	if o.iterations == 0 {
		return
	}
	near("ttft", dialect.Seconds(q.StartNS, q.Responses[0].RecvNS), o.ttft)
	for i, gap := range o.seconds() {
		near("a gap", dialect.Seconds(q.Responses[i].RecvNS, q.Responses[i+1].RecvNS), gap)
	}
	if end, _ := q.FinalResponseNS(); tool.Name == "vllm" || tool.Name == "trtllm-main" {
		near("latency", dialect.Seconds(q.StartNS, end), o.latency)
	}
}

// A result file of a tool gives that tool's report again, as far as the file
// goes: without the starts of requests there are no rates.
func TestImported(t *testing.T) {
	tokenizers := runtest.Tokenizers{}
	for _, g := range goldenCases(t) {
		switch data, ok := g.file(t, "result.json"); {
		case !ok || !bytes.Contains(data, []byte(`"ttfts"`)):
			continue // no requests in it
		case g.name == "epoch":
			continue // a float of the epoch holds no nanoseconds
		case g.tool == "trtllm-1.0" && strings.HasPrefix(g.name, "chat"):
			continue // without latencies the end of a chat is not known
		case g.name == "chat-nochunk", g.name == "decoded-per-iter":
			continue // answers without a chunk, and tokens per iteration, are not in it
		}
		data, _ := g.file(t, "result.json")
		t.Run(g.tool+"/"+g.name, func(t *testing.T) {
			args := map[string]string{}
			for k, v := range g.args {
				args[k] = v
			}
			rep, err := reportOf(g.tool, runtest.Import(t, data, resultfile.Formats(ResultFile())...), dialect.Config{Tokenizer: tokenizers.Named(t, g.tool, g.args["tokenizer"]), Args: args})
			if err != nil {
				t.Fatal(err)
			}
			want, _ := g.file(t, "console.txt")
			if got := rep.console(t); got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// GuideLLM keeps the first and the last token of a request: what lies between
// them is no gap.
func TestImportedWithoutGaps(t *testing.T) {
	data, err := fs.ReadFile(golden.FS(t, "peers"), "guidellm/ok/benchmarks.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range releases {
		rep, err := reportOf(tool.Name, runtest.Import(t, data, resultfile.Formats(guidellm.ResultFile())...), dialect.Config{Explain: true})
		if err != nil {
			t.Fatal(err)
		}
		l := &rep.Levels[0]
		if l.Completed == 0 || l.TTFT.N == 0 || l.TPOT.N == 0 {
			t.Errorf("%s: %d requests, %d times to first token, %d TPOT; want some", tool.Name, l.Completed, l.TTFT.N, l.TPOT.N)
		}
		if l.ITL.N != 0 || !math.IsNaN(l.ITL.Mean) || !math.IsNaN(l.ITL.P99) {
			t.Errorf("%s: ITL %+v, want none", tool.Name, l.ITL)
		}
		if l.PeakTokens != 0 && !math.IsNaN(l.PeakTokens) {
			t.Errorf("%s: peak of %v token events, want none", tool.Name, l.PeakTokens)
		}
		var b bytes.Buffer
		detailed, err := reportOf(tool.Name, runtest.Import(t, data, resultfile.Formats(guidellm.ResultFile())...), dialect.Config{Explain: true, Args: map[string]string{"save_detailed": "True"}})
		if err == nil {
			err = detailed.JSON(&b)
		}
		for _, column := range []string{"itls", "decode_iterations"} {
			const none = `": [null, null, null, null, null, null, null, null]`
			if there := strings.Contains(b.String(), `"`+column+`"`); err != nil || there && !strings.Contains(b.String(), `"`+column+none) {
				t.Errorf("%s: %v, %s are not null in %s", tool.Name, err, column, &b)
			}
		}
		if !strings.Contains(b.String(), `"itls"`) {
			t.Errorf("%s: no itls in %s", tool.Name, &b)
		}
		for _, d := range rep.Definitions() {
			if d.Measure == explain.InterToken && d.NA != naGaps {
				t.Errorf("%s: ITL is n/a: %q, want %q", tool.Name, d.NA, naGaps)
			}
		}
	}
}
