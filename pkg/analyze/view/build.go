package view

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/answer"
)

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
		if !c.lacks.starts && l.fromNS <= l.toNS && c.cfg.Parts&PartSeries != 0 {
			c.err = errors.Join(c.err, c.addSeries(level, l))
		}
		if c.cfg.Parts&PartHeatmaps != 0 {
			if !c.lacks.starts && l.fromNS <= l.toNS {
				level.GapsByTime = l.byTime.heatmap(func(column int) float64 { return float64(l.axis.start(column<<columnBits) - c.originNS) })
			}
			level.GapsByPosition = l.byPosition.heatmap(columnStart)
		}
		level.Prompts, level.PromptsLeftOut = l.prompts.points()
		level.LeftOut, level.Sampling = rows.sampling()
		c.addRequests(level, rows)
		c.rest()
		l.packed = packedCounts{}
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
		if !c.lacks.starts && level.FromNS != Absent && c.cfg.Parts&PartSeries != 0 {
			level.Series = append(level.Series, c.firstTokens(c.levels[i], level.Experiment.FirstTokens)...)
		}
	}
	run.Telemetry, run.TelemetryLeftOut = c.courses.finish(c.originNS), c.courses.reader.LeftOut
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
func (c *collector) addRequests(level *Level, l *levelRows) {
	all := l.places(&c.rows)
	spans := make([]Span, 0, len(all))
	for from := 0; from < len(all); {
		rank, to := all[from].rank, from
		spans = spans[:0]
		for ; to < len(all) && all[to].rank == rank; to++ {
			if p := &all[to]; p.timed { // the others come last
				r := c.rows.row(l.kept[p.kept].row)
				spans = append(spans, Span{BeginNS: uint64(p.beginNS - c.originNS), EndNS: uint64(r.endNS - c.originNS), Slot: r.slot})
			}
		}
		lane, n := assignLanes(spans)
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
		c.fill(level.Requests[i], &l.kept[all[i].kept], &all[i])
	}
	l.kept = nil
}

// fill sets q from the candidate, the row and the place of a request.
func (c *collector) fill(q *Request, k *candidate, p *place) {
	r := c.rows.row(k.row)
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
	q.TTFTNS, q.E2ELNS, q.InputTokens, q.CachedTokens, q.OutputTokens = k.ttftNS, k.e2elNS, r.inputTokens, r.cachedTokens, r.outputTokens
	q.Server = r.server
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

// addSeries adds the series of a level, without the TTFT. The error says that times could not be read back from a
// temporary file.
func (c *collector) addSeries(level *Level, l *levelCollector) error {
	inFlight := Series{Key: InFlight, Label: "requests in flight", Unit: "requests"}
	err := l.inFlight(&inFlight, c.originNS)
	if len(inFlight.AtNS) > 0 && !c.lacks.ends {
		level.Series = append(level.Series, inFlight)
	}
	if l.lost == 0 && l.known > 0 && !c.lacks.gaps {
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
	s.AtNS = l.times(shift, originNS)
	s.Value = make([]float64, len(s.AtNS))
	from := (l.axis.low + int64(first)) >> shift
	for i := first; i < first+n; i++ {
		s.Value[(l.axis.low+int64(i))>>shift-from] += float64(counts[i])
	}
	for k := range s.Value {
		s.Value[k] /= float64(s.BinNS) / 1e9
	}
	return s
}

// times returns the begins of bins that are 1<<shift bins of the axis wide. Series with the same bins share them.
func (l *levelCollector) times(shift int, originNS int64) []int64 {
	if l.begins == nil || l.shift != shift {
		first, n := l.axis.bins()
		from, to := (l.axis.low+int64(first))>>shift, (l.axis.low+int64(first+n-1))>>shift
		l.begins, l.shift = make([]int64, to-from+1), shift
		for k := range l.begins {
			l.begins[k] = (from+int64(k))*(l.axis.width<<shift) - originNS
		}
	}
	return l.begins
}

// inFlight fills s with the number of requests in flight after each change.
func (l *levelCollector) inFlight(s *Series, originNS int64) error {
	var points thinner
	n, at, changed := 0.0, int64(0), false
	err := l.changes.Ascending(func(changes []int64) {
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
	_, n := l.axis.bins()
	shift := coarse(n, float64(len(all)))
	median := Series{Key: TTFTMedian, Label: "TTFT, median", Unit: string(answer.Nanoseconds), BinNS: l.axis.width << shift}
	median.AtNS = l.times(shift, c.originNS)
	longest := median
	median.Value, longest.Value = make([]float64, len(median.AtNS)), make([]float64, len(median.AtNS))
	longest.Key, longest.Label = TTFTMax, "TTFT, maximum"
	values := make([]int64, 0, len(all))
	k := 0
	for i, at := range median.AtNS {
		values = values[:0]
		begin := at + c.originNS
		for ; k < len(all); k++ {
			start, ok := c.since(all[k].StartNS)
			if ok && start >= begin+median.BinNS {
				break
			}
			if ok && start >= begin {
				values = append(values, all[k].TTFTNS)
			}
		}
		median.Value[i], longest.Value[i] = math.NaN(), math.NaN()
		if len(values) > 0 {
			stat.Sort(values)
			median.Value[i], longest.Value[i] = stat.Quantile(values, 0.5), float64(values[len(values)-1])
		}
	}
	return []Series{median, longest}
}
