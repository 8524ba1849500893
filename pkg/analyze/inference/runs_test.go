package inference

import (
	"math"
	"strings"
	"testing"
)

// Two examples of Welch's test that are widely printed, with t, the degrees of
// freedom and P.
func TestWelch(t *testing.T) {
	moments := func(x []float64) (mean, se float64) {
		mean = average(x)
		for _, v := range x {
			se += (v - mean) * (v - mean)
		}
		n := float64(len(x))
		return mean, math.Sqrt(se / (n - 1) / n)
	}
	for _, tt := range []struct {
		name     string
		a, b     []float64
		t, df, p float64
	}{
		{
			"equal variances",
			[]float64{27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4},
			[]float64{27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 20.5, 24.4},
			-2.46, 25.0, 0.021,
		},
		{
			"unequal variances",
			[]float64{17.2, 20.9, 22.6, 18.1, 21.7, 21.4, 23.5, 24.2, 14.7, 21.8},
			[]float64{21.5, 22.8, 21.0, 23.0, 21.6, 23.6, 22.5, 20.7, 23.4, 21.8, 20.7, 21.7, 21.5, 22.5, 23.6, 21.5, 22.5, 23.5, 21.5, 21.8},
			-1.57, 9.9, 0.149,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m0, s0 := moments(tt.a)
			m1, s1 := moments(tt.b)
			p := welch(m0-m1, s0, float64(len(tt.a)), s1, float64(len(tt.b)))
			got := (m0 - m1) / math.Hypot(s0, s1)
			if !near(got, tt.t, 0.005) || !near(p.df, tt.df, 0.05) || !near(p.pValue(), tt.p, 0.0005) {
				t.Errorf("t %v, df %v, P %v; want %v, %v, %v", got, p.df, p.pValue(), tt.t, tt.df, tt.p)
			}
		})
	}
}

// Logarithms 0, 1, 2 against 2, 3, 4: t = 2/√(2/3), 4 degrees of freedom.
func TestRuns(t *testing.T) {
	e := math.E
	c := Runs([]float64{1, e, e * e}, []float64{e * e, e * e * e, e * e * e * e})
	if !near(c.Old.Value, e, 1e-12) || !near(c.New.Value, e*e*e, 1e-11) || !near(c.Change, e*e-1, 1e-11) {
		t.Errorf("%v → %v, %v; want e → e³, e² − 1", c.Old.Value, c.New.Value, c.Change)
	}
	if want := 2 * StudentUpper(2/math.Sqrt(2./3), 4); !near(c.P, want, 1e-9) {
		t.Errorf("P = %v, want %v", c.P, want)
	}
	half := 2.776 * math.Sqrt(2./3)
	if i := c.Interval(0.95); !near(math.Log1p(i.Low), 2-half, 0.001) || !near(math.Log1p(i.High), 2+half, 0.001) {
		t.Errorf("interval %v, want exp(2 ± %v) − 1", i, half)
	}
	half = 4.303 / math.Sqrt(3)
	if i := c.Old.Interval(0.95); !near(math.Log(i.Low), 1-half, 0.001) || !near(math.Log(i.High), 1+half, 0.001) {
		t.Errorf("interval of the old side %v, want exp(1 ± %v)", i, half)
	}
	if c.Rank == nil || c.Rank.NA.Needs != 6 {
		t.Errorf("rank test %+v, want none before 6 runs a side", c.Rank)
	}
}

func TestRunsNotAvailable(t *testing.T) {
	good := []float64{1, 1.1, 0.9, 1.05, 1.2, 0.8}
	for _, tt := range []struct {
		name         string
		older, newer []float64
		reason       string
		needs        int
		rank         bool
	}{
		{"empty", nil, nil, "either side: no runs", 3, false},
		{"one", good[:1], good, "old: 1 of 3 runs", 3, false},
		{"two", good, good[:2], "new: 2 of 3 runs", 3, false},
		{"zero", good, []float64{1, 2, 3, 4, 5, 0}, "new: run 6 has 0, which has no usable logarithm", 0, true},
		{"negative", []float64{-1, 2, 3}, good, "old: run 1 has -1", 0, false},
		{"NaN", good, []float64{1, 2, math.NaN(), 4, 5, 6}, "new: run 3 has NaN", 0, false},
		{"infinite", good, []float64{1, 2, math.Inf(1), 4, 5, 6}, "new: run 3 has +Inf", 0, false},
		{"all the same", []float64{0.1, 0.1, 0.1}, []float64{0.3, 0.3, 0.3}, "no run differs from the others of its side", 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := Runs(tt.older, tt.newer)
			if !strings.Contains(c.NA.Reason, tt.reason) || c.NA.Needs != tt.needs {
				t.Errorf("%v because %q, want %d because %q", c.NA, c.NA.Reason, tt.needs, tt.reason)
			}
			if !math.IsNaN(c.P) || !math.IsNaN(c.Interval(0.95).Low) {
				t.Errorf("P %v and interval %v, want none", c.P, c.Interval(0.95))
			}
			if got := !c.Rank.NA.Missing(); got != tt.rank {
				t.Errorf("rank test %+v, want one: %v", c.Rank, tt.rank)
			}
		})
	}
}

// One side without any spread is no obstacle: the other has some.
func TestRunsOneSideConstant(t *testing.T) {
	c := Runs([]float64{1, 1, 1}, []float64{1.1, 1.2, 1.3, 1.2})
	if c.NA.Missing() || c.pivot.df != 3 || !(c.P < 0.05) {
		t.Errorf("%v, df %v, P %v", c.NA, c.pivot.df, c.P)
	}
}
