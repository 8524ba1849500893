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

// A row is what is kept of a request beside its candidate. Its times are from the anchor, or noTime. It has
// no pointers, so that many rows cost the garbage collector nothing.
type row struct {
	id                                           uint64
	endNS                                        int64
	queueNS, connectNS, startNS, firstNS, lastNS int64
	inputTokens, cachedTokens, outputTokens      int64                 // Absent if not known
	server                                       [NumServerParts]int64 // Absent if not known
	rank, slot, turn                             int
	texts, stalls                                int32 // indices in rows
	timed                                        bool
}

// rowStalls are the stalls of a row.
type rowStalls struct {
	all     []Stall
	leftOut int
}

// A candidate is what decides whether a request is kept, and the place of its row. Candidates are apart from
// rows, so that choosing among many touches little memory.
type candidate struct {
	key            int64 // decides whether it is drawn, at least 0
	beginNS        int64 // from the anchor; math.MaxInt64 without a time
	stallNS        int64 // longest; 0 without
	ttftNS, e2elNS int64 // Absent if not known
	row            int32
	failed         bool
}

// rows keeps at most about twice as many rows as in the end.
type rows struct {
	most   int
	levels []*levelRows
	held   int
	pruned bool // some rows were left out

	texts  []*RequestTexts
	stalls []rowStalls // the first one has none

	scratch []int64
	blocks  []*[rowBlock]row
	made    int32   // rows of blocks that newRow has returned
	free    []int32 // rows that are not kept any more
}

// leastKept is the number of candidates for which a level first reserves memory.
const leastKept = 4

// rowBlock is the number of rows that are allocated at once.
const rowBlock = 256

// newRows returns rows that keep all requests of a run with at most 2·most requests, and up to most requests of a larger run.
func newRows(most int) rows { return rows{most: most, stalls: make([]rowStalls, 1)} }

// row returns a row by its place.
func (x *rows) row(i int32) *row { return &x.blocks[i/rowBlock][i%rowBlock] }

// newRow returns the place of a row to fill.
func (x *rows) newRow() int32 {
	if n := len(x.free); n > 0 {
		i := x.free[n-1]
		x.free = x.free[:n-1]
		return i
	}
	if int(x.made) == len(x.blocks)*rowBlock {
		x.blocks = append(x.blocks, &[rowBlock]row{})
	}
	x.made++
	return x.made - 1
}

// textsOf returns the index of texts. Most rows have the same texts as the previous row.
func (x *rows) textsOf(t *RequestTexts) int32 {
	n := len(x.texts)
	if n == 0 || *x.texts[n-1] != *t {
		own := *t
		own.Error, own.Model = strings.Clone(t.Error), strings.Clone(t.Model)
		x.texts = append(x.texts, &own)
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
			r := x.row(l.kept[i].row)
			r.texts = x.textsOf(texts[r.texts])
			if r.stalls > 0 {
				x.stalls = append(x.stalls, stalls[r.stalls])
				r.stalls = int32(len(x.stalls) - 1)
			}
		}
	}
}

