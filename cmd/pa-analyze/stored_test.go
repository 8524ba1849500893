package main_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/analyze/quality"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/columnar"
	"github.com/pa-tools/pa/pkg/export/profilejson"
)

// A Parquet file is analyzed by its columns of token events, and the report equals the
// report of the export that it was made of.
func TestStoredAnswers(t *testing.T) {
	files, _ := golden.ProfileExports(t)
	yes, no := true, false
	quality := quality.Default()
	files["usage in each chunk"] = countedExport
	configs := []analyze.Config{
		{},
		{Quality: &quality, Economics: &figure.EconomicsConfig{}, Prefix: true, Phases: true},
		{From: answer.FromSent, TokenSource: answer.TokenResponses, IncludeWarmup: true},
		{Streaming: &yes, TokenSource: answer.TokenUsage},
		{Streaming: &no, Windows: analyze.Windows{Every: time.Second}},
		{TokenSource: answer.TokenTokenizer}, // needs the texts
		{Series: true},                       // needs the inputs
	}
	for i, name := range slices.Sorted(maps.Keys(files)) {
		if i%testenv.Stride(8) > 0 && name != "usage in each chunk" {
			continue
		}
		data := files[name]
		table := parquetOf(t, data, answer.TokenCounting{})
		for k, cfg := range configs {
			want := run(t, cfg, func(ctx context.Context) (export.Reader, error) {
				return profilejson.NewReader(ctx, "x", bytes.NewReader(data), int64(len(data)), export.Limits{})
			})
			got := run(t, cfg, func(ctx context.Context) (export.Reader, error) {
				return columnar.Parquet().Open(ctx, "x", bytes.NewReader(table), int64(len(table)), export.Limits{})
			})
			if d := difference(want, got); d != "" {
				t.Fatalf("%s, configuration %d (-JSON +Parquet):\n%.2000s", name, k, d)
			}
		}
	}
}

// countedExport is a run whose server counts the tokens of each event, states cached tokens in one of two
// answers, and times in the other.
var countedExport = []byte(`{"experiments":[{"experiment":{"mode":"concurrency","value":1},"requests":[
{"timestamp":1000000,"request_inputs":{"payload":"{\"stream\":true}"},"response_timestamps":[2000000,2500000,4000000,4100000],"response_outputs":[
{"response":"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":1}}\n\n"},
{"response":"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"b c d\"}}],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":4}}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"e\"}}],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":5}}\n\n"},
{"response":"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"f g\"}}],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":7}}\n\n"},
{"response":"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":8,\"prompt_tokens_details\":{\"cached_tokens\":0}}}\n\n"}]},
{"timestamp":5000000,"request_inputs":{"payload":"{\"stream\":true}"},"response_timestamps":[6000000,7000000],"response_outputs":[
{"response":"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n"},
{"response":"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":1},\"timings\":{\"prompt_ms\":0.5,\"predicted_ms\":0.25}}\n\n"}]}
],"window_boundaries":[1000000,8000000]}],"version":"1","service_kind":"openai","endpoint":"v1/chat/completions"}`)

// By hand: the events after the first one hold 3, 1 and 2 tokens and come 0.5, 0 and 1.5 ms after the
// event before. Three tokens took 0.5/3 ms each, one 0 and two 0.75 ms: 2 ms over six tokens.
func TestStoredEventTokens(t *testing.T) {
	quality := quality.Default()
	table := parquetOf(t, countedExport, answer.TokenCounting{})
	rep := run(t, analyze.Config{Quality: &quality}, func(ctx context.Context) (export.Reader, error) {
		return columnar.Parquet().Open(ctx, "x", bytes.NewReader(table), int64(len(table)), export.Limits{})
	})
	e := &rep.Experiments[0]
	s := e.Quality.Metric(answer.ITLPerToken)
	if s == nil || s.N != 6 || math.Abs(s.Mean-2e6/6) > 1e-6 || s.Min != 0 || s.Max != 750e3 || e.Quality.Counted != 1 || e.Quality.Requests != 2 {
		t.Errorf("%+v, counted %d of %d", s, e.Quality.Counted, e.Quality.Requests)
	}
	// The cached tokens of the other answer are not known.
	if s := e.Metric(answer.InputTokens); s == nil || s.N != 2 {
		t.Errorf("input tokens %+v", s)
	}
}

