package view

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/pa-tools/pa/internal/extsort"
	"github.com/pa-tools/pa/internal/quantile"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/lanes"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// farNS is the distance from the anchor beyond which a time is damaged: a year.
const farNS = 366 * 24 * 3600 * 1e9

// A collector is the Observer of a run. While the run is read, times are relative to an anchor: the start of
// the run that the file states, or the first time seen. At the end the origin is known.
type collector struct {
	cfg    Config
	memory *extsort.Memory

	anchorNS uint64 // 0 before the first time
	originNS int64  // earliest time, from the anchor
	anchored int    // requests with a time near the anchor
	levels   []*levelCollector
	rows     rows
	index    uint64 // of the next request in the file
	courses  *courses

	run    *export.Run
	lacks  lacks         // set by End
	shapes []Level       // of the run, without the figures of the report
	err    error         // of reading back values from a temporary file
	shaped chan struct{} // closed when shapes and err are set; nil before End
}

// lacks says what the file does not hold. untimed is the reason why there are no starts.
type lacks struct {
	starts, ends, gaps bool
	untimed            string
}

// A levelCollector collects a level.
type levelCollector struct {
	axis axis
	// outputs are the output tokens of each bin; lateOutputs are output tokens that count only if the
	// level was streamed. completed and failed count requests by their ends.
	outputs, lateOutputs []float64
	completed, failed    []uint32
	nCompleted, nFailed  int
	tokens               float64
	lateTokens           float64
	// known counts requests with a number of output tokens, and lost those whose tokens nothing counts:
	// lateLost of them lose none if the level was streamed.
	known, lost, lateLost int

	// changes holds the starts and the ends of the requests that had been sent: twice the time, and 1
	// more for a start, so that an end comes before a start at the same time.
	changes              *extsort.Sorter
	byTime, byPosition   grid
	noColumn             gapCounts // takes the gaps that no heat map counts, which saves a check for each gap
	prompts, latePrompts prompts
	timeless             int
	fromNS, toNS         int64 // from the anchor
	streamed             bool
}

// Begin implements [analyze.Observer].
func (c *collector) Begin(run *export.Run) {
	for _, l := range c.levels {
		l.changes.Release()
	}
	c.run, c.levels, c.index, c.anchorNS, c.originNS, c.anchored = run, nil, 0, 0, 0, 0
	c.rows = newRows(c.cfg.Rows)
	c.courses = newCourses()
	if run.Meta != nil {
		c.anchorNS = run.Meta.StartNS
	}
}

// level returns the collector of a level.
func (c *collector) level(i int) *levelCollector {
	for i >= len(c.levels) {
		c.levels = append(c.levels, &levelCollector{
			changes: c.memory.NewSorter(),
			outputs: make([]float64, mostBins), completed: make([]uint32, mostBins),
			fromNS: math.MaxInt64, toNS: math.MinInt64,
		})
	}
	return c.levels[i]
}

// since returns the time from the anchor to t; ok is false if t is missing or damaged.
func (c *collector) since(t uint64) (ns int64, ok bool) {
	near := t >= c.anchorNS && t-c.anchorNS < farNS || t < c.anchorNS && c.anchorNS-t < farNS
	return int64(t - c.anchorNS), near && t != 0
}

// Request implements [analyze.Observer].
func (c *collector) Request(i int, q *analyze.Observed) {
	l, rows := c.level(i), c.rows.level(i)
	index := c.index
	c.index++
	l.streamed = l.streamed || q.ShowsStream()
	failed := q.Excluded == "failed"
	if failed {
		rows.failures++
	}
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
	if timed || failed {
		rows.seen++
	}
	key := mix(index)
	if q.Numbered {
		key = mix(q.ID)
	}
	ttft, late := q.TTFT, false
	if q.Streamed == answer.StreamedUnknown {
		ttft, _ = q.IfStreamed()
		late = true
	}
	if timed {
		c.anchored++
		c.originNS = min(c.originNS, from)
		l.fromNS, l.toNS = min(l.fromNS, from), max(l.toNS, to)
		l.addTimes(c, q, from, to, failed)
	}
	if q.Counted {
		l.addPrompt(q, ttft, late, key)
	}
	c.addRow(rows, q, index, begin, key, from, to, timed, failed, ttft, late)
}

