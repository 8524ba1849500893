package diff

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/inference"
	"github.com/pa-tools/pa/pkg/analyze/quality"
	"github.com/pa-tools/pa/pkg/export"
)

// seriesShare is the share of the memory for values that the series of one run take. The analysis of a run
// takes analysisShare. A comparison holds the series of one run while it analyzes the other one.
const (
	seriesShare   = 0.25
	analysisShare = 1 - 2*seriesShare
)

// Follow returns cfg for the analysis of a run whose values in the order of time are compared, which
// cfg.Series asks for. Unlike the Series of a report, they take a few bytes each, and move to a temporary file
// beyond the memory that cfg gives to values. Without cfg.Series, Follow returns cfg unchanged.
func Follow(cfg analyze.Config) analyze.Config {
	if !cfg.Series {
		return cfg
	}
	memory := float64(cmp.Or(cfg.ValueMemory, analyze.ValueMemory(cfg.MemoryLimit)))
	cfg.Series, cfg.ValueMemory = false, int64(analysisShare*memory)
	cfg.Follower = &follower{quality: cfg.Quality, memory: int64(seriesShare * memory)}
	return cfg
}

// A follower collects the series of the levels of a run.
type follower struct {
	quality *quality.Config
	memory  int64 // bytes that the series take at most

	store  *stat.Store
	levels []*levelSeries
	gaps   *gapSorter // of the last level
	err    error      // from reading gaps back
}

var _ analyze.Follower = (*follower)(nil)

// Begin implements [analyze.Follower].
func (f *follower) Begin(*export.Run) {
	if f.store != nil { // its values and gaps are void
		f.gaps.sorting.Wait()
		_ = f.store.Close()
		_ = f.gaps.close()
	}
	f.store, f.levels, f.gaps = stat.NewStore(f.memory, ""), nil, newGapSorter(f.memory)
}

// level returns the series of a level, which come one after the other.
func (f *follower) level(i int) *levelSeries {
	for len(f.levels) <= i {
		f.endLevel()
		f.levels = append(f.levels, newLevelSeries(f))
	}
	return f.levels[i]
}

// endLevel moves the gaps of the last level to its series, so that only one level has gaps to sort.
func (f *follower) endLevel() {
	if len(f.levels) == 0 {
		return
	}
	f.err = errors.Join(f.err, f.gaps.drain(f.levels[len(f.levels)-1].follow))
}

// Request implements [analyze.Follower].
func (f *follower) Request(level int, p *analyze.Point) {
	l := f.level(level)
	f.gaps.settle(p.SettledNS, l.follow)
	l.request(p, f.gaps)
}

// Step implements [analyze.Follower].
func (f *follower) Step(level int, s analyze.Step) { f.level(level).step(s) }

// A levelSeries holds the values of a level in the order of time, by the start of the request or the end of the
// gap.
type levelSeries struct {
	store   *stat.Store
	series  [seriesQuantities]*stat.List // nil without values
	quality *quality.Meter               // nil without quality
	ratios  map[quantity]*ratio          // of quality
	stalled []bool                       // whether each request had a stall
	spans   *stat.List                   // seconds from one completion to the next
	done    *stat.List                   // requests completed in each span
	tokens  *stat.List                   // output tokens in each span
	prompts prompts
}

func newLevelSeries(f *follower) *levelSeries {
	l := &levelSeries{
		store: f.store, spans: f.store.NewList(stat.Float), done: f.store.NewList(stat.Whole), tokens: f.store.NewList(stat.Float),
		prompts: newPrompts(f.store),
	}
	if f.quality != nil {
		l.quality = quality.NewMeter(*f.quality)
	}
	return l
}

// list returns the list of a quantity.
func (l *levelSeries) list(q quantity) *stat.List {
	if l.series[q] == nil {
		kind := stat.Whole
		if q == tpot || q == normalizedLatency || q == itlPerToken {
			kind = stat.Float
		}
		l.series[q] = l.store.NewList(kind)
	}
	return l.series[q]
}

// request adds a request, and its gaps to gaps.
func (l *levelSeries) request(p *analyze.Point, gaps *gapSorter) {
	l.prompts.add(p)
	if !p.Counted {
		return
	}
	for q, v := range [...]export.Int{ttft: p.TTFT, e2el: p.E2EL} {
		if v.OK {
			l.list(quantity(q)).Add(v.V)
		}
	}
	if v, ok := p.TPOT(); ok {
		l.list(tpot).AddFloat(v)
	}
	if l.quality == nil {
		for j, end := range p.GapNS {
			gaps.add(gap{end: end, ns: p.Gaps[j]})
		}
		return
	}
	q := l.quality.Measure(&p.Measured)
	l.followQuality(&q, p)
	next := 0 // gap
	q.EachPerToken(&p.Measures, func(j int, ns float64, n int) {
		for ; next < j; next++ {
			gaps.add(gap{end: p.GapNS[next], ns: p.Gaps[next]})
		}
		gaps.add(gap{end: p.GapNS[j], ns: p.Gaps[j], perToken: ns, tokens: n})
		next++
	})
	for ; next < len(p.GapNS); next++ {
		gaps.add(gap{end: p.GapNS[next], ns: p.Gaps[next]})
	}
}

