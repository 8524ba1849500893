package analyze

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pa-tools/pa/pkg/analyze/expr"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

func objective(t *testing.T, text string) *expr.Objective {
	t.Helper()
	e, err := expr.ParseObjective(text)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Four requests within 10 s: one quick, one with a slow first token, one with a
// slow gap, one of a single token; then one that failed, one late, one warm-up
// and one cancelled.
func mixedRun() []export.Request {
	return []export.Request{
		sent(0, 0.1, 0.2, 0.3),
		sent(1, 2, 2.1, 2.2, 2.3),
		sent(3, 3.1, 3.2, 4.2),
		sent(9.9, 10),
		as(sent(5), export.StatusTimeout, export.PhaseMeasured, 6),
		as(sent(9, 11), export.StatusOK, export.PhaseCooldown, 0),
		as(sent(-2, -1), export.StatusOK, export.PhaseWarmup, 0),
		as(sent(9, 9.1), export.StatusCancelled, export.PhaseMeasured, 0),
	}
}

func TestAttainment(t *testing.T) {
	type alone struct {
		Met, Missed, Failed, Unknown int
	}
	for _, tt := range []struct {
		name       string
		slo        string
		cfg        Config
		want       alone
		share      figure.Share
		conditions []alone
		requests   float64 // goodput; −1 for n/a
		tokens     float64
	}{
		{"one condition", "ttft<=200ms", Config{}, alone{3, 1, 1, 0}, figure.Share{V: 3. / 5, OK: true}, nil, 0.3, 0.7},
		{"the issue's form", "ttft<=200ms && itl_p99<=500ms && e2el<5s", Config{}, alone{1, 2, 1, 1}, figure.Share{V: 1. / 4, OK: true}, []alone{{3, 1, 1, 0}, {2, 1, 1, 1}, {4, 0, 1, 0}}, 0.1, 0.3},
		{"a percentile of the request's gaps", "itl_p50<=150ms", Config{}, alone{2, 1, 1, 1}, figure.Share{V: 2. / 4, OK: true}, nil, 0.2, 0.7},
		{"by the number of tokens", "output_tokens>=3", Config{}, alone{3, 1, 1, 0}, figure.Share{V: 3. / 5, OK: true}, nil, 0.3, 1},
		// 10, 4/1.3, 2.5 and 10 tokens per second.
		{"by the pace", "output_tokens_per_s>3", Config{}, alone{3, 1, 1, 0}, figure.Share{V: 3. / 5, OK: true}, nil, 0.3, 0.8},
		{"warm-up if asked for", "ttft<=200ms", Config{IncludeWarmup: true}, alone{3, 2, 1, 0}, figure.Share{V: 3. / 6, OK: true}, nil, 3. / 12, 7. / 12},
		{"a metric that no request has", "cached_tokens>5", Config{}, alone{0, 0, 1, 4}, figure.Share{NA: "no request has cached_tokens"}, nil, -1, -1},
		{"decided by the other condition", "cached_tokens>5 || ttft<=200ms", Config{}, alone{3, 0, 1, 1}, figure.Share{V: 3. / 4, OK: true}, nil, 0.3, 0.7},
		{"in a part", "ttft<=200ms", Config{Selection: Selection{Window: &Interval{0, 5 * time.Second}}}, alone{2, 1, 0, 0}, figure.Share{V: 2. / 3, OK: true}, nil, 0.4, 1.2},
		{"tokens not told", "ttft<=200ms", Config{TokenSource: answer.TokenUsage}, alone{3, 1, 1, 0}, figure.Share{V: 3. / 5, OK: true}, nil, 0.3, -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.SLO = objective(t, tt.slo)
			x := analyzed(t, reader("", mixedRun()), tt.cfg).Experiments[0].SLO
			got := alone{x.Met, x.Missed, x.Failed, x.Unknown}
			if got != tt.want || x.Share != tt.share {
				t.Errorf("%+v, %+v, want %+v, %+v", got, x.Share, tt.want, tt.share)
			}
			var conditions []alone
			for _, c := range x.Conditions {
				conditions = append(conditions, alone{c.Met, c.Missed, c.Failed, c.Unknown})
			}
			if diff := cmp.Diff(tt.conditions, conditions); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
			for _, r := range []struct {
				name string
				got  figure.Rate
				want float64
			}{{"requests", x.Requests, tt.requests}, {"tokens", x.OutputTokens, tt.tokens}} {
				if r.got.OK != (r.want >= 0) || r.got.OK && !close12(r.got.PerSecond, r.want) {
					t.Errorf("goodput in %s %v, want %v", r.name, r.got, r.want)
				}
			}
		})
	}
}

