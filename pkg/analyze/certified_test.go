package analyze

import (
	"testing"

	"github.com/pa-tools/pa/internal/memrun"
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
		for _, want := range []Certified{{50, 63 + 1, true, 11}, {90, 97 + 1, true, 64}, {95, 0, false, 130}, {99, 0, false, 662}} {
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
