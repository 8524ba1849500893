package diff

import (
	"bytes"
	"cmp"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/quality"
)

// A run that was read for a comparison takes no memory for each request beyond the limit, whether its requests have
// responses or not.
func TestMemory(t *testing.T) {
	testenv.NoRace(t)
	for _, responses := range []int{0, 1, 3} {
		each := memrun.HeldByEach(func(n int) uint64 {
			r := memrun.NewGenerated(n, responses, func() {})
			run, err := Read(t.Context(), "run", r, analyze.Config{Series: true, ValueMemory: 400e3})
			if err != nil || len(run.Levels) != 1 || responses > 0 && run.Levels[0].OK != n {
				t.Fatal(run, err)
			}
			bytes := memrun.HeapInUse()
			if err := run.Close(); err != nil {
				t.Error(err)
			}
			return bytes
		})
		if each > 8 {
			t.Errorf("a request of %d responses takes %.1f bytes, want at most 8", responses, each)
		}
	}
}

// A small level of a run that is compared takes memory by what it holds, not blocks for many requests.
func TestMemoryOfLevels(t *testing.T) {
	testenv.NoRace(t)
	each := memrun.AllocatedByEach(func(n int) {
		run, err := Read(t.Context(), "run", memrun.Levels(n), analyze.Config{Series: true})
		if err != nil || len(run.Levels) != n {
			t.Fatal(run, err)
		}
		if err := run.Close(); err != nil {
			t.Error(err)
		}
	})
	if each > 30e3 {
		t.Errorf("a level takes %.0f bytes, want at most 30,000", each)
	}
}