// Requests that lack a deciding value are named in a warning.
func TestAttainmentWarnings(t *testing.T) {
	cfg := Config{SLO: objective(t, "itl_max<=1s && cached_tokens<5")}
	e := analyzed(t, reader("", mixedRun()), cfg).Experiments[0]
	if want := "4 of 5 requests had no cached_tokens: whether they meet the SLO is unknown, so the share leaves them out"; !strings.Contains(warningTexts(e.Warnings), want) {
		t.Errorf("%s\nwithout %q", warningTexts(e.Warnings), want)
	}
	if diff := cmp.Diff([]figure.Count{{Name: "cached_tokens", N: 4}, {Name: "itl_max", N: 1}}, e.SLO.Lacking); diff != "" {
		t.Errorf("lacking (-want +got):\n%s", diff)
	}
}

// Without requests there is no share; when all failed it is 0.
func TestAttainmentOfNothing(t *testing.T) {
	failed := as(sent(5), export.StatusTimeout, export.PhaseMeasured, 6)
	for _, tt := range []struct {
		name string
		r    []export.Request
		want figure.Share
	}{
		{"no request", nil, figure.Share{NA: "no request counts"}},
		{"all failed", []export.Request{failed, failed}, figure.Share{V: 0, OK: true}},
		{"one", []export.Request{sent(0, 1)}, figure.Share{V: 1, OK: true}},
	} {
		x := analyzed(t, reader("", tt.r), Config{Streaming: &streamed, SLO: objective(t, "ttft<=1s && e2el<2s")}).Experiments[0].SLO
		if x.Share != tt.want || len(tt.r) != 1 && x.Requests.OK {
			t.Errorf("%s: %+v, %+v, want %+v", tt.name, x.Share, x.Requests, tt.want)
		}
	}
}

