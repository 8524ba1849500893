package diff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/inference"
	"github.com/pa-tools/pa/pkg/export"
)

// Each difference is seen; a difference that changes what the numbers mean refuses.
func TestDifferences(t *testing.T) {
	testenv.NoRace(t)
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
	inWords := func(load string) func(*memory) {
		return func(m *memory) { m.run.Experiments[0].Meta.Load = load }
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
	with := func(changes ...func(*memory)) func(*memory) {
		return func(m *memory) {
			for _, change := range changes {
				change(m)
			}
		}
	}
	prompted := func(prompts, dataset string, parameters map[string]string) func(*memory) {
		return func(m *memory) {
			m.run.Meta.PromptsSHA256, m.run.Meta.DatasetSHA256, m.run.Meta.Parameters = prompts, dataset, parameters
		}
	}
	older, newer := read(t, "old", base), read(t, "new", base) // Compare does not change them
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
		{"the same prompts with another temperature", prompted("p", "all", map[string]string{"temperature": "0.2", "n": "1"}), prompted("p", "other", map[string]string{"temperature": "0.7", "n": "1"}), []string{"parameters"}},
		{"a parameter more", prompted("p", "all", nil), prompted("p", "other", map[string]string{"seed": "4"}), []string{"parameters"}},
		{"a parameter that a setting made", with(prompted("p", "all", map[string]string{"n": "1"}), settings(`{"extra_body":{"n":1}}`)), with(prompted("p", "other", map[string]string{"n": "2"}), settings(`{"extra_body":{"n":2}}`)), []string{"parameters"}},
		{"a setting of unknown parameters", settings(`{"extra_body":{"n":1}}`), settings(`{"extra_body":{"n":2}}`), []string{"settings"}},
		{"other prompts", prompted("p", "all", nil), prompted("q", "all", nil), []string{"!dataset"}},
		{"the prompts of an older file are not known", prompted("p", "all", map[string]string{"n": "1"}), prompted("", "all", nil), nil},
		{"load written otherwise", nil, func(m *memory) { m.run.Experiments[0].Value = "4.0" }, nil},
		{"load in other words", inWords("request rate 4, poisson"), inWords("request rate 4, constant"), []string{"!load"}},
		{"load in words on one side", nil, inWords("concurrency 4, ramp of 5s"), []string{"!load"}},
		{"load in the same words", inWords("request rate 4, poisson"), inWords("request rate 4, poisson"), nil},
		{"streaming", nil, func(m *memory) { m.run.Meta.Streaming = new(false) }, []string{"!streaming"}}, // the answers show that they were streamed
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
			side := func(unchanged *Run, change func(*memory)) []*Run {
				if change == nil {
					return []*Run{unchanged}
				}
				c := base
				c.change = change
				return []*Run{read(t, unchanged.Name, c)}
			}
			res := Compare(side(older, tt.old), side(newer, tt.new), Options{})
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
			if len(tt.want) == 0 {
				return
			}
			for format, render := range writers(res) {
				var b bytes.Buffer
				if err := render(&b); err != nil {
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

// Answers of other lengths are refused, and the parameter that may be the cause is named.
func TestParametersOfRefusedLengths(t *testing.T) {
	run := func(name string, tokens, limit int) *Run {
		return read(t, name, recipe{seed: 1, requests: 30, tokens: tokens, ttft: 30, itl: 20, change: func(m *memory) {
			m.run.Meta.PromptsSHA256, m.run.Meta.Parameters = "p", map[string]string{"max_tokens": strconv.Itoa(limit), "n": "1"}
		}})
	}
	for _, tt := range []struct {
		limit int
		want  string
	}{
		{8, "use --ignore output-tokens"},
		{64, "(perhaps because of the parameters: old max_tokens 8, new max_tokens 64); use --ignore output-tokens"},
	} {
		err := Compare([]*Run{run("old", 8, 8)}, []*Run{run("new", 64, tt.limit)}, Options{}).Incomparable()
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "perhaps") != strings.Contains(tt.want, "perhaps") {
			t.Errorf("max_tokens %d: %v, want %q in it", tt.limit, err, tt.want)
		}
	}
}

// Settings are named with their values, and only settings that differ.
func TestSettings(t *testing.T) {
	run := func(seed uint64, config string) *Run {
		return read(t, "run", recipe{seed: seed, requests: 5, tokens: 2, ttft: 30, itl: 20, change: func(m *memory) { m.run.Meta.Config = json.RawMessage(config) }})
	}
	older := []*Run{run(1, `{"transport": "loop", "same": {"a": [1, 2]}, "url": "x"}`), run(2, `{"transport":"auto","same":{"a":[1,2]},"url":"y"}`)}
	newer := []*Run{run(3, `{"transport":"loop","same":{"a":[1,2]},"http2":true}`)}
	res := Compare(older, newer, Options{})
	want := []*Difference{{Cause: Cause{Name: "settings"}, Old: `http2 not set; transport "loop", "auto"`, New: `http2 true; transport "loop"`}}
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
		for name, render := range writers(res) {
			var b bytes.Buffer
			if err := render(&b); err != nil {
				t.Fatal(err)
			}
			for _, unchecked := range tt.want {
				if name != "short.txt" && name != "xml" && !strings.Contains(b.String(), unchecked) {
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
	if r := rowOf(t, one, "itl_p50"); r.NA.Reason != "the order of time is not known: results do not say" || math.Abs(r.Change-0.1) > 0.02 || r.Verdict != inference.NotAvailable {
		t.Errorf("one run a side: %+v", r)
	}
	if one.Pairs != 0 {
		t.Errorf("%d pairs", one.Pairs)
	}
	several := Compare(older, newer, Options{}).Levels[0]
	if r := rowOf(t, several, "tpot_p50"); r.NA.Missing() || r.Verdict != inference.Worse {
		t.Errorf("several: %+v", r)
	}
	for i := range several.Rows {
		if k := several.Rows[i].Metric.Key; k == "requests_per_s" || k == "output_tokens_per_s" {
			t.Errorf("%s of requests at unknown times is %v", k, several.Rows[i].New.Value)
		}
	}
}

// Rates of runs of different lengths are compared only if their starts and ends matter little.
func TestRatesMove(t *testing.T) {
	level := func(ok, failed int, e2elMS, seconds float64) *RunLevel {
		l := &RunLevel{OK: ok, Failed: failed, DurationNS: int64(seconds * 1e9)}
		for i := range Metrics {
			l.values[i] = math.NaN()
			if Metrics[i].Key == e2elMean {
				l.values[i] = e2elMS * 1e6
			}
		}
		return l
	}
	selected := level(150, 0, 125, 2.4)
	selected.Selected = &analyze.Selected{}
	for _, tt := range []struct {
		name       string
		older, new *RunLevel
		want       bool
	}{
		{"as many requests", level(60, 0, 125, 1), level(60, 0, 250, 1.9), false},
		{"a tenth more", level(60, 0, 125, 1), level(66, 0, 125, 1.1), false},
		{"two and a half times as many, in few rounds", level(60, 0, 125, 1), level(150, 0, 125, 2.4), true},
		{"twice as many, in many rounds", level(1000, 0, 125, 20), level(2000, 0, 125, 40), false},
		{"as many, but half failed", level(60, 0, 125, 1), level(30, 30, 125, 0.5), false},
		{"a selected part", level(60, 0, 125, 1), selected, false},
		{"no successful request", level(60, 0, 125, 1), level(0, 15, math.NaN(), 0), false},
		{"no requests at all", level(0, 0, math.NaN(), 0), level(0, 0, math.NaN(), 0), false},
	} {
		if got := RatesMove([]*RunLevel{tt.older}, []*RunLevel{tt.new}); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// A side with runs of two labels is refused; swapped labels are a warning.
func TestLabels(t *testing.T) {
	run := func(seed uint64, label string) *Run {
		return read(t, label, recipe{seed: seed, requests: 20, tokens: 6, ttft: 30, itl: 20, change: func(m *memory) {
			m.run.Meta.Repeat = &export.RepeatMeta{Label: label, Group: "g"}
		}})
	}
	res := Compare([]*Run{run(1, "a"), run(2, "b")}, []*Run{run(3, "b"), run(4, "b")}, Options{})
	if d := cmp.Diff([]*Difference{{Cause: Cause{Name: "label", Refuses: true}, Old: "a, b", New: "b"}}, res.Refused()); d != "" {
		t.Errorf("two labels on a side (-want +got):\n%s", d)
	}
	if got, want := res.Headline(), "not comparable: one side has runs of several servers; see their labels"; got != want {
		t.Errorf("headline %q, want %q", got, want)
	}
	for _, tt := range []struct {
		old, new, warning string
	}{
		{"old", "new", ""},
		{"a", "b", ""},
		{"", "", ""},
		{"new", "old", "the runs of the old side have the label new; are the sides swapped?"},
		{"a", "old", "the runs of the new side have the label old; are the sides swapped?"},
	} {
		res := Compare([]*Run{run(1, tt.old)}, []*Run{run(2, tt.new)}, Options{})
		if got := strings.Join(res.Warnings, "; "); got != tt.warning || len(res.Refused()) > 0 {
			t.Errorf("%s and %s: warnings %q, want %q; refused %v", tt.old, tt.new, got, tt.warning, res.Refused())
		}
	}
}

// A side may hold runs of several seeds if the other side holds the same seeds as often.
func TestDatasetsOfSeveralRuns(t *testing.T) {
	levels := func(hashes string) []*RunLevel {
		var levels []*RunLevel
		for _, h := range hashes {
			levels = append(levels, &RunLevel{promptHash: strings.Repeat(string(h), 64)})
		}
		return levels
	}
	for _, tt := range []struct {
		older, newer string
		differ       bool
	}{
		{"a", "a", false},
		{"a", "b", true},
		{"abc", "cab", false},
		{"ab", "aabb", false},
		{"ab", "aab", true},
		{"abc", "abd", true},
		{"a", "ab", true},
		{"ab", "a", true},
	} {
		_, _, differ := betweenDatasets(levels(tt.older), levels(tt.newer))
		if differ != tt.differ {
			t.Errorf("%s and %s: differ %t", tt.older, tt.newer, differ)
		}
	}
}
