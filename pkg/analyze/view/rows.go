package view

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
)

// A sample keeps a part of the requests of a run. Of the rows that are not failures, a share of
// 1/worstShare is kept for each of: the longest stalls, the slowest first tokens, the slowest ends.
// The others are drawn by their keys, evenly over strata of time: at most mostStrata, of leastOfStratum rows
// or more. Failures are kept while they take no more than a share of failureShare of all rows; else they are
// drawn, too.
const (
	mostStrata     = 100
	leastOfStratum = 5
	worstShare     = 20
	failureShare   = 0.9
)

// noTime is a missing time of a row.
const noTime = math.MinInt64

// A row is a request that may be kept. Its times are from the anchor, or noTime. It has no pointers, so that
// many rows cost the garbage collector nothing.
type row struct {
	key int64 // decides whether it is drawn, at least 0
	id  uint64

	beginNS, endNS                               int64 // of the row, which may be without a time
	queueNS, connectNS, startNS, firstNS, lastNS int64
	ttftNS, e2elNS                               int64 // Absent if not known, as the numbers of tokens
	inputTokens, cachedTokens, outputTokens      int64
	outputLate                                   int64 // outputTokens if the level was streamed; Absent if streaming makes no difference
	stallNS                                      int64 // longest; 0 without
	rank, slot, turn                             int
	lane, texts, stalls                          int32 // texts and stalls are indices in rows
	timed, failed                                bool
	undecided                                    bool // firstNS and ttftNS hold only if the level was streamed
}

// rowTexts are the texts of a row. Most rows have the same texts as the previous row.
type rowTexts struct{ status, excluded, class, message, model, session string }

// rowStalls are the stalls of a row.
type rowStalls struct {
	all     []Stall
	leftOut int
}

// A keptRow is a row with a copy of the values that decide whether it stays kept: they are adjacent in
// memory, and rows are not.
type keptRow struct {
	candidate
	row *row
}

// candidate is what decides whether a request is kept.
type candidate struct {
	key                 int64
	beginNS             int64
	failed              bool
	stallNS, ttft, e2el int64
}

// rows keeps at most about twice as many rows as in the end.
type rows struct {
	most   int
	levels []*levelRows
	held   int

	texts  []rowTexts
	stalls []rowStalls // the first one has none

	scratch []int64
	free    []*row // not kept any more
	unused  []row  // of the last block
}

// newRows returns rows of which at most as many stay.
func newRows(most int) rows { return rows{most: most, stalls: make([]rowStalls, 1)} }

// textsOf returns the index of texts.
func (x *rows) textsOf(t rowTexts) int32 {
	n := len(x.texts)
	if n == 0 || x.texts[n-1] != t {
		t.message, t.model = strings.Clone(t.message), strings.Clone(t.model)
		x.texts = append(x.texts, t)
		n++
	}
	return int32(n - 1)
}

// forget leaves out the texts and the stalls of rows that are not kept, if they are many.
func (x *rows) forget() {
	if len(x.texts) < x.most && len(x.stalls) < x.most {
		return
	}
	texts, stalls := x.texts, x.stalls
	x.texts, x.stalls = nil, make([]rowStalls, 1)
	for _, l := range x.levels {
		for i := range l.kept {
			r := l.kept[i].row
			r.texts = x.textsOf(texts[r.texts])
			if r.stalls > 0 {
				x.stalls = append(x.stalls, stalls[r.stalls])
				r.stalls = int32(len(x.stalls) - 1)
			}
		}
	}
}

// rowBlock is the number of rows that are allocated at once.
const rowBlock = 256

// newRow returns a row to fill.
func (x *rows) newRow() *row {
	if n := len(x.free); n > 0 {
		r := x.free[n-1]
		x.free = x.free[:n-1]
		return r
	}
	if len(x.unused) == 0 {
		x.unused = make([]row, rowBlock)
	}
	r := &x.unused[0]
	x.unused = x.unused[1:]
	return r
}

