package analyze

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// sec is an instant, in seconds after one that is no round number.
func sec(s float64) uint64 { return 1_700_000_000_123_456_789 + uint64(math.Round(s*1e9)) }

// sent returns a request that was sent at start and answered by a token at each
// of the instants, all in seconds.
func sent(start float64, tokens ...float64) export.Request {
	recv := make([]uint64, len(tokens))
	for i, t := range tokens {
		recv[i] = sec(t)
	}
	return at(sec(start), recv...)
}

// as returns r as pa-record would have marked it; a request that failed ended
// at the time given, in seconds.
func as(r export.Request, s export.Status, p export.Phase, ended float64) export.Request {
	r.HasMeta, r.Status, r.Phase = true, s, p
	if ended != 0 {
		r.FailedNS = sec(ended)
	}
	return r
}

// steps is a level from 0 s to 10 s: a request at each second, of one second,
// with tokens at 0.4, 0.7 and 1 s; then one that failed at 9.5 s, one that was
// late and one that warmed up.
func steps() []export.Request {
	var r []export.Request
	for i := range 10 {
		s := float64(i)
		r = append(r, sent(s, s+0.4, s+0.7, s+1))
	}
	return append(r,
		as(sent(9.2), export.StatusTimeout, export.PhaseMeasured, 9.5),
		as(sent(9.5, 10.2, 10.5), export.StatusOK, export.PhaseCooldown, 0),
		as(sent(-2, -1, 0.5), export.StatusOK, export.PhaseWarmup, 0),
	)
}

func TestParseInterval(t *testing.T) {
	for _, tt := range []struct {
		text string
		want *Interval
		err  string
	}{
		{"30s:90s", &Interval{30 * time.Second, 90 * time.Second}, ""},
		{"1m:", &Interval{From: time.Minute}, ""},
		{":250ms", &Interval{To: 250 * time.Millisecond}, ""},
		{"0s:1s", &Interval{To: time.Second}, ""},
		{"0:1s", &Interval{To: time.Second}, ""},
		{":", nil, `":": give FROM:TO, two durations since the start, such as 30s:90s, 30s: or :90s`},
		{"", nil, `"": give FROM:TO`},
		{"30s", nil, `"30s": give FROM:TO`},
		{"30:90", nil, `"30:90": "30" is not a duration; give FROM:TO`},
		{"1s:2s:3s", nil, `"2s:3s" is not a duration`},
		{"-1s:2s", nil, `"-1s" is not a duration`},
		{"2s:2s", nil, `"2s:2s" holds no time; the end must be after the start`},
		{"2s:1s", nil, `"2s:1s" holds no time`},
		{":0s", nil, `":0s" holds no time`},
	} {
		got, err := ParseInterval(tt.text)
		if diff := cmp.Diff(tt.want, got); diff != "" || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("ParseInterval(%q) = %v, %v, want %v, %s", tt.text, got, err, tt.want, tt.err)
		}
	}
}

func TestParseTrim(t *testing.T) {
	for _, tt := range []struct {
		text, want, err string
	}{
		{"10s", "10s", ""},
		{"1m30s", "90s", ""},
		{"5%", "5%", ""},
		{"0.5%", "0.5%", ""},
		{"0s", "0s", ""},
		{"100%", "", `"100%": give 0% or more and less than 100%`},
		{"-1%", "", "less than 100%"},
		{"NaN%", "", "less than 100%"},
		{"%", "", "less than 100%"},
		{"10", "", `"10": give a duration such as 10s or a share of the level such as 5%`},
		{"-1s", "", "give a duration"},
		{"", "", "give a duration"},
	} {
		got, err := ParseTrim(tt.text)
		if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) || err == nil && got.String() != tt.want {
			t.Errorf("ParseTrim(%q) = %v, %v, want %s, %s", tt.text, got, err, tt.want, tt.err)
		}
	}
}