// A countingWords counts its calls. It refuses no text.
type countingWords struct{ calls atomic.Int64 }

func (c *countingWords) CountTokens(text []byte) (int, error) {
	c.calls.Add(1)
	return len(bytes.Fields(text)), nil
}

// Reports of a Parquet file whose columns a tokenizer filled equal the reports of the export,
// and count no text again where the columns hold what the report asks for, but the texts of the
// requests that are checked: four of a file with one row group.
func TestStoredTokenCounts(t *testing.T) {
	files, _ := golden.ProfileExports(t)
	words := &countingWords{}
	tokenizer := &analyze.Tokenizer{Name: "words", SHA256: "abc"}
	sources := []answer.TokenSource{answer.TokenAuto, answer.TokenUsage, answer.TokenTokenizer, answer.TokenResponses}
	const checkedTexts = 8 // a prompt and an answer each
	counted, saved := 0, 0
	for i, name := range slices.Sorted(maps.Keys(files)) {
		if i%testenv.Stride(29) > 0 {
			continue
		}
		data := files[name]
		var tables [][]byte // by the place of their source in sources
		for _, stored := range sources {
			tables = append(tables, parquetOf(t, data, answer.TokenCounting{TokenSource: stored, Counter: words, Tokenizer: tokenizer.SHA256}))
		}
		for _, asked := range sources {
			for _, cfg := range []analyze.Config{
				{TokenSource: asked, Counter: words, Tokenizer: tokenizer},
				{TokenSource: asked, Counter: words, Tokenizer: &analyze.Tokenizer{Name: "words", SHA256: "def"}},
				{TokenSource: asked},
			} {
				before := words.calls.Load()
				want := run(t, cfg, func(ctx context.Context) (export.Reader, error) {
					return profilejson.NewReader(ctx, "x", bytes.NewReader(data), int64(len(data)), export.Limits{})
				})
				byJSON := words.calls.Load() - before
				for k, stored := range sources {
					before := words.calls.Load()
					got := run(t, cfg, func(ctx context.Context) (export.Reader, error) {
						return columnar.Parquet().Open(ctx, "x", bytes.NewReader(tables[k]), int64(len(tables[k])), export.Limits{})
					})
					if d := difference(want, got); d != "" {
						t.Fatalf("%s, stored by %v, asked for %v, tokenizer %v (-JSON +Parquet):\n%.2000s", name, stored, asked, cfg.Tokenizer, d)
					}
					byTable := words.calls.Load() - before
					if same := stored == asked && cfg.Tokenizer == tokenizer; same && byTable > checkedTexts || !same && asked == answer.TokenTokenizer && byTable != byJSON {
						t.Fatalf("%s, stored by %v, asked for %v, tokenizer %v: %d texts counted, %d from JSON", name, stored, asked, cfg.Tokenizer, byTable, byJSON)
					}
					counted += int(byTable)
					saved += int(byJSON - byTable)
				}
			}
		}
	}
	if counted == 0 || saved == 0 {
		t.Errorf("%d texts counted, %d not: the exports do not tell", counted, saved)
	}
}

// A file says that its tokenizer refused a text, also if that text comes long after the first
// rows were written, and the report then counts again.
func TestStoredTokenCountsRefused(t *testing.T) {
	requests := 40_000 / testenv.Stride(4) // many batches
	var doc bytes.Buffer
	doc.WriteString(`{"experiments":[{"experiment":{"mode":"concurrency","value":1},"requests":[`)
	for i := range requests {
		text := "a b"
		if i == requests-1 {
			text = "!"
		}
		if i > 0 {
			doc.WriteByte(',')
		}
		fmt.Fprintf(&doc, `{"timestamp":%d,"request_inputs":{"text_input":"x"},"response_timestamps":[%d,%d],"response_outputs":[{"text_output":"a "},{"text_output":%q}]}`, 1000*i+1, 1000*i+11, 1000*i+21, text)
	}
	doc.WriteString(`],"window_boundaries":[]}],"version":"2.60.0","service_kind":"triton","endpoint":""}`)
	data := doc.Bytes()
	cfg := analyze.Config{Counter: memrun.Words{}, Tokenizer: &analyze.Tokenizer{Name: "words", SHA256: "abc"}}
	table := parquetOf(t, data, answer.TokenCounting{Counter: memrun.Words{}, Tokenizer: "abc"})
	open := func(ctx context.Context) (export.Reader, error) {
		return columnar.Parquet().Open(ctx, "x", bytes.NewReader(table), int64(len(table)), export.Limits{})
	}
	r, err := open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	how := export.StoredIn(r)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if how.NotCounted != 1 {
		t.Errorf("%d requests not counted, want 1", how.NotCounted)
	}
	want := run(t, cfg, func(ctx context.Context) (export.Reader, error) {
		return profilejson.NewReader(ctx, "x", bytes.NewReader(data), int64(len(data)), export.Limits{})
	})
	if d := difference(want, run(t, cfg, open)); d != "" {
		t.Errorf("(-JSON +Parquet):\n%.2000s", d)
	}
}

