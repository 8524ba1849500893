package rig

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/analyze/inference"
)

// Drift and its interval equal the results of R's lm(log(y) ~ x), x from 0 to 1 in equal steps:
// y = 100, 103, 101, 105, 104.
func TestDrift(t *testing.T) {
	var logs []float64
	for _, y := range []float64{100, 103, 101, 105, 104} {
		logs = append(logs, math.Log(y))
	}
	d := driftOf(logs)
	// By hand: slope = Σ(x−x̄)·ln y / Σ(x−x̄)² over x = 0 … 4.
	slope := (-2*logs[0] - logs[1] + logs[3] + 2*logs[4]) / 10
	if want := math.Expm1(4 * slope); math.Abs(d.Change-want) > 1e-12 {
		t.Errorf("change %v, want %v", d.Change, want)
	}
	if (d.P <= 0.05) != !d.Interval.Contains(0) || !(d.P > 0.05 && d.P < 0.2) {
		t.Errorf("p %v, interval %v", d.P, d.Interval)
	}
	// The line is the correlation's test: t = r·√((n−2)/(1−r²)).
	mean := (logs[0] + logs[1] + logs[2] + logs[3] + logs[4]) / 5
	var syy float64
	for _, l := range logs {
		syy += (l - mean) * (l - mean)
	}
	r := slope * 10 / math.Sqrt(10*syy)
	if want := 2 * inference.StudentUpper(r*math.Sqrt(3/(1-r*r)), 3); math.Abs(d.P-want) > 1e-9 {
		t.Errorf("p %v, want %v", d.P, want)
	}
	if d := driftOf([]float64{1, 2, 3}); d.P != 0 || d.Interval.Low != d.Interval.High {
		t.Errorf("a perfect line has p %v and %v", d.P, d.Interval)
	}
}

// The ratio is 2 for the mean over all orders, and its p-value is a share of orders.
func TestTurns(t *testing.T) {
	rising := []float64{1, 2, 3, 4, 5, 6}
	got := turnsOf(rising)
	if want := 5.0 / 2 / 17.5; math.Abs(got.Ratio-want) > 1e-12 || math.Abs(got.Neighbors-math.Sqrt(0.5)) > 1e-12 {
		t.Errorf("%+v, want ratio %v", got, want)
	}
	if want := 2.0 / 720; math.Abs(got.P-want) > 1e-12 { // it and its reverse
		t.Errorf("p %v, want %v", got.P, want)
	}
	if got := turnsOf([]float64{1, 6, 2, 5, 3, 4}); got.P < 0.5 {
		t.Errorf("runs that alternate have p %v", got.P)
	}
	if got := turnsOf(rising[:5]); !math.IsNaN(got.P) {
		t.Errorf("5 runs have p %v", got.P)
	}
	long := make([]float64, 12)
	for i := range long {
		long[i] = float64(i)
	}
	if got := turnsOf(long); got.P != 1.0/(randomOrders+1) {
		t.Errorf("12 rising runs have p %v", got.P)
	}
	sum, n := 0.0, 0
	x := []float64{0.3, 0.1, 0.7, 0.2, 0.9}
	permute(x, len(x), func() { sum, n = sum+turnsOf(x).Ratio, n+1 })
	if n != 120 || math.Abs(sum/float64(n)-1) > 1e-9 {
		t.Errorf("mean ratio of %d orders %v, want 1 of 120", n, sum/float64(n))
	}
}

// Without drift, drift and turns are found in at most 5 % of rigs, and with a strong one
// nearly always. The bounds of the first are three standard errors.
func TestFalseAlarms(t *testing.T) {
	testenv.NoRace(t)
	rigs := 200
	if testenv.IsLong() {
		rigs = 5_000
	}
	random := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{6, 8, 12} {
		for _, slope := range []float64{0, 1} {
			drift, turns, outside := 0, 0, 0
			of := rigs
			if n > maxAllOrders { // their random orders take time
				of = rigs / 4
			}
			for range of {
				logs := make([]float64, n)
				for i := range logs {
					logs[i] = random.NormFloat64() + slope*float64(i)*2
				}
				d := driftOf(logs)
				if d.P <= alpha {
					drift++
				}
				if truth := math.Expm1(slope * 2 * float64(n-1)); !d.Interval.Contains(truth) {
					outside++
				}
				if turnsOf(logs).P <= alpha {
					turns++
				}
			}
			name := fmt.Sprintf("%d runs, slope %v", n, slope)
			most := alpha + 3*math.Sqrt(alpha*(1-alpha)/float64(of))
			got := [3]float64{float64(drift) / float64(of), float64(turns) / float64(of), float64(outside) / float64(of)}
			if got[2] > most {
				t.Errorf("%s: the interval misses in %.1f %%", name, 100*got[2])
			}
			if slope == 0 && (got[0] > most || got[1] > most) {
				t.Errorf("%s: drift in %.1f %%, turns in %.1f %%", name, 100*got[0], 100*got[1])
			}
			if slope > 0 && (got[0] < 0.95 || got[1] < 0.9) {
				t.Errorf("%s: drift in only %.1f %%, turns in %.1f %%", name, 100*got[0], 100*got[1])
			}
		}
	}
}
