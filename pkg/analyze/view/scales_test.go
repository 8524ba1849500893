package view

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pa-tools/pa/internal/test/testenv"
)

// The bins of an axis hold what was added to them, whatever the order of the times, and are at most
// mostBins.
func TestAxis(t *testing.T) {
	for seed := range uint64(200 / testenv.Stride(2)) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var a axis
		bins := make([]uint32, mostBins)
		var g grid
		var times []int64
		span := int64(1) << (rng.IntN(50) + 1)
		for range rng.IntN(300) + 1 {
			from := rng.Int64N(span) - span/3
			to := from + rng.Int64N(span/2+1)
			if m, moved := a.include(from, to); moved {
				moveBins(bins, m)
				g.move(m)
			}
			for _, at := range []int64{from, to} {
				bin, end := a.at(at)
				if bin < 0 || bin >= mostBins || at >= end || at < end-a.width {
					t.Fatalf("seed %d: %d is in bin %d that ends at %d, width %d", seed, at, bin, end, a.width)
				}
				bins[bin]++
				g.column(bin >> columnBits)[0]++
				times = append(times, at)
			}
		}
		first, n := a.bins()
		want, columns := make([]uint32, mostBins), make([]uint32, mostColumns)
		for _, at := range times {
			for i := range n {
				if at >= a.start(first+i) && at < a.start(first+i)+a.width {
					want[first+i]++
					columns[(first+i)/columnBins]++
				}
			}
		}
		if !slices.Equal(want, bins) {
			t.Fatalf("seed %d: bins differ", seed)
		}
		for i, c := range g.columns {
			if c == nil && columns[i] != 0 || c != nil && c[0] != columns[i] {
				t.Fatalf("seed %d: columns differ", seed)
			}
		}
		if span > 1<<22 && len(times) > 100 && n < mostBins/4 {
			t.Errorf("seed %d: only %d bins", seed, n)
		}
	}
}

// Each gap is in the row whose bounds it is between, and each position in its column.
func TestScales(t *testing.T) {
	row := func(ns int64) {
		r := int(gapRow(ns))
		low, high := rowStart(r), rowStart(r+1)
		if r < 0 || r >= gapRows || float64(ns) < low && r > 0 || float64(ns) >= high && r < gapRows-1 {
			t.Errorf("%d is in row %d from %v to %v", ns, r, low, high)
		}
		if r > 0 && r < gapRows-1 && high/low > 1+1.0/parts+1e-9 {
			t.Errorf("row %d from %v to %v is too wide", r, low, high)
		}
	}
	for _, ns := range []int64{math.MinInt64, -1, 0, 1, 1023, 1024, 1025, 1151, 1152, 1<<37 - 1, 1 << 37, math.MaxInt64} {
		row(ns)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 10_000 {
		row(rng.Int64N(1 << (rng.IntN(40) + 1)))
	}
	if gapRow(1<<leastBits) != 0 || gapRow(1<<leastBits+1<<(leastBits-partBits)) != 1 || rowStart(0) != 1<<leastBits || rowStart(gapRows) != 1<<mostBits {
		t.Errorf("ends of the scale: %v, %v", rowStart(0), rowStart(gapRows))
	}
	last := -1
	for p := 1; p < 1<<18; p++ {
		c := positionColumn(p)
		if float64(p) < columnStart(c) || float64(p) >= columnStart(c+1) || c < last || c > last+1 {
			t.Fatalf("position %d is in column %d from %v to %v", p, c, columnStart(c), columnStart(c+1))
		}
		last = c
	}
}

// Long series keep the minimum and the maximum of each stretch of time, and both ends; short ones all.
func TestThinner(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var x thinner
		var at []int64
		var value []float64
		ns := rng.Int64N(1e9) - 5e8
		n := []int{1, 100, mostPoints, mostPoints + 1, 2*mostPoints + 1, 50_000}[rng.IntN(6)]
		for range n {
			v := math.Floor(rng.NormFloat64() * 20)
			x.add(ns, v)
			at, value = append(at, ns), append(value, v)
			if rng.IntN(50) > 0 {
				ns += rng.Int64N(1 << rng.IntN(30))
			}
		}
		x.add(ns, math.NaN())
		x.add(ns, math.Inf(1))
		var s Series
		x.fill(&s)
		if len(s.AtNS) > mostPoints || len(s.AtNS) != len(s.Value) || s.LeftOut != n-len(s.AtNS) || n <= mostPoints && s.LeftOut != 0 || !slices.IsSorted(s.AtNS) {
			t.Fatalf("seed %d: %d of %d points, %d left out", seed, len(s.AtNS), n, s.LeftOut)
		}
		last := len(s.AtNS) - 1
		if s.AtNS[0] != at[0] || s.Value[0] != value[0] || s.AtNS[last] != at[n-1] || s.Value[last] != value[n-1] {
			t.Fatalf("seed %d: an end is missing", seed)
		}
		if x.width == 0 {
			continue
		}
		type ends struct{ least, most float64 }
		of := func(at []int64, value []float64) map[int64]ends {
			all := map[int64]ends{}
			for i, t := range at {
				k := floorDiv(t, x.width)
				e, ok := all[k]
				if !ok {
					e = ends{value[i], value[i]}
				}
				all[k] = ends{min(e.least, value[i]), max(e.most, value[i])}
			}
			return all
		}
		want, got := of(at, value), of(s.AtNS, s.Value)
		if len(want) != len(got) {
			t.Fatalf("seed %d: %d stretches of %d", seed, len(got), len(want))
		}
		for k, e := range want {
			if got[k] != e {
				t.Fatalf("seed %d: stretch %d has %v, want %v", seed, k, got[k], e)
			}
		}
	}
}

