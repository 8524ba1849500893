package analyze

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/analyze/quality"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

const wholeBody = `{"choices":[{"message":{"content":"a b c"}}],"usage":{"prompt_tokens":2,"completion_tokens":3}}`

// sentWith is r, which was sent these inputs.
func sentWith(r export.Request, inputs ...export.Field) export.Request {
	r.Inputs = inputs
	return r
}

func streamTensor(value string) export.Field {
	return export.Field{Name: "STREAM", Value: export.JSON(value)}
}

// One response is a first token where another request of the level has several,
// before or after it, and whatever is asked for beside the metrics.
func TestStreamedLevel(t *testing.T) {
	single := func(start uint64) export.Request { return at(start, start+5e6) }
	several := at(40e6, 50e6, 60e6, 70e6)
	failed := at(40e6, 50e6, 60e6)
	failed.HasMeta, failed.Status, failed.Phase = true, export.StatusTimeout, export.PhaseMeasured
	type figures struct {
		TTFT, Tokens, E2EL int
		TokenRate          bool
		Met, Unknown       int
		Unavailable        []string
	}
	missing := append(metricsBut(answer.TTFAT, answer.E2EL, answer.InputTokens, answer.ReasoningTokens, answer.CachedTokens), "output_tokens_per_s")
	for _, tt := range []struct {
		name     string
		requests []export.Request
		want     figures
	}{
		{"none has several", []export.Request{single(10e6), single(20e6)}, figures{0, 0, 2, false, 0, 2, missing}},
		{"the last has several", []export.Request{single(10e6), single(20e6), several}, figures{3, 3, 3, true, 3, 0, nil}},
		{"the first has several", []export.Request{several, single(10e6), single(20e6)}, figures{3, 3, 3, true, 3, 0, nil}},
		{"one that failed has several", []export.Request{single(10e6), failed}, figures{1, 1, 1, true, 1, 0, nil}},
		{"a request that is known not to be", []export.Request{single(10e6), sentWith(single(20e6), streamTensor("false")), several}, figures{2, 2, 3, false, 2, 1, []string{"output_tokens_per_s"}}},
	} {
		for name, cfg := range map[string]Config{
			"": {}, ", kept": {Series: true}, ", windows": {Windows: Windows{Every: time.Second}},
		} {
			cfg.SLO = objective(t, "ttft<=1s")
			x := analyzed(t, reader("", tt.requests), cfg).Experiments[0]
			n := func(m answer.Metric) int {
				if s := x.Metric(m); s != nil {
					return s.N
				}
				return 0
			}
			got := figures{n(answer.TTFT), n(answer.OutputTokens), n(answer.E2EL), x.Throughput.OutputTokens.OK, x.SLO.Met, x.SLO.Unknown, nil}
			for _, u := range x.Unavailable {
				got.Unavailable = append(got.Unavailable, u.Key)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("%s%s (-want +got):\n%s", tt.name, name, d)
			}
			if len(x.Windows) > 0 {
				if w := x.Windows[0].Metric(answer.TTFT); (w != nil) != (tt.want.TTFT > 0) {
					t.Errorf("%s%s: TTFT of the window: %+v", tt.name, name, w)
				}
			}
		}
	}
}

// A level whose last request decides whether it was streamed has the same figures, for each model
// too, as a level that is known to be streamed from the start.
func TestStreamedLate(t *testing.T) {
	run := func(cfg Config) Experiment {
		var all []export.Request
		for i := range uint64(300) {
			r := at(1e9+i*1e6, 1e9+i*1e6+5e6+i*1e4)
			input := int64(i)
			cached := input / 2
			r.Stated = &export.Stated{InputTokens: &input, CachedTokens: &cached}
			r.Model = string(rune('a' + i%2))
			all = append(all, r)
		}
		all = append(all, at(2e9, 2.1e9, 2.2e9))
		all[300].Model = "a"
		f := reader("", all)
		f.Header.Meta = &export.RunMeta{Models: []string{"a", "b"}}
		cfg.SLO = objective(t, "ttft<=6ms")
		usual := quality.Default()
		cfg.Quality, cfg.Economics, cfg.Prefix = &usual, &figure.EconomicsConfig{}, true
		return analyzed(t, f, cfg).Experiments[0]
	}
	late, known := run(Config{}), run(Config{Streaming: &streamed})
	ignore := cmp.Comparer(func(a, b *answer.Definition) bool { return a == b })
	for name, pair := range map[string][2]any{
		"metrics":    {late.Metrics, known.Metrics},
		"throughput": {late.Throughput, known.Throughput},
		"source":     {late.TokenSource, known.TokenSource},
		"models":     {late.Models, known.Models},
		"met":        {late.SLO.Met, known.SLO.Met},
		"quality":    {late.Quality, known.Quality},
		"economics":  {late.Economics, known.Economics},
		"prefix":     {late.Prefix, known.Prefix},
		"drift":      {len(late.Unsteady), len(known.Unsteady)},
	} {
		if d := cmp.Diff(pair[1], pair[0], ignore); d != "" {
			t.Errorf("%s (-known +late):\n%s", name, d)
		}
	}
	if len(known.Models) != 2 || len(known.Unsteady) != 1 {
		t.Errorf("%d models, %d warnings of drift: the test shows nothing", len(known.Models), len(known.Unsteady))
	}
}

// A body of several choices has no pace, and no chunks that its usage could
// disagree with.
func TestWholeChoices(t *testing.T) {
	r := openaiRequest(`{"choices":[{"index":0,"text":"a"},{"index":1,"text":"b"}],"usage":{"prompt_tokens":1,"completion_tokens":8}}`)
	x := analyzed(t, reader("openai", []export.Request{r}), Config{}).Experiments[0]
	if x.Metric(answer.TPOT) != nil || x.Metric(answer.OutputTokens).Mean != 8 || math.Abs(x.Throughput.OutputTokens.PerSecond-8/10e-9) > 1 || len(x.Warnings) != 0 {
		t.Errorf("%+v, warnings %v", x.Metrics, x.Warnings)
	}
}

// The reason for n/a says what the user can do.
func TestUnavailableWhy(t *testing.T) {
	no := false
	for _, tt := range []struct {
		name string
		kind string
		cfg  Config
		r    export.Request
		want []string // of the first metric and the last
	}{
		{"nothing tells", "triton", Config{}, at(1000, 1010), []string{"one response per request; --streaming if it was streamed", "one response per request; --streaming if it was streamed"}},
		{"a body with usage", "openai", Config{}, openaiRequest(wholeBody), []string{"not streamed; record with --streaming for these", "not streamed; record with --streaming for these"}},
		{"a body without", "openai", Config{}, openaiRequest(`{"choices":[{"text":"a"}]}`), []string{"not streamed; record with --streaming for these", "not streamed, and the server states no usage; --tokenizer counts the text"}},
		{"the flag", "openai", Config{Streaming: &no}, openaiRequest(delta("a"), delta("b"), usage5), []string{"not streamed", "not streamed"}},
		{"embeddings", "openai", Config{}, openaiRequest(`{"data":[{"embedding":[1]}]}`), nil},
	} {
		f := reader(tt.kind, []export.Request{tt.r})
		if tt.want == nil {
			f.Header.Endpoint = new("v1/embeddings")
		}
		all := analyzed(t, f, tt.cfg).Experiments[0].Unavailable
		var got []string
		if len(all) > 0 {
			got = []string{all[0].Why, all[len(all)-1].Why}
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
}
