package guidellm

import (
	"math"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/py"
)

// A requestStat holds what the metrics need of a request. NaN means unknown.
type requestStat struct {
	start, end                  float64 // Unix seconds; end also if the request failed
	done                        bool    // end is the end of the answer
	targeted                    float64 // when the request was due
	prompt, output              float64 // tokens
	first, firstOutput, last    float64 // when tokens came; firstOutput is not reasoning
	words, characters           float64 // of the answer
	wordsIn, charactersIn       float64 // of the prompt
	iterations, tokenIterations float64 // events, and events with text
	textTokensIn, textTokensOut float64 // the server's counts
	turn                        int
	resolveStart                float64
}

func isKnown(v float64) bool { return !math.IsNaN(v) }

// orZero returns 0 for an unknown value.
func orZero(v float64) float64 {
	if !isKnown(v) {
		return 0
	}
	return v
}

func promptTokens(s *requestStat) float64 { return s.prompt }
func outputTokens(s *requestStat) float64 { return s.output }
func zero(*requestStat) float64           { return 0 }
func unknown(*requestStat) float64        { return math.NaN() }

// latency returns the time from the start to the end of the answer.
func (s *requestStat) latency() float64 {
	if !s.done {
		return math.NaN()
	}
	return s.end - s.start
}

// delay returns how late the request started.
func (s *requestStat) delay() float64 { return s.start - s.targeted }

// noDelay returns 0 if it is known when the request was due.
func (s *requestStat) noDelay() float64 { return 0 * s.delay() }

// scheduledLatency returns the time from when the request was due to the end of the answer.
func (s *requestStat) scheduledLatency() float64 {
	if !s.done {
		return math.NaN()
	}
	return s.end - s.targeted
}

// total returns the sum of the known token counts.
func (s *requestStat) total() float64 {
	if !isKnown(s.prompt) && !isKnown(s.output) {
		return math.NaN()
	}
	return orZero(s.prompt) + orZero(s.output)
}

func (s *requestStat) ttft() float64            { return 1000 * (s.first - s.start) }
func (s *requestStat) firstOutputTime() float64 { return 1000 * (s.firstOutput - s.start) }

// perToken returns the time from the start to the last token divided by the output
// tokens, in milliseconds.
func (s *requestStat) perToken() float64 {
	last := s.last
	if !isKnown(last) {
		last = s.end
	}
	if !(s.output > 0) {
		return math.NaN()
	}
	return 1000 * (last - s.start) / s.output
}

// interToken returns the time from the first to the last token divided by the other
// output tokens, in milliseconds.
func (s *requestStat) interToken() float64 {
	if !(s.output > 1) {
		return math.NaN()
	}
	return 1000 * (s.last - s.first) / (s.output - 1)
}

// perIteration returns the number of tokens of an event after the first.
func (s *requestStat) perIteration() float64 {
	if !(s.output > 1 && s.tokenIterations > 1) {
		return math.NaN()
	}
	return (s.output - 1) / (s.tokenIterations - 1)
}

// promptEvent returns the end of the prefill, which is when the first token came, with the
// prompt's tokens.
func (s *requestStat) promptEvent() []point {
	at := s.first
	if !isKnown(at) {
		at = s.end
	}
	return []point{{at, orZero(s.prompt)}}
}

// laterTokens returns the events after the first, spread evenly.
func (s *requestStat) laterTokens() []point {
	each := s.perIteration()
	if !isKnown(s.first) || !isKnown(s.last) || !isKnown(each) {
		return nil
	}
	n := int(s.tokenIterations)
	step := (s.last - s.first) / float64(n-1)
	all := make([]point, 0, n-1)
	for i := 1; i < n; i++ {
		at := s.first + float64(float64(i)*step) // two roundings, on any machine
		if i == n-1 {
			at = s.last
		}
		all = append(all, point{at, each})
	}
	return all
}

// tokens returns all events with text.
func (s *requestStat) tokens() []point {
	if !isKnown(s.first) || !isKnown(s.last) || !(s.tokenIterations > 1) {
		at := s.last
		if !isKnown(at) {
			at = s.end
		}
		return []point{{at, orZero(s.output)}}
	}
	first := 0.0
	if s.output > 0 {
		first = 1
	}
	return append([]point{{s.first, first}}, s.laterTokens()...)
}

// allTokens returns the end of the prefill and all events with text.
func (s *requestStat) allTokens() []point { return append(s.promptEvent(), s.tokens()...) }

