package trend

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/internal/test/testenv"
)

// The first line names what changed, whatever kind of change it is.
func TestHeadline(t *testing.T) {
	steady := []float64{30.2, 29.9, 30.4, 30.1, 29.8, 30.3, 30, 29.7, 30.1, 30}
	with := func(change func(x []float64)) []float64 {
		x := append([]float64(nil), steady...)
		change(x)
		return x
	}
	from := func(first int, change func(s *memrun.Spec)) func(int, *memrun.Spec) {
		return func(i int, s *memrun.Spec) {
			if i >= first {
				change(s)
			}
		}
	}
	for _, tt := range []struct {
		name       string
		ttft       []float64
		change     func(int, *memrun.Spec)
		begin, has string
	}{
		{"steady", steady, nil, "no step in any primary metric over 10 points", ""},
		{"equal", with(func(x []float64) {
			for i := range x {
				x[i] = 30
			}
		}), exact, "no step: all points are equal in TTFT p50, TPOT p50, E2EL p50, output tokens/s", ""},
		{"a step between constants", with(func(x []float64) {
			for i := range x {
				x[i] = 30 + 15*float64(i/5)
			}
		}), exact, "changed from night 6 on: TTFT p50 +50 %, ", ""},
		{"one point", with(func(x []float64) { x[5] = 90 }), nil, "no step in any primary metric over 10 points; night 6 is unlike the other points: TTFT p50 +199 %, ", ""},
		{"the last one", with(func(x []float64) { x[9] = 45 }), nil, "no step in any primary metric over 10 points; night 10 is unlike the other points: TTFT p50 +50 %, ", ""},
		{"the last two", with(func(x []float64) { x[8], x[9] = 45, 45.3 }), nil, "no step in any primary metric over 10 points; the last 2 points are unlike the others: TTFT p50 +50 %, ", ""},
		{"a drift", with(func(x []float64) {
			for i := range x {
				x[i] *= math.Pow(1.05, float64(i))
			}
		}), nil, "", "drift"},
		{"failures", steady, from(6, func(s *memrun.Spec) { s.Failed = 5 }), "failed 50 % of the requests from night 7 on, 0 % before; no step in any other primary metric over 10 points", ""},
		{"failures on one night", steady, func(i int, s *memrun.Spec) {
			if i == 4 {
				s.Failed = 5
			}
		}, "failed 50 % of the requests in night 5, 0 % in the others; ", ""},
		{"failures that ended", steady, func(i int, s *memrun.Spec) {
			if i < 4 {
				s.Failed = 5
			}
		}, "failed 50 % of the requests up to night 4, 0 % after; ", ""},
		{"survivors", with(func(x []float64) {
			for i := 6; i < len(x); i++ {
				x[i] /= 2
			}
		}), from(6, func(s *memrun.Spec) { s.Failed = 5 }), "failed 50 % of the requests from night 7 on, 0 % before; of the requests that succeeded, changed from night 7 on: TTFT p50 -50 %", ""},
		{"few failures", steady, from(9, func(s *memrun.Spec) { s.Failed = 1 }), "no step in any primary metric over 10 points", ""},
	} {
		got := Analyze(nights(t, 1, tt.ttft, tt.change), Options{}).Headline()
		if !strings.HasPrefix(got, tt.begin) || !strings.Contains(got, tt.has) || tt.name == "steady" && got != tt.begin {
			t.Errorf("%s: %s\nwant %s … %s", tt.name, got, tt.begin, tt.has)
		}
	}
}

// Each finding of the first line is also a finding for programs, with its points and its size.
func TestFindings(t *testing.T) {
	for _, tt := range []struct {
		name     string
		ttft     []float64
		change   func(int, *memrun.Spec)
		kind     Kind
		from, to int
		value    float64 // about
		reason   string
	}{
		{"steady", []float64{30.2, 29.9, 30.4, 30.1, 29.8, 30.3}, nil, "", 0, 0, 0, ""},
		{"failures", []float64{30.2, 29.9, 30.4, 30.1, 29.8, 30.3}, func(i int, s *memrun.Spec) {
			if i > 3 {
				s.Failed = 5
			}
		}, KindFailsMore, 4, 6, 0.5, ""},
		{"one point", []float64{30.2, 29.9, 30.4, 30.1, 29.8, 90, 30.3}, nil, KindUnlike, 5, 6, 1.99, ""},
		{"a drift", []float64{30, 33, 36.3, 39.9, 43.9, 48.3}, nil, KindDrift, 0, 6, 0.61, ""},
		{"few points", []float64{30, 33, 36.3}, nil, KindNotSearched, 0, 3, math.NaN(), "a search for steps needs at least 6 points"},
	} {
		res := Analyze(nights(t, 1, tt.ttft, tt.change), Options{})
		var got *Finding
		for i := range res.Findings {
			f := &res.Findings[i]
			if f.Metric != nil && f.Metric.Key != "ttft_p50" {
				continue
			}
			if got != nil || f.Kind != tt.kind {
				t.Errorf("%s: another finding %+v", tt.name, f)
			}
			got = f
		}
		switch {
		case tt.kind == "":
		case got == nil:
			t.Errorf("%s: no finding", tt.name)
		case got.From != tt.from || got.To != tt.to || got.Reason != tt.reason || math.IsNaN(got.Value) != math.IsNaN(tt.value) || math.Abs(got.Value-tt.value) > 0.02:
			t.Errorf("%s: %+v", tt.name, got)
		}
	}
	refused := Analyze(nights(t, 1, []float64{30, 31}, func(i int, s *memrun.Spec) { s.Model = []string{"a", "b"}[i] }), Options{})
	if refused.Findings != nil {
		t.Errorf("findings of runs that are not comparable: %+v", refused.Findings)
	}
}

// A night in which nothing was measured does not hide the steps of the others.
func TestPointWithoutValue(t *testing.T) {
	x := []float64{30.2, 29.9, math.NaN(), 30.1, 29.8, 33.1, 33.3, 32.9, 33.2}
	steps := stepsOf(x, 1)
	if len(steps) != 1 || steps[0].At != 5 {
		t.Errorf("%+v, want a step at 5", steps)
	}
	if off := offPoints(x, steps, 1); off != nil {
		t.Errorf("off: %+v", off)
	}
}

// Of steady histories, at most one in fifty has a point that is off, and one in a hundred a drift; the bounds
// are three standard errors more.
func TestBesideBySimulation(t *testing.T) {
	histories := 40_000 / testenv.Stride(40)
	random := rand.New(rand.NewPCG(3, 4))
	for _, points := range []int{6, 10, 30} {
		off, drifts := 0, 0
		for range histories {
			x := make([]float64, points)
			for i := range x {
				x[i] = math.Exp(0.1 * random.NormFloat64())
			}
			if offPoints(x, nil, 1) != nil {
				off++
			}
			if !math.IsNaN(lineChange(x, nil, 1)) {
				drifts++
			}
		}
		n := float64(histories)
		for kind, found := range map[string][2]float64{"off": {float64(off) / n, 2 * besideAlpha}, "drift": {float64(drifts) / n, besideAlpha}} {
			if most := found[1] + 3*math.Sqrt(found[1]/n); found[0] > most {
				t.Errorf("%d points: %s in %.2f %% of the steady histories", points, kind, 100*found[0])
			}
		}
	}
}
