package pawindow

import (
	"math"
	"math/bits"
	"slices"
	"time"
)

// NoDeviation is the number that perf_analyzer prints as the standard deviation of a single
// latency.
const NoDeviation = math.MaxUint64

// Stats collects the requests of one window or of several. The zero value is empty.
type Stats struct {
	Duration  time.Duration // of the window
	Requests  int
	Responses int
	Sequences int // that ended
	Delayed   int // requests that were late: see [Delayed]

	latencies []time.Duration
	sum       uint64  // ns; 2^64 are 584 years
	squares   uint128 // ns²
}

// Add counts a request. The latency must not be negative.
func (s *Stats) Add(latency time.Duration, responses int) {
	s.Requests++
	s.Responses += responses
	s.latencies = append(s.latencies, latency)
	ns := uint64(latency)
	s.sum += ns
	s.squares.addProduct(ns, ns)
}

// Merge adds the counts and durations of windows and pools their latencies.
func Merge(windows []Stats) Stats {
	var all Stats
	for i := range windows {
		w := &windows[i]
		all.Duration += w.Duration
		all.Requests += w.Requests
		all.Responses += w.Responses
		all.Sequences += w.Sequences
		all.Delayed += w.Delayed
		all.latencies = append(all.latencies, w.latencies...)
		all.sum += w.sum
		all.squares.add(w.squares)
	}
	return all
}

// A Summary holds the reported statistics of one window, or of several together.
type Summary struct {
	Duration  time.Duration
	Requests  int
	Responses int
	Sequences int
	Delayed   int
	// Mean, StdDevUS and Percentiles describe the latencies; without requests they are
	// undefined. Mean is rounded down to ns, StdDevUS to µs.
	Mean time.Duration
	// StdDevUS is the standard deviation of the sample, around the rounded mean,
	// in µs; [NoDeviation] for a single request. perf_analyzer's own is wrong from
	// latencies of seconds on, where its 64 bits overflow; this one is right.
	StdDevUS uint64
	// Percentiles are in ascending order of Pct.
	Percentiles []Percentile
}

// A Percentile is a percentile of the latencies as perf_analyzer takes it: the observed
// latency at [Index], without interpolation. Fewer than Pct % of the requests may be at
// or below it: with three latencies, the 70th percentile is the second.
type Percentile struct {
	Pct     int // 1 to 99
	Latency time.Duration
}

// Summary computes the percentiles asked for, which must ascend, and the rest.
func (s *Stats) Summary(percentiles []int) Summary {
	sum := Summary{
		Duration: s.Duration, Requests: s.Requests, Responses: s.Responses,
		Sequences: s.Sequences, Delayed: s.Delayed,
	}
	if s.Requests == 0 {
		return sum
	}
	n := uint64(s.Requests)
	mean := s.sum / n
	sum.Mean = time.Duration(mean)
	sum.StdDevUS = NoDeviation
	if n > 1 {
		// Σ(x−m)² = Σx² − m·Σx − m·(Σx − n·m), exact in 128 bits.
		about := s.squares
		var rest uint128
		rest.addProduct(mean, s.sum)
		rest.addProduct(mean, s.sum-n*mean)
		about.sub(rest)
		sum.StdDevUS = uint64(math.Sqrt(about.quotient(n-1)) / 1000)
	}
	sorted := slices.Clone(s.latencies)
	slices.Sort(sorted)
	for _, pct := range percentiles {
		sum.Percentiles = append(sum.Percentiles, Percentile{pct, sorted[Index(pct, len(sorted))]})
	}
	return sum
}

// Percentile returns one of the percentiles that were asked for, else ok false.
func (s *Summary) Percentile(pct int) (latency time.Duration, ok bool) {
	for _, p := range s.Percentiles {
		if p.Pct == pct {
			return p.Latency, true
		}
	}
	return 0, false
}

// Typical returns the latency that stability is judged by and a summary line
// shows: the mean, or with pct above 0 that percentile, which must have been
// asked for. 0 without requests.
func (s *Summary) Typical(pct int) time.Duration {
	if pct <= 0 {
		return s.Mean
	}
	latency, _ := s.Percentile(pct)
	return latency
}

// PerSecond returns n per second of the duration: see [PerSecond].
func (s *Summary) PerSecond(n int) float64 { return PerSecond(n, s.Duration) }

// PerSecond returns n per second, 0 where no time passed. It reckons in single
// precision throughout, as perf_analyzer does, so that rates print the same
// digits.
func PerSecond(n int, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(float32(n) / (float32(d) / 1e9))
}

// Percentiles returns the percentiles of a report in ascending order: 50, 90, 95, 99,
// and extra if it is above 0.
func Percentiles(extra int) []int {
	all := []int{50, 90, 95, 99}
	if i, found := slices.BinarySearch(all, extra); extra > 0 && !found {
		all = slices.Insert(all, i, extra)
	}
	return all
}

// Index returns which of n sorted latencies is the percentile pct: the one at
// pct/100·(n−1), rounded half up. n must be above 0.
func Index(pct, n int) int {
	return int(float64(float64(pct)/100*float64(n-1)) + 0.5) // the conversion forbids fused arithmetic
}

// uint128 is an unsigned number. A sum of squared latencies needs it: twenty of
// 1 s are 2·10¹⁹.
type uint128 struct{ hi, lo uint64 }

func (x *uint128) add(y uint128) {
	var carry uint64
	x.lo, carry = bits.Add64(x.lo, y.lo, 0)
	x.hi, _ = bits.Add64(x.hi, y.hi, carry)
}

func (x *uint128) sub(y uint128) {
	var borrow uint64
	x.lo, borrow = bits.Sub64(x.lo, y.lo, 0)
	x.hi, _ = bits.Sub64(x.hi, y.hi, borrow)
}

func (x *uint128) addProduct(a, b uint64) {
	hi, lo := bits.Mul64(a, b)
	x.add(uint128{hi, lo})
}

// quotient returns the whole part of x/d.
func (x *uint128) quotient(d uint64) float64 {
	hi, rest := bits.Div64(0, x.hi, d)
	lo, _ := bits.Div64(rest, x.lo, d)
	return float64(hi)*0x1p64 + float64(lo)
}
