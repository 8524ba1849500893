package inference

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// For any tests, nothing panics. Adjusted p-values are from 0 to 1, at least the p-values and at
// most Holm's, and in the order of the p-values. The order of the tests does not matter. A test is
// found at alpha exactly if its interval leaves out 0.
func FuzzAdjust(f *testing.F) {
	f.Add([]byte{}, 0.05)
	f.Add([]byte{testP, 0, 8, testP, 0, 8, testP | testLeast, 0, 9, 0, 4}, 0.05)
	f.Add([]byte{testNaN, testP, 255, 255, testP, 0, 0}, 0.5)
	values := []byte{testValues, 0x55, 1, 0, 2, 0, 1, 1, 2, 1, 9, 0, 3, 0, 4, 0, 5, 0, 2, 2, 7, 0}
	f.Add(slices.Concat(values, values, []byte{testP, 1, 0}), 0.05)
	// The same values with another p-value, and with a smallest one.
	f.Add(slices.Concat([]byte{testValues | testP, 0, 8}, values[1:], []byte{testValues | testP | testLeast, 64, 0, 32, 0}, values[1:]), 0.05)
	f.Add(slices.Concat([]byte{testValues | testP, 0, 8, 0x33, 1, 0, 2, 0, 4, 0, 1, 0, 2, 0, 5, 0}, []byte{testValues | testP, 0, 8, 0x33, 1, 0, 2, 0, 4, 0, 5, 0, 1, 0, 2, 0}, []byte{testValues | testP, 0, 8, 0x33, 9, 0, 2, 0, 1, 0, 1, 0, 2, 0, 5, 0}), 0.05)
	f.Fuzz(func(t *testing.T, b []byte, alpha float64) {
		if !(alpha > 0 && alpha < 1) {
			return
		}
		tests := fuzzTests(b)
		adjusted, levels := Adjust(tests, alpha)
		var ps []float64
		for _, x := range tests {
			ps = append(ps, x.P)
		}
		holm := Holm(ps)
		for i, p := range ps {
			switch {
			case math.IsNaN(p):
				if !math.IsNaN(adjusted[i]) || !math.IsNaN(levels[i]) {
					t.Fatalf("NaN became %v at level %v", adjusted[i], levels[i])
				}
				continue
			case !(adjusted[i] >= p && adjusted[i] <= 1 && adjusted[i] <= holm[i]*(1+1e-9)):
				t.Fatalf("%v of %v became %v, by Holm %v: %+v", p, ps, adjusted[i], holm[i], tests)
			case !(levels[i] >= 1-alpha && levels[i] <= 1):
				t.Fatalf("%v of %v has the level %v of alpha %v", p, ps, levels[i], alpha)
			case (adjusted[i] <= alpha) != (p <= 1-levels[i]) && math.Abs(adjusted[i]-alpha) > 1e-9 && math.Abs(p-(1-levels[i])) > 1e-9:
				t.Fatalf("%v of %v became %v, but its level is %v: alpha is %v", p, ps, adjusted[i], levels[i], alpha)
			}
			for j, q := range ps {
				if q < p && adjusted[j] > adjusted[i] || q == p && adjusted[j] != adjusted[i] {
					t.Fatalf("%v of %v became %v, and %v became %v", p, ps, adjusted[i], q, adjusted[j])
				}
			}
		}
		order := rand.New(rand.NewPCG(uint64(len(b)), math.Float64bits(alpha))).Perm(len(tests))
		shuffled := make([]Test, len(tests))
		for i, from := range order {
			shuffled[i] = tests[from]
		}
		again, _ := Adjust(shuffled, alpha)
		for i, from := range order {
			if math.Float64bits(again[i]) != math.Float64bits(adjusted[from]) {
				t.Fatalf("%v of %v became %v, in another order %v: %+v", ps[from], ps, adjusted[from], again[i], tests)
			}
		}
	})
}

// The bits of the byte before a test.
const (
	testValues = 1 << iota // it has per-run values
	testP                  // its p-value follows; else it is the p-value of the values
	testLeast              // its smallest p-value follows
	testNaN                // it was not made
)

// fuzzTests returns the tests that b describes, at most 12.
func fuzzTests(b []byte) (tests []Test) {
	number := func() uint16 {
		var two [2]byte
		b = b[copy(two[:], b):]
		return binary.BigEndian.Uint16(two[:])
	}
	for len(b) > 0 && len(tests) < 12 {
		kind := b[0]
		b = b[1:]
		x := Test{P: math.NaN()}
		if kind&testP != 0 {
			x.P = float64(number()) / math.MaxUint16
		}
		if kind&testLeast != 0 {
			x.Least = float64(number()) / math.MaxUint16
		}
		if kind&testValues != 0 && len(b) > 0 {
			sides := b[0]
			b = b[1:]
			for range sides & 15 {
				x.Older = append(x.Older, float64(number())/16)
			}
			for range sides >> 4 {
				x.Newer = append(x.Newer, float64(number())/16)
			}
			if kind&testP == 0 {
				x.P = Welch(x.Older, x.Newer).P
			}
		}
		if kind&testNaN != 0 {
			x.P = math.NaN()
		}
		tests = append(tests, x)
	}
	return tests
}
