package inference

import (
	"math"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/testenv"
)

// The comparisons that the properties below hold for.
func comparisons(older, newer []float64) map[string]Comparison {
	o, n := NewSeries(older), NewSeries(newer)
	c := map[string]Comparison{
		"mean": Change(o.Mean(), n.Mean()),
		"p50":  Change(o.Quantile(0.5), n.Quantile(0.5)),
		"p99":  Change(o.Quantile(0.99), n.Quantile(0.99)),
		"rate": Change(Rate(older, newer), Rate(newer, older)),
		"runs": Runs(older[:5], newer[:7]),
	}
	if len(older) == len(newer) {
		p := NewPairs(older, newer)
		c["paired mean"], c["paired median"] = p.Mean(), p.Median()
	}
	return c
}

// P is at most 1 − level exactly when the interval at that level leaves out 0.
func TestPAgreesWithInterval(t *testing.T) {
	for seed := uint64(0); seed < 20; seed += uint64(testenv.Stride(5)) {
		older, newer := logAR(seed, 3000, 0.5, 0.3), logAR(seed+100, 3000, 0.5, 0.3)
		for i := range newer {
			newer[i] *= 1 + 0.005*float64(seed)
		}
		for name, c := range comparisons(older, newer) {
			if c.NA.Missing() {
				continue
			}
			if !(c.P >= 0 && c.P <= 1) {
				t.Errorf("%s: P = %v", name, c.P)
			}
			for _, level := range []float64{0.5, 0.9, 0.95, 0.99, 0.999, c.confidence(1e-6), c.confidence(-1e-6)} {
				if !(level > 0 && level < 1) {
					continue
				}
				if got, want := c.Interval(level).Contains(0), c.P > 1-level; got != want {
					t.Errorf("%s: P = %v but the interval at %v is %v", name, c.P, level, c.Interval(level))
				}
			}
		}
	}
}

// confidence is the level at which the interval just touches 0, and a bit.
func (c *Comparison) confidence(more float64) float64 { return 1 - c.P + more*c.P }

// Old and new in each other's place turn the ratio upside down.
func TestChangeIsSymmetric(t *testing.T) {
	older, newer := logAR(1, 3000, 0.5, 0.3), logAR(2, 4000, 0.5, 0.5)
	forth, back := comparisons(older, newer), comparisons(newer, older)
	for _, name := range []string{"mean", "p50", "p99"} {
		f, b := forth[name], back[name]
		i, j := f.Interval(0.95), b.Interval(0.95)
		if !near((1+f.Change)*(1+b.Change), 1, 1e-12) || !near(f.P, b.P, 1e-9) ||
			!near((1+i.Low)*(1+j.High), 1, 1e-9) || !near((1+i.High)*(1+j.Low), 1, 1e-9) {
			t.Errorf("%s: %v %v %v, the other way %v %v %v", name, f.Change, i, f.P, b.Change, j, b.P)
		}
	}
}

// For symmetric intervals the change's is Welch's.
func TestChangeOfMeansIsWelch(t *testing.T) {
	o, n := NewSeries(logAR(1, 3000, 0.5, 0.3)).Mean(), NewSeries(logAR(2, 4000, 0.5, 0.5)).Mean()
	c := Change(o, n)
	logSE := func(e Estimate) float64 {
		return math.Log(e.Interval(0.95).High/e.Value) / StudentQuantile(0.95, waves)
	}
	want := welch(math.Log(n.Value/o.Value), logSE(o), waves+1, logSE(n), waves+1)
	if !near(c.pivot.df, want.df, 1e-9) || !near(c.P, want.pValue(), 1e-9) {
		t.Errorf("df %v and P %v, want %v and %v", c.pivot.df, c.P, want.df, want.pValue())
	}
}

// A run compared with itself has not changed.
func TestChangeOfNothing(t *testing.T) {
	x := logAR(1, 3000, 0.5, 0.3)
	for name, c := range comparisons(x, x) {
		switch name {
		case "runs": // other numbers of runs
		case "paired mean", "paired median":
			if c.NA.Reason != "all 3,000 pairs are the same" {
				t.Errorf("%s: %q", name, c.NA.Reason)
			}
		case "rate": // amounts are durations: a rate of 1 without any error
			if c.Change != 0 || !c.NA.Missing() {
				t.Errorf("%s: %v, %v", name, c.Change, c.NA)
			}
		default:
			if c.Change != 0 || c.P != 1 || !c.Interval(0.5).Contains(0) {
				t.Errorf("%s: change %v, P %v, %v", name, c.Change, c.P, c.NA)
			}
		}
	}
}

func TestChangeNotAvailable(t *testing.T) {
	good := NewSeries(logAR(1, 3000, 0, 0.3)).Mean()
	short := NewSeries(logAR(1, 20, 0, 0.3)).Mean()
	shorter := NewSeries(logAR(1, 200, 0, 0.3)).Quantile(0.99)
	negative := NewSeries([]float64{-1, -2, -3}).Mean()
	for _, tt := range []struct {
		name         string
		older, newer Estimate
		reason       string
		needs        int
		change       bool
	}{
		{"old short", short, good, "old: 20 values; at least 30 are needed", short.NA.Needs, true},
		{"new short", good, short, "new: 20 values; at least 30 are needed", short.NA.Needs, true},
		{"both short", short, shorter, "; new: too few of 200 values lie beyond p99", shorter.NA.Needs, true},
		{"not positive", negative, good, "a ratio needs positive values", 0, false},
		{"nothing", NewSeries(nil).Mean(), good, "a ratio needs positive values", 0, false},
		{"zero value", Estimate{}, Estimate{}, "a ratio needs positive values", 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := Change(tt.older, tt.newer)
			if !strings.Contains(c.NA.Reason, tt.reason) || c.NA.Needs != tt.needs {
				t.Errorf("%v because %q, want %d because %q", c.NA, c.NA.Reason, tt.needs, tt.reason)
			}
			if !math.IsNaN(c.P) || !math.IsNaN(c.Interval(0.95).Low) || math.IsNaN(c.Change) == tt.change {
				t.Errorf("P %v, interval %v, change %v", c.P, c.Interval(0.95), c.Change)
			}
			if v := c.Verdict(c.P, 0.05, LowerIsBetter); v != NotAvailable {
				t.Errorf("verdict %v", v)
			}
		})
	}
}
