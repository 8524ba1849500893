package analyze

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/pa-tools/pa/pkg/analyze/summary"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// A wrongTally counts the numbers of one quantity that cannot be true, in requests that count.
type wrongTally struct {
	requests, values int
	example          int64
	// id and start are of the request with the example: the one with the smallest id, or the first start.
	id       uint64
	start    uint64
	numbered bool
}

// add counts the number w of the request p. The example does not depend on the order of the requests.
func (t *wrongTally) add(p *Point, w *answer.Wrong) {
	t.requests++
	t.values += w.N
	if t.requests == 1 || p.Numbered && p.ID < t.id || !p.Numbered && p.FromNS < t.start {
		t.example, t.id, t.start, t.numbered = w.Value, p.ID, p.FromNS, p.Numbered
	}
}

// where names the request with the example.
func (t *wrongTally) where() string {
	if t.numbered {
		return "request " + strconv.FormatUint(t.id, 10)
	}
	return "the request at " + strconv.FormatUint(t.start, 10)
}

// explained reports whether another warning names the cause of the wrong number w of the request: its response
// came before the time to count from.
func (p *Point) explained(w *answer.Wrong) bool {
	if !p.early || w.Value >= 0 {
		return false
	}
	switch w.Of {
	case answer.Quantity(answer.TTFT), answer.Quantity(answer.TTFAT), answer.Quantity(answer.E2EL):
		return true
	}
	return false
}

// countWrong counts the numbers of p that cannot be true.
func (c *collector) countWrong(p *Point) {
	for i := range p.Wrong {
		w := p.Wrong[i]
		if w.Of == answer.Quantity(answer.ITL) {
			w.N -= p.Backward // they have a warning of their own
		}
		if w.N > 0 && !p.explained(&w) {
			t := c.wrong[w.Of]
			t.add(p, &w)
			if c.wrong == nil {
				c.wrong = map[answer.Quantity]wrongTally{}
			}
			c.wrong[w.Of] = t
		}
	}
}

// wrongTokens returns how many requests state an impossible number of output tokens.
func (c *collector) wrongTokens() int { return c.wrong[answer.Quantity(answer.OutputTokens)].requests }

// wrongSpan returns why the duration of the level is not known although requests have times; "" if it is known.
func (c *collector) wrongSpan(run *export.Run, e *export.Experiment) string {
	if t := c.wrong[answer.Times]; t.requests > 0 {
		return ofRequests([]int64{int64(t.requests), int64(c.ok)}) + " started or ended at a time that cannot be true"
	}
	span := answer.Elapsed(c.firstStart, c.lastEnd)
	switch {
	case !span.OK || c.firstStart == 0:
	case span.V > export.LongestNS:
		return "the requests lie more than a year apart"
	case !withinLevel(run, e, c.firstStart, c.lastEnd):
		return fmt.Sprintf("the requests, from %d to %d, lie outside of the level, from %d to %d", c.firstStart, c.lastEnd, e.Meta.StartNS, e.Meta.EndNS)
	}
	return ""
}

// withinLevel reports whether requests from a start to an end are within the level as the recorder states it.
// Other tools do not state it.
func withinLevel(run *export.Run, e *export.Experiment, fromNS, toNS uint64) bool {
	if e.Meta == nil || e.Meta.StartNS == 0 || e.Meta.EndNS == 0 || run.Meta == nil || run.Meta.Import != nil {
		return true
	}
	b := answer.BoundsOf(&export.Run{Meta: &export.RunMeta{StartNS: e.Meta.StartNS, EndNS: e.Meta.EndNS}})
	return b.Time(fromNS) && b.Time(toNS)
}

// impossible returns the warnings about numbers that cannot be true.
func (c *collector) impossible() []error {
	var all []error
	if c.spanWrong != "" && c.wrong[answer.Times].requests == 0 {
		all = append(all, said(KindImpossible, "%s: rates are n/a", c.spanWrong))
	}
	for q := range answer.NumQuantities {
		if _, found := c.wrong[q]; !found {
			continue
		}
		t := c.wrong[q]
		all = append(all, counted(KindImpossible, q.Label(), func(n []int64) string {
			return t.text(q, n)
		}, int64(t.requests), int64(c.ok), int64(t.values)))
	}
	return all
}

// text returns the warning about n[0] of n[1] requests with n[2] numbers that cannot be true.
func (t *wrongTally) text(q answer.Quantity, n []int64) string {
	example := strconv.FormatInt(t.example, 10)
	requests := ofRequests(n)
	switch q {
	case answer.Times:
		return fmt.Sprintf("%s started or ended at a time that cannot be true, such as %d (%s): latencies that need the time, and rates, are n/a", requests, uint64(t.example), t.where())
	case answer.Quantity(answer.ITL):
		return fmt.Sprintf("%s had gaps between tokens that cannot be true, such as %s ns (%s): left out", requests, example, t.where())
	case answer.Quantity(answer.OutputTokens):
		return fmt.Sprintf("%s stated a number of output tokens that cannot be true, such as %s (%s): left out, and token rates are n/a; --token-source responses counts chunks", requests, example, t.where())
	case answer.Quantity(answer.CachedTokens):
		return fmt.Sprintf("%s stated a number of cached tokens that cannot be true, below 0 or above the input tokens, such as %s (%s): left out", requests, example, t.where())
	case answer.Quantity(answer.InputTokens):
		return fmt.Sprintf("%s stated a number of input tokens that cannot be true, such as %s (%s): left out, and the rate of all tokens is n/a", requests, example, t.where())
	case answer.TokenEvents, answer.Quantity(answer.ReasoningTokens):
		return fmt.Sprintf("%s stated a number of %s that cannot be true, such as %s (%s): left out", requests, q.Label(), example, t.where())
	}
	return fmt.Sprintf("%s had a %s that cannot be true, such as %s ns (%s): left out", requests, q.Label(), example, t.where())
}

// impossibleMetrics returns the metrics and rates that have no value because of numbers that cannot be true. have
// are the other metrics without a value.
func (c *collector) impossibleMetrics(metrics []summary.Metric, have []Unavailable) []Unavailable {
	var all []Unavailable
	add := func(key, name, why string) {
		if !slices.ContainsFunc(have, func(u Unavailable) bool { return u.Key == key }) {
			all = append(all, Unavailable{key, name, why})
		}
	}
	for i := range answer.StrictMetrics {
		d := &answer.StrictMetrics[i]
		t := c.wrong[answer.Quantity(d.Metric)]
		if t.requests == 0 && d.Metric == answer.TPOT {
			t = c.wrong[answer.Quantity(answer.OutputTokens)]
		}
		if t.requests > 0 && summary.Find(metrics, d.Metric) == nil {
			add(d.Key(), d.Label(), "the values cannot be true, such as "+strconv.FormatInt(t.example, 10))
		}
	}
	if n := c.wrongTokens(); n > 0 {
		add("output_tokens_per_s", "token rates", ofRequests([]int64{int64(n), int64(c.ok)})+" stated a number of output tokens that cannot be true")
	}
	return all
}

// Subs of warnings of KindImpossible that are not about requests.
const (
	SubClient      = "client"
	SubCalibration = "calibration"
)

// impossibleFigures returns the warning that some figures of a file cannot be true and are left out. wrong says
// which.
func impossibleFigures(sub, what string, wrong []string) *Warning {
	more := ""
	if n := len(wrong) - 1; n > 0 {
		more = fmt.Sprintf(", and %d more", n)
	}
	return &Warning{Kind: KindImpossible, Sub: sub, text: fmt.Sprintf("%s cannot be true and are left out: %s%s", what, wrong[0], more)}
}