func requestEnd(s *requestStat) []point { return []point{{s.end, 1}} }

func duration(s *requestStat) []interval { return []interval{{s.start, s.end, 1}} }

// timePerToken returns the time per output token, weighted by the output tokens.
func timePerToken(s *requestStat) []point { return []point{{orZero(s.perToken()), orZero(s.output)}} }

// interTokens returns the time between tokens, weighted by the number of gaps. An unknown
// time counts as 0 with its weight.
func interTokens(s *requestStat) []point {
	weight := 0.0
	if isKnown(s.output) && s.output != 0 {
		weight = s.output - 1
	}
	return []point{{orZero(s.interToken()), weight}}
}

// groups holds the requests of a benchmark by how they ended.
type groups [numGroups][]requestStat

const (
	successful = iota
	incomplete
	errored
	numGroups
)

// A benchmark computes the metrics of a level.
type benchmark struct {
	release *release
	*groups
	window    window
	scheduled bool // requests were due at times that the load set
}

// object returns the values of the metrics.
func (b *benchmark) object(metrics []metric) py.Object {
	o := make(py.Object, len(metrics))
	for i, m := range metrics {
		o[i] = py.Member{Name: m.name, Value: m.value(b)}
	}
	return o
}

// byStatus returns one value for each group and one for all requests. The value for all
// takes the requests in the order of the constants.
func byStatus[T any](g *groups, of func(*requestStat) []T, make func([]T) any) py.Object {
	var each [numGroups][]T
	var all []T
	for i := range g {
		for k := range g[i] {
			each[i] = append(each[i], of(&g[i][k])...)
		}
		all = append(all, each[i]...)
	}
	return statuses(make(each[successful]), make(each[errored]), make(each[incomplete]), make(all))
}

func statuses(successful, errored, incomplete, total any) py.Object {
	return py.Object{
		{Name: "successful", Value: successful},
		{Name: "errored", Value: errored},
		{Name: "incomplete", Value: incomplete},
		{Name: "total", Value: total},
	}
}

func (g *groups) counts() py.Object {
	s, e, i := len(g[successful]), len(g[errored]), len(g[incomplete])
	return statuses(s, e, i, s+e+i)
}

// values returns the distribution of one value per request; an unknown value counts as 0.
func (b *benchmark) values(of func(*requestStat) float64) py.Object {
	return b.points(func(s *requestStat) []point { return []point{{orZero(of(s)), 1}} })
}

// known returns the distribution of the known values.
func (b *benchmark) known(of func(*requestStat) float64) py.Object { return b.points(known(of)) }

// known makes a value a point with the weight 1, an unknown value none.
func known(of func(*requestStat) float64) func(*requestStat) []point {
	return func(s *requestStat) []point {
		if v := of(s); isKnown(v) {
			return []point{{v, 1}}
		}
		return nil
	}
}

// ofSchedule returns the distribution of the known values, null if the load set no times.
func (b *benchmark) ofSchedule(of func(*requestStat) float64) any {
	if !b.scheduled {
		return nil
	}
	return b.known(of)
}

func (b *benchmark) points(of func(*requestStat) []point) py.Object {
	return byStatus(b.groups, of, func(all []point) any { return b.release.distribution(all) })
}

// weights returns the distribution of the points' weights.
func (b *benchmark) weights(of func(*requestStat) []point) py.Object {
	return b.points(func(s *requestStat) []point { return ones(weights(of(s))) })
}

func (b *benchmark) rates(of func(*requestStat) []point) py.Object {
	return byStatus(b.groups, of, func(all []point) any { return b.release.rate(all, b.window) })
}

func (b *benchmark) concurrencies(of func(*requestStat) []interval) py.Object {
	return byStatus(b.groups, of, func(all []interval) any { return b.release.concurrency(all, b.window) })
}

// iterations returns null if no request has a known number of events.
func (b *benchmark) iterations() any {
	value := func(s *requestStat) float64 { return s.iterations }
	if !b.any(value) {
		return nil
	}
	return b.values(value)
}

// rootDelay returns how late the first requests of conversations started, null if no
// request was due at a time.
func (b *benchmark) rootDelay() any {
	var all []point
	for i := range b.groups {
		for k := range b.groups[i] {
			if s := &b.groups[i][k]; s.turn == 0 && isKnown(s.targeted) {
				all = append(all, point{s.delay(), 1})
			}
		}
	}
	if all == nil {
		return nil
	}
	return b.release.distribution(all)
}