func TestSelectionValidate(t *testing.T) {
	for _, tt := range []struct {
		name string
		s    Selection
		want string
	}{
		{"all", Selection{}, ""},
		{"both trims", Selection{TrimStart: Trim{Share: 0.5}, TrimEnd: Trim{Length: time.Hour}}, ""},
		{"window and trim", Selection{Window: &Interval{}, TrimEnd: Trim{Share: 0.1}}, "exclude each other"},
		{"steady state and window", Selection{Window: &Interval{}, SteadyState: true}, "exclude each other"},
		{"steady state and trim", Selection{TrimStart: Trim{Length: 1}, SteadyState: true}, "exclude each other"},
		{"backward", Selection{Window: &Interval{2 * time.Second, time.Second}}, "window 2s:1s holds no time"},
		{"before the start", Selection{Window: &Interval{From: -time.Second}}, "window -1s: holds no time"},
		{"a negative trim", Selection{TrimEnd: Trim{Length: -1}}, "cannot trim"},
		{"all of it", Selection{TrimEnd: Trim{Share: 1}}, "cannot trim 100%"},
		{"two kinds of one trim", Selection{TrimEnd: Trim{Length: 1, Share: 0.1}}, "cannot trim"},
		{"shares of all", Selection{TrimStart: Trim{Share: 0.6}, TrimEnd: Trim{Share: 0.4}}, "trimming 60% and 40% leaves nothing"},
	} {
		err := tt.s.Validate()
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// steps in parts. A request belongs where it starts; rates are what ended and
// arrived in the part.
func TestRunSelection(t *testing.T) {
	for _, tt := range []struct {
		name     string
		cfg      Config
		from, to float64 // seconds since the level's start
		ok       int
		failed   int
		requests float64 // per second
		tokens   float64 // per second
		problem  string
	}{
		// 3, 4 and 5 start in it; 2, 3, and 4 end in it, at 3, 4 and 5 s; the
		// tokens at 3, 3.4, …, 5.7 count: 9. The token at 6 does not.
		{"window", Config{Selection: Selection{Window: &Interval{3 * time.Second, 6 * time.Second}}}, 3, 6, 3, 0, 1, 3, ""},
		// Tokens of 8 and 9 and the token at 8; two of the late request come after
		// the end of the level, and the failed one has none. Requests 7, 8 and
		// 9 end in it: the last at its very end.
		{"open window", Config{Selection: Selection{Window: &Interval{From: 8 * time.Second}}}, 8, 10, 2, 1, 1.5, 3.5, ""},
		// The warm-up request arrived at 0.5 s, and at −1 s.
		{"window from the start", Config{Selection: Selection{Window: &Interval{To: time.Second}}}, 0, 1, 1, 0, 1, 3, ""},
		{"trimmed", Config{Selection: Selection{TrimStart: Trim{Share: 0.2}, TrimEnd: Trim{Length: 5 * time.Second}}}, 2, 5, 3, 0, 1, 3, ""},
		// With warm-up the level starts at −2 s: of 12 s a quarter is 3.
		{"trimmed with warm-up", Config{IncludeWarmup: true, Selection: Selection{TrimStart: Trim{Share: 0.25}}}, 3, 12, 9, 1, 10. / 9, 28. / 9, ""},
		{"window with warm-up", Config{IncludeWarmup: true, Selection: Selection{Window: &Interval{To: 3 * time.Second}}}, 0, 3, 2, 0, 1. / 3, 4. / 3, ""},
		{"window behind the end", Config{Selection: Selection{Window: &Interval{90 * time.Second, 120 * time.Second}}}, 0, 0, 0, 0, 0, 0, "window 90s:120s is outside the run (0s to 10s)"},
		{"window that goes beyond", Config{Selection: Selection{Window: &Interval{From: 5 * time.Second, To: 10*time.Second + 1}}}, 0, 0, 0, 0, 0, 0, "window 5s:10.000000001s is outside the run (0s to 10s)"},
		{"open window behind the end", Config{Selection: Selection{Window: &Interval{From: 10 * time.Second}}}, 0, 0, 0, 0, 0, 0, "window 10s: is outside the run (0s to 10s)"},
		{"all trimmed", Config{Selection: Selection{TrimStart: Trim{Length: 6 * time.Second}, TrimEnd: Trim{Share: 0.4}}}, 0, 0, 0, 0, 0, 0, "trimming 6s at the start and 40% at the end leaves nothing of the run (0s to 10s)"},
		{"more than any run", Config{Selection: Selection{TrimStart: Trim{Length: math.MaxInt64}, TrimEnd: Trim{Length: math.MaxInt64}}}, 0, 0, 0, 0, 0, 0, "leaves nothing of the run (0s to 10s)"},
		{"steady state of one user", Config{Selection: Selection{SteadyState: true}}, 0, 10, 10, 1, 1.1, 3.1, ""}, // with the warm-up that ended at 0.5 s
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := &analyzed(t, reader("", steps()), tt.cfg).Experiments[0]
			if tt.problem != "" {
				if e.Problem == nil || !strings.Contains(e.Problem.Error(), tt.problem) || e.OK != 0 {
					t.Errorf("problem %v, %d requests, want %q and none", e.Problem, e.OK, tt.problem)
				}
				return
			}
			if e.Problem != nil || e.Selected == nil {
				t.Fatalf("%v, part %v", e.Problem, e.Selected)
			}
			since := func(ns uint64) float64 { return float64(ns-e.Selected.Level.FromNS) / 1e9 }
			if from, to := since(e.Selected.FromNS), since(e.Selected.ToNS); from != tt.from || to != tt.to || e.DurationNS != int64((tt.to-tt.from)*1e9) {
				t.Errorf("from %v to %v (%d ns), want from %v to %v", from, to, e.DurationNS, tt.from, tt.to)
			}
			if e.OK != tt.ok || e.FailedRequests() != tt.failed {
				t.Errorf("%d ok, %d failed, want %d and %d", e.OK, e.FailedRequests(), tt.ok, tt.failed)
			}
			if r, o := e.Throughput.Requests, e.Throughput.OutputTokens; !r.OK || !o.OK || !close12(r.PerSecond, tt.requests) || !close12(o.PerSecond, tt.tokens) {
				t.Errorf("%v requests/s, %v tokens/s, want %v and %v", r, o, tt.requests, tt.tokens)
			}
			if s := e.Metric(answer.ITL); s.N < 2*tt.ok-1 {
				t.Errorf("%d gaps of %d requests", s.N, tt.ok)
			}
		})
	}
}

