package serverfigures

import (
	"math"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
)

const second = 1_000_000_000

// energyOf returns the energies from second 10 to second 20. Sources are asked each second.
func energyOf(scrapes []export.Scrape) []Energy {
	w := newEnergyWatch(10*second, 20*second, []export.TelemetrySource{{Source: "http://h1:9400/metrics", Host: "h1", IntervalNS: second}})
	for i := range scrapes {
		w.add(&scrapes[i])
	}
	return w.energies()
}

// samples returns scrapes at these seconds with a value each of one series.
func samples(s *export.Series, seconds []float64, values ...float64) []export.Scrape {
	var times []uint64
	for _, t := range seconds {
		times = append(times, uint64(t*second))
	}
	return scrapesOf(times, map[string][]float64{s.String(): values}, s)
}

// The expected values are worked out by hand in the comments.
func TestEnergyByHand(t *testing.T) {
	counter := seriesOf("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "gpu", "0", "UUID", "GPU-a") // mJ
	power := seriesOf("DCGM_FI_DEV_POWER_USAGE", "gpu", "0", "UUID", "GPU-a")
	nan := math.NaN()
	for _, tt := range []struct {
		name    string
		scrapes []export.Scrape
		joules  float64
		bound   float64
		covered float64
		na      string
	}{
		// 100 W: at 10 s the line from (9.5 s, 950 J) to (10.5 s, 1050 J) is at 1000 J, at 20 s the line
		// from (19.5 s, 1950 J) to (20.5 s, 2050 J) is at 2000 J. Each end is 50 J from both neighbors.
		{"counter", samples(counter, []float64{8.5, 9.5, 10.5, 15, 19.5, 20.5, 21.5}, 850e3, 950e3, 1050e3, 1500e3, 1950e3, 2050e3, 2150e3), 1000, 100, 1, ""},
		// The same source keeps its value for three seconds: 900 J are true at 9 s, 1200 J at 12 s. The
		// value at 10 s lies between 900 and 1200 J, at 20 s between 1800 and 2100 J: 300 J for each end.
		{"counter that repeats its values", samples(counter, []float64{9, 10, 11, 12, 18, 19, 20, 21}, 900e3, 900e3, 900e3, 1200e3, 1800e3, 1800e3, 1800e3, 2100e3), 900, 600, 1, ""},
		// From 10.5 s on: 1050 J to 2000 J in 9.5 of 10 s, so 950/0.95 = 1000 J. The bound is 50 J for the
		// end, /0.95, and the 50 J that were added.
		{"counter that begins late", samples(counter, []float64{10.5, 15, 19.5, 20.5}, 1050e3, 1500e3, 1950e3, 2050e3), 1000, 50/0.95 + 50, 0.95, ""},
		// From 14 s to 19 s.
		{"counter of half the time", samples(counter, []float64{14, 19}, 1400e3, 1900e3), 0, 0, 0.5, "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION: the samples cover 50 % of the time; 90 % are needed"},
		{"counter that is reset", samples(counter, []float64{9, 14, 15, 21}, 900e3, 1400e3, 2e3, 602e3), 0, 0, 0, "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION: the counter fell from 1400 J to 2 J"},
		// Only a fall between the readings around the span matters.
		{"counter that is reset before and after", samples(counter, []float64{5, 9, 11, 19, 21, 22}, 5000e3, 100e3, 300e3, 1100e3, 1300e3, 0), 1000, 200, 1, ""},
		{"counter that stands still", samples(counter, []float64{9, 15, 21}, 900e3, 900e3, 900e3), 0, 0, 0, "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION: the counter did not grow"},
		{"one sample of a counter", samples(counter, []float64{15}, 900e3), 0, 0, 0, "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION: one sample shows no growth"},
		{"no sample of a counter in the time", samples(counter, []float64{5, 9}, 900e3, 950e3), 0, 0, 0, "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION: no sample in the time of the level"},

		// 100 W at 9 s, 300 W at 11 s, so 200 W at 10 s. (200+300)/2·1 + (300+300)/2·1 + 8 s of 300 W =
		// 250 + 300 + 2400 J. The bound: |300−100|/2 · 1 s = 100 J, and no more.
		{"power", samples(power, []float64{9, 11, 12, 13, 14, 15, 16, 17, 18, 19, 21}, 100, 300, 300, 300, 300, 300, 300, 300, 300, 300, 300), 250 + 300 + 2400, 100, 1, ""},
		// A triangle from 0 to 400 W and back: 400·10/2 = 2000 J. Each second may be off by 80/2 J.
		{"power up and down", samples(power, []float64{10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}, 0, 80, 160, 240, 320, 400, 320, 240, 160, 80, 0), 2000, 400, 1, ""},
		// No sample from 12 s to 16 s, which is above three intervals: 6 of 10 s are covered.
		{"power with a gap", samples(power, []float64{10, 11, 12, 16, 17, 18, 19, 20}, 100, 100, 100, 100, 100, 100, 100, 100), 0, 0, 0.6, "DCGM_FI_DEV_POWER_USAGE: the samples cover 60 % of the time; 90 % are needed"},
		// 12 s to 14 s, less than three intervals, is no gap. NaN is no sample.
		{"power with a sample that is no number", samples(power, []float64{10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}, 100, 100, 100, nan, 200, 200, 200, 200, 200, 200, 200), 200 + 300 + 1200, 100, 1, ""},
		// The last sample is at 19.5 s: 950 J in 95 % of the time.
		{"power that ends early", samples(power, []float64{10, 12, 14, 16, 18, 19.5}, 100, 100, 100, 100, 100, 100), 1000, 50, 0.95, ""},
		{"one sample of power", samples(power, []float64{15}, 100), 0, 0, 0, "DCGM_FI_DEV_POWER_USAGE: one sample shows no energy"},
		{"no sample of power in the time", samples(power, []float64{5, 6}, 100, 100), 0, 0, 0, "DCGM_FI_DEV_POWER_USAGE: no sample in the time of the level"},
		{"neither", samples(seriesOf("DCGM_FI_DEV_GPU_UTIL", "UUID", "GPU-a"), []float64{15}, 50), 0, 0, 0, "the telemetry holds neither energy nor power of it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all := energyOf(tt.scrapes)
			if len(all) != 1 {
				t.Fatalf("%+v", all)
			}
			e := all[0]
			near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(math.Abs(b), 1) }
			if !near(e.Joules, tt.joules) || !near(e.ErrorJoules, tt.bound) || e.NA != tt.na || !near(e.Covered, tt.covered) {
				t.Errorf("%v J ± %v J, %v covered, %q; want %v ± %v, %v, %q", e.Joules, e.ErrorJoules, e.Covered, e.NA, tt.joules, tt.bound, tt.covered, tt.na)
			}
			if e.GPU != "GPU-a" || e.Of != "GPU-a h1" {
				t.Errorf("of %q, GPU %q", e.Of, e.GPU)
			}
		})
	}
}

