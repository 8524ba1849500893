package analyze

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/export"
)

// prompt returns a streamed chat whose first token comes ttft ns after its start. cached is the JSON of
// prompt_tokens_details; "" for none.
func prompt(start uint64, input int, cached string, ttft uint64) export.Request {
	details := ""
	if cached != "" {
		details = `,"prompt_tokens_details":` + cached
	}
	q := memrun.OpenAI(memrun.Delta("a"), memrun.Delta("b"), memrun.Finish,
		fmt.Sprintf("data: {\"choices\":[],\"usage\":{\"prompt_tokens\":%d,\"completion_tokens\":2%s}}\n\n", input, details), memrun.Done)
	q.StartNS = start
	for i := range q.Responses {
		q.Responses[i].RecvNS = start + ttft + uint64(i)*10
	}
	return q
}

// prefixRun has four requests that state cached tokens and one that does not.
func prefixRun() *memrun.Reader {
	return memrun.New("openai", []export.Request{
		prompt(1000, 100, `{"cached_tokens":96}`, 500),
		prompt(2000, 100, `{"cached_tokens":90}`, 1000),
		prompt(3000, 20, `{"cached_tokens":0}`, 2500),
		prompt(4000, 20, `{"cached_tokens":20}`, 100),
		prompt(5000, 60, "", 9000),
	})
}

// By hand. Cached: 96 + 90 + 0 + 20 = 206 of 240 input tokens; with the fifth request of 300. Uncached
// tokens and TTFTs: (4, 500), (10, 1000), (20, 2500), (0, 100). Their means are 8.5 and 1025; Σ dx² =
// 20.25 + 2.25 + 132.25 + 72.25 = 227; Σ dx·dy = 4.5·525 − 1.5·25 + 11.5·1475 + 8.5·925 = 27150;
// Σ dy² = 525² + 25² + 1475² + 925² = 3307500.
func TestPrefixByHand(t *testing.T) {
	slope := 27150.0 / 227
	want := map[string]float64{
		figure.KeyHitRate: 206.0 / 240, figure.KeyHitRateZero: 206.0 / 300,
		figure.KeyTTFTSlope: slope, figure.KeyTTFTBase: 1025 - slope*8.5, figure.KeyTTFTExplains: 27150.0 * 27150 / 227 / 3307500,
	}
	for name, cfg := range map[string]Config{"as they come": {Prefix: true}, "kept": {Prefix: true, Series: true}} {
		rep, err := Run(t.Context(), prefixRun(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		p := rep.Experiments[0].Prefix
		if p.Stated != 4 || p.Unstated != 1 || len(p.Figures) != len(figure.PrefixFigures) {
			t.Errorf("%s: %+v", name, p)
		}
		for _, f := range p.Figures {
			if w := want[f.Key]; f.Why != "" || math.Abs(f.Value-w) > 1e-9*math.Abs(w) {
				t.Errorf("%s: %+v, want %v", name, f, w)
			}
		}
		if buckets := []figure.PrefixBucket{
			{From: 0, To: 0, N: 1, CachedShare: 1, Mean: 100, P50: 100, P90: 100}, {From: 4, To: 7, N: 1, CachedShare: 0.96, Mean: 500, P50: 500, P90: 500}, {From: 8, To: 15, N: 1, CachedShare: 0.9, Mean: 1000, P50: 1000, P90: 1000}, {From: 16, To: 31, N: 1, CachedShare: 0, Mean: 2500, P50: 2500, P90: 2500},
		}; !reflect.DeepEqual(p.Buckets, buckets) {
			t.Errorf("%s: %+v, want %+v", name, p.Buckets, buckets)
		}
	}
	r := prefixRun()
	slices.Reverse(r.Requests[0])
	a, err := Run(t.Context(), prefixRun(), Config{Prefix: true})
	if err != nil {
		t.Fatal(err)
	}
	b, err := Run(t.Context(), r, Config{Prefix: true})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(a.Experiments[0].Prefix, b.Experiments[0].Prefix) {
		t.Error("the order of the requests matters")
	}
}

// Absent is not 0: a server that states no cached tokens has no hit rate, one that states 0 has 0.
func TestPrefixAbsent(t *testing.T) {
	for cached, want := range map[string]string{
		"": "no answer states cached tokens (usage.prompt_tokens_details.cached_tokens)", "null": "no answer states cached tokens (usage.prompt_tokens_details.cached_tokens)",
		`{"audio_tokens":1}`: "no answer states cached tokens (usage.prompt_tokens_details.cached_tokens)", `{"cached_tokens":0}`: "", `{"cached_tokens":30}`: "the values are impossible, such as 30",
	} {
		rep, err := Run(t.Context(), memrun.New("openai", []export.Request{prompt(1000, 20, cached, 5), prompt(2000, 20, cached, 5)}), Config{Prefix: true})
		if err != nil {
			t.Fatal(err)
		}
		p := rep.Experiments[0].Prefix
		if f := p.Figures[0]; f.Key != figure.KeyHitRate || f.Why != want || f.Value != 0 {
			t.Errorf("%q: %+v, want %q", cached, f, want)
		}
		if slices.ContainsFunc(p.Figures, func(f figure.Figure) bool { return f.Key == figure.KeyHitRateZero }) {
			t.Errorf("%q: a second hit rate", cached)
		}
	}
}

// The result file of another tool may hold no answers.
func TestPrefixOfOtherTool(t *testing.T) {
	r := memrun.New("openai", []export.Request{prompt(1000, 20, "", 5)})
	r.Header.Meta = &export.RunMeta{Import: &export.Import{Format: "GuideLLM benchmarks.json"}}
	rep, err := Run(t.Context(), r, Config{Prefix: true})
	if err != nil {
		t.Fatal(err)
	}
	if f := rep.Experiments[0].Prefix.Figures[0]; f.Why != "GuideLLM benchmarks.json states no cached tokens" {
		t.Errorf("%+v", f)
	}
}

// A line needs three requests, different numbers of tokens, and different times.
func TestPrefixWithoutLine(t *testing.T) {
	for _, tt := range []struct {
		requests []export.Request
		key      string
		why      string
	}{
		{[]export.Request{prompt(1, 9, `{"cached_tokens":0}`, 5), prompt(1, 8, `{"cached_tokens":0}`, 5)}, figure.KeyTTFTSlope, "fewer than 3 requests state cached tokens and have a TTFT"},
		{[]export.Request{prompt(1, 9, `{"cached_tokens":0}`, 5), prompt(1, 9, `{"cached_tokens":0}`, 6), prompt(1, 19, `{"cached_tokens":10}`, 7)}, figure.KeyTTFTBase, "all requests have the same number of uncached input tokens"},
		{[]export.Request{prompt(1, 9, `{"cached_tokens":0}`, 5), prompt(1, 8, `{"cached_tokens":0}`, 5), prompt(1, 7, `{"cached_tokens":0}`, 5)}, figure.KeyTTFTExplains, "all requests have the same TTFT"},
	} {
		rep, err := Run(t.Context(), memrun.New("openai", tt.requests), Config{Prefix: true})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(rep.Experiments[0].Prefix.Figures, func(f figure.Figure) bool { return f.Key == tt.key })
		if f := rep.Experiments[0].Prefix.Figures[i]; f.Why != tt.why {
			t.Errorf("%+v, want %q", f, tt.why)
		}
	}
}