// The report of a Parquet file whose responses are left out equals the report of the export,
// whatever the answers look like.
func TestBriefAnswers(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	brief, full := 0, 0
	for n := range 400 / testenv.Stride(16) { // at least 24: three runs of each set of oddities
		data := randomExport(rng, n%8)
		table := parquetOf(t, data, answer.TokenCounting{})
		r, err := columnar.Parquet().Open(t.Context(), "x", bytes.NewReader(table), int64(len(table)), export.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		for rows := export.Read(r, export.Need{Derived: export.DerivedBrief}); rows.Next(); {
			if rows.Request().Summary != nil {
				brief++
			} else {
				full++
			}
		}
		if err := errors.Join(r.Err(), r.Close()); err != nil {
			t.Fatal(err)
		}
		yes, no := true, false
		for k, cfg := range []analyze.Config{
			{},
			{From: answer.FromSent, TokenSource: answer.TokenResponses, IncludeWarmup: true},
			{From: answer.FromIssued, Streaming: &yes},
			{Streaming: &no, Quality: &quality.Config{}},
			{Windows: analyze.Windows{Every: time.Second}},
		} {
			want := run(t, cfg, func(ctx context.Context) (export.Reader, error) {
				return profilejson.NewReader(ctx, "x", bytes.NewReader(data), int64(len(data)), export.Limits{})
			})
			got := run(t, cfg, func(ctx context.Context) (export.Reader, error) {
				return columnar.Parquet().Open(ctx, "x", bytes.NewReader(table), int64(len(table)), export.Limits{})
			})
			if d := difference(want, got); d != "" {
				t.Fatalf("run %d, configuration %d (-JSON +Parquet):\n%.2000s\n%s", n, k, d, data)
			}
		}
	}
	if brief == 0 || full == 0 {
		t.Errorf("%d requests without responses, %d with", brief, full)
	}
}

// randomExport returns an export of chat completions. odd is a set of oddities: several
// choices (1), early and unordered responses (2), and whole bodies beside streams (4).
func randomExport(rng *rand.Rand, odd int) []byte {
	var doc bytes.Buffer
	doc.WriteString(`{"experiments":[{"experiment":{"mode":"concurrency","value":2},"requests":[`)
	for i := range 1 + rng.IntN(12) {
		if i > 0 {
			doc.WriteByte(',')
		}
		start := 1_700_000_000_000_000_000 + rng.Int64N(5e9)
		at := start + rng.Int64N(1e6)
		var times, outputs []string
		add := func(text string) {
			stamp := at
			if odd&2 != 0 && rng.IntN(6) == 0 {
				stamp -= rng.Int64N(3e6)
			}
			times, outputs = append(times, strconv.FormatInt(stamp, 10)), append(outputs, fmt.Sprintf(`{"response":%q}`, text))
			if rng.IntN(5) > 0 {
				at += rng.Int64N(2e6)
			}
		}
		events, reasoning := rng.IntN(8), rng.IntN(4)
		if odd&4 != 0 && rng.IntN(3) == 0 {
			add(`{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"a b"}}]}`)
			events = 0
		}
		for k := range events {
			member := "content"
			if reasoning > k {
				member = "reasoning_content"
			}
			choice := 0
			if odd&1 != 0 {
				choice = rng.IntN(2)
			}
			add(fmt.Sprintf("data: {\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":%d,\"delta\":{%q:\"x\"}}]}\n\n", choice, member))
		}
		if events > 0 && rng.IntN(2) == 0 {
			add("data: {\"object\":\"chat.completion.chunk\",\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":7}}\n\n")
		}
		fmt.Fprintf(&doc, `{"timestamp":%d,"request_inputs":{"payload":"{}"},"response_timestamps":[%s],"response_outputs":[%s]`, start, strings.Join(times, ","), strings.Join(outputs, ","))
		doc.WriteString("}")
	}
	doc.WriteString(`],"window_boundaries":[]}],"version":"1.1","service_kind":"openai","endpoint":"v1/chat/completions"}`)
	return doc.Bytes()
}