// A comparison of runs whose values do not fit in memory has the same figures and verdicts to the last digit.
func TestBeyondMemory(t *testing.T) {
	for name, selection := range map[string]analyze.Selection{"whole": {}, "part": {TrimStart: analyze.Trim{Share: 0.1}}} {
		compared := func(memory int64) []byte {
			var sides [2]*Run
			for i, x := range [...]recipe{
				{seed: 1, requests: 3000, tokens: 6, ttft: 30, itl: 20, prompts: 40},
				{seed: 2, requests: 3000, tokens: 6, ttft: 33, itl: 21, prompts: 40},
			} {
				quality := quality.Default()
				run, err := Read(t.Context(), "run", x.make(), analyze.Config{Series: true, Quality: &quality, Selection: selection, ValueMemory: memory})
				if err != nil {
					t.Fatal(err)
				}
				defer func() {
					if err := run.Close(); err != nil {
						t.Error(err)
					}
				}()
				sides[i] = run
			}
			res := Compare([]*Run{sides[0]}, []*Run{sides[1]}, Options{Quality: true})
			var out bytes.Buffer
			if err := res.Formats(false).In("json", 0)(&out); err != nil {
				t.Fatal(err)
			}
			return out.Bytes()
		}
		if want, got := compared(1e9), compared(100e3); string(got) != string(want) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// Gaps come in the order of their ends, and gaps that end together in the order of add, from one run of gaps or many.
func TestGapSorter(t *testing.T) {
	t.Parallel()
	const little, much = 1 << 20, 1 << 30
	for _, tt := range []struct {
		n, row  int
		memory  int64
		settled bool // the sorter knows which gaps no later gap comes before
		tail    int  // the last gaps of a long row come this much later
		spills  bool
		plain   bool  // the gaps have no estimate of the time per token
		ns      int64 // of the last gap, about: earlier gaps have more
	}{
		{n: 0, row: 1},
		{n: 100, row: 1, memory: little},
		{n: 100, row: 7, memory: little},
		{n: gapsOfRun, row: 97, memory: little},
		{n: 2*gapsOfRun + 5, row: 1, memory: little, spills: true},
		{n: 3*gapsOfRun + 5, row: 1000, memory: little, spills: true},
		{n: 3*gapsOfRun + 5, row: 1000, memory: much},
		{n: 3*gapsOfRun + 5, row: 97, memory: little, settled: true},
		{n: 3*gapsOfRun + 5, row: 97, memory: little, settled: true, tail: 1 << 20, spills: true},
		{n: 3*gapsOfRun + 5, row: 97, memory: much, settled: true, tail: 1 << 20},
		{n: gapsOfRun + 5, row: 97, memory: much, settled: true, tail: math.MaxInt64},
		{n: 3*gapsOfRun + 5, row: 97, memory: much, settled: true, plain: true},
		{n: 3*gapsOfRun + 5, row: 1000, memory: little, spills: true, plain: true, ns: 1 << 30},
		{n: gapsOfRun + 5, row: 97, memory: much, plain: true, ns: -3},
		{n: gapsOfRun + 5, row: 97, memory: much, plain: true, ns: 1 << 60},
		{n: gapsOfRun + 5, row: 97, memory: much, settled: true, tail: math.MaxInt64, plain: true},
	} {
		n := tt.n
		s := newGapSorter(tt.memory)
		rng := rand.New(rand.NewPCG(1, 2))
		var want []gap
		var got []gap
		keep := func(gaps []gap) { got = append(got, gaps...) }
		begin := 0 // of a row of ascending gaps
		for i := range n {
			if i%tt.row == 0 {
				begin = i/10 + rng.IntN(gapsOfRun/8)
				settled := uint64(0)
				if tt.settled {
					begin = i + rng.IntN(5)
					settled = uint64(i)
				}
				s.settle(settled, keep)
			}
			g := gap{end: uint64(begin + i%tt.row*3), ns: tt.ns + int64(n-i)}
			if !tt.plain {
				g.perToken, g.tokens = float64(i)/3, i%3
			}
			if i%tt.row > tt.row/3 {
				g.end += uint64(tt.tail)
			}
			want = append(want, g)
			s.add(g)
		}
		s.sorting.Wait()
		if spills := s.runs != nil; spills != tt.spills {
			t.Errorf("%+v: runs of blocks: %t", tt, spills)
		}
		if early := len(got); tt.settled && tt.tail == 0 && early < n-2*gapsOfRun {
			t.Errorf("%+v: only %d gaps were passed on before the end", tt, early)
		}
		slices.SortStableFunc(want, func(x, y gap) int { return cmp.Compare(x.end, y.end) })
		if err := s.drain(keep); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%+v: another order", tt)
		}
		if memory, file := s.blocks.Used(); memory != 0 || file != 0 || len(s.last)+len(s.waiting) > 0 {
			t.Errorf("%d gaps: %d bytes in memory, %d in the file and %d gaps are left", n, memory, file, len(s.last)+len(s.waiting))
		}
	}
}

// The gaps of a level wait to be sorted until the next level begins, and no longer.
func TestGapsOfLevels(t *testing.T) {
	t.Parallel()
	f := &follower{}
	f.Begin(nil)
	defer f.store.Close()
	for level := range 4 {
		for i := range 10 {
			p := &analyze.Point{GapNS: []uint64{uint64(30 - i), uint64(60 - i)}}
			p.Counted, p.Gaps = true, []int64{1, 2}
			f.Request(level, p)
		}
		if n := len(f.gaps.last); n != 20 {
			t.Errorf("level %d: %d gaps wait to be sorted, want 20", level, n)
		}
	}
	f.endLevel()
	for i, l := range f.levels {
		if n := l.list(itl).Len(); n != 20 {
			t.Errorf("level %d has %d gaps, want 20", i, n)
		}
	}
}

// If no file can take the values, they stay in memory, and the comparison says so.
func TestBeyondMemoryWithoutFile(t *testing.T) {
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} { // of all systems
		t.Setenv(name, filepath.Join(t.TempDir(), "missing"))
	}
	var runs [2]*Run
	for i := range runs {
		var err error
		m := recipe{seed: uint64(i), requests: 2000, tokens: 3, ttft: 30, itl: 20}.make()
		if runs[i], err = Read(t.Context(), "run", m, analyze.Config{Series: true, ValueMemory: 10e3}); err != nil {
			t.Fatal(err)
		}
	}
	res := Compare(runs[:1], runs[1:], Options{})
	if len(res.Warnings) == 0 || !strings.Contains(res.Warnings[0], "take more memory than the limit") {
		t.Errorf("warnings %q", res.Warnings)
	}
}
