package stat

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The files under testdata were printed by the releases of numpy they are named
// after; [values] has the data.
func TestAgainstNumpy(t *testing.T) {
	for _, tt := range []struct {
		file    string
		version NumpyVersion
	}{
		{"numpy-1.26.4.json", NumpyBefore23},
		{"numpy-2.3.5.json", NumpyCurrent},
	} {
		t.Run(tt.file, func(t *testing.T) {
			b, err := os.ReadFile(filepath.Join("testdata", tt.file))
			if err != nil {
				t.Fatal(err)
			}
			var golden struct {
				Percents []float64
				Vectors  []struct {
					N                int
					Ints, Floats     []float64
					IntPercentiles   []float64 `json:"int_percentiles"`
					FloatPercentiles []float64 `json:"float_percentiles"`
				}
			}
			if err := json.Unmarshal(b, &golden); err != nil {
				t.Fatal(err)
			}
			for _, v := range golden.Vectors {
				ints, floats := values(v.N)
				check(t, v.N, "mean and deviation of integers", v.Ints, []float64{NumpyMean(tt.version, ints), NumpyStd(tt.version, ints)})
				check(t, v.N, "sum, mean and deviation", v.Floats, []float64{NumpySum(tt.version, floats), NumpyMean(tt.version, floats), NumpyStd(tt.version, floats)})
				slices.Sort(ints)
				slices.Sort(floats)
				var pi, pf []float64
				for _, pct := range golden.Percents {
					pi = append(pi, NumpyPercentile(ints, pct))
					pf = append(pf, NumpyPercentile(floats, pct))
				}
				check(t, v.N, "percentiles of integers", v.IntPercentiles, pi)
				check(t, v.N, "percentiles", v.FloatPercentiles, pf)
			}
		})
	}
}

func check(t *testing.T, n int, what string, want, got []float64) {
	t.Helper()
	for i := range want {
		if math.Float64bits(got[i]) != math.Float64bits(want[i]) {
			t.Errorf("%d values: %s: [%d] = %v, want %v", n, what, i, got[i], want[i])
		}
	}
}

// values returns n integers of a linear congruential generator, and the same
// divided by 7 million.
func values(n int) ([]int64, []float64) {
	ints := make([]int64, n)
	floats := make([]float64, n)
	s := uint64(n)
	for i := range ints {
		s = s*6364136223846793005 + 1442695040888963407
		ints[i] = int64(s>>32) * 97873
		floats[i] = float64(ints[i]) / 7e6
	}
	return ints, floats
}

func TestSumOfNothing(t *testing.T) {
	if got := NumpySum[float64](NumpyCurrent, nil); got != 0 {
		t.Errorf("Sum(nil) = %v, want 0", got)
	}
}

func BenchmarkStd(b *testing.B) {
	_, x := values(100_000)
	b.SetBytes(8 * int64(len(x)))
	b.ReportAllocs()
	for b.Loop() {
		NumpyStd(NumpyCurrent, x)
	}
}

// The values are what numpy 2.4.6 gives.
func TestRoundMedian(t *testing.T) {
	for _, tt := range []struct {
		f        float64
		decimals int
		want     float64
	}{{2.675, 2, 2.68}, {1.115, 2, 1.12}, {5.015, 2, 5.01}, {0.285, 2, 0.28}, {2.5, 0, 2}, {-1000, 2, -1000}} {
		if got := NumpyRound(tt.f, tt.decimals); got != tt.want {
			t.Errorf("Round(%v, %d) = %v, want %v", tt.f, tt.decimals, got, tt.want)
		}
	}
	if got := NumpyMedian([]float64{1, 2, 4, 8}); got != 3 {
		t.Errorf("of four: %v", got)
	}
	if got := NumpyMedian([]int64{1, 2, 4}); got != 2 {
		t.Errorf("of three: %v", got)
	}
}