func sameError(a, b error) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

func parquetOf(t *testing.T, data []byte, tokens answer.TokenCounting) []byte {
	t.Helper()
	r, err := profilejson.NewReader(t.Context(), "x", bytes.NewReader(data), int64(len(data)), export.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, err := columnar.NewParquetWriter(&out, answer.NewTokenDeriver(r.Run(), tokens))
	if err == nil {
		err = export.Copy(t.Context(), w, r)
	}
	if err := errors.Join(err, r.Err(), r.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// plain returns a copy of a report without its warnings, and the texts of the warnings: warnings
// hold functions, which reflect.DeepEqual takes for different.
func plain(r *analyze.Report) any {
	texts := func(warnings []error) (all []string) {
		for _, w := range warnings {
			all = append(all, fmt.Sprint(w))
		}
		return all
	}
	c, all := *r, [][]string{texts(r.Warnings)}
	c.Warnings, c.Experiments = nil, slices.Clone(r.Experiments)
	for i := range c.Experiments {
		e := &c.Experiments[i]
		all = append(all, texts(e.Warnings))
		e.Warnings = nil
	}
	return []any{c, all}
}

// difference returns how two reports differ, "" if they do not.
func difference(want, got *analyze.Report) string {
	if reflect.DeepEqual(plain(want), plain(got)) { // many times as fast as package cmp
		return ""
	}
	return cmp.Diff(want, got, cmpopts.EquateNaNs(), cmp.Exporter(func(reflect.Type) bool { return true }), cmp.Comparer(sameError))
}

func run(t *testing.T, cfg analyze.Config, open func(context.Context) (export.Reader, error)) *analyze.Report {
	t.Helper()
	r, err := open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rep, err := analyze.Run(t.Context(), r, cfg)
	if err := errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	return rep
}

// The tokens of a request whose stored answer is missing are not known, because its texts are
// left out.
func TestStoredAnswerMissing(t *testing.T) {
	r := &withoutStored{Reader: &memrun.Reader{
		Header: export.Run{Experiments: make([]export.Experiment, 1)},
		Requests: [][]export.Request{{{
			StartNS: 1000, Responses: []export.Response{{RecvNS: 1010}, {RecvNS: 1030}},
		}}},
	}}
	rep, err := analyze.Run(t.Context(), r, analyze.Config{})
	if err != nil {
		t.Fatal(err)
	}
	e := &rep.Experiments[0]
	if e.OK != 1 || e.TokenEvents != 0 || e.Metric(answer.TTFT) != nil || e.Metric(answer.E2EL) == nil {
		t.Errorf("%d ok, %d token events, TTFT %v, E2EL %v", e.OK, e.TokenEvents, e.Metric(answer.TTFT), e.Metric(answer.E2EL))
	}
}

// withoutStored claims to have stored answers, and no outputs from which they could be computed again.
type withoutStored struct{ *memrun.Reader }

func (r *withoutStored) Preview() *export.Run { return r.Run() }
func (r *withoutStored) Row() export.Row      { return export.Row{Request: r.Request()} }
func (*withoutStored) Batch() export.Batch    { return nil }

func (*withoutStored) Stored() *export.Stored {
	return &export.Stored{Derivation: export.Derivation{Definitions: answer.Definitions, TokenSource: "auto"}}
}

func (r *withoutStored) Begin(export.Need) bool {
	r.Reader = &memrun.Reader{Header: r.Header, Requests: r.Requests}
	return false
}