// Few points are all kept. Of many, each bin keeps its lowest and its highest TTFT, whether the cached
// tokens are known or not, and the order does not matter.
func TestPrompts(t *testing.T) {
	for seed := range uint64(40 / testenv.Stride(2)) {
		rng := rand.New(rand.NewPCG(seed, 1))
		n := []int{1, 50, mostPrompts, mostPrompts + 1, 30_000}[rng.IntN(5)]
		var all []promptPoint
		for i := range n {
			in := rng.Int64N(1 << (rng.IntN(17) + 1))
			p := promptPoint{Prompt{in, Absent, rng.Int64N(1000)}, mix(uint64(i))}
			if rng.IntN(3) > 0 {
				p.CachedTokens = rng.Int64N(in + 1)
			}
			all = append(all, p)
		}
		var x prompts
		for _, p := range all {
			x.add(p)
		}
		points, leftOut := x.points()
		if len(points) > mostPrompts || len(points)+leftOut != n || n <= mostPrompts && leftOut != 0 || n > mostPrompts && len(points) < promptSample {
			t.Fatalf("seed %d: %d points of %d, %d left out", seed, len(points), n, leftOut)
		}
		ends := func(points []Prompt) map[promptBin][2]int64 {
			all := map[promptBin][2]int64{}
			for i := range points {
				bin := x.bin(&promptPoint{points[i], 0})
				e, ok := all[bin]
				if !ok {
					e = [2]int64{math.MaxInt64, math.MinInt64}
				}
				all[bin] = [2]int64{min(e[0], points[i].TTFTNS), max(e[1], points[i].TTFTNS)}
			}
			return all
		}
		given := make([]Prompt, n)
		for i := range all {
			given[i] = all[i].Prompt
		}
		want, got := ends(given), ends(points)
		for bin, e := range want {
			if got[bin] != e {
				t.Fatalf("seed %d: bin %v has %v, want %v", seed, bin, got[bin], e)
			}
		}
		rng.Shuffle(n, func(i, k int) { all[i], all[k] = all[k], all[i] })
		var y prompts
		for _, p := range all {
			y.add(p)
		}
		if again, _ := y.points(); !slices.Equal(points, again) {
			t.Fatalf("seed %d: another order gives other points", seed)
		}
	}
}
