package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pa-tools/pa/internal/test/testenv"
)

// Ascending passes on the values in order, as Sorted keeps them, from memory and from the file, also when they are
// divided, and again. In make test, only "gaps" and "widening" have more values than are sorted at once.
func TestAscending(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	dir := t.TempDir()
	for name, draw := range map[string]func(i int) int64{
		"equal":      func(int) int64 { return 7 },
		"ties":       func(int) int64 { return rng.Int64N(5) },
		"widening":   func(i int) int64 { return int64(i%1000) << min(i/2500, 53) },
		"gaps":       func(int) int64 { return 8e6 + rng.Int64N(5e6) },
		"negative":   func(int) int64 { return rng.Int64N(2000) - 1000 },
		"wide":       func(int) int64 { return int64(rng.Uint64()) },
		"ends":       func(int) int64 { return []int64{math.MinInt64, -1, 0, 1, math.MaxInt64}[rng.IntN(5)] },
		"ascending":  func(i int) int64 { return int64(i) },
		"descending": func(i int) int64 { return -int64(i) },
	} {
		for _, n := range []int{0, 1, 5000, sortedAtOnce + 5000} {
			if n > sortedAtOnce && name != "widening" && name != "gaps" && !testenv.IsLong() {
				continue
			}
			for _, bytes := range []int64{0, 1, 1 << 20} {
				if n > sortedAtOnce && bytes == 0 && !testenv.IsLong() {
					continue
				}
				store := NewStore(bytes, dir)
				l := store.NewList(Whole)
				want := make([]int64, 0, n)
				for i := range n {
					want = append(want, draw(i))
				}
				l.Add(want...)
				memory, _ := store.blocks.Used()
				slices.Sort(want)
				for range 2 {
					var got []int64
					err := l.Ascending(func(values []int64) {
						if len(values) > passedAtOnce {
							t.Errorf("%d %s values: %d at once", n, name, len(values))
						}
						got = append(got, values...)
					})
					if err != nil || !slices.Equal(got, want) {
						t.Fatalf("%d %s values in %d bytes are not sorted: %v", n, name, bytes, err)
					}
				}
				sorted := l.Sorted()
				if !slices.Equal(sorted.all(), want) || store.Err() != nil {
					t.Fatalf("%d %s values in %d bytes are not sorted: %v", n, name, bytes, store.Err())
				}
				sorted.Release()
				if left, _ := store.blocks.Used(); left > memory && bytes == 0 {
					t.Errorf("%d %s values: sorting leaves %d bytes", n, name, left-memory)
				}
				if err := store.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// The first and the last bound may be as far apart as two int64 can be.
func TestBoundsAtEnds(t *testing.T) {
	b := newBounds([]int64{math.MinInt64, 0, 0, math.MaxInt64})
	for v, want := range map[int64]struct {
		below int
		equal bool
	}{math.MinInt64: {0, true}, -1: {1, false}, 0: {1, true}, 1: {2, false}, math.MaxInt64 - 1: {2, false}, math.MaxInt64: {2, true}} {
		if below, equal := b.find(v); below != want.below || equal != want.equal {
			t.Errorf("%d: %d bounds below, equal %t; want %+v", v, below, equal, want)
		}
	}
}

func FuzzAscending(f *testing.F) {
	f.Add([]byte("\x00\x01\xff\x80"), uint16(1), uint8(9))
	f.Fuzz(func(t *testing.T, data []byte, bytes uint16, shift uint8) {
		l := newStore(t, int64(bytes)).NewList(Whole)
		var want []int64
		for i, b := range data {
			v := int64(int8(b)) << (shift % 64) * int64(i%3)
			for range 300 { // so that Pick counts them
				want = append(want, v+int64(len(want)))
			}
		}
		l.Add(want...)
		slices.Sort(want)
		var got []int64
		if err := l.Ascending(func(values []int64) { got = append(got, values...) }); err != nil || !slices.Equal(got, want) {
			t.Errorf("%v, %v, want %v", err, got, want)
		}
		if len(want) == 0 {
			return
		}
		places := slices.Compact([]int{0, len(want) / 3, len(want) / 2, len(want) - 1})
		picked, err := l.Pick(places)
		for i, at := range places {
			if err != nil || picked[i] != want[at] {
				t.Errorf("value %d is %d, want %d; %v", at, picked[i], want[at], err)
			}
		}
	})
}

// BenchmarkAscending adds 20 million gaps and sorts them.
func BenchmarkAscending(b *testing.B) {
	benchmarkGaps(b, func(l *List) error { return l.Ascending(func([]int64) {}) })
}

// BenchmarkListPick adds 20 million gaps and picks 20 of them.
func BenchmarkListPick(b *testing.B) {
	benchmarkGaps(b, func(l *List) error {
		var places []int
		for i := range 20 {
			places = append(places, i*(l.Len()-1)/19)
		}
		_, err := l.Pick(places)
		return err
	})
}

func benchmarkGaps(b *testing.B, use func(*List) error) {
	const n = 20_000_000
	for _, v := range []struct {
		name  string
		bytes int64
	}{{"memory", 0}, {"file", 40e6}} {
		b.Run(v.name, func(b *testing.B) {
			b.SetBytes(8 * n)
			b.ReportAllocs()
			for b.Loop() {
				rng := rand.New(rand.NewPCG(1, 2))
				l := newStore(b, v.bytes).NewList(Whole)
				for range n {
					l.Add(8e6 + rng.Int64N(5e6))
				}
				if err := use(l); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