// step adds a step. All requests have been added.
func (l *levelSeries) step(s analyze.Step) {
	l.spans.AddFloat(s.Seconds)
	l.done.Add(int64(s.Requests))
	l.tokens.AddFloat(s.OutputTokens)
}

// follow adds gaps, which come in the order of their ends.
func (l *levelSeries) follow(gaps []gap) {
	var all [gapsOfBlock]int64
	for some := range slices.Chunk(gaps, len(all)) {
		for i := range some {
			g := &some[i]
			all[i] = g.ns
			for range g.tokens {
				l.list(itlPerToken).AddFloat(g.perToken)
			}
		}
		l.list(itl).Add(all[:len(some)]...)
	}
}

// finish orders the prompts when all is added. complete says that no request of the level is missing.
func (l *levelSeries) finish(complete bool) {
	if !complete {
		l.prompts.drop()
	}
	l.prompts.sort()
}

// of returns the series of a quantity.
func (l *levelSeries) of(q quantity) *inference.Series {
	if q == itl || q == itlPerToken { // a request has many of them
		return inference.GapsOf(listed(l.series[q]))
	}
	return inference.SeriesOf(listed(l.series[q]))
}

// expected returns the series of all quantities, with what the estimates of all metrics need.
func (l *levelSeries) expected() (all [seriesQuantities]*inference.Series) {
	for q := range all {
		all[q] = l.of(quantity(q))
		var quantiles []float64
		for _, m := range Metrics {
			if m.of == quantity(q) && m.pct > 0 {
				quantiles = append(quantiles, m.pct/100)
			}
		}
		all[q].Expect(quantiles...)
	}
	return all
}

// rate estimates amounts per time over the steps.
func (l *levelSeries) rate(amounts *stat.List) inference.Estimate {
	return inference.RateOf(listed(amounts), listed(l.spans))
}

// A ratio is a quotient of two sums over the requests of a run, in the order of their starts.
type ratio struct{ amounts, per *stat.List }

func newRatio(store *stat.Store) *ratio {
	return &ratio{store.NewList(stat.Whole), store.NewList(stat.Whole)}
}

func (r *ratio) add(amount, per int64) {
	r.amounts.Add(amount)
	r.per.Add(per)
}

// estimate estimates the quotient. It depends on neighbouring requests as a rate does.
func (r *ratio) estimate() inference.Estimate {
	return inference.RateOf(listed(r.amounts), listed(r.per))
}

// followQuality adds a request to the series of quality.
func (l *levelSeries) followQuality(q *quality.Request, p *analyze.Point) {
	if l.ratios == nil {
		l.ratios = map[quantity]*ratio{}
		for _, key := range [...]quantity{fluidityIndex, tokensInTime, stallShare, tokensPerEvent} {
			l.ratios[key] = newRatio(l.store)
		}
	}
	if v := q.NormalizedLatencyNS; !math.IsNaN(v) {
		l.list(normalizedLatency).AddFloat(v)
	}
	if !math.IsNaN(q.TokensPerEvent) {
		l.ratios[tokensPerEvent].add(p.VisibleTokens().V, int64(p.Events))
	}
	if !q.Timed {
		return
	}
	l.list(readerIdle).Add(q.Timeliness.IdleNS)
	l.ratios[fluidityIndex].add(q.Fluidity.Deadlines-q.Fluidity.Misses, q.Fluidity.Deadlines)
	l.ratios[tokensInTime].add(q.Timeliness.Met, q.Timeliness.Tokens)
	l.ratios[stallShare].add(q.Stall.TotalNS, q.Stall.DecodeNS)
	l.stalled = append(l.stalled, q.Stall.N > 0)
}

// listValues are the values of a list, for package inference. Each reader has its own.
type listValues struct {
	list *stat.List
	*stat.Cursor
}

// listed returns the values of a list; nil has none.
func listed(l *stat.List) inference.Values {
	if l == nil {
		l = stat.NewStore(0, "").NewList(stat.Whole)
	}
	return listValues{l, l.NewCursor()}
}

// Block implements inference.Values.
func (v listValues) Block(i int) (from int, numbers []float64) { return v.Numbers(i) }

// Sorted implements inference.Values.
func (v listValues) Sorted() inference.Values { return rankedValues{v, v.list.NewRanking()} }

// Make implements inference.Values.
func (v listValues) Make(n int, at func(i int) float64) inference.Values {
	made := v.list.Beside(stat.Float)
	for i := range n {
		made.AddFloat(at(i))
	}
	return listed(made)
}

// rankedValues are the values of a list in ascending order.
type rankedValues struct {
	listValues
	ranking *stat.Ranking
}

// Block implements inference.Values.
func (v rankedValues) Block(i int) (from int, numbers []float64) { return v.ranking.Numbers(i) }

// Sorted implements inference.Values.
func (v rankedValues) Sorted() inference.Values { return v }

// Close removes the temporary file of the run's values, which intervals read as long as they are wanted. It returns
// the error of reading values back: then comparisons of the run are wrong.
func (r *Run) Close() error {
	if r.store == nil {
		return nil
	}
	return errors.Join(r.store.Err(), r.store.Close())
}
