package stat

import (
	"errors"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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

// Values come back in order and in any order, and their statistics equal the statistics of
// a slice, from memory and from the file.
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
		"rare":       func(i int) int64 { return int64(i/(leastPick+1)) * math.MaxInt64 },
		"descending": func(i int) int64 { return -int64(i) },
	} {
		for _, n := range []int{1, 2, 63, 64, 65, 127, 129, blockValues - 1, blockValues, blockValues + 1, 5 * leastPick / 4} {
			for _, maxBytes := range []int64{0, 10_000} {
				store := NewStore(maxBytes, dir)
				l := store.NewList(Whole)
				var want []int64
				for i := range n {
					v := draw(i)
					want = append(want, v)
					l.Add(v)
				}
				if got := l.all(); !slices.Equal(got, want) || l.Len() != n {
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
				for _, v := range []NumpyVersion{NumpyCurrent, NumpyBefore23} {
					mean, std := l.MeanStd(v)
					got := []float64{l.Sum(v), mean, std}
					if want := []float64{NumpySum(v, want), NumpyMean(v, want), NumpyStd(v, want)}; !slices.Equal(got, want) {
						t.Errorf("%d %s values: sum, mean and deviation %v, want %v", n, name, got, want)
					}
				}
				got := l.Percentiles(percentages...)
				slices.Sort(want)
				if got, want := l.SortedStd(NumpyCurrent), NumpyStd(NumpyCurrent, want); got != want {
					t.Errorf("%d %s values: the deviation in ascending order is %v, want %v", n, name, got, want)
				}
				for i, p := range percentages {
					if w := NumpyPercentile(want, p); got[i] != w {
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
				if name == "gaps" && n > leastPick && (maxBytes == 0) != (file == 0) {
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
		for _, v := range []NumpyVersion{NumpyCurrent, NumpyBefore23} {
			mean, std := x.list.MeanStd(v)
			if got, want := []float64{mean, std}, []float64{NumpyMean(v, x.want), NumpyStd(v, x.want)}; !slices.Equal(got, want) {
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
	if l.Len() != 0 || l.Sum(NumpyCurrent) != 0 || l.Reader().Next() != nil {
		t.Errorf("%d values, sum %v", l.Len(), l.Sum(NumpyCurrent))
	}
	if n, err := l.Reader().Read(make([]int64, 1)); n != 0 || err != nil {
		t.Errorf("%d values read, %v", n, err)
	}
	if l = nil; l.Len() != 0 || l.Reader().Next() != nil {
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
	if !slices.Equal(l.all(), want) {
		t.Error("values are lost")
	}
	if err := s.Full(); err == nil || !strings.Contains(err.Error(), "set TMPDIR") {
		t.Errorf("%v", err)
	}
}

// Places and sizes of blocks agree.
func TestBlockOf(t *testing.T) {
	at := 0
	for b := range 20 {
		if firstOf(b) != at || blockOf(at) != b || blockOf(at+valuesOf(b)-1) != b {
			t.Errorf("block %d begins at %d, value %d is in %d, and the last of %d in %d", b, firstOf(b), at, blockOf(at), valuesOf(b), blockOf(at+valuesOf(b)-1))
		}
		at += valuesOf(b)
	}
}

// A Reader returns the values in the order of Add, for reads of any size.
func TestReader(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, bytes := range []int64{0, 25_000} {
		l := newStore(t, bytes).NewList(Whole)
		want := make([]int64, 30_000)
		for i := range want {
			want[i] = rng.Int64() >> rng.IntN(64)
		}
		l.Add(want...)
		r := l.Reader()
		var got []int64
		for {
			buf := make([]int64, 1+rng.IntN(3000))
			n, err := r.Read(buf)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, buf[:n]...)
			if n < len(buf) {
				break
			}
			if rng.IntN(3) == 0 {
				got = append(got, r.Next()...)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%d bytes: %d values in another order", bytes, len(got))
		}
	}
}

// An error of reading the temporary file reaches the caller, from few values and from many.
func TestUnreadable(t *testing.T) {
	for name, use := range map[string]func(*List) error{
		"Ascending": func(l *List) error { return l.Ascending(func([]int64) {}) },
		"Pick":      func(l *List) error { _, err := l.Pick([]int{l.Len() / 2}); return err },
		"Read":      func(l *List) error { _, err := l.Reader().Read(make([]int64, l.Len())); return err },
		"Ranked":    func(l *List) error { l.Ranked(0); return l.store.Err() },
		"Sorted":    func(l *List) error { l.Sorted(); return l.store.Err() },
	} {
		for _, n := range []int{10_000, 2 * leastPick} {
			l := newStore(t, 1000).NewList(Whole)
			for i := range int64(n) {
				l.Add(i * i)
			}
			broken := errors.New("broken")
			l.store.blocks.Fail(broken)
			if err := use(l); !errors.Is(err, broken) {
				t.Errorf("%s of %d: %v", name, n, err)
			}
		}
	}
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
				l.MeanStd(NumpyCurrent)
				l.Percentiles(50, 90, 99)
			}
		})
	}
}
