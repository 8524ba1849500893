package dialect_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/dialect"
	"github.com/pa-tools/pa/pkg/analyze/dialect/tools"
	"github.com/pa-tools/pa/pkg/export"
)

// A made is a reader of chat streams that are made up as they are read: chunks
// of text of that many bytes, a different one each.
type made struct {
	requests, chunks, bytes int

	rng    *rand.Rand
	run    export.Run
	q      export.Request
	at     int
	live   uint64 // the most that was in use
	before uint64 // at the beginning
}

func newMade(requests, chunks, bytes int) *made {
	kind, endpoint := "openai", "v1/chat/completions"
	m := &made{requests: requests, chunks: chunks, bytes: bytes, rng: rand.New(rand.NewPCG(1, 2))}
	m.run = export.Run{ServiceKind: &kind, Endpoint: &endpoint, Experiments: []export.Experiment{{Mode: "concurrency", Value: "1"}}}
	m.q.Inputs = export.Fields{{Name: "payload", Value: export.Text(`{"messages":[{"role":"user","content":"a b c"}],"stream":true}`)}}
	m.q.Responses = make([]export.Response, chunks)
	for i := range m.q.Responses {
		m.q.Responses[i].Outputs = make(export.Fields, 1)
	}
	m.before = inUse()
	return m
}

// inUse returns the bytes of the heap that are in use.
func inUse() uint64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}

func (m *made) Next() bool {
	if m.at%64 == 0 {
		m.live = max(m.live, inUse())
	}
	if m.at == m.requests {
		return false
	}
	m.at++
	ns := uint64(m.at) * 1e9
	m.q.ID, m.q.StartNS = uint64(m.at), ns
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
func (m *made) Warnings() []export.Warning { return nil }
func (m *made) Close() error               { return nil }

func (m *made) Scrapes(context.Context, func(*export.Scrape) error) error { return nil }

// A counter counts four bytes as a token.
type counter struct{}

func (counter) Count(text string) int            { return len(text) / 4 }
func (counter) AddSpecial(ids []uint32) []uint32 { return ids }

// Memory does not grow with the text of a run: of 24 MB of it, read by several
// dialects at once, at no time more than 8 MB are in use.
func TestMemory(t *testing.T) {
	const requests, chunks, bytes = 192, 16, 8 << 10
	const total = requests * chunks * bytes
	ctx := context.Background()
	cfg := dialect.Config{Tokenizer: counter{}, FileBytes: total}
	registry := tools.All()
	tool := func(name string) func(export.Reader) error {
		return func(r export.Reader) error {
			_, err := dialect.Analyze(ctx, registry.Find(name), r, cfg)
			return err
		}
	}
	m := newMade(requests, chunks, bytes)
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