// The recorder's windows say where a level starts and ends.
func TestExtent(t *testing.T) {
	for _, tt := range []struct {
		name     string
		bounds   []uint64
		from, to float64
	}{
		{"none", nil, 0, 10},
		{"around the requests", []uint64{sec(-1), sec(5), sec(12)}, -1, 12},
		{"within", []uint64{sec(1), sec(5)}, 0, 10},
		{"perf_analyzer's placeholder", []uint64{0, math.MaxUint64}, 0, 10},
		{"of another clock", []uint64{5, 10}, 0, 10},
		{"not in order", []uint64{sec(-1), sec(-2)}, 0, 10},
		{"one instant", []uint64{sec(-1)}, 0, 10},
	} {
		r := reader("", steps())
		r.Header.Experiments[0].WindowBoundaries = tt.bounds
		e := analyzed(t, r, Config{Selection: Selection{TrimStart: Trim{Share: 0.5}}}).Experiments[0]
		if got, want := e.Selected.Level, (figure.Span{FromNS: sec(tt.from), ToNS: sec(tt.to)}); got != want {
			t.Errorf("%s: level %v, want %v", tt.name, got, want)
		}
	}
}

// Nothing to select from is no problem of the selection.
func TestSelectionOfNothing(t *testing.T) {
	failed := as(sent(1), export.StatusHTTPError, export.PhaseMeasured, 2)
	never := as(at(0), export.StatusConnectError, export.PhaseMeasured, 0)
	for _, tt := range []struct {
		name   string
		r      []export.Request
		failed int
		warn   string
	}{
		{"no request", nil, 0, "no measured request succeeded"},
		{"all failed", []export.Request{failed, failed}, 2, "no measured request succeeded"},
		{"one without any time", []export.Request{failed, never}, 1, "1 request had no recorded time"},
	} {
		e := analyzed(t, reader("", tt.r), Config{Selection: Selection{TrimEnd: Trim{Share: 0.1}}, Windows: Windows{Every: time.Second}}).Experiments[0]
		if e.Problem != nil || e.FailedRequests() != tt.failed || !strings.Contains(warningTexts(e.Warnings), tt.warn) {
			t.Errorf("%s: %v, %d failed, %s, want %d and %q", tt.name, e.Problem, e.FailedRequests(), warningTexts(e.Warnings), tt.failed, tt.warn)
		}
	}
}

