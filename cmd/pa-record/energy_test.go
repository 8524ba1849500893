package main

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/figure"
)

// period and swing are of the power of the simulated GPUs: base + swing · sin(2πt/period), in W.
const (
	period = 0.4 // s
	swing  = 120.0
)

// watts returns the power of GPU i at a time in seconds, and joules its integral since 0.
func watts(i int, t float64) float64 {
	return 200 + 50*float64(i) + swing*math.Sin(2*math.Pi*t/period)
}

func joules(i int, t float64) float64 {
	return (200+50*float64(i))*t - swing*period/(2*math.Pi)*(math.Cos(2*math.Pi*t/period)-1)
}

// An exporter like DCGM's has the energy and the power of three GPUs, whose integral is known: of the
// first by a counter, of the second by power alone; the counter of the third is reset, so that its power
// counts. The energy of a recorded level lies within its bound, in each format.
func TestEnergyOfSimulatedGPUs(t *testing.T) {
	origin := time.Now()
	var mu sync.Mutex
	var reset time.Time
	exporter := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		now := time.Now()
		at := now.Sub(origin).Seconds()
		if reset.IsZero() && at > 0.5 {
			reset = now
		}
		for i := range 3 {
			labels := fmt.Sprintf(`{gpu="%d",UUID="GPU-%d",Hostname="node1"}`, i, i)
			counted := joules(i, at)
			if i == 2 && !reset.IsZero() {
				counted -= joules(i, reset.Sub(origin).Seconds())
			}
			if i != 1 {
				fmt.Fprintf(w, "# TYPE DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION counter\nDCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION%s %.0f\n", labels, 1e3*counted)
			}
			fmt.Fprintf(w, "# TYPE DCGM_FI_DEV_POWER_USAGE gauge\nDCGM_FI_DEV_POWER_USAGE%s %.3f\n", labels, watts(i, at))
		}
	}))
	defer exporter.Close()
	dir := t.TempDir()
	args := []string{
		"-u", "sim://?ttft=5ms&itl=5ms&output_tokens=10", "--concurrency-range", "4", "--request-count", "80", "--quiet",
		"--collect-metrics", "--metrics-url", exporter.URL, "--metrics-interval", "20",
	}
	paths := []string{filepath.Join(dir, "e.json"), filepath.Join(dir, "e.parquet")}
	for _, p := range paths {
		args = append(args, "--profile-export-file", p)
	}
	if code, _, stderr := inProcess(t.Context(), t, args...); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	mu.Lock()
	defer mu.Unlock()
	if reset.IsZero() {
		t.Fatal("no scrape came late enough for the reset")
	}
	for _, path := range paths {
		r := exporttest.Open(t, path)
		rep, err := analyze.Run(t.Context(), r, analyze.Config{Economics: &figure.EconomicsConfig{EnergyPrice: 0.36}})
		if err != nil {
			t.Fatal(err)
		}
		x := &rep.Experiments[0]
		e := x.Economics
		if e.GPUs != 3 || !e.Counted || len(e.Energy) != 3 {
			t.Fatalf("%s: %+v", path, e)
		}
		from := float64(int64(e.Span.FromNS)-origin.UnixNano()) / 1e9
		to := float64(int64(e.Span.ToNS)-origin.UnixNano()) / 1e9
		if from < 0 || to < from+0.5 {
			t.Fatalf("the level took from %v s to %v s", from, to)
		}
		const clock = 0.01 * 700 // J: the clocks of the run and of the test, at 700 W
		total := 0.0
		for i, g := range e.Energy {
			want := joules(i, to) - joules(i, from)
			total += want
			if g.NA != "" || g.Sampled != (i > 0) || math.Abs(g.Joules-want) > g.ErrorJoules+clock/2 || g.Covered < 0.99 {
				t.Errorf("%s: GPU %d: %+v, want %.1f J", path, i, g, want)
			}
		}
		energy := e.Figure(figure.KeyEnergy)
		if math.Abs(energy.Value-total) > energy.Bound+clock || energy.Bound > 0.6*total {
			t.Errorf("%s: %+v, want %.1f J", path, energy, total)
		}
		tokens := 80.0 * 10
		for key, want := range map[string]float64{
			figure.KeyPower: energy.Value / (to - from), figure.KeyPerOutput: energy.Value / tokens, figure.KeyPerRequest: energy.Value / 80,
			figure.KeyRatePerMW: 1e6 * tokens / energy.Value, figure.KeyEnergyDollars: energy.Value / tokens * 0.1,
		} {
			if f := e.Figure(key); f.Why != "" || math.Abs(f.Value-want) > 1e-6*want || f.Bound <= 0 {
				t.Errorf("%s: %+v, want %v", path, f, want)
			}
		}
	}
}
