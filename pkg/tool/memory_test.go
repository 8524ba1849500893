package tool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// A made is a reader of chat streams that are made up as they are read: chunks
// of text of that many bytes, a different one each.
type made struct {
	requests, chunks, bytes int
	every                   int // requests from one look at the heap to the next; 0 for no look

	rng    *rand.Rand
	run    export.Run
	q      export.Request
	at     int
	live   uint64 // the most that was in use
	half   uint64 // the most in use in the first half
	before uint64 // at the beginning
}

func newMade(requests, chunks, bytes, every int) *made {
	kind, endpoint := "openai", "v1/chat/completions"
	m := &made{requests: requests, chunks: chunks, bytes: bytes, every: every, rng: rand.New(rand.NewPCG(1, 2))}
	m.run = export.Run{ServiceKind: &kind, Endpoint: &endpoint, Experiments: []export.Experiment{{Mode: "concurrency", Value: "1"}}}
	m.q.Inputs = export.Fields{{Name: "payload", Value: export.Text(`{"messages":[{"role":"user","content":"a b c"}],"stream":true}`)}}
	m.q.Responses = make([]export.Response, chunks)
	for i := range m.q.Responses {
		m.q.Responses[i].Outputs = make(export.Fields, 1)
	}
	if every > 0 {
		m.before = memrun.HeapInUse()
	}
	return m
}

func (m *made) Next() bool {
	if m.every > 0 && m.at%m.every == 0 {
		if m.live = max(m.live, memrun.HeapInUse()); m.at <= m.requests/2 {
			m.half = m.live
		}
	}
	if m.at == m.requests {
		return false
	}
	m.at++
	ns := uint64(m.at) * 1e9
	m.q.ID, m.q.StartNS = uint64(m.at^1), ns // out of order, which some tools restore
	for i := range m.q.Responses {
		ns += 1e6 + uint64(m.rng.IntN(1e6))
		p := &m.q.Responses[i]
		p.RecvNS = ns
		b := fmt.Appendf(p.Outputs[0].Value.Data[:0], `data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"`)
		for n := len(b) + m.bytes; len(b) < n; {
			b = fmt.Appendf(b, "%x ", m.rng.Uint64())
		}
		p.Outputs[0] = export.Field{Name: "response", Value: export.Value{Text: true, Data: append(b, "\"}}]}\n\n"...)}}
	}
	return true
}

func (m *made) Run() *export.Run           { return &m.run }
func (m *made) Request() *export.Request   { return &m.q }
func (m *made) Experiment() int            { return 0 }
func (m *made) Err() error                 { return nil }
func (m *made) Skipped(int) (int, int)     { return 0, 0 }
func (m *made) Warnings() []export.Warning { return nil }
func (m *made) Close() error               { return nil }

func (m *made) Scrapes(context.Context, func(*export.Scrape) error) error { return nil }

// A counter counts four bytes as a token.
type counter struct{}

func (counter) Count(text string) int            { return len(text) / 4 }
func (counter) AddSpecial(ids []uint32) []uint32 { return ids }

