package extsort

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/testenv"
)

// sorted returns what Sorted passes on, and how many runs are in the file.
func sorted(t *testing.T, s *Sorter) (all []int64, stored int) {
	t.Helper()
	if err := s.Sorted(func(block []int64) { all = append(all, block...) }); err != nil {
		t.Fatal(err)
	}
	return all, len(s.stored)
}

// Callers make other values of a block, so a block of one run is no larger than a block of several runs.
func TestBlockSize(t *testing.T) {
	const n = 2*blockValues + 5
	for name, first := range map[string]int64{"narrow": 0, "wide": 1 << 40} {
		s := newMemory(t, 0).NewSorter()
		for i := range int64(n) {
			s.Add(first + i)
		}
		var longest, total int
		if err := s.Sorted(func(block []int64) { longest, total = max(longest, len(block)), total+len(block) }); err != nil {
			t.Fatal(err)
		}
		if longest > blockValues || total != n {
			t.Errorf("%s: %d values in blocks of up to %d, want %d in blocks of up to %d", name, total, longest, n, blockValues)
		}
	}
}

func newMemory(t testing.TB, maxBytes int64) *Memory {
	t.Helper()
	m := NewMemory(maxBytes, t.TempDir())
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// Sorted passes on the values in order, from memory and from the file. In make test, only "gaps",
// values of 32 bits, and "widening", values of 64 bits, have more values than a block.
func TestSorted(t *testing.T) {
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
		for _, n := range []int{0, 1, leastRun, leastRun + 1, 5000, 280_000 / testenv.Stride(2)} {
			if n > blockValues && name != "widening" && name != "gaps" && !testenv.IsLong() {
				n = 20_000
			}
			for _, bytes := range []int64{0, 1, 8 * leastRun, 100_000, 1 << 30} {
				if bytes == 1 && n > 5000 || bytes == 8*leastRun && n > 5000 {
					continue // thousands of runs
				}
				if bytes == 1<<30 && n > blockValues && !testenv.IsLong() {
					continue // the bound is never reached, as without one
				}
				m := NewMemory(bytes, dir)
				s, other := m.NewSorter(), m.NewSorter()
				want := make([]int64, 0, n)
				for i := range n {
					v := draw(i)
					want = append(want, v)
					s.Add(v)
					if i%7 == 0 {
						other.Add(v, -v)
					}
				}
				slices.Sort(want)
				got, stored := sorted(t, s)
				if !slices.Equal(got, want) || s.Len() != n {
					t.Fatalf("%d %s values in %d bytes are not sorted", n, name, bytes)
				}
				if again, _ := sorted(t, s); !slices.Equal(again, want) {
					t.Fatalf("%d %s values in %d bytes are not sorted the second time", n, name, bytes)
				}
				fits, full := bytes == 0 || int64(growth*8*n+2*8*leastRun) < bytes, bytes != 0 && int64(4*n) > bytes
				if fits && stored > 0 || full && stored == 0 && n > leastRun {
					t.Errorf("%d values in %d bytes: %d runs in the file", n, bytes, stored)
				}
				if most := max(bytes, 2*8*2*leastRun); bytes != 0 && m.used > most {
					t.Errorf("%d values take %d bytes, more than %d", n, m.used, most)
				}
				s.Release()
				other.Release()
				if m.used != 0 || len(m.sorters) != 0 {
					t.Errorf("%d bytes of %d sorters left", m.used, len(m.sorters))
				}
				if err := m.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// Values that the file does not take stay in memory.
func TestNoFile(t *testing.T) {
	m := NewMemory(10_000, filepath.Join(t.TempDir(), "missing"))
	s := m.NewSorter()
	for i := range int64(10_000) {
		s.Add(-i)
	}
	got, stored := sorted(t, s)
	if stored != 0 || len(got) != 10_000 || !slices.IsSorted(got) || got[0] != -9999 {
		t.Errorf("%d values, %d runs in a file", len(got), stored)
	}
	if err := m.Full(); err == nil || !strings.Contains(err.Error(), "set TMPDIR") {
		t.Errorf("%v", err)
	}
}

// A write that fails loses no value, neither from the runs that are in the file nor from the
// run that could not be written.
func TestFileFull(t *testing.T) {
	m := newMemory(t, 10_000)
	s := m.NewSorter()
	for i := range int64(5_000) {
		s.Add(-i)
	}
	written := len(s.stored)
	if written == 0 || m.Full() != nil {
		t.Fatalf("%d runs in the file, %v", written, m.Full())
	}
	path := filepath.Join(t.TempDir(), "copy")
	content := make([]byte, m.size)
	if _, err := m.file.ReadAt(content, 0); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	readOnly, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.file.File.Close(); err != nil {
		t.Fatal(err)
	}
	m.file.File = readOnly
	for i := int64(5_000); i < 10_000; i++ {
		s.Add(-i)
	}
	if len(s.stored) != written {
		t.Errorf("%d runs in the file, want %d", len(s.stored), written)
	}
	// The sorted runs are not written either: they stay in memory.
	got, stored := sorted(t, s)
	if stored != 0 || len(got) != 10_000 || !slices.IsSorted(got) || got[0] != -9999 {
		t.Errorf("%d values, %d sorted runs in the file", len(got), stored)
	}
	if err := m.Full(); err == nil || !strings.Contains(err.Error(), "make room") {
		t.Errorf("%v", err)
	}
}

// A file that became shorter is an error, not fewer values.
func TestFileUnreadable(t *testing.T) {
	m := newMemory(t, 10_000)
	s := m.NewSorter()
	for i := range int64(10_000) {
		s.Add(-i)
	}
	if err := m.file.Truncate(m.size / 2); err != nil {
		t.Fatal(err)
	}
	if err := s.Sorted(func([]int64) {}); err == nil || !strings.Contains(err.Error(), "read values back") {
		t.Errorf("%v", err)
	}
}

// The file has no name, or loses it when it is closed.
func TestFileIsRemoved(t *testing.T) {
	dir := t.TempDir()
	m := NewMemory(1000, dir)
	s := m.NewSorter()
	for i := range int64(1000) {
		s.Add(i)
	}
	if m.file == nil {
		t.Fatal("no file")
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// InOrder returns the values in the order of Add, for reads of any size, from memory and from the file, until
// they are sorted.
func TestInOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, bytes := range []int64{0, 25_000, 100_000} {
		for _, wideFrom := range []int{0, 10_000, 100_000} {
			m := newMemory(t, bytes)
			s := m.NewSorter()
			want := make([]int64, 30_000)
			for i := range want {
				want[i] = rng.Int64N(1 << 32)
				if i >= wideFrom && i%100 == 0 {
					want[i] = -want[i] << 8
				}
				s.Add(want[i])
			}
			if bytes > 0 && len(s.stored) == 0 {
				t.Fatalf("no run of %d bytes is in the file", bytes)
			}
			for range 2 {
				r := s.InOrder()
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
				}
				if !slices.Equal(got, want) {
					t.Fatalf("%d bytes, wide from %d: %d values in another order", bytes, wideFrom, len(got))
				}
			}
			if _, err := s.Pick([]int{0, 5}); err != nil {
				t.Fatal(err)
			}
			slices.Sort(want)
			if got, _ := sorted(t, s); !slices.Equal(got, want) {
				t.Errorf("%d bytes, wide from %d: not sorted", bytes, wideFrom)
			}
			func() {
				defer func() {
					if recover() == nil {
						t.Error("an order after sorting")
					}
				}()
				s.InOrder()
			}()
		}
	}
	m := newMemory(t, 20_000)
	s := m.NewSorter()
	for i := range int64(20_000) {
		s.Add(i)
	}
	if err := m.file.Truncate(m.size / 2); err != nil {
		t.Fatal(err)
	}
	if n, err := s.InOrder().Read(make([]int64, 20_000)); err == nil || n == 0 || n >= 20_000 {
		t.Errorf("%d values, %v from half a file", n, err)
	}
}

func FuzzSorted(f *testing.F) {
	f.Add([]byte("\x00\x01\xff\x80"), uint16(1), uint8(9))
	f.Add([]byte(strings.Repeat("abcdefgh", 200)), uint16(1000), uint8(60))
	f.Fuzz(func(t *testing.T, data []byte, bytes uint16, shift uint8) {
		m := newMemory(t, int64(bytes))
		s := m.NewSorter()
		var want []int64
		for i, b := range data {
			v := int64(int8(b)) << (shift % 64) * int64(i%3)
			want = append(want, v)
			s.Add(v)
		}
		slices.Sort(want)
		if got, _ := sorted(t, s); !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	})
}

func BenchmarkSorted(b *testing.B) {
	const n = 20_000_000
	for _, v := range []struct {
		name  string
		bytes int64
	}{{"memory", 0}, {"file", 100e6}} {
		b.Run(v.name, func(b *testing.B) {
			b.SetBytes(8 * n)
			for b.Loop() {
				rng := rand.New(rand.NewPCG(1, 2))
				m := newMemory(b, v.bytes)
				s := m.NewSorter()
				for range n {
					s.Add(8e6 + rng.Int64N(5e6))
				}
				if err := s.Sorted(func([]int64) {}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