func TestMaxLoad(t *testing.T) {
	// Levels as load, and how many of 1000 requests meet the objective; −1 is a
	// level without requests.
	type l struct {
		load string
		met  int
	}
	for _, tt := range []struct {
		name           string
		levels         []l
		target         float64 // 0: the usual one
		within, beyond float64 // 0: none
		low, high      float64 // bounds of the estimate; 0: none
		again          bool
		untold         int
		none           bool
		next           []float64
		requests       bool // for the loads in next
	}{
		{name: "between", levels: []l{{"1", 1000}, {"2", 1000}, {"4", 970}, {"8", 550}}, target: 0.9, within: 4, beyond: 8, low: 4.5, high: 6, next: []float64{5, 6, 7}},
		{name: "the usual target", levels: []l{{"1", 1000}, {"2", 900}}, within: 1, beyond: 2, low: 1, high: 1.7},
		{name: "in any order", levels: []l{{"8", 550}, {"1", 1000}, {"4", 970}}, target: 0.9, within: 4, beyond: 8, low: 4.5, high: 6, next: []float64{5, 6, 7}},
		{name: "not surely attained", levels: []l{{"1", 1000}, {"2", 993}, {"4", 500}}, within: 1, beyond: 4, low: 2, high: 2.3, next: []float64{2}, requests: true},
		{name: "not surely missed", levels: []l{{"1", 1000}, {"2", 985}}, within: 1, low: 1, high: 2, next: []float64{2}, requests: true},
		{name: "far too few requests at the target", levels: []l{{"1", 1000}, {"2", 990}, {"8", 500}}, within: 1, beyond: 8, low: 2, high: 2.1, next: []float64{3, 4}},
		{name: "all attain", levels: []l{{"1", 1000}, {"2", 1000}}, within: 2, next: []float64{4, 8}},
		{name: "none attains", levels: []l{{"8", 900}, {"16", 500}}, beyond: 8, next: []float64{2, 4}},
		{name: "not even one at a time", levels: []l{{"1", 900}, {"2", 500}}, beyond: 1},
		{name: "one attains again", levels: []l{{"1", 1000}, {"2", 900}, {"4", 1000}, {"8", 100}}, target: 0.95, within: 1, beyond: 2, low: 1, high: 2, again: true},
		{name: "one load twice", levels: []l{{"1", 1000}, {"2", 800}, {"2.0", 820}}, target: 0.95, within: 1, beyond: 2, low: 1, high: 2},
		{name: "one load twice, and they differ", levels: []l{{"1", 1000}, {"2", 800}, {"2.0", 1000}}, target: 0.95, within: 1, low: 1, high: 2, next: []float64{2}, requests: true},
		{name: "one level unknown", levels: []l{{"1", 1000}, {"2", -1}, {"3", 0}}, target: 0.5, within: 1, beyond: 3, low: 1.5, high: 2, untold: 1, next: []float64{2}},
		{name: "one level is no sweep", levels: []l{{"1", 1000}}, none: true},
		{name: "nor is one known", levels: []l{{"1", 1000}, {"2", -1}}, none: true},
		{name: "no number", levels: []l{{"1", 1000}, {"x", 1000}}, none: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var all [][]export.Request
			for _, l := range tt.levels {
				var r []export.Request
				random := rand.New(rand.NewPCG(1, uint64(len(all))))
				for _, i := range random.Perm(1000) {
					if l.met < 0 {
						break
					}
					ttft := 1.5 + 0.1*random.Float64()
					if i < l.met {
						ttft = 0.5 + 0.1*random.Float64()
					}
					start := float64(len(r))
					r = append(r, sent(start, start+ttft))
				}
				all = append(all, r)
			}
			f := reader("", all...)
			for i, l := range tt.levels {
				f.Header.Experiments[i].Value = l.load
			}
			m := analyzed(t, f, Config{Streaming: &streamed, SLO: objective(t, "ttft<=1s"), SLOTarget: tt.target}).MaxLoad()
			if m == nil || tt.none {
				if m != nil || !tt.none {
					t.Errorf("%+v", m)
				}
				return
			}
			within, beyond := 0.0, 0.0
			if m.Within != nil {
				within = m.Within.Load
			}
			if m.Beyond != nil {
				beyond = m.Beyond.Load
			}
			if within != tt.within || beyond != tt.beyond || math.IsNaN(m.Estimate) != (tt.high == 0) ||
				m.Estimate < tt.low || tt.high > 0 && m.Estimate > tt.high || m.Again != tt.again || len(m.Unknown) != tt.untold ||
				!slices.Equal(m.Next, tt.next) || (m.NextRequests > 0) != tt.requests {
				t.Errorf("within %v, beyond %v, %+v, want %+v", within, beyond, m, tt)
			}
		})
	}
	if m := analyzed(t, reader("", steps(), steps()), Config{}).MaxLoad(); m != nil {
		t.Errorf("without an objective: %+v", m)
	}
	mixed := reader("", steps(), steps())
	mixed.Header.Experiments[1].Mode = export.ModeRequestRate
	if m := analyzed(t, mixed, Config{Streaming: &streamed, SLO: objective(t, "ttft<=1s")}).MaxLoad(); m != nil {
		t.Errorf("of two modes: %+v", m)
	}
}