// text returns the summaries of the text that was sent and answered.
func (b *benchmark) text() any {
	return py.Object{
		{Name: "tokens", Value: b.summary(func(s *requestStat) float64 { return s.textTokensIn }, func(s *requestStat) float64 { return s.textTokensOut })},
		{Name: "words", Value: b.summary(func(s *requestStat) float64 { return s.wordsIn }, func(s *requestStat) float64 { return s.words })},
		{Name: "characters", Value: b.summary(func(s *requestStat) float64 { return s.charactersIn }, func(s *requestStat) float64 { return s.characters })},
	}
}

// noSummaries returns the summaries of quantities that no request has.
func (b *benchmark) noSummaries(names string) py.Object {
	var o py.Object
	for name := range strings.FieldsSeq(names) {
		o = append(o, py.Member{Name: name, Value: b.summary(unknown, unknown)})
	}
	return o
}

// summary returns the distribution, the rate and the concurrency of a quantity: of the
// requests' input, output and both.
func (b *benchmark) summary(in, out func(*requestStat) float64) py.Object {
	var o py.Object
	side := func(name string, listed bool, values ...func(*requestStat) float64) {
		if !listed {
			for _, end := range [...]string{"", "_per_second", "_concurrency"} {
				o = append(o, py.Member{Name: name + end, Value: nil})
			}
			return
		}
		o = append(o, py.Member{Name: name, Value: eachOf(b.groups, values, func(_ *requestStat, v float64) []point {
			if !isKnown(v) {
				return nil
			}
			return []point{{v, 1}}
		}, func(all []point) any { return b.release.distribution(all) })})
		isListed := func(s *requestStat) bool { return isKnown(in(s)) || isKnown(out(s)) }
		o = append(o, py.Member{Name: name + "_per_second", Value: eachOf(b.groups, values, func(s *requestStat, v float64) []point {
			if !isListed(s) {
				return nil
			}
			return []point{{s.end, orZero(v)}}
		}, func(all []point) any { return b.release.rate(all, window{}) })})
		o = append(o, py.Member{Name: name + "_concurrency", Value: eachOf(b.groups, values, func(s *requestStat, v float64) []interval {
			if !isListed(s) {
				return nil
			}
			return []interval{{s.start, s.end, orZero(v)}}
		}, func(all []interval) any { return b.release.concurrency(all, window{}) })})
	}
	hasIn, hasOut := b.any(in), b.any(out)
	side("input", hasIn, in)
	side("output", hasOut, out)
	side("total", hasIn && hasOut, in, out)
	return o
}

// any reports whether a request has a known value.
func (g *groups) any(of func(*requestStat) float64) bool {
	for i := range g {
		for k := range g[i] {
			if isKnown(of(&g[i][k])) {
				return true
			}
		}
	}
	return false
}

// eachOf is byStatus for several values: in each group, one value of all requests comes
// before the next value.
func eachOf[T any](g *groups, values []func(*requestStat) float64, of func(*requestStat, float64) []T, make func([]T) any) py.Object {
	var each [numGroups][]T
	var all []T
	for i := range g {
		for _, value := range values {
			for k := range g[i] {
				s := &g[i][k]
				each[i] = append(each[i], of(s, value(s))...)
			}
		}
		all = append(all, each[i]...)
	}
	return statuses(make(each[successful]), make(each[errored]), make(each[incomplete]), make(all))
}

// turns returns the metrics by place in a conversation, null if every request is a first one.
func (b *benchmark) turns() any {
	var places []int
	for i := range b.groups {
		for k := range b.groups[i] {
			if t := b.groups[i][k].turn; !slices.Contains(places, t) {
				places = append(places, t)
			}
		}
	}
	slices.Sort(places)
	if len(places) == 0 || len(places) == 1 && places[0] == 0 {
		return nil
	}
	var all py.Array
	for _, turn := range places {
		var g groups
		for i := range b.groups {
			for k := range b.groups[i] {
				if b.groups[i][k].turn == turn {
					g[i] = append(g[i], b.groups[i][k])
				}
			}
		}
		one := &benchmark{release: b.release, groups: &g, window: b.window, scheduled: b.scheduled}
		all = append(all, append(py.Object{{Name: "turn_index", Value: turn}}, one.object(b.release.turnMetrics)...))
	}
	return all
}
