package inference

import (
	"math"
	"strings"
	"testing"
)

// The common factor of a prompt cancels: the interval is the interval of the ratios.
func TestPairs(t *testing.T) {
	prompts, noise := logAR(1, 3000, 0, 0.5), logAR(2, 3000, 0.5, 0.02)
	newer := make([]float64, len(prompts))
	for i := range newer {
		newer[i] = 1.03 * prompts[i] * noise[i]
	}
	p := NewPairs(prompts, newer)
	for name, c := range map[string]Comparison{"mean": p.Mean(), "median": p.Median()} {
		i := c.Interval(0.95)
		if c.NA.Missing() || !near(c.Change, 0.03, 0.003) || !i.Contains(c.Change) || i.High-i.Low > 0.008 || c.P > 1e-6 {
			t.Errorf("%s: %v in %v, P %v, %v; want 0.03 within 0.004", name, c.Change, i, c.P, c.NA)
		}
		if unpaired := Change(c.Old, c.New); !near(c.Old.Value, 1, 0.05) || unpaired.P < c.P {
			t.Errorf("%s: old side %v, P %v paired and %v unpaired", name, c.Old.Value, c.P, unpaired.P)
		}
	}
	mean := p.Mean()
	if !near(mean.New.Value/mean.Old.Value-1, mean.Change, 1e-9) {
		t.Errorf("geometric means %v and %v do not make %v", mean.Old.Value, mean.New.Value, mean.Change)
	}
}

func TestPairsNotAvailable(t *testing.T) {
	x := logAR(1, 100, 0, 0.5)
	for _, tt := range []struct {
		name         string
		older, newer []float64
		reason       string
	}{
		{"empty", nil, nil, "no values"},
		{"one", []float64{1}, []float64{2}, "a single value"},
		{"not as many", x, x[1:], "100 old values but 99 new ones"},
		{"zero", []float64{1, 0, 3}, []float64{1, 2, 3}, "pair 1 is 0 and 2, which has no usable ratio"},
		{"negative", []float64{1, 2}, []float64{1, -2}, "pair 1 is 2 and -2"},
		{"NaN", []float64{math.NaN()}, []float64{1}, "pair 0 is NaN and 1"},
		{"infinite", []float64{1}, []float64{math.Inf(1)}, "pair 0 is 1 and +Inf"},
		{"few", x[:20], logAR(2, 20, 0, 0.5), "20 pairs; at least 30 are needed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := NewPairs(tt.older, tt.newer)
			for _, c := range []Comparison{p.Mean(), p.Median()} {
				if !strings.Contains(c.NA.Reason, tt.reason) || !math.IsNaN(c.P) || !math.IsNaN(c.Interval(0.95).Low) {
					t.Errorf("%v because %q, P %v; want none because %q", c.NA, c.NA.Reason, c.P, tt.reason)
				}
			}
		})
	}
}