// Memory does not grow with the text of a run: of 12 MB of it, read by several
// dialects at once, at no time more than 8 MB are in use.
func TestMemory(t *testing.T) {
	testenv.NoRace(t)
	const requests, chunks, bytes = 96, 16, 8 << 10
	const total = requests * chunks * bytes
	ctx := context.Background()
	cfg := dialect.Config{Tokenizer: counter{}, FileBytes: total}
	registry := Dialects()
	tool := func(name string) func(export.Reader) error {
		return func(r export.Reader) error {
			_, err := dialect.Analyze(ctx, registry.Find(name), r, cfg)
			return err
		}
	}
	m := newMade(requests, chunks, bytes, 64)
	for _, err := range dialect.Tee(m, []func(export.Reader) error{
		tool("genai-perf-24.03"), tool("genai-perf-24.08"), tool("genai-perf-25.05"), tool("genai-perf-main"),
		tool("trtllm-main"), tool("vllm"), tool("sglang"), tool("aiperf"),
		func(r export.Reader) error {
			_, err := analyze.Run(ctx, r, analyze.Config{})
			return err
		},
	}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if grown := int64(m.live - m.before); grown > 8<<20 {
		t.Errorf("%d MB are in use, of %d MB of text", grown>>20, total>>20)
	}
}

// Memory hardly grows with the requests of a run that is read for all definitions at once: by less
// than 700 bytes for a request with 60 gaps.
func TestMemoryOfValues(t *testing.T) {
	testenv.NoRace(t)
	for _, requests := range []int{4096, 40_000} {
		t.Run(strconv.Itoa(requests), func(t *testing.T) {
			if requests > 4096 {
				testenv.Long(t)
			}
			m := newMade(requests, 61, 6, requests/8)
			memory := dialect.NewMemory(1e6)
			defer memory.Close()
			cfg := dialect.Config{Tokenizer: counter{}, Memory: memory}
			config := func(*dialect.Tool) dialect.Config { return cfg }
			sides, err := dialect.Define(t.Context(), m, 0, Dialects().Compared(), config, analyze.Config{ValueMemory: 1e6})
			if err != nil || memory.Full() != nil {
				t.Fatal(err, memory.Full())
			}
			for i := range sides {
				if len(sides[i].Definitions) == 0 && !strings.HasPrefix(sides[i].Dialect, "llm_perf") { // for Triton only
					t.Errorf("%s has no definitions: %q", sides[i].Dialect, sides[i].Remarks)
				}
			}
			grown := (float64(m.live) - float64(m.half)) / float64(requests/2)
			t.Logf("%d bytes after half of the run, %d at its end: %.0f for each request", m.half-m.before, m.live-m.before, grown)
			if grown > 700 {
				t.Error("memory grows with the requests")
			}
		})
	}
}

// Reports and definitions are the same if values do not fit in memory, also if no file can
// take them.
func TestReportsBeyondMemory(t *testing.T) {
	written := func(memory *dialect.Memory) map[string]string {
		t.Helper()
		all := map[string]string{}
		for _, x := range []struct{ name, limited, detailed string }{
			{"genai-perf-24.03", "", ""},
			{"genai-perf-main", "time_to_first_token", ""},
			{"trtllm-1.0", "ttft", "save_detailed"},
			{"trtllm-main", "ttft", "save_detailed"},
			{"vllm", "ttft", "save_detailed"},
			{"sglang", "ttft", "output_details"},
			{"aiperf", "time_to_first_token", ""},
			{"perf_analyzer", "", ""},
		} {
			cfg, name := dialect.Config{Tokenizer: counter{}, Memory: memory}, x.name
			if x.limited != "" {
				cfg.Goodput = []dialect.Limit{{Metric: x.limited, Value: 1.5}}
			}
			if x.detailed != "" {
				cfg.Args = map[string]string{x.detailed: "True"}
			}
			m := newMade(1100, 4, 6, 0)
			rep, err := dialect.Analyze(t.Context(), Dialects().Find(name), m, cfg)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			var b bytes.Buffer
			for _, write := range []func(io.Writer) error{func(w io.Writer) error { return rep.Console(w, 100) }, rep.CSV, rep.JSON} {
				if err := write(&b); err != nil && !errors.Is(err, dialect.ErrNoFormat) {
					t.Fatalf("%s: %v", name, err)
				}
			}
			all[name] = b.String()
		}
		return all
	}
	want := written(nil)
	memory := dialect.NewMemory(1)
	defer memory.Close()
	if d := cmp.Diff(want, written(memory)); d != "" || memory.Full() != nil {
		t.Errorf("%v; in a file: -want +got\n%s", memory.Full(), d)
	}
	missing := filepath.Join(t.TempDir(), "missing")
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} { // of all systems
		t.Setenv(name, missing)
	}
	memory = dialect.NewMemory(1)
	if d := cmp.Diff(want, written(memory)); d != "" || memory.Full() == nil || !strings.Contains(memory.Full().Error(), missing) {
		t.Errorf("%v; without a file: -want +got\n%s", memory.Full(), d)
	}
}
