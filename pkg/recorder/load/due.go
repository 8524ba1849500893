package load

import (
	"math"
	"sort"
	"time"
)

// Due implements Open. Gaps that are drawn count with their mean.
func (r Rate) Due(n int) time.Duration {
	if n < 1 {
		return 0
	}
	return profile{r.PerSecond, r.RampUp}.at(float64(n))
}

// DueWithin implements Open. Gaps that are drawn count with their mean.
func (r Rate) DueWithin(d time.Duration) int {
	n := whole(profile{r.PerSecond, r.RampUp}.mean(d))
	if r.Due(n+1) <= d { // the mean was rounded
		n++
	} else if r.Due(n) > d {
		n--
	}
	return n
}

// Due implements Open.
func (v Intervals) Due(n int) time.Duration {
	if n < 1 || len(v.Gaps) == 0 {
		return 0
	}
	due := float64(n/len(v.Gaps)) * sum(v.Gaps)
	return span((due + sum(v.Gaps[:n%len(v.Gaps)])) / speedOf(v.Speed))
}

// DueWithin implements Open.
func (v Intervals) DueWithin(d time.Duration) int {
	round := sum(v.Gaps)
	if round <= 0 {
		return 0
	}
	left := float64(d) * speedOf(v.Speed)
	rounds := math.Floor(left / round)
	left -= rounds * round
	n := 0
	for n < len(v.Gaps) && float64(v.Gaps[n]) <= left {
		left -= float64(v.Gaps[n])
		n++
	}
	return whole(rounds*float64(len(v.Gaps)) + float64(n))
}

// Due implements Open. After the last request it returns the instant of the last one.
func (t Timetable) Due(n int) time.Duration {
	if n < 1 || len(t.Offsets) == 0 {
		return 0
	}
	return scaled(t.Offsets[min(n, len(t.Offsets))-1]-t.Offsets[0], t.Speed)
}

// DueWithin implements Open.
func (t Timetable) DueWithin(d time.Duration) int {
	return sort.Search(len(t.Offsets), func(i int) bool { return t.Due(i+1) > d })
}

// whole returns the whole part of a number of requests, bounded.
func whole(n float64) int { return int(min(max(n, 0), math.MaxInt32)) }

// span returns a number of nanoseconds as a time, at most math.MaxInt64.
func span(ns float64) time.Duration {
	if ns = math.Round(ns); ns < math.MaxInt64 {
		return time.Duration(ns)
	}
	return math.MaxInt64
}

// sum returns the sum of gaps in nanoseconds.
func sum(gaps []time.Duration) float64 {
	ns := 0.0
	for _, gap := range gaps {
		ns += float64(gap)
	}
	return ns
}

// speedOf returns a speed-up, whose 0 means 1.
func speedOf(speed float64) float64 {
	if speed == 0 {
		return 1
	}
	return speed
}
