package diff

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/diff/gate"
	"github.com/pa-tools/pa/pkg/analyze/inference"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/schemas"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// renderers are all formats, by the ends of their files.
var renderers = map[string]func(*Result) report.Renderer{"txt": Text, "md": Markdown, "csv": CSV, "json": JSON}

// A memory is a reader of requests in memory.
type memory struct {
	run      export.Run
	requests [][]export.Request
	err      error
	exp, i   int
}

func (m *memory) Run() *export.Run { return &m.run }

func (m *memory) Next() bool {
	m.i++
	for m.exp < len(m.requests) && m.i > len(m.requests[m.exp]) {
		m.exp, m.i = m.exp+1, 1
	}
	return m.exp < len(m.requests)
}
func (m *memory) Request() *export.Request   { return &m.requests[m.exp][m.i-1] }
func (m *memory) Experiment() int            { return m.exp }
func (m *memory) Err() error                 { return m.err }
func (m *memory) Warnings() []export.Warning { return nil }
func (m *memory) Close() error               { return nil }

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

// make records a run.
func (c recipe) make() *memory {
	kind, endpoint := "openai", "v1/chat/completions"
	m := &memory{run: export.Run{ServiceKind: &kind, Endpoint: &endpoint, Meta: &export.RunMeta{
		Schema: export.Schema, Tool: "pa-record 0.1.0", Model: "tiny", Streaming: true,
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
				r.Status, r.EndedNS = export.StatusTimeout, at
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

func side6(t *testing.T, name string, seed uint64, itl float64) []*Run {
	var runs []*Run
	for i := range uint64(6) {
		runs = append(runs, read(t, fmt.Sprintf("%s-%d.json", name, i+1), recipe{seed: seed + i, requests: 60, tokens: 8, ttft: 30, itl: itl, levels: []string{"1", "4"}}))
	}
	return runs
}

// scenarios are comparisons as they are met.
func scenarios(t *testing.T) map[string]*Result {
	gates := func(res *Result, texts ...string) *Result {
		t.Helper()
		var exprs []*gate.Expr
		for _, s := range texts {
			e, err := ParseGate(s)
			if err != nil {
				t.Fatal(err)
			}
			exprs = append(exprs, e)
		}
		res.Gate(exprs)
		return res
	}
	one := func(name string, c recipe) []*Run { return []*Run{read(t, name, c)} }
	base := recipe{seed: 1, requests: 1500, tokens: 6, ttft: 30, itl: 20}
	slower := recipe{seed: 2, requests: 1500, tokens: 6, ttft: 30, itl: 21}
	paired, pairedSlower := base, slower
	paired.prompts, pairedSlower.prompts = 10, 10
	few := recipe{seed: 3, requests: 40, tokens: 6, ttft: 30, itl: 20}
	other := recipe{seed: 4, requests: 400, tokens: 9, ttft: 30, itl: 20, failing: 10, levels: []string{"4", "8"}, change: func(m *memory) {
		m.run.Meta.Model = "tiny|2\x1b[31m"
		m.run.Meta.DatasetSHA256 = strings.Repeat("0d", 32)
		m.run.Meta.Warnings = []string{"the wall clock was set by 1s between 1s and 2s after the start; times may be off"}
		m.run.Experiments[0].Meta.Warnings = []string{"the client may be the limit: it used 97% of the time of its 8 cores; give it more, or less load"}
		for i := range m.requests[0] {
			for j := range m.requests[0][i].Responses {
				m.requests[0][i].Responses[j].Source = export.SourceUser
			}
		}
	}}
	window := analyze.Config{From: analyze.FromStart, TokenSource: analyze.TokenResponses, IncludeWarmup: true, Selection: analyze.Selection{Window: &analyze.Interval{From: 5 * time.Second, To: 50 * time.Second}}}
	trimmed := func(name string, seed uint64) []*Run {
		var runs []*Run
		for i := range uint64(3) {
			runs = append(runs, readWith(t, fmt.Sprintf("%s-%d.json", name, i+1), recipe{seed: seed + i, requests: 60, tokens: 8, ttft: 30, itl: 20},
				analyze.Config{Selection: analyze.Selection{TrimStart: analyze.Trim{Share: 0.1}, TrimEnd: analyze.Trim{Length: 100 * time.Millisecond}}}))
		}
		return runs
	}
	nothing := recipe{seed: 5, requests: 20, tokens: 6, ttft: 30, itl: 20, failing: 1}
	return map[string]*Result{
		"single":  gates(Compare(one("old.json", base), one("new.json", slower), Options{}), "itl_p50 worse && itl_p50.low>+3%", "new.ttft_p50>1s"),
		"paired":  Compare(one("old.json", paired), one("new.json", pairedSlower), Options{}),
		"part":    Compare([]*Run{readWith(t, "old.json", paired, window)}, []*Run{readWith(t, "new.json", pairedSlower, window)}, Options{}),
		"parts":   Compare(trimmed("old", 10), trimmed("new", 20), Options{}),
		"several": gates(Compare(side6(t, "old", 10, 20), side6(t, "new", 20, 21), Options{}), "e2el_p50>+2%"),
		"few":     gates(Compare(one("old.json", few), one("new.json", base), Options{}), "ttft_p99 worse"),
		"refused": Compare(one("old.json", base), one("new.json", other), Options{}),
		"ignored": Compare(one("old.json", base), one("new.json", other), Options{Ignore: []string{All}}),
		"failed":  gates(Compare(one("old.json", few), one("new.json", nothing), Options{}), "new.failed_share>1%", "new.e2el_p50>1s"),
	}
}

// The golden files are in testdata; -update rewrites them.
func TestGolden(t *testing.T) {
	schema := compile(t)
	for name, res := range scenarios(t) {
		for ext, render := range renderers {
			var b bytes.Buffer
			if err := render(res)(&b); err != nil {
				t.Fatal(err)
			}
			if ext == "json" {
				doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b.Bytes()))
				if err != nil {
					t.Fatal(err)
				}
				if err := schema.Validate(doc); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			if (ext == "json" || ext == "csv") && !slices.Contains([]string{"single", "several", "part", "refused"}, name) {
				continue // the schema is enough
			}
			file := filepath.Join("testdata", name+"."+ext)
			if *update {
				if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), b.String()); d != "" {
				t.Errorf("%s (-want +got):\n%s", file, d)
			}
		}
	}
}

func compile(t *testing.T) *jsonschema.Schema {
	t.Helper()
	b, err := schemas.FS.ReadFile("diff.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("diff.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("diff.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func rowOf(t *testing.T, l *LevelResult, key string) *Row {
	t.Helper()
	for i := range l.Rows {
		if l.Rows[i].Metric.Key == key {
			return &l.Rows[i]
		}
	}
	t.Fatalf("no row %s", key)
	return nil
}

// What comes out of the scenarios, apart from how it is written.
func TestVerdicts(t *testing.T) {
	all := scenarios(t)
	for _, tt := range []struct {
		scenario, metric string
		want             inference.Verdict
	}{
		{"single", "itl_p50", inference.Worse},
		{"single", "ttft_p50", inference.NoDifference},
		{"single", "output_tokens_per_s", inference.Worse},
		{"single", "itl_p99", inference.NotAvailable}, // descriptive
		{"paired", "e2el_p50", inference.Worse},
		{"several", "itl_p50", inference.Worse},
		{"several", "ttft_p50", inference.NoDifference},
		{"few", "ttft_p50", inference.NotAvailable},
		{"refused", "itl_p50", inference.NotAvailable},
		{"failed", "ttft_p50", inference.NotAvailable},
	} {
		if got := rowOf(t, &all[tt.scenario].Levels[0], tt.metric).Verdict; got != tt.want {
			t.Errorf("%s: %s is %v, want %v", tt.scenario, tt.metric, got, tt.want)
		}
	}
	if r := all["ignored"].Refused(); r != nil {
		t.Errorf("refused although all is ignored: %v", r)
	}
	var names []string
	for _, d := range all["refused"].Refused() {
		names = append(names, d.Name)
	}
	if d := cmp.Diff([]string{"model", "dataset", "output-tokens", "stamps"}, names); d != "" {
		t.Errorf("refusals (-want +got):\n%s", d)
	}
	if got := rowOf(t, &all["failed"].Levels[0], "failed_share"); got.New.Value != 1 || got.Old.Value != 0 {
		t.Errorf("failed shares %v and %v, want 0 and 1", got.Old.Value, got.New.Value)
	}
	if res := all["several"]; res.Family != 10 || len(res.Levels) != 2 {
		t.Errorf("%d p-values in %d levels, want 10 in 2", res.Family, len(res.Levels))
	}
}

// A run against itself: no difference anywhere, and values as in the report.
func TestSame(t *testing.T) {
	c := recipe{seed: 1, requests: 1500, tokens: 6, ttft: 30, itl: 20}
	res := Compare([]*Run{read(t, "a", c)}, []*Run{read(t, "b", c)}, Options{})
	if len(res.Differences) > 0 || len(res.Levels) != 1 || len(res.Levels[0].Rows) != len(Metrics) {
		t.Fatalf("%+v", res)
	}
	for _, r := range res.Levels[0].Rows {
		if r.Old.Value != r.New.Value || r.Metric.Key != "failed_share" && r.Change != 0 {
			t.Errorf("%s: %v and %v", r.Metric.Key, r.Old.Value, r.New.Value)
		}
		if r.Old.Value != r.OldRuns[0] && math.Abs(r.Old.Value/r.OldRuns[0]-1) > 1e-12 {
			t.Errorf("%s: the estimate %v is not the statistic %v", r.Metric.Key, r.Old.Value, r.OldRuns[0])
		}
		if r.Verdict != inference.NoDifference && r.Metric.Primary {
			t.Errorf("%s: %v", r.Metric.Key, r.Verdict)
		}
	}
	if a, b, found := SameRun([]*Run{read(t, "a", c), read(t, "b", c)}); !found || a.Name != "a" || b.Name != "b" {
		t.Error("the same run in two files is not seen")
	}
	other := c
	other.seed = 2
	if _, _, found := SameRun([]*Run{read(t, "a", c), read(t, "b", other)}); found {
		t.Error("two runs are taken for one")
	}
}

// Each difference is seen; those that change what the numbers mean refuse.
func TestDifferences(t *testing.T) {
	base := recipe{seed: 1, requests: 30, tokens: 4, ttft: 30, itl: 20, prompts: 3}
	each := func(m *memory, f func(*export.Request)) {
		for i := range m.requests[0] {
			f(&m.requests[0][i])
		}
	}
	usages := func(of func(i int) (input, output int)) func(*memory) {
		return func(m *memory) {
			i := 0
			each(m, func(r *export.Request) {
				input, output := of(i)
				i++
				r.Responses[3].Outputs[0].Value = export.Text(fmt.Sprintf(`data: {"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d}}`, input, output) + "\n\n")
			})
		}
	}
	usage := func(input, output int) func(*memory) {
		return usages(func(int) (int, int) { return input, output })
	}
	// So many answers are long, the others short.
	mixed := func(long int) func(*memory) {
		return usages(func(i int) (int, int) {
			if i%2 == 0 && i < 2*long {
				return 10, 900
			}
			return 10, 100
		})
	}
	settings := func(config string) func(*memory) {
		return func(m *memory) { m.run.Meta.Config = json.RawMessage(config) }
	}
	calibrated := func(receivedNS, startedNS int64) func(*memory) {
		return func(m *memory) {
			m.run.Meta.Protocol = "http"
			m.run.Meta.Calibration = &export.Calibration{Services: []export.CalibratedService{
				{Service: "triton-grpc", Recordings: []export.CalibratedRecording{{Stamps: "kernel", Receive: &export.ClockError{P99NS: 77_000_000}}}},
				{Service: "openai", Recordings: []export.CalibratedRecording{
					{Stamps: "user", Receive: &export.ClockError{P99NS: 99_000_000}},
					{Stamps: "kernel", Receive: &export.ClockError{P99NS: receivedNS}, Start: &export.ClockError{P99NS: startedNS}},
				}},
			}}
		}
	}
	for _, tt := range []struct {
		name     string
		old, new func(*memory)
		want     []string // "!" refuses
	}{
		{"nothing", nil, nil, nil},
		{"model", nil, func(m *memory) { m.run.Meta.Model = "large" }, []string{"!model"}},
		{"definitions", nil, func(m *memory) { m.run.Meta.Import = &export.Import{Format: "GuideLLM benchmarks.json"} }, []string{"!definitions"}},
		{"the same definitions", func(m *memory) { m.run.Meta.Import = &export.Import{Format: "x"} }, func(m *memory) { m.run.Meta.Import = &export.Import{Format: "x"} }, nil},
		{"dataset", nil, func(m *memory) { m.run.Meta.DatasetSHA256 = "x" }, []string{"!dataset"}},
		{"no dataset", nil, func(m *memory) { m.run.Meta.DatasetSHA256 = "" }, []string{"!dataset"}},
		{"load written otherwise", nil, func(m *memory) { m.run.Experiments[0].Value = "4.0" }, nil},
		{"streaming", nil, func(m *memory) { m.run.Meta.Streaming = false }, []string{"!streaming"}},
		{"endpoint", nil, func(m *memory) { s := "v1/completions"; m.run.Endpoint = &s }, []string{"endpoint"}},
		{"service", nil, func(m *memory) { m.run.ServiceKind = nil }, []string{"service"}},
		{"settings", settings(`{"transport":"loop","url":"a","seed":1,"warmup_request_count":5}`), settings(`{"transport":"nethttp","url":"b","seed":2,"warmup_request_count":5}`), []string{"settings"}},
		{"a setting more", settings(`{}`), settings(`{"http2":true}`), []string{"settings"}},
		{"settings that may differ", settings(`{"url":"a","profile_export_file":["1"]}`), settings(`{"url":"b","profile_export_file":["2"]}`), nil},
		{"no settings to compare", settings(`{"transport":"loop"}`), settings(`3`), nil},
		{"recorder", nil, func(m *memory) { m.run.Meta.Tool = "pa-record 0.2.0" }, []string{"recorder"}},
		{"host", nil, func(m *memory) { m.run.Meta.Host.CPUs = 4 }, []string{"host"}},
		{"stamps", nil, func(m *memory) {
			each(m, func(r *export.Request) {
				for i := range r.Responses {
					r.Responses[i].Source = export.SourceUser
				}
			})
		}, []string{"!stamps"}},
		{"a few stamps in 100", nil, func(m *memory) { m.requests[0][0].Responses[0].Source = export.SourceUser }, nil},
		{"start stamps", nil, func(m *memory) {
			each(m, func(r *export.Request) { r.StartSource = export.SourceUnknown })
		}, []string{"!start-stamps"}},
		{"token source, and input known", nil, usage(10, 4), []string{"!input-tokens", "!token-source"}},
		{"output tokens", usage(10, 4), usage(10, 8), []string{"!output-tokens"}},
		{"input tokens", usage(10, 4), usage(20, 4), []string{"!input-tokens"}},
		{"an output token more or less", usage(10, 100), usages(func(i int) (int, int) { return 10, 100 + i%2 }), nil},
		{"as many output tokens, spread wider", usage(10, 100), usages(func(i int) (int, int) { return 10, 50 + 100*(i%2) }), []string{"!output-tokens"}},
		{"as many input tokens, spread wider", usages(func(i int) (int, int) { return 99 + i%3, 5 }), usages(func(i int) (int, int) { return 20 + 80*(i%3), 5 }), []string{"!input-tokens"}},
		{"two humps, the median in either", mixed(14), mixed(15), nil},
		{"two humps, nearly one", mixed(1), mixed(14), []string{"!output-tokens"}},
		{"calibrated alike", calibrated(20_000, 1_000), calibrated(29_000, 3_000), nil},
		{"calibrated, received", calibrated(20_000, 1_000), calibrated(41_000, 1_000), []string{"calibration"}},
		{"calibrated, started", calibrated(20_000, 1_000), calibrated(20_000, 12_000), []string{"calibration"}},
		{"calibrated on one side", calibrated(20_000, 1_000), nil, []string{"calibration"}},
		{"length", nil, func(m *memory) { m.requests[0] = m.requests[0][:15] }, []string{"length"}},
		{"interrupted", func(m *memory) { m.run.Meta.Interrupted = "SIGINT" }, nil, []string{"interrupted"}},
		{"interrupted level", func(m *memory) { m.run.Experiments[0].Meta.Interrupted = true }, nil, []string{"interrupted"}},
		{"unstable", nil, func(m *memory) { m.run.Experiments[0].Meta.Stable = new(bool) }, []string{"unstable"}},
		{"saturated", nil, func(m *memory) {
			m.run.Experiments[0].Meta.Warnings = []string{"the client may be the limit: no cores", "another"}
		}, []string{"client-saturated"}},
		{"not steady", nil, func(m *memory) {
			// A hundred requests more, of which the first are slow.
			first := m.requests[0][0]
			m.requests[0] = nil
			for i := range 130 {
				r := first
				r.StartNS += uint64(i) * 1e9
				r.Responses = slices.Clone(first.Responses)
				for j := range r.Responses {
					r.Responses[j].RecvNS += uint64(i) * 1e9
					if i < 13 {
						r.Responses[j].RecvNS += 300e6
					}
				}
				m.requests[0] = append(m.requests[0], r)
			}
		}, []string{"length", "steady-state"}},
		{"clock", nil, func(m *memory) { m.run.Meta.Warnings = []string{"the wall clock was set by 1s between 0s and 1s"} }, []string{"clock-steps"}},
		{"gap below 0", nil, func(m *memory) { m.requests[0][0].Responses[2].RecvNS = m.requests[0][0].StartNS + 1 }, []string{"clock-steps"}},
		{"failed on both sides", func(m *memory) { m.requests[0][0].Status = export.StatusTimeout }, func(m *memory) { m.requests[0][0].Status = export.StatusTimeout }, []string{"failed"}},
		{"a run of another tool", nil, func(m *memory) { m.run.Meta = nil }, []string{"!model", "!dataset", "!streaming", "recorder", "host"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o, n := base, base
			o.change, n.change = tt.old, tt.new
			res := Compare([]*Run{read(t, "old", o)}, []*Run{read(t, "new", n)}, Options{})
			var got []string
			for _, d := range res.Differences {
				if d.Refuses {
					got = append(got, "!"+d.Name)
				} else {
					got = append(got, d.Name)
				}
				if d.Level != "" {
					t.Errorf("%s is said of level %q, which is the only one", d.Name, d.Level)
				}
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			for format, render := range renderers {
				var b bytes.Buffer
				if err := render(res)(&b); err != nil {
					t.Fatal(err)
				}
				for _, name := range tt.want {
					if !strings.Contains(b.String(), strings.TrimPrefix(name, "!")) {
						t.Errorf("%s does not say %s:\n%s", format, name, b.String())
					}
				}
			}
		})
	}
}

// Settings are named with their values, and only those that differ.
func TestSettings(t *testing.T) {
	run := func(seed uint64, config string) *Run {
		return read(t, "run", recipe{seed: seed, requests: 5, tokens: 2, ttft: 30, itl: 20, change: func(m *memory) { m.run.Meta.Config = json.RawMessage(config) }})
	}
	older := []*Run{run(1, `{"transport": "loop", "same": {"a": [1, 2]}, "url": "x"}`), run(2, `{"transport":"auto","same":{"a":[1,2]},"url":"y"}`)}
	newer := []*Run{run(3, `{"transport":"loop","same":{"a":[1,2]},"http2":true}`)}
	res := Compare(older, newer, Options{})
	want := []Difference{{Name: "settings", Old: `http2 not set; transport "loop", "auto"`, New: `http2 true; transport "loop"`}}
	if d := cmp.Diff(want, res.Differences); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// What neither side records cannot be compared, and that is said; what one side
// records differs, and is no more unknown.
func TestUnchecked(t *testing.T) {
	bare := recipe{seed: 1, requests: 30, tokens: 4, ttft: 30, itl: 20, change: func(m *memory) {
		m.run.Meta = nil
		for i := range m.requests[0] {
			r := &m.requests[0][i]
			r.StartSource, r.HasMeta = export.SourceUnknown, false
			for j := range r.Responses {
				r.Responses[j].Source = export.SourceUnknown
			}
		}
	}}
	full := recipe{seed: 1, requests: 30, tokens: 4, ttft: 30, itl: 20}
	nothing := bare
	nothing.requests = 0
	for _, tt := range []struct {
		name     string
		old, new recipe
		want     []string
	}{
		{"neither", bare, bare, []string{"model", "dataset", "input-tokens", "streaming", "stamps", "start-stamps"}},
		{"one", bare, full, []string{"input-tokens"}},
		{"both", full, full, []string{"input-tokens"}}, // from usage only, which there is none of
		{"no request", nothing, nothing, []string{"model", "dataset", "streaming"}},
	} {
		res := Compare([]*Run{read(t, "old", tt.old)}, []*Run{read(t, "new", tt.new)}, Options{})
		if d := cmp.Diff(tt.want, res.Unchecked); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
		for name, render := range renderers {
			var b bytes.Buffer
			if err := render(res)(&b); err != nil {
				t.Fatal(err)
			}
			for _, unchecked := range tt.want {
				if !strings.Contains(b.String(), unchecked) {
					t.Errorf("%s: %s does not say that %s was not compared", tt.name, name, unchecked)
				}
			}
		}
	}
}

// Files that do not hold when requests were sent have values, and intervals from
// several runs; one run has none, and no two are taken for the same.
func TestWithoutStarts(t *testing.T) {
	run := func(seed uint64, itl float64) *Run {
		return read(t, fmt.Sprint(seed), recipe{seed: seed, requests: 1500, tokens: 4, ttft: 30, itl: itl, prompts: 10, change: func(m *memory) {
			m.run.Meta.Import = &export.Import{Format: "results", Lacks: []export.Lack{{Part: export.PartStarts, Why: "results do not say"}}}
			for i := range m.requests[0] {
				r := &m.requests[0][i]
				for j := range r.Responses {
					r.Responses[j].RecvNS -= r.StartNS - 1
				}
				r.StartNS = 1
			}
		}})
	}
	older, newer := []*Run{run(1, 20), run(2, 20), run(3, 20)}, []*Run{run(4, 22), run(5, 22), run(6, 22)}
	if a, b, found := SameRun(append(older, newer...)); found {
		t.Errorf("%s and %s are taken for the same", a.Name, b.Name)
	}
	one := Compare(older[:1], newer[:1], Options{}).Levels[0]
	if r := rowOf(t, &one, "itl_p50"); r.NA.Reason != "the order of time is not known: results do not say" || math.Abs(r.Change-0.1) > 0.02 || r.Verdict != inference.NotAvailable {
		t.Errorf("one run a side: %+v", r)
	}
	if one.Pairs != 0 {
		t.Errorf("%d pairs", one.Pairs)
	}
	several := Compare(older, newer, Options{}).Levels[0]
	if r := rowOf(t, &several, "itl_p50"); r.NA.Missing() || r.Verdict != inference.Worse {
		t.Errorf("several: %+v", r)
	}
	for i := range several.Rows {
		if k := several.Rows[i].Metric.Key; k == "requests_per_s" || k == "output_tokens_per_s" {
			t.Errorf("%s of requests at unknown times is %v", k, several.Rows[i].New.Value)
		}
	}
}

// Levels are matched by load; what only one side has is told. With the load
// ignored, a single level a side is compared whatever it is.
func TestLevels(t *testing.T) {
	run := func(levels ...string) []*Run {
		return []*Run{read(t, "run", recipe{seed: 1, requests: 5, tokens: 3, ttft: 30, itl: 20, levels: levels})}
	}
	for _, tt := range []struct {
		name           string
		old, new       []*Run
		ignore         []string
		both           []string
		oldOnly, newer []string
	}{
		{"a sweep", run("1", "2", "4"), run("4", "2", "8"), nil, []string{"concurrency 2", "concurrency 4"}, []string{"concurrency 1"}, []string{"concurrency 8"}},
		{"nothing in common", run("1"), run("2"), nil, nil, []string{"concurrency 1"}, []string{"concurrency 2"}},
		{"nothing in common, ignored", run("1"), run("2"), []string{load}, []string{"concurrency 1 → concurrency 2"}, nil, nil},
		{"two levels stay apart", run("1", "2"), run("3", "4"), []string{load}, nil, []string{"concurrency 1", "concurrency 2"}, []string{"concurrency 3", "concurrency 4"}},
		{"the same twice", run("2", "2"), run("2", "2"), nil, []string{"concurrency 2", "concurrency 2"}, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res := Compare(tt.old, tt.new, Options{Ignore: tt.ignore})
			var both []string
			for i := range res.Levels {
				both = append(both, res.Levels[i].Name)
			}
			if d := cmp.Diff([][]string{tt.both, tt.oldOnly, tt.newer}, [][]string{both, res.OldOnly, res.NewOnly}); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// Pairs need the same prompts in the same order, and more than one of them.
func TestPairs(t *testing.T) {
	prompts := func(n, different int, shift uint64) []prompt {
		var p []prompt
		for i := range n {
			p = append(p, prompt{place: i, input: (uint64(i) + shift) % uint64(different), ttft: 1, e2el: 2})
		}
		return p
	}
	missing := prompts(10, 5, 0)
	missing[3].ttft, missing[3].e2el = math.NaN(), math.NaN()
	for _, tt := range []struct {
		name     string
		old, new []prompt
		want     int
	}{
		{"the same", prompts(10, 5, 0), prompts(10, 5, 0), 10},
		{"one run is shorter", prompts(10, 5, 0), prompts(6, 5, 0), 6},
		{"one run is much shorter", prompts(10, 5, 0), prompts(4, 5, 0), 0},
		{"another order", prompts(10, 5, 0), prompts(10, 5, 1), 0},
		{"one prompt", prompts(10, 1, 0), prompts(10, 1, 0), 0},
		{"not recorded", nil, nil, 0},
		{"parts of two runs", prompts(20, 5, 0)[3:13], prompts(20, 5, 0)[5:15], 8},
		{"parts with little in common", prompts(20, 5, 0)[:10], prompts(20, 5, 0)[6:16], 0},
		{"one lacks a prompt", append(prompts(10, 5, 0)[:4:4], prompts(10, 5, 0)[5:]...), prompts(10, 5, 0), 9},
		{"one failed", missing, prompts(10, 5, 0), 9},
	} {
		if p := pairs(tt.old, tt.new); p.n != tt.want || (p.ttft != nil) != (tt.want > 0) || (p.e2el != nil) != (tt.want > 0) {
			t.Errorf("%s: %d pairs, want %d", tt.name, p.n, tt.want)
		}
	}
}

// Runs that hold next to nothing get an answer too.
func TestDegenerate(t *testing.T) {
	for name, c := range map[string]recipe{
		"empty":         {seed: 1},
		"one request":   {seed: 1, requests: 1, tokens: 3, ttft: 30, itl: 20},
		"one token":     {seed: 1, requests: 300, tokens: 1, ttft: 30, itl: 20},
		"all failed":    {seed: 1, requests: 10, tokens: 3, ttft: 30, itl: 20, failing: 1},
		"no experiment": {seed: 1, requests: 1, tokens: 1, ttft: 1, itl: 1, levels: []string{}},
		"all at once": {seed: 1, requests: 10, tokens: 3, ttft: 30, itl: 20, change: func(m *memory) {
			for i := range m.requests[0] {
				m.requests[0][i].Responses = m.requests[0][i].Responses[:1]
				m.requests[0][i].Responses[0].RecvNS = 5
				m.requests[0][i].StartNS = 5
			}
		}},
		"damaged times": {seed: 1, requests: 10, tokens: 3, ttft: 30, itl: 20, change: func(m *memory) {
			m.requests[0][0].Responses[1].RecvNS = math.MaxUint64
			m.requests[0][1].StartNS = 0
		}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, n := range []int{1, 3} {
				var older, newer []*Run
				for i := range n {
					c.seed = uint64(i)
					older, newer = append(older, read(t, "old", c)), append(newer, read(t, "new", c))
				}
				res := Compare(older, newer, Options{})
				e, err := ParseGate("ttft_p50>5% || new.e2el_p99>1h && 1h")
				if err == nil {
					t.Fatalf("%v", e)
				}
				if e, err = ParseGate("new.tpot_p50>1s"); err != nil {
					t.Fatal(err)
				}
				passed := res.Gate([]*gate.Expr{e})
				if name == "one token" && passed {
					t.Error("a gate on what does not exist passed")
				}
				for _, render := range renderers {
					var b bytes.Buffer
					if err := render(res)(&b); err != nil {
						t.Fatal(err)
					}
					if s := b.String(); strings.Contains(s, "NaN") || strings.Contains(s, "Inf") {
						t.Errorf("not a number:\n%s", s)
					}
				}
			}
		})
	}
}

func TestReadEndsEarly(t *testing.T) {
	m := recipe{seed: 1, requests: 5, tokens: 3, ttft: 30, itl: 20}.make()
	m.err = errors.New("cut")
	run, err := Read(t.Context(), "run", m, analyze.Config{})
	if !errors.Is(err, m.err) || len(run.Levels) != 1 || run.Levels[0].OK != 5 {
		t.Errorf("%+v, %v", run, err)
	}
	if run.Levels[0].series[ttft] != nil {
		t.Error("the series are kept although they are not asked for")
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(m.err)
	if _, err := Read(ctx, "run", recipe{seed: 1, requests: 5, tokens: 3, ttft: 30, itl: 20}.make(), analyze.Config{}); !errors.Is(err, m.err) {
		t.Errorf("%v, want the cause of the context", err)
	}
}

// The document of the CSV names its columns, in their order, and every record
// that there is; it says which version it is by how the header begins.
func TestCSVDocument(t *testing.T) {
	doc, err := os.ReadFile("../../../schemas/diff_csv.md")
	if err != nil {
		t.Fatal(err)
	}
	if head := strings.Join(csvHeader[:6], ","); !strings.Contains(string(doc), "`pa-diff-csv/1`: its header begins with `"+head+"`") {
		t.Errorf("the document says of another header than %s", head)
	}
	_, rest, _ := strings.Cut(string(doc), "| column | holds |")
	for _, column := range csvHeader {
		var found bool
		if _, rest, found = strings.Cut(rest, "`"+column+"`"); !found {
			t.Fatalf("column %s is not described, or not in its place", column)
		}
	}
	seen := map[string]bool{}
	for _, res := range scenarios(t) {
		var b bytes.Buffer
		if err := CSV(res)(&b); err != nil {
			t.Fatal(err)
		}
		lines, err := csv.NewReader(&b).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines[1:] {
			seen[line[0]] = true
		}
		for _, row := range res.csvRows() {
			for column := range row {
				if !slices.Contains(csvHeader, column) {
					t.Errorf("%s is no column", column)
				}
			}
		}
	}
	_, records, _ := strings.Cut(string(doc), "| `record` | one line for each |")
	for record := range seen {
		if !strings.Contains(records, "| `"+record+"` |") {
			t.Errorf("record %s is not described", record)
		}
	}
	if len(seen) != strings.Count(records, "\n| `") {
		t.Errorf("the scenarios have the records %v, the document others", seen)
	}
}

// Text of a file is no formula for a spreadsheet, and no escape sequence.
func TestCSVText(t *testing.T) {
	for text, want := range map[string]string{"": "", "tiny": "tiny", "=1+1": "'=1+1", "@x": "'@x", "+5": "'+5", "-v": "'-v", "a=b": "a=b", "\x1b[31m": `\x1b[31m`} {
		if got := csvText(text); got != want {
			t.Errorf("%q is written %q, want %q", text, got, want)
		}
	}
}

// The schema describes each member that is written.
func TestSchemaMembers(t *testing.T) {
	b, err := schemas.FS.ReadFile("diff.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Defs map[string]struct {
			Properties map[string]struct {
				Enum []string `json:"enum"`
			} `json:"properties"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	var keys []string
	for i := range Metrics {
		keys = append(keys, Metrics[i].Key)
	}
	if d := cmp.Diff(keys, doc.Defs["metric"].Properties["metric"].Enum); d != "" {
		t.Errorf("metrics (-code +schema):\n%s", d)
	}
}
