package quality

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pa-tools/pa/internal/test/testenv"
)

const ms = 1_000_000

// Two requests of five tokens, by hand. The first token is due after 100 ms, each later token after 50 ms.
//
//	even: tokens at 80, 120, 160, 230, 300 ms: gaps 40, 40, 70, 70.
//	      slack 20; 20+50−40 = 30; 30+50−40 = 40; 40+50−70 = 20; 20+50−70 = 0: nothing is missed.
//	late: tokens at 260, 300, 520, 530, 590 ms: gaps 40, 220, 10, 60.
//	      260−100 = 160 late: ⌊160/50⌋+1 = 4 misses, slack 0; 0+50−40 = 10;
//	      10+50−220 = −160: 4 misses, slack 0; 0+50−10 = 40; 40+50−60 = 30.
//	      4+1+4+1+1 = 11 deadlines, 8 misses.
//
// Pooled: 16 deadlines, 8 misses, index ½.
var (
	even = given{80 * ms, []int64{40 * ms, 40 * ms, 70 * ms, 70 * ms}}
	late = given{260 * ms, []int64{40 * ms, 220 * ms, 10 * ms, 60 * ms}}
	due  = deadline{100 * ms, 50 * ms}
)

// A given is the times of an answer.
type given struct {
	ttft int64
	gaps []int64
}

// newAnswer returns the Answer with the times of a.
func newAnswer(a given) *Answer {
	var x Answer
	x.Set(a.ttft, a.gaps)
	return &x
}

func TestFluidity(t *testing.T) {
	for _, tt := range []struct {
		name  string
		a     given
		d     deadline
		want  Fluidity
		index float64
	}{
		{"even", even, due, Fluidity{5, 0}, 1},
		{"late", late, due, Fluidity{11, 8}, 3.0 / 11},
		{"one token in time", given{100 * ms, nil}, due, Fluidity{1, 0}, 1},
		{"one token 1 ns late", given{100*ms + 1, nil}, due, Fluidity{1, 1}, 0},
		{"one token one interval late", given{150 * ms, nil}, due, Fluidity{2, 2}, 0},
		{"a gap that uses up all slack", given{0, []int64{150 * ms}}, due, Fluidity{2, 0}, 1},
		{"a gap 1 ns beyond all slack", given{0, []int64{150*ms + 1}}, due, Fluidity{2, 1}, 0.5},
		{"a clock set back", given{0, []int64{-5, 3}}, due, Fluidity{3, 0}, 1},
	} {
		got := newAnswer(tt.a).fluidity(tt.d)
		if index, ok := got.index(); got != tt.want || !ok || index-tt.index > 1e-15 || tt.index-index > 1e-15 {
			t.Errorf("%s: %+v, index %v, want %+v, %v", tt.name, got, index, tt.want, tt.index)
		}
	}
	a, b := newAnswer(even).fluidity(due), newAnswer(late).fluidity(due)
	if index, _ := (Fluidity{a.Deadlines + b.Deadlines, a.Misses + b.Misses}).index(); index != 0.5 {
		t.Errorf("pooled index %v, want 0.5", index)
	}
	if _, ok := (Fluidity{}).index(); ok {
		t.Error("an index without deadlines")
	}
}

// By hand, with target 0.9 and 5 tokens: no miss is allowed, since one of five or more is at least a
// tenth. Tokens of even are at 80, 120, 160, 230, 300 ms, due by 100 + k·D: the last one asks for
// 4·D ≥ 200, D = 50 ms. late never gets there: its first token misses one deadline of five.
func TestFluidInterval(t *testing.T) {
	for _, tt := range []struct {
		name   string
		a      given
		first  int64
		target float64
		want   int64
		ok     bool
	}{
		{"even", even, 100 * ms, 0.9, 50 * ms, true},
		{"late", late, 100 * ms, 0.9, 0, false},
		// The first token always misses; then one miss of five is 0.8. 160 ms late is one miss from
		// D = 160 ms + 1 ns on, and then no other token is late: 40, 220−(D−40)=100, ….
		{"late, a lower target", late, 100 * ms, 0.8, 160*ms + 1, true},
		{"late, first token not due", late, 260 * ms, 0.9, 130 * ms, true}, // 40 + 220 in two intervals
		{"one token", given{90 * ms, nil}, 100 * ms, 0.9, 1, true},
		{"one token, late", given{110 * ms, nil}, 100 * ms, 0.9, 0, false},
	} {
		got, ok := newAnswer(tt.a).fluidInterval(tt.first, tt.target)
		if got != tt.want || ok != tt.ok {
			t.Errorf("%s: %d, %v, want %d, %v", tt.name, got, ok, tt.want, tt.ok)
		}
	}
}

