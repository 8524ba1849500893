package quality

import (
	"math"
	"math/bits"
)

// fluidInterval returns the smallest deadline.Next, in whole nanoseconds, at which the index of the
// answer is at least target, for a first token that is due after first. ok is false if no interval
// suffices, because the first token misses too many deadlines.
//
// A longer interval never lowers the index: token by token, it makes slack longer and misses fewer.
// So the smallest interval lies between an interval that reaches the target and one that does not.
// Each trial between them also shows which other intervals miss the same deadlines, so that few
// trials suffice.
//
// The fluid token rate of a level is 1/interval, for the smallest interval at which a given share of
// its requests reaches the target (arXiv 2407.07000).
func (a *Answer) fluidInterval(first int64, target float64) (ns int64, ok bool) {
	n := a.tokens()
	s := intervalSearch{gaps: a.gaps, first: first - a.ttft, target: target}
	// With n tokens, more misses than (1−target)/target·n are too many for any index of target.
	s.tooMany = ((1-target)*float64(n) + 1) / target
	s.need = -min(s.first, endless)
	var low, high int64 // low does not reach the target; high does
	if s.first >= 0 {
		low, high = s.punctual(a)
		if index, _ := (Fluidity{n, 1}).index(); high == 1 || index < target {
			return high, true
		}
	} else { // at an interval of longest+1, the first token misses at most one deadline, the others none
		high = max(-s.first, a.longest)
		t := s.try(high + 1)
		if !t.reached {
			return 0, false
		}
		high = t.from
	}
	for low+1 < high {
		next := low + (high-low)/2
		if low == 0 {
			next = 1 // often long enough for a fast server
		}
		if t := s.try(next); t.reached {
			high = max(t.from, low+1)
		} else {
			low = t.to
		}
	}
	return high, true
}

// An intervalSearch tries intervals between tokens for one answer.
type intervalSearch struct {
	gaps    []int64
	first   int64 // time from the first token to its deadline; negative if the token is late
	target  float64
	tooMany float64 // misses that are too many for the target

	// skip is the number of gaps before the first late token at the longest interval that did not
	// reach the target; need is their sum less first. At longer intervals these tokens are in time.
	skip int
	need int64
}

// punctual returns longest, the smallest interval, at least 1, at which no token is late; the first token must not
// be late. It also returns tooShort, at least 0: no interval up to tooShort reaches the target.
//
// At an interval shorter than all gaps, a late token makes all later tokens late. If one of the early tokens is
// late, the later tokens are too many.
func (s *intervalSearch) punctual(a *Answer) (tooShort, longest int64) {
	early := int(max(float64(len(s.gaps))-s.tooMany, 0))
	later, need := s.inTime(early, len(s.gaps), s.need+a.sum, math.MinInt64)
	least := int64(math.MinInt64)
	if a.shortest >= 0 { // need rises from token to token; a token with a need of at most 0 is in time at any interval
		least = 0
	}
	longest, _ = s.inTime(0, early, need, least)
	tooShort = longest - 1
	if a.shortest < longest {
		tooShort = max(a.shortest, 1) - 1
	} else {
		s.skip, s.need = early, need
	}
	return tooShort, max(longest, later)
}

// inTime returns the smallest interval, at least 1, at which none of the tokens after gaps[from:to] is late. The need of
// a token is the sum of all gaps before it minus the slack of the first token: needAfter is the need of the token after
// gaps[:to], and needBefore is the need of the token after gaps[:from]. inTime goes from the last token to the first,
// because the last token usually needs the longest interval. It stops at a token with a need of at most least.
func (s *intervalSearch) inTime(from, to int, needAfter, least int64) (interval, needBefore int64) {
	interval = 1
	need := needAfter
	over := need - int64(to) // need minus one interval for each gap before the token
	for n := to; n > from && need > least; n-- {
		if over > 0 {
			interval = (need-1)/int64(n) + 1
			over = need - interval*int64(n)
		}
		g := s.gaps[n-1]
		need -= g
		over += interval - g
	}
	return interval, need
}

// longerFor returns interval, or the smallest longer interval that, n times, is at least need.
func longerFor(interval, need, n int64) int64 {
	if need <= 0 {
		return interval
	}
	if high, low := bits.Mul64(uint64(interval), uint64(n)); high > 0 || low >= uint64(need) {
		return interval
	}
	return (need-1)/n + 1
}

// A trial is the result of an interval. All intervals between from and to miss the same deadlines of
// the same tokens, as far as the trial went.
type trial struct {
	reached  bool
	from, to int64
}

// try counts the misses at an interval that is longer than all that did not reach the target.
func (s *intervalSearch) try(interval int64) trial {
	t := trial{from: 1, to: math.MaxInt64}
	var f Fluidity
	// n is the number of gaps since the first token or the last late one, and need is their sum less
	// the slack before them.
	i, n, need, slack := s.skip, int64(s.skip), s.need, int64(endless)
	if s.first < 0 {
		i, n, need = 0, 0, 0
		slack = t.late(&f, -s.first, interval, 0)
	} else {
		if high, low := bits.Mul64(uint64(interval), uint64(n)); high == 0 && low < endless {
			slack = min(int64(low)-need, endless)
		}
		f.Deadlines = n + 1
	}
	firstLate, needBefore := -1, int64(0)
	for ; i < len(s.gaps) && float64(f.Misses) <= s.tooMany; i++ {
		g := s.gaps[i]
		n++
		need += g
		if slack += interval - g; slack >= 0 {
			slack = min(slack, endless)
			f.Deadlines++
			t.from = longerFor(t.from, need, n)
			continue
		}
		if firstLate < 0 {
			firstLate, needBefore = i, need-g
		}
		slack = t.late(&f, need, interval, n)
		n, need = 0, 0
	}
	index, _ := f.index()
	t.reached = index >= s.target && float64(f.Misses) <= s.tooMany
	if !t.reached && s.first >= 0 {
		s.skip, s.need = firstLate, needBefore
	}
	return t
}

// late counts a late token: n intervals are less than need. It returns the slack for the next token.
func (t *trial) late(f *Fluidity, need, interval, n int64) (slack int64) {
	misses := int64(1)
	if lateness := need - n*interval; lateness >= interval {
		misses = lateness/interval + 1
	}
	f.Deadlines += misses
	f.Misses += misses
	// misses+n intervals are more than need; misses−1+n are not. Divisions are slow, and few of them change
	// the bounds.
	if need >= t.from*(misses+n) {
		t.from = need/(misses+n) + 1
	}
	switch {
	case misses > 1:
		t.lower(need, misses-1+n)
	case n > 0:
		t.lower(need-1, n)
	}
	return 0
}

// lower lowers to to need/n if it is above.
func (t *trial) lower(need, n int64) {
	if high, low := bits.Mul64(uint64(t.to), uint64(n)); high > 0 || low > uint64(need) {
		t.to = min(t.to, need/n)
	}
}
