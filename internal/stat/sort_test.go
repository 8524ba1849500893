package stat

import (
	"cmp"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/pa-tools/pa/internal/test/testenv"
)

func TestSort(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3)) // also on machines with one core
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 2, leastDigits - 1, leastDigits, leastDigits + 1, 3*leastDigits + 7, leastParallel - 1, leastParallel, leastParallel + 7} {
		for name, draw := range map[string]func() int64{
			"equal":    func() int64 { return 7 },
			"small":    func() int64 { return rng.Int64N(100) },
			"gaps":     func() int64 { return 8e6 + rng.Int64N(5e6) },
			"wide":     func() int64 { return int64(rng.Uint64()) },
			"negative": func() int64 { return rng.Int64N(2000) - 1000 },
			"ends":     func() int64 { return []int64{math.MinInt64, -1, 0, 1, math.MaxInt64}[rng.IntN(5)] },
			"mostly 0": func() int64 { return max(0, rng.Int64N(1e6)-999_000) },
		} {
			if n >= leastParallel-1 && n != leastParallel+7 && name != "gaps" && !testenv.IsLong() {
				continue // make test sorts few large slices
			}
			x := make([]int64, n)
			for i := range x {
				x[i] = draw()
			}
			want := slices.Clone(x)
			slices.Sort(want)
			Sort(x)
			if !slices.Equal(x, want) {
				t.Errorf("%d %s values are not sorted", n, name)
			}
		}
	}
}

// SortByHigh orders numbers without their last bits, and leaves those that are equal then in their order.
func TestSortByHigh(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	var scratch []int64
	for _, low := range [...]int{0, 1, 9, 30, 63} {
		for _, n := range [...]int{0, 1, 2, 1000, 3*leastDigits + 7} {
			for _, most := range [...]uint64{1, 1 << 31, math.MaxUint64} {
				x := make([]int64, n)
				for i := range x {
					x[i] = int64(rng.Uint64() % most)
				}
				want := slices.Clone(x)
				slices.SortStableFunc(want, func(a, b int64) int { return cmp.Compare(a>>low, b>>low) })
				if scratch = SortByHigh(x, scratch, low); !slices.Equal(x, want) {
					t.Errorf("%d values up to %d are not sorted without their last %d bits", n, most, low)
				}
			}
		}
	}
}

func TestSortFloats(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{0, 1, 4, leastDigits, 3*leastDigits + 7} {
		for name, draw := range map[string]func() float64{
			"equal":    func() float64 { return 0.1 },
			"seconds":  func() float64 { return float64(8e6+rng.Int64N(5e6)) / 1e9 },
			"bits":     func() float64 { return math.Float64frombits(rng.Uint64() &^ (1 << 62)) }, // no NaN
			"negative": func() float64 { return rng.NormFloat64() },
			"ends":     func() float64 { return []float64{math.Inf(-1), -math.MaxFloat64, 0, 5e-324, math.Inf(1)}[rng.IntN(5)] },
			"NaN":      func() float64 { return []float64{math.NaN(), 1, -1}[rng.IntN(3)] },
		} {
			x := make([]float64, n)
			for i := range x {
				x[i] = draw()
			}
			want := slices.Clone(x)
			slices.Sort(want)
			Sort(x)
			if !slices.EqualFunc(x, want, func(a, b float64) bool { return a == b || a != a && b != b }) {
				t.Errorf("%d %s values are not sorted", n, name)
			}
		}
	}
}

func BenchmarkSort(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	x := make([]int64, 1e6)
	for i := range x {
		x[i] = 8e6 + rng.Int64N(5e6)
	}
	y := make([]int64, len(x))
	for name, sort := range map[string]func([]int64){"digits": Sort[int64], "slices": slices.Sort[[]int64]} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(8 * len(x)))
			b.ReportAllocs()
			for b.Loop() {
				copy(y, x)
				sort(y)
			}
		})
	}
}
