package analyze

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/analyze/summary"
	"github.com/pa-tools/pa/pkg/answer"
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

// wrongNumbers counts the numbers of a level that cannot be true, by their quantity.
type wrongNumbers map[answer.Quantity]wrongTally

// add counts the numbers of p that cannot be true.
func (n *wrongNumbers) add(p *Point) {
	for i := range p.Wrong {
		w := p.Wrong[i]
		if w.Of == answer.Quantity(answer.ITL) {
			w.N -= p.Backward // they have a warning of their own
		}
		if w.N > 0 && !p.explained(&w) {
			t := (*n)[w.Of]
			t.add(p, &w)
			if *n == nil {
				*n = wrongNumbers{}
			}
			(*n)[w.Of] = t
		}
	}
}

// tokens returns how many requests state an impossible number of output tokens.
func (n wrongNumbers) tokens() int { return n[answer.Quantity(answer.OutputTokens)].requests }

// warnings returns the warnings about numbers that cannot be true, of ok requests.
func (n wrongNumbers) warnings(ok int) []error {
	var all []error
	for q := range answer.NumQuantities {
		t, found := n[q]
		if !found {
			continue
		}
		all = append(all, counted(KindImpossible, q.Label(), func(n []int64) string {
			return t.text(q, n)
		}, int64(t.requests), int64(ok), int64(t.values)))
	}
	return all
}

// number returns the example in words. Readers take a number with a fraction as the least int64, and some add the
// tokens of a cache to it.
func (t *wrongTally) number() string {
	if t.example < math.MinInt64+1<<41 {
		return "a number with a fraction, or below -2^62"
	}
	return strconv.FormatInt(t.example, 10)
}

// text returns the warning about n[0] of n[1] requests with n[2] numbers that cannot be true.
func (t *wrongTally) text(q answer.Quantity, n []int64) string {
	example := t.number()
	requests := ofRequests(n)
	switch q {
	case answer.Times:
		return fmt.Sprintf("%s started or ended at an impossible time, such as %d (%s): latencies that need the time, and rates, are n/a", requests, uint64(t.example), t.where())
	case answer.Quantity(answer.ITL):
		return fmt.Sprintf("%s had impossible gaps between tokens, such as %s ns (%s): left out", requests, example, t.where())
	case answer.Quantity(answer.OutputTokens):
		return fmt.Sprintf("%s stated an impossible number of output tokens, such as %s (%s): left out, and token rates are n/a; --token-source responses counts chunks", requests, example, t.where())
	case answer.Quantity(answer.CachedTokens):
		return fmt.Sprintf("%s stated an impossible number of cached tokens, below 0 or above the input tokens, such as %s (%s): left out", requests, example, t.where())
	case answer.Quantity(answer.InputTokens):
		return fmt.Sprintf("%s stated an impossible number of input tokens, such as %s (%s): left out, and the rate of all tokens is n/a", requests, example, t.where())
	case answer.TokenEvents, answer.Quantity(answer.ReasoningTokens):
		return fmt.Sprintf("%s stated an impossible number of %s, such as %s (%s): left out", requests, q.Label(), example, t.where())
	}
	return fmt.Sprintf("%s had impossible values of %s, such as %s ns (%s): left out", requests, q.Label(), example, t.where())
}

// unavailable returns the metrics and rates that have no value because of numbers that cannot be true, of ok requests.
// have are the other metrics without a value.
func (n wrongNumbers) unavailable(metrics []summary.Metric, have []figure.Unavailable, ok int) []figure.Unavailable {
	var all []figure.Unavailable
	add := func(key, name, why string) {
		if !slices.ContainsFunc(have, func(u figure.Unavailable) bool { return u.Key == key }) {
			all = append(all, figure.Unavailable{Key: key, Name: name, Why: why})
		}
	}
	for i := range answer.StrictMetrics {
		d := &answer.StrictMetrics[i]
		t := n[answer.Quantity(d.Metric)]
		if t.requests == 0 && d.Metric == answer.TPOT {
			t = n[answer.Quantity(answer.OutputTokens)]
		}
		if t.requests > 0 && summary.Find(metrics, d.Metric) == nil {
			add(d.Key(), d.Label(), "the values are impossible, such as "+t.number())
		}
	}
	if wrong := n.tokens(); wrong > 0 {
		add("output_tokens_per_s", "token rates", ofRequests([]int64{int64(wrong), int64(ok)})+" stated an impossible number of output tokens")
	}
	return all
}
