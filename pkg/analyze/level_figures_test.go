package analyze

import (
	"slices"
	"testing"

	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/pkg/analyze/summary"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// Certified percentiles are one of the values, and absent unless asked for.
func TestCertified(t *testing.T) {
	var all []export.Request
	for i := range uint64(100) {
		all = append(all, memrun.At(1000, 1000+(i*37)%100+1, 1200)) // TTFT 1 to 100, not in order
	}
	for _, asked := range []bool{false, true} {
		rep, err := Run(t.Context(), memrun.New("", all), Config{Certified: asked})
		if err != nil {
			t.Fatal(err)
		}
		s := rep.Experiments[0].Metric(answer.TTFT)
		if !asked {
			if s.Certified != nil {
				t.Errorf("not asked for: %v", s.Certified)
			}
			continue
		}
		// P(Binomial(100, ½) ≤ 37) = 0.60 %, ≤ 38: 1.05 %. P(Binomial(100, 0.1) ≤ 3) = 0.78 %,
		// ≤ 4: 2.37 %.
		if s.EffectiveN != 100 {
			t.Errorf("100 values that do not depend on each other are worth %v", s.EffectiveN)
		}
		for _, want := range []summary.Certified{{Level: 50, Value: 63 + 1, OK: true, Least: 11, Independent: 63 + 1, IndependentOK: true}, {Level: 90, Value: 97 + 1, OK: true, Least: 64, Independent: 97 + 1, IndependentOK: true}, {Level: 95, Value: 0, OK: false, Least: 130, Independent: 0, IndependentOK: false}, {Level: 99, Value: 0, OK: false, Least: 662, Independent: 0, IndependentOK: false}} {
			found := false
			for _, got := range s.Certified {
				found = found || got == want
			}
			if !found {
				t.Errorf("%v, want %+v among them", *s.Certified, want)
			}
		}
	}
}

// Requests that depend on each other certify with the number of independent ones that they are worth,
// whatever the order of the file is. Beside it stands what MLPerf certifies.
func TestCertifiedOfDependentRequests(t *testing.T) {
	var all []export.Request
	for i := range uint64(300) { // 100 steps of three requests
		ttft := (i/3*37)%100 + 1
		all = append(all, memrun.At(1000+i, 1000+i+ttft, 1300+i))
	}
	slices.Reverse(all)
	rep, err := Run(t.Context(), memrun.New("", all), Config{Certified: true})
	if err != nil {
		t.Fatal(err)
	}
	s := rep.Experiments[0].Metric(answer.TTFT)
	if !(s.EffectiveN > 20 && s.EffectiveN < 110) {
		t.Errorf("300 values in 100 steps are worth %v", s.EffectiveN)
	}
	p50, p95 := s.Certified[0], s.Certified[4]
	if !p50.OK || !p50.IndependentOK || !(p50.Value > p50.Independent) {
		t.Errorf("p50: %+v, want a value above the one of independent requests", p50)
	}
	if p95.OK || !p95.IndependentOK {
		t.Errorf("p95: %+v, want none for less than 130 independent requests", p95)
	}
}