// addTimes adds a request from a time to another one to everything over time.
func (l *levelCollector) addTimes(c *collector, q *analyze.Observed, from, to int64, failed bool) {
	if m, moved := l.axis.include(from, to); moved {
		l.outputs, l.lateOutputs = moveBins(l.outputs, m), moveBins(l.lateOutputs, m)
		l.completed, l.failed = moveBins(l.completed, m), moveBins(l.failed, m)
		l.byTime.move(m)
	}
	if start, ok := c.since(q.StartNS); ok && start <= to {
		l.changes.Add(start<<1|1, to<<1)
	}
	end, _ := l.axis.at(to)
	if q.Complete() {
		l.completed[end]++
		l.nCompleted++
	}
	if failed {
		if l.failed == nil {
			l.failed = make([]uint32, mostBins)
		}
		l.failed[end]++
		l.nFailed++
	}
	var out []float64 // where the output tokens count; nil: nowhere
	each := 0.0
	if q.Delivers() {
		out, each = l.delivered(q, end)
	}
	switch {
	case q.Chained():
		l.addChain(c, q, from, to, out, each)
		return
	case out != nil:
		l.addTokens(c, q, from, to, out, each)
	}
	if q.Counted {
		l.addGaps(c, q, from, to)
	}
}

// delivered counts the output tokens of a request. It returns the bins in which they count, and the tokens of
// each token event; nil if they are unknown. Without token events it adds them to the bin end.
func (l *levelCollector) delivered(q *analyze.Observed, end int) (out []float64, each float64) {
	tokens, out := q.OutputTokens, l.outputs
	switch {
	case q.TokensLost():
		l.lost++
		if _, tokens = q.IfStreamed(); !tokens.OK || q.Streamed != answer.StreamedUnknown {
			return nil, 0
		}
		l.lateLost++
		l.lateTokens += float64(tokens.V)
		if l.lateOutputs == nil {
			l.lateOutputs = make([]float64, mostBins)
		}
		out = l.lateOutputs
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

// addChain adds the tokens of a request to out, unless that is nil, and its gaps to the heat maps.
func (l *levelCollector) addChain(c *collector, q *analyze.Observed, from, to int64, out []float64, each float64) {
	if out == nil && !q.Counted {
		return
	}
	at := cursor{axis: &l.axis, from: from, to: to}
	ns := int64(q.FirstTokenNS - c.anchorNS)
	if at.find(ns) && out != nil {
		out[at.bin] += each
	}
	var positions []*gapCounts
	if q.Counted {
		positions = l.byPosition.upTo(len(q.Gaps))
	}
	column := &l.noColumn // of the bin
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
			if q.Counted {
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
func (l *levelCollector) addTokens(c *collector, q *analyze.Observed, from, to int64, out []float64, each float64) {
	at := cursor{axis: &l.axis, from: from, to: to}
	for _, t := range q.TokenNS {
		if ns := int64(t - c.anchorNS); ns >= at.binFrom && ns < at.binTo || at.find(ns) {
			out[at.bin] += each
		}
	}
}

// addGaps counts the gaps of a request in the heat maps: by position only if it has one choice.
func (l *levelCollector) addGaps(c *collector, q *analyze.Observed, from, to int64) {
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
func known(v answer.Value) int64 {
	if !v.OK || v.V < 0 {
		return Absent
	}
	return v.V
}

// addPrompt adds a point of TTFT against the prompt.
func (l *levelCollector) addPrompt(q *analyze.Observed, ttft answer.Value, late bool, key int64) {
	if !ttft.OK || !q.InputTokens.OK || q.InputTokens.V < 0 {
		return
	}
	p := promptPoint{Prompt{q.InputTokens.V, known(q.CachedTokens), ttft.V}, key}
	if p.CachedTokens > p.InputTokens {
		p.CachedTokens = Absent // states nothing
	}
	if late {
		l.latePrompts.add(p)
	} else {
		l.prompts.add(p)
	}
}

// addRow adds a request to the rows of its level, if it may be kept.
func (c *collector) addRow(l *levelRows, q *analyze.Observed, index, begin uint64, key, from, to int64, timed, failed bool, ttft answer.Value, late bool) {
	whole := q.Events == len(q.Gaps)+1 && q.Impossible == 0
	stall := int64(0)
	if whole && timed {
		stall = c.cfg.Stalls.Of(q.Gaps).LongestNS
	}
	candidate := candidate{key: key, beginNS: from, stallNS: stall, ttftNS: known(ttft), e2elNS: known(q.E2EL), failed: failed}
	if !timed && !failed || !l.wants(&candidate) {
		return
	}
	candidate.row = c.rows.newRow()
	r := c.rows.row(candidate.row)
	*r = row{
		id: index, endNS: to,
		queueNS: noTime, connectNS: noTime, startNS: noTime, firstNS: noTime, lastNS: noTime,
		inputTokens: known(q.InputTokens), cachedTokens: known(q.CachedTokens), outputTokens: known(q.OutputTokens), outputLate: Absent,
		rank: q.Rank, slot: q.Slot, turn: q.Turn,
		texts: c.rows.textsOf(&RequestTexts{q.Status.String(), q.Excluded, q.Class, q.Message, q.Model, q.Session}),
		timed: timed, undecided: late && ttft.OK,
	}
	if q.Numbered {
		r.id = q.ID
	}
	if late {
		if _, tokens := q.IfStreamed(); tokens.OK {
			r.outputLate = tokens.V
		}
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
func (c *collector) addRowTimes(r *row, of *candidate, q *analyze.Observed, begin uint64) {
	if start, ok := c.since(q.StartNS); ok && start <= r.endNS {
		r.startNS = start
		if wait := start - of.beginNS; wait > 0 {
			connect := min(q.ConnectNS, wait)
			if connect > 0 {
				r.connectNS = start - connect
			}
			if wait > connect {
				r.queueNS = of.beginNS
			}
		}
	} else if begin == q.ScheduledNS || begin == q.IssuedNS {
		r.queueNS = of.beginNS
	}
	if from, ok := c.since(q.FromNS); ok && of.ttftNS != Absent {
		if first := from + of.ttftNS; first >= of.beginNS && first <= r.endNS {
			r.firstNS = first
			if last := first + q.Spread.V; q.Spread.OK && last >= first && last <= r.endNS {
				r.lastNS = last
			} else if r.undecided {
				r.lastNS = first // it has one response
			}
		}
	}
	if of.stallNS == 0 {
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

// mix returns a number from 0 that looks random and depends on v alone (the finalizer of SplitMix64).
func mix(v uint64) int64 {
	v += 0x9e3779b97f4a7c15
	v = (v ^ v>>30) * 0xbf58476d1ce4e5b9
	v = (v ^ v>>27) * 0x94d049bb133111eb
	return int64((v ^ v>>31) >> 1)
}

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

// shape builds the parts of the levels that do not need the figures of the report.
func (c *collector) shape() {
	c.rows.finish()
	for i := range c.shapes {
		l, rows := c.level(i), c.rows.level(i)
		level := &c.shapes[i]
		level.FromNS, level.ToNS = Absent, Absent
		level.Timeless = l.timeless
		if l.fromNS <= l.toNS {
			level.FromNS, level.ToNS = l.fromNS-c.originNS, l.toNS-c.originNS
		}
		level.Untimed = c.lacks.untimed
		if !c.lacks.starts && l.fromNS <= l.toNS {
			level.GapsByTime = l.byTime.heatmap(func(column int) float64 { return float64(l.axis.start(column<<columnBits) - c.originNS) })
			c.err = errors.Join(c.err, c.addSeries(level, l))
		}
		level.GapsByPosition = l.byPosition.heatmap(columnStart)
		if l.streamed {
			l.prompts.merge(&l.latePrompts)
		}
		level.Prompts, level.PromptsLeftOut = l.prompts.points()
		level.LeftOut, level.Sampling = rows.sampling()
		c.addRequests(level, rows, l.streamed)
	}
}

// finish returns the run. The error says that values could not be read back from a temporary file.
func (c *collector) finish(report *analyze.Report) (*Run, error) {
	if c.shaped == nil { // the report has no figures
		c.End()
	}
	<-c.shaped
	run := &Run{Name: c.cfg.Name, Report: report, Levels: make([]Level, len(report.Experiments))}
	if c.anchorNS != 0 {
		run.OriginNS = c.anchorNS + uint64(c.originNS)
	}
	for i := range run.Levels {
		level := &run.Levels[i]
		*level = c.shapes[i]
		level.Experiment = &report.Experiments[i]
		level.Distributions = distributions(level.Experiment)
		if !c.lacks.starts && level.FromNS != Absent {
			level.Series = append(level.Series, c.firstTokens(c.levels[i], level.Experiment.FirstTokens)...)
		}
	}
	run.Telemetry, run.TelemetryLeftOut = c.courses.finish(c.originNS)
	return run, c.err
}

// A place is a row in the order of the waterfall. Places are adjacent in memory, unlike rows, so sorting them is fast.
type place struct {
	beginNS int64
	id      uint64
	rank    int
	lane    int32
	kept    int32 // index in levelRows.kept
	timed   bool
}

// places returns the rows by rank, begin and number.
func (l *levelRows) places(x *rows) []place {
	all := make([]place, len(l.kept))
	for i := range l.kept {
		k := &l.kept[i]
		r := x.row(k.row)
		all[i] = place{k.beginNS, r.id, r.rank, Absent, int32(i), r.timed}
	}
	slices.SortFunc(all, func(a, b place) int {
		if a.rank == b.rank && a.beginNS != b.beginNS {
			return cmp.Compare(a.beginNS, b.beginNS)
		}
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.id, b.id))
	})
	return all
}

// requestBlock is the number of requests that are allocated at once. The garbage collector would read a large
// block before it is filled, which costs one more page fault for each of its pages.
const requestBlock = 128

// addRequests sets the rows of a level and puts them into lanes: the ranks one after the other.
func (c *collector) addRequests(level *Level, l *levelRows, streamed bool) {
	all := l.places(&c.rows)
	spans := make([]lanes.Span, 0, len(all))
	for from := 0; from < len(all); {
		rank, to := all[from].rank, from
		spans = spans[:0]
		for ; to < len(all) && all[to].rank == rank; to++ {
			if p := &all[to]; p.timed { // the others come last
				r := c.rows.row(l.kept[p.kept].row)
				spans = append(spans, lanes.Span{BeginNS: uint64(p.beginNS - c.originNS), EndNS: uint64(r.endNS - c.originNS), Slot: r.slot})
			}
		}
		lane, n := lanes.Assign(spans)
		for i := range lane {
			all[from+i].lane = int32(level.Lanes + lane[i])
		}
		level.Lanes += n
		from = to
	}
	byBegin := func(a, b place) int { return cmp.Compare(a.beginNS, b.beginNS) }
	if !slices.IsSortedFunc(all, byBegin) { // several ranks
		slices.SortStableFunc(all, byBegin)
	}
	level.Requests = make([]*Request, len(all))
	var block []Request
	for i := range all {
		if len(block) == 0 {
			block = make([]Request, min(requestBlock, len(all)-i))
		}
		level.Requests[i], block = &block[0], block[1:]
		c.fill(level.Requests[i], &l.kept[all[i].kept], &all[i], streamed)
	}
	l.kept = nil
}

// fill sets q from the candidate, the row and the place of a request. streamed says that its level was streamed.
func (c *collector) fill(q *Request, k *candidate, p *place, streamed bool) {
	r := c.rows.row(k.row)
	ttft := k.ttftNS
	if r.undecided && !streamed {
		r.firstNS, r.lastNS, ttft = noTime, noTime, Absent
	}
	if streamed && r.outputTokens == Absent {
		r.outputTokens = r.outputLate
	}
	at := func(ns int64) int64 {
		if ns == noTime {
			return Absent
		}
		return ns - c.originNS
	}
	s := &c.rows.stalls[r.stalls]
	for i := range s.all {
		s.all[i].AtNS -= c.originNS
	}
	q.ID, q.Rank, q.Slot, q.Lane, q.Turn = r.id, r.rank, r.slot, int(p.lane), r.turn
	q.QueueNS, q.ConnectNS, q.StartNS, q.FirstNS, q.LastTokenNS, q.EndNS = at(r.queueNS), at(r.connectNS), at(r.startNS), at(r.firstNS), at(r.lastNS), Absent
	if r.timed {
		q.EndNS = at(r.endNS)
	}
	q.TTFTNS, q.E2ELNS, q.InputTokens, q.CachedTokens, q.OutputTokens = ttft, k.e2elNS, r.inputTokens, r.cachedTokens, r.outputTokens
	q.RequestTexts, q.Stalls, q.StallsLeftOut = c.rows.texts[r.texts], s.all, s.leftOut
}

// leastEvents is the mean number of events of a bin, and fewBins the number of bins that suffice
// where they have fewer.
const (
	leastEvents = 10
	fewBins     = 100
)

// coarse returns by how many bits the bins of an axis become wider, so that a bin has leastEvents of n
// events or the bins are few.
func coarse(bins int, events float64) (shift int) {
	for bins>>(shift+1) >= fewBins && events/float64(bins>>shift) < leastEvents {
		shift++
	}
	return shift
}

// addSeries adds the series of a level, without the TTFT. The error is of reading back times from a temporary file.
func (c *collector) addSeries(level *Level, l *levelCollector) error {
	inFlight := Series{Key: InFlight, Label: "requests in flight", Unit: "requests"}
	err := l.inFlight(&inFlight, c.originNS)
	if len(inFlight.AtNS) > 0 && !c.lacks.ends {
		level.Series = append(level.Series, inFlight)
	}
	known := l.known
	if l.streamed {
		l.lost -= l.lateLost
		known += l.lateLost
		l.tokens += l.lateTokens
		for i, n := range l.lateOutputs {
			l.outputs[i] += n
		}
	}
	if l.lost == 0 && known > 0 && !c.lacks.gaps {
		level.Series = append(level.Series, rate(l, c.originNS, l.outputs, l.tokens, Series{Key: OutputTokens, Label: "output tokens", Unit: "tokens/s"}))
	}
	if l.nCompleted > 0 && !c.lacks.ends {
		level.Series = append(level.Series, rate(l, c.originNS, l.completed, float64(l.nCompleted), Series{Key: Completed, Label: "requests completed", Unit: "requests/s"}))
	}
	if l.nFailed > 0 {
		level.Series = append(level.Series, rate(l, c.originNS, l.failed, float64(l.nFailed), Series{Key: Failed, Label: "requests failed", Unit: "requests/s"}))
	}
	return err
}

// rate fills s with counts by bins as rates per second.
func rate[T uint32 | float64](l *levelCollector, originNS int64, counts []T, events float64, s Series) Series {
	first, n := l.axis.bins()
	shift := coarse(n, events)
	s.BinNS = l.axis.width << shift
	low := l.axis.low
	for i := first; i < first+n; {
		wide := (low + int64(i)) >> shift
		sum := 0.0
		for ; i < first+n && (low+int64(i))>>shift == wide; i++ {
			sum += float64(counts[i])
		}
		s.AtNS = append(s.AtNS, wide*s.BinNS-originNS)
		s.Value = append(s.Value, sum/(float64(s.BinNS)/1e9))
	}
	return s
}

// inFlight fills s with the number of requests in flight after each change.
func (l *levelCollector) inFlight(s *Series, originNS int64) error {
	var points thinner
	n, at, changed := 0.0, int64(0), false
	err := l.changes.Sorted(func(changes []int64) {
		for _, x := range changes {
			t := x >> 1
			if changed && t != at {
				points.add(at-originNS, n)
			}
			at, changed = t, true
			n += float64(x&1)*2 - 1
		}
	})
	if changed {
		points.add(at-originNS, n)
	}
	points.fill(s)
	l.changes.Release()
	return err
}

// firstTokens returns the median and the maximum of the TTFT over time.
func (c *collector) firstTokens(l *levelCollector, all []analyze.FirstToken) []Series {
	if len(all) == 0 {
		return nil
	}
	first, n := l.axis.bins()
	shift := coarse(n, float64(len(all)))
	median := Series{Key: TTFTMedian, Label: "TTFT, median", Unit: string(answer.Nanoseconds), BinNS: l.axis.width << shift}
	longest := median
	longest.Key, longest.Label = TTFTMax, "TTFT, maximum"
	values := make([]int64, 0, len(all))
	last := (l.axis.low + int64(first+n-1)) >> shift
	k := 0
	for wide := (l.axis.low + int64(first)) >> shift; wide <= last; wide++ {
		values = values[:0]
		end := (wide + 1) * median.BinNS
		for ; k < len(all); k++ {
			start, ok := c.since(all[k].StartNS)
			if ok && start >= end {
				break
			}
			if ok && start >= wide*median.BinNS {
				values = append(values, all[k].TTFTNS)
			}
		}
		at, mid, most := wide*median.BinNS-c.originNS, math.NaN(), math.NaN()
		if len(values) > 0 {
			quantile.Sort(values)
			mid, most = quantile.At(values, 0.5), float64(values[len(values)-1])
		}
		median.AtNS, median.Value = append(median.AtNS, at), append(median.Value, mid)
		longest.AtNS, longest.Value = append(longest.AtNS, at), append(longest.Value, most)
	}
	return []Series{median, longest}
}