// Levels of one number that are loads of two kinds are not one level, nor points of
// one curve.
func TestMaxLoadKinds(t *testing.T) {
	met := func(n int) []export.Request {
		var all []export.Request
		for i := range 100 {
			ttft := 2.0
			if i*37%100 < n { // in turn, so that neighbours do not depend on each other
				ttft = 1
			}
			all = append(all, sent(float64(i), float64(i)+ttft))
		}
		return all
	}
	for _, tt := range []struct {
		name  string
		loads [3]string
		want  bool
	}{
		{"of nothing more", [3]string{}, true},
		{"of one kind", [3]string{"request rate 1, poisson", "request rate 2.5, poisson", "request rate 2.5, poisson"}, true},
		{"of two kinds, as much of either", [3]string{"request rate 1, poisson", "request rate 2.5, poisson", "request rate 2.5, gamma 0.25"}, false},
		{"bounds that differ", [3]string{"request rate 1, at most 4 in flight", "request rate 2.5, at most 4 in flight", "request rate 2.5, at most 8 in flight"}, false},
		{"some plain", [3]string{"", "", "request rate 2.5, poisson"}, false},
	} {
		f := reader("", met(100), met(60), met(40))
		for i, value := range []string{"1", "2.5", "2.5"} {
			e := &f.Header.Experiments[i]
			e.Mode, e.Value, e.Meta = export.ModeRequestRate, value, &export.ExperimentMeta{Load: tt.loads[i]}
		}
		m := analyzed(t, f, Config{Streaming: &streamed, SLO: objective(t, "ttft<=1s"), SLOTarget: 0.75}).MaxLoad()
		switch {
		case m == nil != !tt.want:
			t.Errorf("levels %s: %+v, want some %v", tt.name, m, tt.want)
		case m != nil && (m.Beyond == nil || m.Beyond.Share != 0.5): // (60 + 40) of 200
			t.Errorf("levels %s: beyond %+v, want a share of 0.5", tt.name, m.Beyond)
		}
	}
}

// The estimate has an interval where the requests carry one; what counts for it
// is what the shares count.
func TestMaxLoadInterval(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	level := func(n int, missed float64) []export.Request {
		var r []export.Request
		for i := range n {
			start, ttft := float64(i), 0.2
			switch u := random.Float64(); {
			case u < missed/2:
				r = append(r, as(sent(start), export.StatusTimeout, export.PhaseMeasured, start+1))
				continue
			case u < missed:
				ttft = 0.3
			}
			r = append(r, sent(start, start+ttft))
		}
		return r
	}
	cfg := Config{Streaming: &streamed, SLO: objective(t, "ttft<=250ms"), SLOTarget: 0.9}
	rep := analyzed(t, reader("", level(4000, 0.02), level(4000, 0.06), level(4000, 0.2)), cfg)
	m := rep.MaxLoad()
	if m.NA != "" || m.Within.Load != 2 || m.Beyond.Load != 3 {
		t.Fatalf("%+v", m)
	}
	// By the normal quantile over the logarithm of the load 2.29; the straight line crosses 90 %
	// at 2.29 as well, the logarithm of misses at 2.42. The standard errors of the shares add
	// 0.05 on either side.
	if i := m.Interval; math.Abs(m.Estimate-2.36) > 0.07 || math.Abs(i.Low-2.24) > 0.07 || math.Abs(i.High-2.48) > 0.07 {
		t.Errorf("interval %v of %v", i, m.Estimate)
	}
	for i := range rep.Experiments {
		x := rep.Experiments[i].SLO
		met := 0
		for _, margin := range x.Margins {
			if margin >= 0 {
				met++
			}
		}
		if met != x.Met || len(x.Margins) != x.Met+x.Missed+x.Failed || x.Failed == 0 {
			t.Errorf("%d of %d, counted %d, %d missed and %d failed", met, len(x.Margins), x.Met, x.Missed, x.Failed)
		}
	}
	// The order of time is the order of the starts, whatever the order of the file.
	late := []export.Request{sent(3, 3.2), sent(1, 1.3), as(sent(2), export.StatusTimeout, export.PhaseMeasured, 3), sent(0, 0.2)}
	log := func(v float64) float32 { return float32(math.Log(v)) }
	want := []float32{log(0.25 / 0.2), log(0.25 / 0.3), float32(math.Inf(-1)), log(0.25 / 0.2)}
	if d := cmp.Diff(want, analyzed(t, reader("", late), cfg).Experiments[0].SLO.Margins, cmpopts.EquateApprox(0, 1e-6)); d != "" {
		t.Errorf("margins in the order of time (-want +got):\n%s", d)
	}
	few := analyzed(t, reader("", level(10, 0), level(4000, 0.2)), cfg).MaxLoad()
	if few.NA != "no level surely attains the target" || !math.IsInf(few.Interval.Low, -1) || math.IsInf(few.Interval.High, 1) || math.IsNaN(few.Estimate) {
		t.Errorf("%+v", few)
	}
	few = analyzed(t, reader("", level(4000, 0.05), level(5, 0.5)), cfg).MaxLoad()
	if few.NA != "no level surely misses the target" || few.Within.Load != 1 {
		t.Errorf("%+v", few)
	}
}