// levelRows are the rows of a level.
type levelRows struct {
	kept []candidate
	seen int
	// failures counts the failures seen; failureLimit is the key from which failures are not kept.
	failures     int
	failureLimit int64
	// cut says that rows were left out, so that the next fields hold.
	cut bool
	// stallNS, ttftNS and e2elNS are limits: a request above one of them is among the worst.
	stallNS, ttftNS, e2elNS int64
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
func (l *levelRows) wants(c *candidate) bool {
	switch {
	case c.failed:
		return c.key < l.failureLimit
	case !l.cut, l.worst(c), c.beginNS < l.fromNS, c.beginNS > l.toNS:
		return true
	}
	return c.key < l.limits[l.stratum(c.beginNS)]
}

// worst reports whether a request is among the worst.
func (l *levelRows) worst(c *candidate) bool {
	return c.stallNS > l.stallNS || c.ttftNS > l.ttftNS || c.e2elNS > l.e2elNS
}

// stratum returns the stratum of a begin.
func (l *levelRows) stratum(begin int64) int {
	span := float64(l.toNS-l.fromNS) + 1
	return min(int(float64(begin-l.fromNS)/span*float64(len(l.limits))), len(l.limits)-1)
}

// add adds a candidate, whose row is filled, to a level.
func (x *rows) add(l *levelRows, c *candidate) {
	if n := len(l.kept); n == cap(l.kept) {
		l.kept = slices.Grow(l.kept, max(n, leastKept)) // append would copy more often
	}
	l.kept = append(l.kept, *c)
	x.held++
	if x.held > 2*x.most {
		x.prune()
	}
}

// finish leaves at most x.most rows. If none was left out before, the run is small, and all rows stay.
func (x *rows) finish() {
	if x.pruned {
		x.prune()
	}
}

// prune leaves at most x.most rows.
func (x *rows) prune() {
	if x.held <= x.most {
		return
	}
	x.pruned = true
	failures, others := make([]int, len(x.levels)), make([]int, len(x.levels))
	for i, l := range x.levels {
		for k := range l.kept {
			if l.kept[k].failed {
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
	n := partition(l.kept, func(c *candidate) bool { return c.failed })
	failed, rest := l.kept[:n], l.kept[n:]
	if len(failed) > failures {
		l.failureLimit = x.valueAt(failed, failures, func(c *candidate) int64 { return c.key })
		failed = x.keep(failed, func(c *candidate) bool { return c.key < l.failureLimit })
	}
	if len(rest) > others {
		rest = l.pruneOthers(x, rest, others)
	}
	l.kept = append(append(l.kept[:0], failed...), rest...)
}

// pruneOthers leaves at most n rows of successful requests: the worst and a sample.
func (l *levelRows) pruneOthers(x *rows, all []candidate, n int) []candidate {
	l.cut = true
	place := len(all) - 1 - n/worstShare
	l.stallNS = max(x.valueAt(all, place, func(c *candidate) int64 { return c.stallNS }), 0)
	l.ttftNS = max(x.valueAt(all, place, func(c *candidate) int64 { return c.ttftNS }), 0)
	l.e2elNS = max(x.valueAt(all, place, func(c *candidate) int64 { return c.e2elNS }), 0)
	worst := partition(all, l.worst)
	return append(all[:worst], l.draw(x, all[worst:], n-worst)...)
}

// partition moves the candidates for which of returns true to the front and returns their number.
func partition(all []candidate, of func(*candidate) bool) (n int) {
	for i := range all {
		if of(&all[i]) {
			if i != n {
				all[n], all[i] = all[i], all[n]
			}
			n++
		}
	}
	return n
}

// keep leaves the candidates for which of returns true, and frees the rows of the others.
func (x *rows) keep(all []candidate, of func(*candidate) bool) []candidate {
	n := partition(all, of)
	for i := range all[n:] {
		x.free = append(x.free, all[n+i].row)
	}
	return all[:n]
}

// valueAt returns the value at a place in ascending order.
func (x *rows) valueAt(all []candidate, place int, of func(*candidate) int64) int64 {
	x.scratch = slices.Grow(x.scratch[:0], len(all))[:len(all)]
	for i := range all {
		x.scratch[i] = of(&all[i])
	}
	return nth(x.scratch, place)
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

// draw leaves at most n rows, evenly over time.
func (l *levelRows) draw(x *rows, rest []candidate, n int) []candidate {
	l.fromNS, l.toNS = math.MaxInt64, math.MinInt64
	for i := range rest {
		l.fromNS, l.toNS = min(l.fromNS, rest[i].beginNS), max(l.toNS, rest[i].beginNS)
	}
	strata := min(max(n/leastOfStratum, 1), mostStrata)
	l.limits = make([]int64, strata)
	want := make([]int, strata)
	for i := range rest {
		want[l.stratum(rest[i].beginNS)]++
	}
	x.scratch = slices.Grow(x.scratch[:0], len(rest))[:len(rest)]
	keys, free := make([][]int64, strata), x.scratch // of each stratum
	for s, n := range want {
		keys[s], free = free[:0:n], free[n:]
	}
	for i := range rest {
		s := l.stratum(rest[i].beginNS)
		keys[s] = append(keys[s], rest[i].key)
	}
	got := shares(want, n)
	for s := range keys {
		l.limits[s] = math.MaxInt64
		if got[s] < len(keys[s]) {
			l.limits[s] = nth(keys[s], got[s])
		}
	}
	return x.keep(rest, func(c *candidate) bool { return c.key < l.limits[l.stratum(c.beginNS)] })
}

// sampling returns how many requests of the level are not kept, and a sentence about the requests that are.
func (l *levelRows) sampling() (leftOut int, sentence string) {
	leftOut = l.seen - len(l.kept)
	if leftOut == 0 {
		return 0, ""
	}
	failed := 0
	for i := range l.kept {
		if l.kept[i].failed {
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