// By hand, 60 ms a token: due at 60, 120, 180, 240, 300 ms.
//
//	even: at 80, 120, 160, 230, 300: the first is 20 ms late, four are in time.
//	late: at 260, 300, 520, 530, 590: late by 200, 180, 340, 290, 290 ms: none in time.
//
// Benefit of late: 5 − 340/60.
func TestTimeliness(t *testing.T) {
	const pace = 60 * ms
	if got, want := newAnswer(even).timeliness(pace), (Timeliness{5, 4, 20 * ms}); got != want {
		t.Errorf("even: %+v, want %+v", got, want)
	}
	got, want := newAnswer(late).timeliness(pace), Timeliness{5, 0, 340 * ms}
	if got != want {
		t.Errorf("late: %+v, want %+v", got, want)
	}
	if b := got.benefit(pace); math.Abs(b-(5-340.0/60)) > 1e-15 {
		t.Errorf("benefit %v, want %v", b, 5-340.0/60)
	}
	if got := newAnswer(given{ttft: 60 * ms}).timeliness(pace); got != (Timeliness{1, 1, 0}) { // edge: just in time
		t.Errorf("one token: %+v", got)
	}
}

// By hand: late has gaps 40, 220, 10, 60, median 50 ms. Above 100 ms: one stall of 220 of 330 ms.
func TestStalls(t *testing.T) {
	for _, tt := range []struct {
		name      string
		threshold int64
		factor    float64
		gaps      []int64
		want      Stall
	}{
		{"threshold", 100 * ms, 2, late.gaps, Stall{1, 220 * ms, 220 * ms, 330 * ms}},
		{"factor", 20 * ms, 1.1, late.gaps, Stall{2, 220 * ms, 280 * ms, 330 * ms}}, // above 55 ms
		{"a gap of just the limit is none", 60 * ms, 1, late.gaps, Stall{1, 220 * ms, 220 * ms, 330 * ms}},
		{"even", 100 * ms, 5, even.gaps, Stall{0, 0, 0, 220 * ms}},
		{"no gaps", 100 * ms, 5, nil, Stall{}},
	} {
		x := Stalls{ThresholdNS: tt.threshold, Factor: tt.factor}
		if got := x.Of(tt.gaps); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
	if share, ok := (Stall{1, 220, 220, 330}).share(); share != 220.0/330 || !ok {
		t.Errorf("share %v", share)
	}
	if _, ok := (Stall{}).share(); ok {
		t.Error("a share of no time")
	}
}

func TestPositions(t *testing.T) {
	var p Positions
	p.Add(newAnswer(even))
	p.Add(newAnswer(late))
	p.Add(newAnswer(given{}))
	want := []Position{{1, 1, 2, 40 * ms}, {2, 3, 4, (40 + 70 + 220 + 10) * ms / 4}, {4, 7, 2, 65 * ms}}
	if got := p.Means(); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestFits(t *testing.T) {
	for _, tt := range []struct {
		a    given
		want bool
	}{
		{late, true},
		{given{1<<60 - 1, nil}, true},
		{given{1 << 60, nil}, false},
		{given{-1 << 60, nil}, false},
		{given{1<<59 - 1, []int64{-1 << 59}}, true},
		{given{1 << 59, []int64{-1 << 59}}, false},
		{given{0, []int64{math.MinInt64, math.MinInt64}}, false}, // their magnitudes add up to 2⁶⁴
		{given{0, append(slices.Repeat([]int64{0}, 1000), 1<<60-1)}, true},
	} {
		var a Answer
		if got := a.Set(tt.a.ttft, tt.a.gaps); got != tt.want {
			t.Errorf("times with the first token at %d: %v, want %v", tt.a.ttft, got, tt.want)
		}
	}
}

// A damaged clock makes a gap of 18 years, and deadlines may be as long as the flags allow: no sum
// overflows, and the result is as for any other answer.
func TestHugeTimes(t *testing.T) {
	const years, day = 1 << 59, 86_400_000 * ms
	a := given{0, append(slices.Repeat([]int64{ms}, 1000), years)}
	// The slack of 1000 intervals must cover the gap: 1000·(D − 1 ms) + D ≥ years.
	if got, ok := newAnswer(a).fluidInterval(0, 1); !ok || got != (years+1000*ms+1000)/1001 {
		t.Errorf("interval %d, %v, want %d", got, ok, (years+1000*ms+1000)/1001)
	}
	if got, want := newAnswer(a).fluidity(deadline{math.MaxInt64, math.MaxInt64}), (Fluidity{1002, 0}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	long := slices.Repeat([]int64{ms}, 200_000) // 200,001 days are more than an int64 holds
	if got, want := newAnswer(given{ms, long}).timeliness(day), (Timeliness{200_001, 200_001, 0}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// random returns an answer of up to 50 tokens with gaps around 50 ms.
func random(rng *rand.Rand) given {
	a := given{ttft: rng.Int64N(300 * ms)}
	for range rng.IntN(50) {
		a.gaps = append(a.gaps, rng.Int64N(100*ms)*rng.Int64N(3))
	}
	return a
}

func TestProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		a, k := random(rng), 1+rng.Int64N(1000)
		d := deadline{rng.Int64N(200 * ms), 1 + rng.Int64N(100*ms)}
		f := newAnswer(a).fluidity(d)
		index, ok := f.index()
		if !ok || index < 0 || index > 1 || f.Deadlines < int64(len(a.gaps)) {
			t.Fatalf("%+v, %+v: %+v", a, d, f)
		}
		// Scaling: times and deadlines in another unit.
		scaled := given{a.ttft * k, nil}
		for _, g := range a.gaps {
			scaled.gaps = append(scaled.gaps, g*k)
		}
		if got := newAnswer(scaled).fluidity(deadline{d.First * k, d.Next * k}); got != f {
			t.Fatalf("%+v, %+v times %d: %+v, want %+v", a, d, k, got, f)
		}
		one, many := newAnswer(a).timeliness(d.Next), newAnswer(scaled).timeliness(d.Next*k)
		if many != (Timeliness{one.Tokens, one.Met, one.IdleNS * k}) {
			t.Fatalf("timeliness %+v scaled by %d: %+v", one, k, many)
		}
		// Every token early: index 1.
		early := deadline{a.ttft, 1}
		for _, g := range a.gaps {
			early.Next = max(early.Next, g)
		}
		if index, _ := newAnswer(a).fluidity(early).index(); index != 1 {
			t.Fatalf("%+v, %+v: index %v, want 1", a, early, index)
		}
		if got := newAnswer(a).timeliness(max(a.ttft, early.Next, 1)); got.Met != got.Tokens || got.IdleNS != 0 {
			t.Fatalf("%+v: %+v", a, got)
		}
		// A longer interval never lowers the index, and the smallest one is the smallest.
		if longer, _ := newAnswer(a).fluidity(deadline{d.First, d.Next + rng.Int64N(50*ms)}).index(); longer < index {
			t.Fatalf("%+v, %+v: a longer interval lowers the index from %v to %v", a, d, index, longer)
		}
		if ns, ok := newAnswer(a).fluidInterval(d.First, 0.9); ok {
			at, _ := newAnswer(a).fluidity(deadline{d.First, ns}).index()
			below := 0.0
			if ns > 1 {
				below, _ = newAnswer(a).fluidity(deadline{d.First, ns - 1}).index()
			}
			if at < 0.9 || below >= 0.9 {
				t.Fatalf("%+v: interval %d has index %v, one less %v", a, ns, at, below)
			}
		} else if index >= 0.9 {
			t.Fatalf("%+v: no interval, but %d has index %v", a, d.Next, index)
		}
		// Stalls do not depend on the order of the gaps.
		x := Stalls{ThresholdNS: d.Next, Factor: 2}
		before := x.Of(a.gaps)
		rng.Shuffle(len(a.gaps), func(i, j int) { a.gaps[i], a.gaps[j] = a.gaps[j], a.gaps[i] })
		if after := x.Of(a.gaps); after != before {
			t.Fatalf("stalls %+v, in another order %+v", before, after)
		}
	}
}

// Find returns the stalls that Of counts.
func TestFind(t *testing.T) {
	x := Stalls{ThresholdNS: 20, Factor: 3}
	for _, tt := range []struct {
		gaps []int64
		want []int
	}{
		{nil, nil},
		{[]int64{20, 10}, nil},                         // none above the threshold
		{[]int64{21, 21, 21, 21}, nil},                 // none above three medians
		{[]int64{5, 31, 5, 21, 5, 5, 20}, []int{1, 3}}, // the median is 5
	} {
		got := x.Find(tt.gaps)
		of := x.Of(tt.gaps)
		longest, sum := int64(0), int64(0)
		for _, i := range got {
			longest, sum = max(longest, tt.gaps[i]), sum+tt.gaps[i]
		}
		if !slices.Equal(got, tt.want) || of.N != len(got) || of.LongestNS != longest || of.TotalNS != sum {
			t.Errorf("%v: %v, want %v; Of says %+v", tt.gaps, got, tt.want, of)
		}
	}
}

// The search leaves out what cannot change its result: it agrees with the definition, index by index.
func TestFluidIntervalIsSmallest(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	found := 0
	for range 3000 {
		ttft, first := rng.Int64N(300), rng.Int64N(200)+1
		gaps := make([]int64, rng.IntN(12))
		for i := range gaps {
			gaps[i] = rng.Int64N([]int64{3, 30, 300}[rng.IntN(3)])
		}
		target := []float64{0.1, 0.5, 0.9, 0.99, 1}[rng.IntN(5)]
		want, wantOK := int64(0), false
		for next := int64(1); next <= 700 && !wantOK; next++ {
			index, _ := newAnswer(given{ttft, gaps}).fluidity(deadline{first, next}).index()
			want, wantOK = next, index >= target
		}
		got, ok := newAnswer(given{ttft, gaps}).fluidInterval(first, target)
		if ok != wantOK || ok && got != want {
			t.Fatalf("TTFT %d due %d, gaps %v, target %v: %d, %v; want %d, %v", ttft, first, gaps, target, got, ok, want, wantOK)
		}
		if ok && got > 1 {
			found++
		}
	}
	if found < 500 {
		t.Errorf("only %d intervals above 1", found)
	}
}

// smallestInterval is the fluid interval by its definition: it halves the range in which it is.
func smallestInterval(a given, first int64, target float64) (ns int64, ok bool) {
	reached := func(next int64) bool {
		index, _ := definedFluidity(a, deadline{first, next}).index()
		return index >= target
	}
	low, high := int64(0), int64(Most)
	if !reached(high) {
		return 0, false
	}
	for low+1 < high {
		if next := low + (high-low)/2; reached(next) {
			high = next
		} else {
			low = next
		}
	}
	return high, true
}

// definedFluidity counts the deadlines of each token, as the definition says.
func definedFluidity(a given, d deadline) (f Fluidity) {
	slack := f.token(d.First-a.ttft, d.Next)
	for _, g := range a.gaps {
		slack = f.token(slack+d.Next-g, d.Next)
	}
	return f
}

// definedTimeliness looks at the deadline of each token.
func definedTimeliness(a given, pace int64) Timeliness {
	t := Timeliness{Tokens: int64(len(a.gaps) + 1)}
	at := a.ttft
	for i := range t.Tokens {
		if i > 0 {
			at += a.gaps[i-1]
		}
		late := at - (i+1)*pace
		t.IdleNS = max(t.IdleNS, late)
		if late <= 0 {
			t.Met++
		}
	}
	return t
}

// checkDefinitions compares the figures of an answer with the figures that their definitions give.
func checkDefinitions(t *testing.T, a given, d deadline, target float64) {
	t.Helper()
	x := newAnswer(a)
	wantNS, wantOK := smallestInterval(a, d.First, target)
	if ns, ok := x.fluidInterval(d.First, target); ns != wantNS || ok != wantOK {
		t.Fatalf("%+v, first token due after %d, target %v: interval %d, %v; want %d, %v", a, d.First, target, ns, ok, wantNS, wantOK)
	}
	if got, want := x.fluidity(d), definedFluidity(a, d); got != want {
		t.Fatalf("%+v, %+v: %+v, want %+v", a, d, got, want)
	}
	if got, want := x.timeliness(d.Next), definedTimeliness(a, d.Next); got != want {
		t.Fatalf("%+v at a pace of %d: %+v, want %+v", a, d.Next, got, want)
	}
	stalls := Stalls{ThresholdNS: d.Next, Factor: 2}
	if got, want := stalls.ofAnswer(x), stalls.Of(a.gaps); got != want {
		t.Fatalf("%+v, stalls from %d on: %+v, want %+v", a, d.Next, got, want)
	}
}

// Answers of many kinds: even, with rare stalls, in bursts, slower and slower, with a clock set back, and with
// gaps that use up the slack at the very end or at once.
func TestDefinitions(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for kind, gap := range []func(i int) int64{
		func(int) int64 { return 10*ms + rng.Int64N(5*ms) },
		func(int) int64 { return 10*ms + rng.Int64N(100)/99*rng.Int64N(5000*ms) },
		func(i int) int64 { return int64(i) % 8 / 7 * 80 * ms },
		func(i int) int64 { return int64(i) * ms },
		func(i int) int64 { return max(1, 200-int64(i)) * ms },
		func(int) int64 { return rng.Int64N(40*ms) - 5*ms },
		func(int) int64 { return rng.Int64N(4) },
		func(int) int64 { return 1 << rng.IntN(50) },
		func(i int) int64 { return 20*ms + int64(i)/90*400*ms },
		func(int) int64 { return 20 * ms },
	} {
		for range 3000 / testenv.Stride(4) {
			a := given{ttft: rng.Int64N(400*ms) * rng.Int64N(5)}
			for i := range rng.IntN(130) {
				a.gaps = append(a.gaps, gap(i))
			}
			d := deadline{[]int64{0, 1, 100 * ms, 1000 * ms, 1 << 40}[rng.IntN(5)], 1 + rng.Int64N(60*ms)}
			target := []float64{0.001, 0.1, 0.5, 0.9, 0.9, 0.99, 1}[rng.IntN(7)]
			checkDefinitions(t, a, d, target)
			if t.Failed() {
				t.Fatalf("kind %d", kind)
			}
		}
	}
}

func FuzzDefinitions(f *testing.F) {
	f.Add([]byte{10, 20, 30, 0, 255, 7}, int64(50*ms), int64(100*ms), int64(50*ms), uint8(90), uint8(20))
	f.Add([]byte{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 200}, int64(0), int64(1), int64(1), uint8(100), uint8(0))
	f.Add([]byte{0, 0, 0, 0}, int64(-3), int64(1<<40), int64(1<<40), uint8(1), uint8(33))
	f.Fuzz(func(t *testing.T, gaps []byte, ttft, first, next int64, percent, shift uint8) {
		if len(gaps) > 500 {
			return
		}
		const most = 1 << 50 // no computation of the definitions overflows
		a := given{ttft: ttft % most}
		for i, g := range gaps {
			a.gaps = append(a.gaps, (int64(g)-16)<<(shift%32)+int64(i%3))
		}
		d := deadline{max(first%most, 0), 1 + max(next%most, 0)}
		checkDefinitions(t, a, d, float64(1+percent%100)/100)
	})
}
