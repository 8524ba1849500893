package genaiperf

import (
	"math"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// A collector holds the values of a level or a session.
type collector struct {
	latency, first, second, inter *stat.List
	output, input                 *stat.List
	rate                          *stat.List // tokens per second of each request or user
	imageRate, imageLatency       *stat.List

	// requests is the number of requests in the request throughput.
	requests int
	tokens   int64
	// startNS is the earliest start and endNS the latest response; both are valid if
	// found is set.
	startNS, endNS uint64
	found          bool

	// requestRates and tokenRates have one value for a level, and for a session one value
	// for each level of the file. goodput has one value for a level and none for a session.
	requestRates, tokenRates, goodput []float64
}

func newCollector(store *stat.Store) collector {
	whole := func() *stat.List { return store.NewList(stat.Whole) }
	float := func() *stat.List { return store.NewList(stat.Float) }
	return collector{
		latency: whole(), first: whole(), second: whole(), inter: whole(), output: whole(), input: whole(),
		rate: float(), imageRate: float(), imageLatency: float(),
	}
}

// release drops all values.
func (c *collector) release() {
	for _, l := range [...]*stat.List{c.latency, c.first, c.second, c.inter, c.output, c.input, c.rate, c.imageRate, c.imageLatency} {
		l.Release()
	}
}

// extend extends the duration to a request.
func (c *collector) extend(startNS, endNS uint64) {
	if !c.found || startNS < c.startNS {
		c.startNS = startNS
	}
	if !c.found || endNS > c.endNS {
		c.endNS = endNS
	}
	c.found = true
}

// duration returns the seconds from the first request to the last response. Without
// requests it is minus infinity, as in GenAI-Perf: the earliest start of no requests is
// infinity.
func (c *collector) duration() float64 {
	if !c.found {
		return math.Inf(-1)
	}
	return dialect.Seconds(c.startNS, c.endNS)
}

// finish computes the rates. A duration of 0 is an exception.
func (c *collector) finish(withTokens bool) *exception {
	d := c.duration()
	if d == 0 {
		return errZero
	}
	c.requestRates = append(c.requestRates, float64(c.requests)/d)
	if withTokens {
		c.tokenRates = append(c.tokenRates, float64(c.tokens)/d)
	}
	return nil
}

// metrics returns the metrics with values, in the order of the JSON report.
func (c *collector) metrics(r *rules) []metric {
	var all []metric
	scale := 1.0
	if r.layout >= layout2407 {
		scale = 1 / 1e6
	}
	mean := func(name string, x []float64) {
		if len(x) > 0 {
			all = append(all, metric{Name: name, N: len(x), Single: true, Statistics: dialect.Statistics{Avg: stat.NumpyMean(r.numpy, x)}})
		}
	}
	each := func(name string, x *stat.List, scale float64) {
		if x.Len() > 0 {
			all = append(all, summarize(name, r.numpy, x, scale))
		}
	}
	perRequest, output, input := tokensPerReq, outputLength, inputLength
	if r.perUser {
		perRequest = tokensPerUser
	}
	if r.layout < layout2407 {
		output, input = numOutput, numInput
	}
	mean(requestRate, c.requestRates)
	each(requestLatency, c.latency, scale)
	mean(requestGood, c.goodput)
	if r.requestCount {
		mean(requestCount, []float64{float64(c.latency.Len())})
	}
	each(firstToken, c.first, scale)
	each(secondToken, c.second, scale)
	if r.itl == itlGaps || !sumIsZero(c.inter) {
		each(interToken, c.inter, scale)
	}
	mean(tokenRate, c.tokenRates)
	each(perRequest, c.rate, 1)
	each(output, c.output, 1)
	each(input, c.input, 1)
	each(imageRate, c.imageRate, 1)
	each(imageLatency, c.imageLatency, scale)
	for i := range all {
		all[i].Unit = r.jsonUnit(all[i].Name)
	}
	return all
}

// jsonUnit returns the unit of a metric in the JSON report.
func (r *rules) jsonUnit(name string) string {
	switch {
	case isTime(name) && r.layout < layout2407:
		return "ns"
	case !isTime(name) && r.jsonReport == json2409:
		return units[requestRate].json
	}
	return units[name].json
}

// sumIsZero reports whether the sum is 0, by which releases detect that no answer was
// streamed.
func sumIsZero(x *stat.List) bool {
	sum := int64(0)
	next := x.Reader().Next
	for block := next(); len(block) > 0; block = next() {
		for _, v := range block {
			sum += v
		}
	}
	return sum == 0
}

// A series is the values of a metric that goodput can ask for.
type series struct {
	name string
	time bool // nanoseconds, which must not exceed the limit; other values must reach it
	list *stat.List
}

// keeps reports whether a value keeps a limit.
func (s *series) keeps(v, limit float64) bool {
	if s.time {
		return !(v > limit)
	}
	return !(v < limit)
}

// goodputSeries returns the metrics that goodput limits may name, in the order in which
// the release names them.
func (c *collector) goodputSeries(r *rules, p parser) []series {
	latency := series{name: requestLatency, time: true, list: c.latency}
	switch p {
	case parseImages:
		return []series{
			{name: imageLatency, time: true, list: c.imageLatency},
			latency,
			{name: imageRate, list: c.imageRate},
		}
	case parseLatency:
		return []series{latency}
	}
	all := []series{{name: firstToken, time: true, list: c.first}}
	if r.secondToken {
		all = append(all, series{name: secondToken, time: true, list: c.second})
	}
	perRequest := tokensPerReq
	if r.perUser {
		perRequest = tokensPerUser
	}
	return append(all, series{name: interToken, time: true, list: c.inter}, latency, series{name: perRequest, list: c.rate})
}

// setGoodput sets the goodput: the rate of the requests that keep all limits. If a limit's
// metric is unknown, the goodput is -1 and warning names the metric.
//
// Every release has this fault: it pairs the values of different metrics by their index
// up to the shortest list, although lists lack some requests.
func (c *collector) setGoodput(r *rules, p parser, limits []dialect.Limit) (warning string, e *exception) {
	type check struct {
		series
		limit float64
		at    *stat.Cursor
	}
	var times, rates []check
	var unknown, known []string
	all := c.goodputSeries(r, p)
	for _, s := range all {
		known = append(known, s.name)
	}
	for _, l := range limits {
		at := slices.IndexFunc(all, func(s series) bool { return s.name == l.Metric })
		switch {
		case at < 0:
			unknown = append(unknown, l.Metric)
		case all[at].time:
			times = append(times, check{all[at], l.Value * 1e6, all[at].list.NewCursor()})
		default:
			rates = append(rates, check{all[at], l.Value, all[at].list.NewCursor()})
		}
	}
	if unknown != nil {
		c.goodput = []float64{-1}
		return "goodput -1: no such metric: " + strings.Join(unknown, ", ") + "; there are " + strings.Join(known, ", "), nil
	}
	shortest := func(checks []check) int {
		n := math.MaxInt
		for i := range checks {
			n = min(n, checks[i].list.Len())
		}
		return n
	}
	n := shortest(times)
	if rates != nil {
		if n = shortest(rates); n > shortest(times) {
			n, e = shortest(times), errIndex
		}
	}
	good := 0
	for i := range n {
		ok := true
		for _, k := range [...][]check{times, rates} {
			for j := range k {
				ok = ok && k[j].keeps(k[j].at.Number(i), k[j].limit)
			}
		}
		if ok {
			good++
		}
	}
	c.goodput = []float64{float64(good) / c.duration()}
	return "", e
}