// levelRows are the rows of a level.
type levelRows struct {
	kept []keptRow
	seen int
	// failures counts the failures seen; failureLimit is the key from which failures are not kept.
	failures     int
	failureLimit int64
	// cut says that rows were left out, so that the next fields hold.
	cut bool
	// stall, ttft and e2el are above the rows that are not among the worst.
	stall, ttft, e2el int64
	// fromNS and toNS are the begins of the first and the last row at the last cut, and limits
	// the keys from which rows of each stratum are not drawn.
	fromNS, toNS int64
	limits       []int64
}

// level returns the rows of a level.
func (x *rows) level(i int) *levelRows {
	for i >= len(x.levels) {
		x.levels = append(x.levels, &levelRows{failureLimit: math.MaxInt64})
	}
	return x.levels[i]
}

// wants reports whether a request may have to be kept.
func (l *levelRows) wants(c candidate) bool {
	switch {
	case c.failed:
		return c.key < l.failureLimit
	case !l.cut, c.stallNS > l.stall, c.ttft > l.ttft, c.e2el > l.e2el, c.beginNS < l.fromNS, c.beginNS > l.toNS:
		return true
	}
	return c.key < l.limits[l.stratum(c.beginNS)]
}

// stratum returns the stratum of a begin.
func (l *levelRows) stratum(begin int64) int {
	span := float64(l.toNS-l.fromNS) + 1
	return min(int(float64(begin-l.fromNS)/span*float64(len(l.limits))), len(l.limits)-1)
}

// add adds a row to a level.
func (x *rows) add(l *levelRows, c candidate, r *row) {
	l.kept = append(l.kept, keptRow{c, r})
	x.held++
	if x.held > 2*x.most {
		x.prune()
	}
}

// prune leaves at most x.most rows.
func (x *rows) prune() {
	if x.held <= x.most {
		return
	}
	failures, others := make([]int, len(x.levels)), make([]int, len(x.levels))
	for i, l := range x.levels {
		for _, r := range l.kept {
			if r.failed {
				failures[i]++
			} else {
				others[i]++
			}
		}
	}
	forFailures := int(failureShare * float64(x.most))
	keepFailures := shares(failures, forFailures)
	rest := x.most
	for _, n := range keepFailures {
		rest -= n
	}
	keepOthers := shares(others, rest)
	x.held = 0
	for i, l := range x.levels {
		l.prune(x, keepFailures[i], keepOthers[i])
		x.held += len(l.kept)
	}
	x.forget()
}

// shares divides n places among groups. A group that wants less than an equal share gets all it wants.
func shares(want []int, n int) []int {
	order := make([]int, len(want))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(want[a], want[b]) })
	got := make([]int, len(want))
	for k, i := range order {
		got[i] = min(want[i], n/(len(order)-k))
		n -= got[i]
	}
	return got
}

// prune leaves at most as many failures and other rows. A row is kept by what it is, not by its place in the
// file: rows that are equal at a limit stay or go together.
func (l *levelRows) prune(x *rows, failures, others int) {
	scratch := &x.scratch
	all := l.kept
	var rest []keptRow
	l.kept = all[:0:0]
	nFailed := 0
	for _, r := range all {
		if r.failed {
			nFailed++
		} else {
			rest = append(rest, r)
		}
	}
	if nFailed > failures {
		l.failureLimit = valueAt(all, failures, scratch, func(r *keptRow) (int64, bool) { return r.key, r.failed })
	}
	for _, r := range all {
		switch {
		case !r.failed:
		case r.key < l.failureLimit:
			l.kept = append(l.kept, r)
		default:
			x.free = append(x.free, r.row)
		}
	}
	if len(rest) <= others {
		l.kept = append(l.kept, rest...)
		return
	}
	l.cut = true
	worst := others / worstShare
	place := len(rest) - 1 - worst
	l.stall = max(valueAt(rest, place, scratch, func(r *keptRow) (int64, bool) { return r.stallNS, true }), 0)
	l.ttft = max(valueAt(rest, place, scratch, func(r *keptRow) (int64, bool) { return r.ttft, true }), 0)
	l.e2el = max(valueAt(rest, place, scratch, func(r *keptRow) (int64, bool) { return r.e2el, true }), 0)
	drawn := rest[:0]
	for _, r := range rest {
		if r.stallNS > l.stall || r.ttft > l.ttft || r.e2el > l.e2el {
			l.kept = append(l.kept, r)
			others--
		} else {
			drawn = append(drawn, r)
		}
	}
	l.draw(x, drawn, others)
}

