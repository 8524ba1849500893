package view

import (
	"cmp"
	"math"
	"slices"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// farNS is the distance from the anchor beyond which a time is damaged: a year.
const farNS = 366 * 24 * 3600 * 1e9

// A collector is the Observer of a run. While the run is read, times are relative to an anchor: the start of
// the run that the file states, or the first time seen. At the end the origin is known.
type collector struct {
	cfg    Config
	memory *stat.Store

	anchorNS uint64 // 0 before the first time
	originNS int64  // earliest time, from the anchor
	anchored int    // requests with a time near the anchor
	levels   []*levelCollector
	active   *levelCollector // the one with counts; nil for none
	spare    *counts         // all 0; nil while a level has them
	rows     rows
	noColumn gapCounts // takes the gaps that no heat map counts, which saves a check for each gap
	index    uint64    // of the next request in the file
	courses  *courses

	run    *export.Run
	lacks  missingParts  // set by End
	shapes []Level       // of the run, without the figures of the report
	err    error         // of reading back values from a temporary file
	shaped chan struct{} // closed when shapes and err are set; nil before End
}

// missingParts says what the file does not hold. untimed is the reason why there are no starts.
type missingParts struct {
	starts, ends, gaps bool
	untimed            string
}

// A levelCollector collects a level.
type levelCollector struct {
	axis                axis
	*counts             // nil unless the level is active
	packed              packedCounts
	nCompleted, nFailed int
	tokens              float64
	// known counts requests with a number of output tokens, and lost requests whose tokens nothing counts.
	known, lost int

	// changes holds the starts and the ends of the requests that had been sent: twice the time, and 1
	// more for a start, so that an end comes before a start at the same time.
	changes      *stat.List
	prompts      prompts
	timeless     int
	fromNS, toNS int64 // from the anchor

	begins []int64 // see times; of bins that are 1<<shift bins wide
	shift  int
}

// Begin implements [analyze.Observer].
func (c *collector) Begin(run *export.Run) {
	for _, l := range c.levels {
		l.changes.Release()
	}
	c.run, c.levels, c.index, c.anchorNS, c.originNS, c.anchored = run, nil, 0, 0, 0, 0
	c.active, c.spare = nil, newCounts()
	c.rows = newRows(c.cfg.Rows)
	c.courses = newCourses()
	if m, _ := run.Meta.Possible(); m != nil {
		c.anchorNS = m.StartNS
	}
}

// level returns the collector of a level, which becomes the active one.
func (c *collector) level(i int) *levelCollector {
	for i >= len(c.levels) {
		c.levels = append(c.levels, &levelCollector{changes: c.memory.NewList(stat.Whole), fromNS: math.MaxInt64, toNS: math.MinInt64})
	}
	l := c.levels[i]
	if l == c.active {
		return l
	}
	c.rest()
	l.counts, c.spare, c.active = c.spare, nil, l
	l.unpack(&l.packed)
	l.packed = packedCounts{}
	return l
}

// rest packs the counts of the active level. No level is active then.
func (c *collector) rest() {
	if l := c.active; l != nil {
		l.pack()
		c.spare, l.counts, c.active = l.counts, nil, nil
	}
}

// since returns the time from the anchor to t; ok is false if t is missing or damaged.
func (c *collector) since(t uint64) (ns int64, ok bool) {
	near := t >= c.anchorNS && t-c.anchorNS < farNS || t < c.anchorNS && c.anchorNS-t < farNS
	return int64(t - c.anchorNS), near && t != 0
}

// Request implements [analyze.Observer].
func (c *collector) Request(i int, q *analyze.Point) {
	l := c.level(i)
	index := c.index
	c.index++
	failed := q.Excluded == export.ExcludedFailed
	begin := q.EndNS
	for _, t := range [...]uint64{q.ScheduledNS, q.IssuedNS, q.StartNS} {
		if t != 0 {
			begin = min(begin, t)
		}
	}
	if _, ok := c.since(begin); begin != 0 && (c.anchorNS == 0 || !ok && c.anchored == 0) {
		c.anchorNS = begin // the start that the file states may be damaged
	}
	from, ok := c.since(begin)
	to, ok2 := c.since(max(begin, q.EndNS))
	timed := ok && ok2
	if !timed {
		l.timeless++
	}
	key := mix(index)
	if q.Numbered {
		key = mix(q.ID)
	}
	if timed {
		c.anchored++
		c.originNS = min(c.originNS, from)
		l.fromNS, l.toNS = min(l.fromNS, from), max(l.toNS, to)
		if c.cfg.Parts&(PartSeries|PartHeatmaps) != 0 {
			l.addTimes(c, q, from, to, failed)
		}
	}
	if q.Counted && c.cfg.Parts&PartPrompts != 0 {
		l.addPrompt(q, key)
	}
	if c.cfg.Parts&PartRequests != 0 {
		c.addRow(c.rows.level(i), q, index, begin, key, from, to, timed, failed)
	}
}

// addTimes adds a request from a time to another one to everything over time.
func (l *levelCollector) addTimes(c *collector, q *analyze.Point, from, to int64, failed bool) {
	if m, moved := l.axis.include(from, to); moved {
		l.move(m)
	}
	var out []float64 // where the output tokens count; nil: nowhere
	each := 0.0
	if c.cfg.Parts&PartSeries != 0 {
		if start, ok := c.since(q.StartNS); ok && start <= to {
			l.changes.Add(start<<1|1, to<<1)
		}
		end, _ := l.axis.at(to)
		if q.Complete() {
			l.completed[end]++
			l.nCompleted++
		}
		if failed {
			l.failed[end]++
			l.nFailed++
		}
		if q.Delivers() {
			out, each = l.delivered(q, end)
		}
	}
	gaps := q.Counted && c.cfg.Parts&PartHeatmaps != 0
	switch {
	case q.Chained():
		l.addChain(c, q, from, to, out, each, gaps)
		return
	case out != nil:
		l.addTokens(c, q, from, to, out, each)
	}
	if gaps {
		l.addGaps(c, q, from, to)
	}
}

// delivered counts the output tokens of a request. It returns the bins in which they count, and the tokens of
// each token event; nil if they are unknown. Without token events it adds them to the bin end.
func (l *levelCollector) delivered(q *analyze.Point, end int) (out []float64, each float64) {
	tokens, out := q.OutputTokens, l.outputs
	switch {
	case q.TokensLost():
		l.lost++
		return nil, 0
	case tokens.OK:
		l.known++
		l.tokens += float64(tokens.V)
	default:
		return nil, 0
	}
	switch {
	case q.Chained():
		return out, float64(tokens.V) / float64(len(q.Gaps)+1)
	case len(q.TokenNS) > 0:
		return out, float64(tokens.V) / float64(len(q.TokenNS))
	}
	out[end] += float64(tokens.V)
	return nil, 0
}

// A cursor finds the bins of times that mostly ascend.
type cursor struct {
	axis           *axis
	from, to       int64 // times outside are damaged
	bin            int
	binFrom, binTo int64
}

// find moves to the bin of a time; ok is false if the time is damaged.
func (c *cursor) find(ns int64) (ok bool) {
	if ns < c.from || ns > c.to {
		return false
	}
	c.bin, c.binTo = c.axis.at(ns)
	c.binFrom = c.binTo - c.axis.width
	return true
}

// addChain adds the tokens of a request to out, unless that is nil, and with gaps its gaps to the heat maps.
func (l *levelCollector) addChain(c *collector, q *analyze.Point, from, to int64, out []float64, each float64, gaps bool) {
	if out == nil && !gaps {
		return
	}
	at := cursor{axis: &l.axis, from: from, to: to}
	ns := int64(q.FirstTokenNS - c.anchorNS)
	if at.find(ns) && out != nil {
		out[at.bin] += each
	}
	var positions []*gapCounts
	if gaps {
		positions = l.byPosition.upTo(len(q.Gaps))
	}
	column := &c.noColumn // of the bin
	binNS, widthNS := int64(0), uint64(0)
	inBin := 0 // token events that out does not hold yet: adding up one by one is slow
	for i, g := range q.Gaps {
		ns += g
		row := gapRow(g)
		if positions != nil {
			positions[i][row]++
		}
		if uint64(ns-binNS) >= widthNS { // another bin
			if out != nil && inBin > 0 {
				out[at.bin] += float64(each * float64(inBin))
				inBin = 0
			}
			if !at.find(ns) {
				continue
			}
			binNS, widthNS = at.binFrom, uint64(at.binTo-at.binFrom)
			if gaps {
				column = l.byTime.column(at.bin >> columnBits)
			}
		}
		inBin++
		column[row]++
	}
	if out != nil && inBin > 0 {
		out[at.bin] += float64(each * float64(inBin))
	}
}

// addTokens adds the tokens of a request to out.
func (l *levelCollector) addTokens(c *collector, q *analyze.Point, from, to int64, out []float64, each float64) {
	at := cursor{axis: &l.axis, from: from, to: to}
	for _, t := range q.TokenNS {
		if ns := int64(t - c.anchorNS); ns >= at.binFrom && ns < at.binTo || at.find(ns) {
			out[at.bin] += each
		}
	}
}

// addGaps counts the gaps of a request in the heat maps: by position only if it has one choice.
func (l *levelCollector) addGaps(c *collector, q *analyze.Point, from, to int64) {
	at := cursor{axis: &l.axis, from: from, to: to}
	for i, t := range q.GapNS {
		row := gapRow(q.Gaps[i])
		if q.Events == len(q.Gaps)+1 {
			l.byPosition.column(positionColumn(i + 1))[row]++
		}
		if ns := int64(t - c.anchorNS); ns >= at.binFrom && ns < at.binTo || at.find(ns) {
			l.byTime.column(at.bin >> columnBits)[row]++
		}
	}
}

// known returns a measure; Absent if there is none, or one below 0.
func known(v export.Int) int64 {
	if !v.OK || v.V < 0 {
		return Absent
	}
	return v.V
}

// addPrompt adds a point of TTFT against the prompt.
func (l *levelCollector) addPrompt(q *analyze.Point, key int64) {
	if !q.TTFT.OK || !q.InputTokens.OK || q.InputTokens.V < 0 {
		return
	}
	p := promptPoint{Prompt{q.InputTokens.V, known(q.CachedTokens), q.TTFT.V}, key}
	if p.CachedTokens > p.InputTokens {
		p.CachedTokens = Absent // states nothing
	}
	l.prompts.add(p)
}

// addRow adds a request to the rows of its level, if it may be kept.
func (c *collector) addRow(l *levelRows, q *analyze.Point, index, begin uint64, key, from, to int64, timed, failed bool) {
	if failed {
		l.failures++
	}
	if timed || failed {
		l.seen++
	}
	whole := q.Events == len(q.Gaps)+1 && q.Impossible == 0
	stall := int64(0)
	if whole && timed {
		stall = c.cfg.Stalls.Of(q.Gaps).LongestNS
	}
	candidate := candidate{key: key, beginNS: from, stallNS: stall, ttftNS: known(q.TTFT), e2elNS: known(q.E2EL), failed: failed}
	if !timed && !failed || !l.wants(&candidate) {
		return
	}
	candidate.row = c.rows.newRow()
	r := c.rows.row(candidate.row)
	*r = row{
		id: index, endNS: to,
		queueNS: noTime, connectNS: noTime, startNS: noTime, firstNS: noTime, lastNS: noTime,
		inputTokens: known(q.InputTokens), cachedTokens: known(q.CachedTokens), outputTokens: known(q.OutputTokens),
		rank: q.Rank, slot: q.Slot, turn: q.Turn,
		texts: c.rows.textsOf(&RequestTexts{q.Status.String(), string(q.Excluded), q.Class, q.Message, q.Model}),
		timed: timed,
	}
	if q.Numbered {
		r.id = q.ID
	}
	w, _ := q.Waterfall()
	for i := range r.server {
		r.server[i] = known(w.Parts[int(answer.QueuePart)+i])
	}
	if !timed {
		candidate.beginNS = math.MaxInt64 // after all others
	} else {
		c.addRowTimes(r, &candidate, q, begin)
	}
	c.rows.add(l, &candidate)
}

// mostStalls is the number of stalls of a request that are kept.
const mostStalls = 20

// addRowTimes sets the times of the row of a candidate, from the anchor.
func (c *collector) addRowTimes(r *row, request *candidate, q *analyze.Point, begin uint64) {
	if start, ok := c.since(q.StartNS); ok && start <= r.endNS {
		r.startNS = start
		if wait := start - request.beginNS; wait > 0 {
			connect := min(q.ConnectNS, wait)
			if connect > 0 {
				r.connectNS = start - connect
			}
			if wait > connect {
				r.queueNS = request.beginNS
			}
		}
	} else if begin == q.ScheduledNS || begin == q.IssuedNS {
		r.queueNS = request.beginNS
	}
	if from, ok := c.since(q.FromNS); ok && request.ttftNS != Absent {
		if first := from + request.ttftNS; first >= request.beginNS && first <= r.endNS {
			r.firstNS = first
			if last := first + q.Spread.V; q.Spread.OK && last >= first && last <= r.endNS {
				r.lastNS = last
			}
		}
	}
	if request.stallNS == 0 {
		return
	}
	at, ok := c.since(q.FirstTokenNS)
	if !ok {
		return // damaged
	}
	var all []Stall
	next := 0
	for _, i := range c.cfg.Stalls.Find(q.Gaps) {
		for ; next < i; next++ {
			at += q.Gaps[next]
		}
		all = append(all, Stall{at, q.Gaps[i], i + 1})
	}
	leftOut := max(len(all)-mostStalls, 0)
	if leftOut > 0 {
		slices.SortStableFunc(all, func(a, b Stall) int { return cmp.Compare(b.LengthNS, a.LengthNS) })
		all = slices.Clone(all[:mostStalls])
		slices.SortFunc(all, func(a, b Stall) int { return cmp.Compare(a.Position, b.Position) })
	}
	c.rows.stalls = append(c.rows.stalls, rowStalls{all, leftOut})
	r.stalls = int32(len(c.rows.stalls) - 1)
}

// mix returns a number from 0 that looks random and depends on v alone.
func mix(v uint64) int64 { return int64(stat.Mix(v+stat.SplitMixStep) >> 1) }

// Scrape implements [analyze.Observer].
func (c *collector) Scrape(s *export.Scrape) {
	if c.anchorNS == 0 { // no request has a time
		c.anchorNS = s.StartNS
	}
	c.courses.add(s, c.since)
}

// End implements [analyze.Observer]. A goroutine builds the levels while Run computes the figures of the report.
func (c *collector) End() {
	if m := c.run.Meta; m != nil { // the end of the file may hold the facts of the run
		if c.anchorNS == 0 { // no request has a time
			c.anchorNS = m.StartNS
		}
		if start, ok := c.since(m.StartNS); ok {
			c.originNS = min(c.originNS, start)
		}
	}
	c.lacks.untimed, c.lacks.starts = c.run.Lacks(export.PartStarts)
	_, c.lacks.ends = c.run.Lacks(export.PartEnds)
	_, c.lacks.gaps = c.run.Lacks(export.PartGaps)
	c.shapes = make([]Level, len(c.run.Experiments))
	c.shaped = make(chan struct{})
	go func() {
		defer close(c.shaped)
		c.shape()
	}()
}
