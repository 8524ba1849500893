package genaiperf

import (
	"math"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

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
	for i, l := range limits {
		if slices.ContainsFunc(limits[i+1:], func(m dialect.Limit) bool { return m.Metric == l.Metric }) {
			continue // the last limit of a name counts
		}
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