// valueAt returns the value at a place in ascending order, among those for which of returns true.
func valueAt(all []keptRow, place int, scratch *[]int64, of func(*keptRow) (int64, bool)) int64 {
	values := (*scratch)[:0]
	for i := range all {
		if v, ok := of(&all[i]); ok {
			values = append(values, v)
		}
	}
	*scratch = values
	return nth(values, place)
}

// nth returns the value that is at a place in ascending order. It reorders the values.
func nth(values []int64, place int) int64 {
	for range 2 * bits.Len(uint(len(values))) {
		n := len(values)
		if n < 32 {
			break
		}
		a, b, c := values[0], values[n/2], values[n-1]
		pivot := max(min(a, b), min(max(a, b), c))
		less, same := 0, 0 // values[:less] are below the pivot, values[less:same] equal to it
		for i, v := range values {
			switch {
			case v < pivot:
				values[i] = values[same]
				values[same] = pivot
				values[less] = v
				less, same = less+1, same+1
			case v == pivot:
				values[i] = values[same]
				values[same] = pivot
				same++
			}
		}
		switch {
		case place < less:
			values = values[:less]
		case place < same:
			return pivot
		default:
			values, place = values[same:], place-same
		}
	}
	slices.Sort(values) // few, or in an order that makes halving slow
	return values[place]
}

// draw keeps at most n rows, evenly over time.
func (l *levelRows) draw(x *rows, rest []keptRow, n int) {
	l.fromNS, l.toNS = math.MaxInt64, math.MinInt64
	for _, r := range rest {
		l.fromNS, l.toNS = min(l.fromNS, r.beginNS), max(l.toNS, r.beginNS)
	}
	strata := min(max(n/leastOfStratum, 1), mostStrata)
	l.limits = make([]int64, strata)
	groups, want := make([][]keptRow, strata), make([]int, strata)
	for i := range rest {
		want[l.stratum(rest[i].beginNS)]++
	}
	free := make([]keptRow, len(rest))
	for s, n := range want {
		groups[s], free = free[:0:n], free[n:]
	}
	for i := range rest {
		s := l.stratum(rest[i].beginNS)
		groups[s] = append(groups[s], rest[i])
	}
	got := shares(want, n)
	for s, g := range groups {
		l.limits[s] = math.MaxInt64
		if got[s] < len(g) {
			l.limits[s] = valueAt(g, got[s], &x.scratch, func(r *keptRow) (int64, bool) { return r.key, true })
		}
		for _, r := range g {
			if r.key < l.limits[s] {
				l.kept = append(l.kept, r)
			} else {
				x.free = append(x.free, r.row)
			}
		}
	}
}

// sampling returns how many requests of the level are not kept, and a sentence about the requests that are.
func (l *levelRows) sampling() (leftOut int, sentence string) {
	leftOut = l.seen - len(l.kept)
	if leftOut == 0 {
		return 0, ""
	}
	failed := 0
	for _, r := range l.kept {
		if r.failed {
			failed++
		}
	}
	var parts []string
	switch {
	case l.failures > failed:
		parts = append(parts, fmt.Sprintf("%s of %s", plural.Grouped(failed), plural.GroupedOf(l.failures, "failure")))
	case failed > 0:
		parts = append(parts, "every failure")
	}
	if l.cut {
		parts = append(parts, "the longest stalls", "the slowest TTFT and E2EL", "a sample of the others that is even over time")
	} else {
		parts = append(parts, "every other request")
	}
	list := parts[0]
	if len(parts) > 1 {
		list = strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]
	}
	return leftOut, fmt.Sprintf("%s of %s are shown: %s.", plural.Grouped(len(l.kept)), plural.GroupedOf(l.seen, "request"), list)
}
