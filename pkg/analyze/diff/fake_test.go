package diff

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/export"
)

// A memory is a reader of requests in memory.
type memory struct {
	run      export.Run
	requests [][]export.Request
	err      error
	exp, i   int
	scrapes  []export.Scrape
}

func (m *memory) Run() *export.Run { return &m.run }

func (m *memory) Scrapes(_ context.Context, do func(*export.Scrape) error) error {
	for i := range m.scrapes {
		if err := do(&m.scrapes[i]); err != nil {
			return err
		}
	}
	return nil
}

func (m *memory) Next() bool {
	m.i++
	for m.exp < len(m.requests) && m.i > len(m.requests[m.exp]) {
		m.exp, m.i = m.exp+1, 1
	}
	return m.exp < len(m.requests)
}

func (m *memory) Request() *export.Request { return &m.requests[m.exp][m.i-1] }

func (m *memory) Experiment() int { return m.exp }

func (m *memory) Err() error { return m.err }

func (m *memory) Skipped(int) (int, int) { return 0, 0 }

func (m *memory) Warnings() []export.Warning { return nil }

func (m *memory) Close() error { return nil }

// A recipe is how a run is made: a closed loop against a server of this speed.
type recipe struct {
	seed     uint64
	requests int
	tokens   int
	ttft     float64 // ms, median
	itl      float64
	levels   []string // concurrency; nil is "4"
	prompts  int      // different ones, sent in turn; 0 records none
	failing  int      // every failing-th request fails; 0 is none
	change   func(*memory)
}

// streamed is what the runs record of streaming.
var streamed = true

// make records a run.
func (c recipe) make() *memory {
	kind, endpoint := "openai", "v1/chat/completions"
	m := &memory{run: export.Run{ServiceKind: &kind, Endpoint: &endpoint, Meta: &export.RunMeta{
		Schema: export.Schema, Tool: "pa-record 0.1.0", Model: "tiny", Streaming: &streamed,
		DatasetSHA256: strings.Repeat("5e", 32), Host: &export.HostMeta{Name: "bench", OS: "linux", Arch: "amd64", Kernel: "6.1", CPUs: 8},
	}}}
	levels := c.levels
	if levels == nil {
		levels = []string{"4"}
	}
	random := rand.New(rand.NewPCG(c.seed, 0))
	around := func(ms, sd float64) uint64 { return uint64(1e6 * ms * math.Exp(sd*random.NormFloat64())) }
	now := 1_700_000_000_000_000_000 + c.seed*1e12
	id := uint64(0)
	for _, level := range levels {
		var n int
		if _, err := fmt.Sscan(level, &n); err != nil {
			panic(err)
		}
		slots := make([]uint64, n)
		for i := range slots {
			slots[i] = now
		}
		var all []export.Request
		for k := range c.requests {
			slot := 0
			for i := range slots {
				if slots[i] < slots[slot] {
					slot = i
				}
			}
			r := export.Request{ID: id, StartNS: slots[slot], StartSource: export.SourceKernel, HasMeta: true, Status: export.StatusOK, Phase: export.PhaseMeasured}
			id++
			if c.prompts > 0 {
				r.Inputs = export.Fields{{Name: "payload", Value: export.Text(fmt.Sprintf(`{"prompt":%d}`, k%c.prompts))}}
			}
			at := r.StartNS + around(c.ttft, 0.15)
			if c.failing > 0 && k%c.failing == 0 {
				r.Status, r.FailedNS = export.StatusTimeout, at
				slots[slot] = at
				all = append(all, r)
				continue
			}
			for range c.tokens {
				r.Responses = append(r.Responses, export.Response{RecvNS: at, Source: export.SourceKernel, Outputs: export.Fields{{
					Name: "response", Value: export.Text(`data: {"choices":[{"index":0,"delta":{"content":"a"}}]}` + "\n\n"),
				}}})
				at += around(c.itl, 0.1)
			}
			now = max(now, at)
			slots[slot] = at
			all = append(all, r)
		}
		m.run.Experiments = append(m.run.Experiments, export.Experiment{Mode: export.ModeConcurrency, Value: level, Meta: &export.ExperimentMeta{}})
		m.requests = append(m.requests, all)
	}
	if c.change != nil {
		c.change(m)
	}
	return m
}

// read reads a recipe's run.
func read(t *testing.T, name string, c recipe) *Run {
	t.Helper()
	return readWith(t, name, c, analyze.Config{})
}

// readWith reads it as the config says.
func readWith(t *testing.T, name string, c recipe, cfg analyze.Config) *Run {
	t.Helper()
	cfg.Series = true
	run, err := Read(t.Context(), name, c.make(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return run
}
