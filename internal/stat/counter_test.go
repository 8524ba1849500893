package stat

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pa-tools/pa/internal/test/testenv"
)

// Picked numbers are the numbers of a sorted copy: spread, close together, equal, with outliers, of both signs;
// also where all of them fall into few ranges, which Pick divides.
func TestPick(t *testing.T) {
	testenv.NoRace(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for name, draw := range map[string]func() float64{
		"quotients": func() float64 { return float64(8e6+rng.Int64N(17e6)) / float64(1+rng.IntN(4)) },
		"close":     func() float64 { return 2e7 + float64(rng.IntN(500)) },
		"last bits": func() float64 { return math.Float64frombits(math.Float64bits(2e7) + uint64(rng.IntN(5000))) },
		"two":       func() float64 { return []float64{3, math.Nextafter(3, 4)}[rng.IntN(2)] },
		"equal":     func() float64 { return 20e6 / 3.0 },
		"zeros":     func() float64 { return max(0, rng.NormFloat64()) },
		"outliers":  func() float64 { return math.Exp(rng.NormFloat64() * 50) },
		"signs":     func() float64 { return rng.NormFloat64() },
		"ends":      func() float64 { return []float64{math.Inf(-1), -math.MaxFloat64, 0, 5e-324, math.Inf(1)}[rng.IntN(5)] },
	} {
		for _, n := range []int{1, 2, 1000, leastCollected, 6 * leastCollected / testenv.Stride(3)} {
			for _, weighted := range []bool{false, true} {
				var values, sorted []float64
				var weights []int32
				for range n {
					v, w := draw(), int32(1)
					if weighted {
						w = rng.Int32N(5)
						weights = append(weights, w)
					}
					values = append(values, v)
					for range w {
						sorted = append(sorted, v)
					}
				}
				if len(sorted) == 0 {
					continue
				}
				slices.Sort(sorted)
				indexes := []int{0, len(sorted) - 1}
				for range 20 {
					k := rng.IntN(len(sorted))
					indexes = append(indexes, k, min(k+1, len(sorted)-1))
				}
				slices.Sort(indexes)
				indexes = slices.Compact(indexes)

				var c Counter[float64]
				passes := 0
				replay := func(add AddFunc[float64]) error {
					passes++
					for i := 0; i < n; i += 1000 {
						end := min(i+1000, n)
						if weighted {
							add(values[i:end], weights[i:end])
						} else {
							add(values[i:end], nil)
						}
					}
					return nil
				}
				if err := replay(c.Add); err != nil || c.Len() != len(sorted) {
					t.Fatalf("%s: %d numbers, want %d", name, c.Len(), len(sorted))
				}
				got, err := c.Pick(indexes, replay)
				if err != nil || len(got) != len(indexes) {
					t.Fatalf("%s: %d numbers, %v", name, len(got), err)
				}
				for i, at := range indexes {
					if got[i] != sorted[at] {
						t.Fatalf("%d %s, weighted %v: number %d is %v, want %v", n, name, weighted, at, got[i], sorted[at])
					}
				}
				if passes > 6 {
					t.Errorf("%d %s: %d passes", n, name, passes)
				}
			}
		}
	}
}

// Pick returns an error of replay, from the pass that collects and from the passes that divide.
func TestPickError(t *testing.T) {
	broken := errors.New("broken")
	for _, n := range []int{10, 4 * leastCollected} {
		var c Counter[float64]
		c.Add(slices.Repeat([]float64{1, math.Nextafter(1, 2)}, n), nil)
		if _, err := c.Pick([]int{0}, func(AddFunc[float64]) error { return broken }); !errors.Is(err, broken) {
			t.Errorf("%d numbers: %v", n, err)
		}
	}
}

// Without wanted places, Pick does not ask for the numbers again.
func TestPickNothing(t *testing.T) {
	var c Counter[float64]
	c.Add([]float64{1}, nil)
	got, err := c.Pick(nil, func(AddFunc[float64]) error { return errors.New("passed") })
	if len(got) != 0 || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}

func FuzzPick(f *testing.F) {
	f.Add([]byte("abcabd"), uint8(3), uint64(0x4010000000000000))
	f.Fuzz(func(t *testing.T, data []byte, at uint8, base uint64) {
		var values []float64
		for i, b := range data {
			if v := math.Float64frombits(base + uint64(b)<<(i%57)); !math.IsNaN(v) {
				values = append(values, v)
			}
		}
		values = slices.Repeat(values, 200)
		if len(values) == 0 {
			return
		}
		var c Counter[float64]
		c.Add(values, nil)
		k := int(at) * (len(values) - 1) / 255
		got, err := c.Pick([]int{k}, func(add AddFunc[float64]) error { add(values, nil); return nil })
		slices.Sort(values)
		if err != nil || got[0] != values[k] {
			t.Errorf("%v, %v, want %v", got, err, values[k])
		}
	})
}