// A level of one instant is selected whole.
func TestSelectionOfOneInstant(t *testing.T) {
	for _, s := range []Selection{{Window: &Interval{}}, {TrimStart: Trim{Share: 0.5}}} {
		e := analyzed(t, reader("", []export.Request{sent(0, 0)}), Config{Selection: s, Windows: Windows{Every: time.Second}}).Experiments[0]
		if e.Problem != nil || e.OK != 1 || e.Throughput != (figure.Throughput{}) || len(e.Windows) != 1 || e.Windows[0].OK != 1 {
			t.Errorf("%+v: %+v", s, e)
		}
	}
}

// Config.Series keeps the requests by their starts, as they were measured.
func TestRunSeries(t *testing.T) {
	first := openaiRequest(delta("a"), delta("b"), usage5)
	first.Inputs = export.Fields{{Name: "payload", Value: export.Text("x")}}
	second := openaiRequest(delta("a"), delta("b"), delta("c"))
	second.Inputs = first.Inputs
	third := openaiRequest(delta("a"))
	third.Inputs = export.Fields{{Name: "payloadx", Value: export.Text("")}}
	second.StartNS, third.StartNS = 900, 1001
	r := reader("openai", []export.Request{first, third, second})
	plain := analyzed(t, reader("openai", []export.Request{first, third, second}), Config{}).Experiments[0]
	e := analyzed(t, r, Config{Series: true}).Experiments[0]
	if len(e.Series) != 3 || e.Series[0].StartNS != 900 || e.Series[1].StartNS != 1000 || e.Series[2].StartNS != 1001 {
		t.Fatalf("series %+v", e.Series)
	}
	p := e.Series[0]
	if diff := cmp.Diff([]uint64{1010, 1020, 1030}, p.TokenNS); diff != "" || p.EndNS != 1030 || p.TTFT != export.IntOf(110) || len(p.Gaps) != 2 {
		t.Errorf("first point %+v, tokens (-want +got):\n%s", p, diff)
	}
	if e.Series[0].InputHash != e.Series[1].InputHash || e.Series[2].InputHash == e.Series[0].InputHash {
		t.Error("input hashes do not tell inputs apart")
	}
	// Kept or not, the figures are the same.
	e.Series, e.Steps = nil, nil
	if diff := cmp.Diff(plain, e, cmp.AllowUnexported(answer.Definition{}), cmp.Comparer(func(a, b *answer.Definition) bool { return a == b }), cmp.Comparer(func(a, b error) bool { return (a == nil) == (b == nil) && (a == nil || a.Error() == b.Error()) })); diff != "" {
		t.Errorf("kept (-plain +kept):\n%s", diff)
	}
}

// A window behind a level of one instant is outside it.
func TestWindowBehindOneInstant(t *testing.T) {
	e := analyzed(t, reader("", []export.Request{sent(0, 0)}), Config{Selection: Selection{Window: &Interval{From: 5 * time.Second}}}).Experiments[0]
	if e.Problem == nil || e.Problem.Error() != "window 5s: is outside the run (0s to 0s)" {
		t.Errorf("problem %v", e.Problem)
	}
}

// The text of a selection.
func TestSelectionString(t *testing.T) {
	for _, tt := range []struct {
		s    Selection
		want string
	}{
		{Selection{}, ""},
		{Selection{SteadyState: true}, "steady state"},
		{Selection{Window: &Interval{From: 90 * time.Second, To: 2 * time.Minute}}, "window 90s:120s"},
		{Selection{Window: &Interval{From: 1500 * time.Millisecond}}, "window 1.5s:"},
		{Selection{TrimStart: Trim{Length: 10 * time.Second}}, "trimmed by 10s at the start"},
		{Selection{TrimEnd: Trim{Share: 0.05}}, "trimmed by 5% at the end"},
		{Selection{TrimStart: Trim{Share: 0.1}, TrimEnd: Trim{Length: time.Second}}, "trimmed by 10% at the start and 1s at the end"},
	} {
		if got := tt.s.String(); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}