// Each GPU has one energy, whatever sources and labels it has: a counter comes before power, and a
// counter that was reset gives way to power.
func TestEnergyOfSeveralGPUs(t *testing.T) {
	a := seriesOf("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "UUID", "GPU-a", "pod", "one")
	other := seriesOf("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "UUID", "GPU-a", "pod", "two")
	pa := seriesOf("nvidia_smi_power_draw", "gpu_uuid", "GPU-a")
	b := seriesOf("nv_energy_consumption", "gpu_uuid", "GPU-b")
	pb := seriesOf("nv_gpu_power_usage", "gpu_uuid", "GPU-b")
	c := seriesOf("nv_gpu_power_usage", "gpu", "2")
	nan := math.NaN()
	all := energyOf(scrapesOf([]uint64{10 * second, 12 * second, 14 * second, 16 * second, 18 * second, 20 * second, 22 * second}, map[string][]float64{
		pa.String():    {1, 1, 1, 1, 1, 1, 1},
		a.String():     {10e3, 30e3, nan, nan, nan, nan, nan},
		other.String(): {nan, nan, 50e3, 70e3, 90e3, 110e3, 130e3},
		b.String():     {10, 20, 5, 10, 15, 20, 25},
		pb.String():    {30, 30, 30, 30, 30, 30, 30},
		c.String():     {40, 40, 40, 40, 40, 40, 40},
	}, pa, a, other, b, pb, c))
	if len(all) != 3 {
		t.Fatalf("%+v", all)
	}
	// 10 W by the counter; 30 W and 40 W by power.
	for i, want := range []struct {
		of, metric string
		joules     float64
	}{{"GPU-a h1", "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", 100}, {"GPU-b h1", "nv_gpu_power_usage", 300}, {"2 h1", "nv_gpu_power_usage", 400}} {
		if e := all[i]; e.Of != want.of || e.Metric != want.metric || e.Joules != want.joules || e.NA != "" || e.Sampled != strings.Contains(want.metric, "power") {
			t.Errorf("%+v, want %+v", e, want)
		}
	}
}

// Times of today, in nanoseconds since 1970, lose no digit: 300 W from 0.1 s to 0.3 s are 60 J.
func TestEnergyToday(t *testing.T) {
	const today = 1_795_741_064_359_983_425
	power := seriesOf("DCGM_FI_DEV_POWER_USAGE", "UUID", "GPU-a")
	w := newEnergyWatch(today+100_000_001, today+300_000_001, nil)
	for _, s := range scrapesOf([]uint64{today, today + 200_000_003, today + 400_000_007}, map[string][]float64{power.String(): {300, 300, 300}}, power) {
		w.add(&s)
	}
	if e := w.energies()[0]; math.Abs(e.Joules-60) > 1e-12 || e.Covered != 1 || e.N != 1 {
		t.Errorf("%+v", e)
	}
}

// The energy of a counter does not depend on the times of the scrapes within the bound: a load of known
// power is read at any offset.
func TestEnergyWithinBound(t *testing.T) {
	// Joules since 0: 50 W, and 450 W from 12 s to 17 s. From 10 s to 20 s: 250 + 2250 J.
	joules := func(t float64) float64 { return 50*t + 400*min(max(t-12, 0), 5) }
	watts := func(t float64) float64 {
		if t >= 12 && t < 17 {
			return 450
		}
		return 50
	}
	const want = 2500.0
	counter, power := seriesOf("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "UUID", "GPU-a"), seriesOf("DCGM_FI_DEV_POWER_USAGE", "UUID", "GPU-a")
	for offset := 0.0; offset < 1; offset += 1.0 / 16 {
		var times, j, w []float64
		for at := 8 + offset; at < 23; at++ {
			times, j, w = append(times, at), append(j, 1e3*joules(at)), append(w, watts(at))
		}
		for _, e := range append(energyOf(samples(counter, times, j...)), energyOf(samples(power, times, w...))...) {
			if e.NA != "" || math.Abs(e.Joules-want) > e.ErrorJoules+1e-9 || e.ErrorJoules > 500 {
				t.Errorf("offset %v: %+v, want %v J", offset, e, want)
			}
			if !e.Sampled && math.Abs(e.Joules-want) > 1e-6 { // power is even at both ends
				t.Errorf("offset %v: %v J, want %v J", offset, e.Joules, want)
			}
		}
	}
}
