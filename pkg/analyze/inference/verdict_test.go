package inference

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHolm(t *testing.T) {
	nan := math.NaN()
	for _, tt := range []struct {
		name    string
		p, want []float64
	}{
		{"textbook", []float64{0.01, 0.04, 0.03, 0.005}, []float64{0.03, 0.06, 0.06, 0.02}},
		{"textbook, five", []float64{0.01, 0.02, 0.03, 0.04, 0.05}, []float64{0.05, 0.08, 0.09, 0.09, 0.09}},
		{"never above 1", []float64{0.6, 0.9}, []float64{1, 1}},
		{"equal", []float64{0.02, 0.02}, []float64{0.04, 0.04}},
		{"one", []float64{0.03}, []float64{0.03}},
		{"empty", []float64{}, []float64{}},
		{"not tested", []float64{nan, 0.02, nan, 0.01}, []float64{nan, 0.02, nan, 0.02}},
		{"zero", []float64{0, 0.5}, []float64{0, 0.5}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := Holm(tt.p)
			if len(got) != len(tt.want) {
				t.Fatalf("got %v, want %v", got, tt.want)
			}
			for i := range got {
				if !near(got[i], tt.want[i], 1e-12) && !(math.IsNaN(got[i]) && math.IsNaN(tt.want[i])) {
					t.Errorf("Holm(%v) = %v, want %v", tt.p, got, tt.want)
				}
			}
		})
	}
}

func TestVerdict(t *testing.T) {
	for _, tt := range []struct {
		name      string
		change, p float64
		missing   bool
		direction Direction
		want      Verdict
		text      string
	}{
		{"slower", 0.05, 0.01, false, LowerIsBetter, Worse, "worse"},
		{"faster", -0.05, 0.01, false, LowerIsBetter, Better, "better"},
		{"less throughput", -0.05, 0.01, false, HigherIsBetter, Worse, "worse"},
		{"more throughput", 0.05, 0.01, false, HigherIsBetter, Better, "better"},
		{"longer inputs", 0.05, 0.01, false, NoDirection, Different, "different"},
		{"at the level", 0.05, 0.05, false, LowerIsBetter, Worse, "worse"},
		{"above the level", 0.05, 0.0501, false, LowerIsBetter, NoDifference, "~"},
		{"no change", 0, 0, false, LowerIsBetter, NoDifference, "~"},
		{"no interval", 0.05, 0.01, true, LowerIsBetter, NotAvailable, "n/a"},
		{"no p-value", 0.05, math.NaN(), false, LowerIsBetter, NotAvailable, "n/a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := Comparison{Change: tt.change, P: tt.p}
			if tt.missing {
				c.NA.Reason = "some"
			}
			if got := c.Verdict(tt.p, 0.05, tt.direction); got != tt.want || got.String() != tt.text {
				t.Errorf("got %v, want %v, %q", got, tt.want, tt.text)
			}
		})
	}
}

// An interval at the level of HolmLevels leaves out 0 exactly if the adjusted p-value is
// at most alpha; its p-value is 1 minus the highest such level.
func TestHolmLevels(t *testing.T) {
	for _, p := range [][]float64{
		{0.01, 0.04, 0.03, math.NaN()}, {0.012, 0.02, 0.024, 0.04}, {0.03, 0.04}, {0.2, 0.001, 0.3}, {0.05}, {},
	} {
		adjusted, levels := Holm(p), HolmLevels(p, 0.05)
		for i := range p {
			if math.IsNaN(p[i]) {
				if !math.IsNaN(levels[i]) {
					t.Errorf("%v: level %v of NaN", p, levels[i])
				}
				continue
			}
			if leavesOut := p[i] <= 1-levels[i]+1e-15; leavesOut != (adjusted[i] <= 0.05) || levels[i] < 0.95 {
				t.Errorf("%v: %v is adjusted to %v, its interval at %v leaves out 0: %v", p, p[i], adjusted[i], levels[i], leavesOut)
			}
		}
	}
	if d := cmp.Diff([]float64{1 - 0.05/3, 0.95, 0.975}, HolmLevels([]float64{0.001, 0.3, 0.02}, 0.05)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
