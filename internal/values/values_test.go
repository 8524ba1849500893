package values

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/numpy"
)

func newStore(t testing.TB, maxBytes int64) *Store {
	t.Helper()
	s := NewStore(maxBytes, t.TempDir())
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// all returns the values in order.
func all(l *List) []int64 {
	var got []int64
	next := l.Open()
	for block := next(); len(block) > 0; block = next() {
		got = append(got, block...)
	}
	return got
}

// Values come back in order and in any order, and their statistics equal the statistics of
// package numpy for a slice, from memory and from the file.
func TestList(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	dir := t.TempDir()
	percentages := []float64{0, 1, 25, 50, 75, 99, 99.9, 100}
	for name, draw := range map[string]func(i int) int64{
		"equal":      func(int) int64 { return 7 },
		"ties":       func(int) int64 { return rng.Int64N(5) },
		"gaps":       func(int) int64 { return 8e6 + rng.Int64N(5e6) },
		"negative":   func(int) int64 { return rng.Int64N(2000) - 1000 },
		"wide":       func(int) int64 { return int64(rng.Uint64()) },
		"ends":       func(int) int64 { return []int64{math.MinInt64, -1, 0, 1, math.MaxInt64}[rng.IntN(5)] },
		"rare":       func(i int) int64 { return int64(i/(mostSorted+1)) * math.MaxInt64 },
		"descending": func(i int) int64 { return -int64(i) },
	} {
		for _, n := range []int{1, 2, 127, 129, blockValues - 1, blockValues, blockValues + 1, 5 * mostSorted / 4} {
			for _, maxBytes := range []int64{0, 10_000} {
				store := NewStore(maxBytes, dir)
				l := store.NewList(Whole)
				var want []int64
				for i := range n {
					v := draw(i)
					want = append(want, v)
					l.Add(v)
				}
				if got := all(l); !slices.Equal(got, want) || l.Len() != n {
					t.Fatalf("%d %s values in %d bytes are not as they were", n, name, maxBytes)
				}
				c := l.NewCursor()
				for range 50 {
					i := rng.IntN(n)
					to := min(n, i+rng.IntN(3000))
					if c.At(i) != want[i] || !slices.Equal(c.Append(nil, i, to), want[i:to]) {
						t.Fatalf("%d %s values in %d bytes: value %d to %d", n, name, maxBytes, i, to)
					}
				}
				for _, v := range []numpy.Version{numpy.Current, numpy.Before23} {
					mean, std := l.MeanStd(v)
					got := []float64{l.Sum(v), mean, std}
					if want := []float64{numpy.Sum(v, want), numpy.Mean(v, want), numpy.Std(v, want)}; !slices.Equal(got, want) {
						t.Errorf("%d %s values: sum, mean and deviation %v, want %v", n, name, got, want)
					}
				}
				got := l.Percentiles(percentages...)
				slices.Sort(want)
				if got, want := l.SortedStd(numpy.Current), numpy.Std(numpy.Current, want); got != want {
					t.Errorf("%d %s values: the deviation in ascending order is %v, want %v", n, name, got, want)
				}
				for i, p := range percentages {
					if w := numpy.Percentile(want, p); got[i] != w {
						t.Errorf("%d %s values: p%v is %v, want %v", n, name, p, got[i], w)
					}
				}
				if l.store.Err() != nil || l.store.Full() != nil {
					t.Fatal(l.store.Err(), l.store.Full())
				}
				memory, file := l.store.blocks.Used()
				if maxBytes > 0 && memory > maxBytes {
					t.Errorf("%d %s values take %d bytes, more than %d", n, name, memory, maxBytes)
				}
				if name == "gaps" && n > mostSorted && (maxBytes == 0) != (file == 0) {
					t.Errorf("%d bytes: the file has %d", maxBytes, file)
				}
				if err := store.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// Numbers that integers stand for have the statistics of the numbers.
func TestKinds(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	store := newStore(t, 5000)
	floats, seconds := store.NewList(Float), store.NewList(Seconds)
	var asFloats, asSeconds []float64
	for range 20_001 {
		v := rng.NormFloat64()
		floats.AddFloat(v)
		asFloats = append(asFloats, v)
		ns := 8e6 + rng.Int64N(5e6)
		seconds.Add(ns)
		asSeconds = append(asSeconds, float64(ns)/1e9)
	}
	for _, x := range []struct {
		list *List
		want []float64
	}{{floats, asFloats}, {seconds, asSeconds}} {
		for _, v := range []numpy.Version{numpy.Current, numpy.Before23} {
			mean, std := x.list.MeanStd(v)
			if got, want := []float64{mean, std}, []float64{numpy.Mean(v, x.want), numpy.Std(v, x.want)}; !slices.Equal(got, want) {
				t.Errorf("mean and deviation %v, want %v", got, want)
			}
		}
		slices.Sort(x.want)
		if got, want := x.list.Ranked(0, 10_000, 20_000), []float64{x.want[0], x.want[10_000], x.want[20_000]}; !slices.Equal(got, want) {
			t.Errorf("least, median and most are %v, want %v", got, want)
		}
	}
}

func TestNoValues(t *testing.T) {
	l := NewStore(0, "").NewList(Whole)
	if l.Len() != 0 || l.Sum(numpy.Current) != 0 || l.Open()() != nil {
		t.Errorf("%d values, sum %v", l.Len(), l.Sum(numpy.Current))
	}
	if l = nil; l.Len() != 0 || l.Open()() != nil {
		t.Error("a nil List has values")
	}
}

// Values that the file does not take stay in memory.
func TestNoFile(t *testing.T) {
	s := NewStore(100, filepath.Join(t.TempDir(), "missing"))
	l := s.NewList(Whole)
	var want []int64
	for i := range int64(5000) {
		l.Add(-i)
		want = append(want, -i)
	}
	if !slices.Equal(all(l), want) {
		t.Error("values are lost")
	}
	if err := s.Full(); err == nil || !strings.Contains(err.Error(), "set TMPDIR") {
		t.Errorf("%v", err)
	}
}

func FuzzRanked(f *testing.F) {
	f.Add([]byte("\x00\x01\xff\x80"), uint8(9))
	f.Fuzz(func(t *testing.T, data []byte, shift uint8) {
		l := NewStore(0, "").NewList(Whole)
		var want []int64
		for i, b := range data {
			v := int64(int8(b)) << (shift % 64) * int64(i%3)
			for range 300 { // more than are sorted at once
				want = append(want, v+int64(len(want)))
				l.Add(want[len(want)-1])
			}
		}
		if len(want) == 0 {
			return
		}
		ranks := []int{0, len(want) / 3, len(want) / 2, len(want) - 1}
		got := l.ranked(ranks)
		slices.Sort(want)
		for i, k := range ranks {
			if got[i] != want[k] {
				t.Errorf("value %d is %d, want %d", k, got[i], want[k])
			}
		}
	})
}

func BenchmarkList(b *testing.B) {
	const n = 5_000_000
	for _, v := range []struct {
		name  string
		bytes int64
	}{{"memory", 0}, {"file", 1 << 20}} {
		b.Run(v.name, func(b *testing.B) {
			b.SetBytes(8 * n)
			for b.Loop() {
				rng := rand.New(rand.NewPCG(1, 2))
				l := newStore(b, v.bytes).NewList(Whole)
				for range n {
					l.Add(8e6 + rng.Int64N(5e6))
				}
				l.MeanStd(numpy.Current)
				l.Percentiles(50, 90, 99)
			}
		})
	}
}
