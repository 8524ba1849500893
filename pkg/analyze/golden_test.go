package analyze

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
)

func open(t *testing.T, name string, b []byte) export.Reader {
	t.Helper()
	r, err := profilejson.NewReader(t.Context(), name, bytes.NewReader(b), int64(len(b)), export.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// Every request of every export is accounted for, and nothing in them is
// unreadable to us.
func TestGoldenReports(t *testing.T) {
	files, _ := golden.ProfileExports(t)
	for name, b := range files {
		r := open(t, name, b)
		want := 0
		for r.Next() {
			want++
		}
		rep, err := Run(context.Background(), open(t, name, b), Config{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got := 0
		for i := range rep.Experiments {
			e := &rep.Experiments[i]
			got += e.OK + e.FailedRequests() + e.ExcludedRequests()
			for _, m := range e.Metrics {
				if m.Summary.Min < 0 || m.Summary.N == 0 {
					t.Errorf("%s: %s: min %v of %d", name, m.Definition.Key(), m.Summary.Min, m.Summary.N)
				}
			}
			for _, w := range e.Warnings {
				if strings.Contains(w.Error(), "protocol") {
					t.Errorf("%s: %v", name, w)
				}
			}
		}
		if got != want {
			t.Errorf("%s: %d requests accounted for, the file holds %d", name, got, want)
		}
	}
}

// Token events per request, as the server of each case sent them.
func TestGoldenTokens(t *testing.T) {
	files, _ := golden.ProfileExports(t)
	for _, tt := range []struct {
		suffix string
		tokens float64 // token events of each request; 0 if each request has one response, which is no count of tokens
	}{
		{"/guide", 16},
		{"/guide_generation", 40},
		{"/guide_prefill", 1},
		{"/guide_one_response", 1},
		{"/vllm", 8},
		{"/vllm_csv", 8},
		{"/vllm_request_count", 8},
		{"/vllm_warmup", 8},
		{"/openai_chat", 6},
		{"/openai_merged", 6},
		{"/openai_crlf", 6},
		{"/openai_comments", 6},
		{"/openai_tightdone", 6},
		{"/openai_nodone", 6},
		{"/openai_reasoning", 6},
		{"/openai_tools", 6},
		{"/openai_split", 12},
		{"/vllm_no_stream", 0},
		{"/types_scalars", 0},
		{"/types_arrays", 0},
		{"/sequence", 0},
	} {
		found := false
		for name, b := range files {
			if !strings.HasSuffix(name, tt.suffix) {
				continue
			}
			found = true
			rep, err := Run(context.Background(), open(t, name, b), Config{TokenSource: answer.TokenResponses})
			if err != nil {
				t.Fatal(err)
			}
			want := tt.tokens
			if strings.HasPrefix(name, "2.39.0/") && !strings.Contains(tt.suffix, "types") {
				want++ // no outputs: the empty final response counts
			}
			s := rep.Experiments[0].Metric(answer.OutputTokens)
			if tt.tokens == 0 {
				if x := &rep.Experiments[0]; s != nil || x.Metric(answer.TTFT) != nil || x.Throughput.OutputTokens.OK || x.Metric(answer.E2EL) == nil {
					t.Errorf("%s: output tokens %+v, metrics %v: want an end-to-end latency and no tokens", name, s, x.Metrics)
				}
				continue
			}
			if s == nil || s.Min != want || s.Max != want {
				t.Errorf("%s: output tokens %+v, want %v each", name, s, want)
			}
		}
		if !found {
			t.Errorf("no golden export %s", tt.suffix)
		}
	}
}
