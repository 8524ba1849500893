package guidellm

import (
	"math"
	"slices"

	"github.com/pa-tools/pa/internal/pyjson"
)

// A stat is what the figures are made of: one request. NaN is what it does not
// have.
type stat struct {
	start, end                  float64 // Unix seconds; the end also of one that failed
	done                        bool    // end is the end of the answer
	targeted                    float64
	prompt, output              float64
	first, firstOutput, last    float64
	words, characters           float64
	iterations, tokenIterations float64
	textTokensIn, textTokensOut float64
	turn                        int
	resolveStart                float64
}

func has(v float64) bool { return !math.IsNaN(v) }

// orZero is v, or 0 for none.
func orZero(v float64) float64 {
	if !has(v) {
		return 0
	}
	return v
}

// latency is the time from start to end of an answer.
func (s *stat) latency() float64 {
	if !s.done {
		return math.NaN()
	}
	return s.end - s.start
}

// scheduledLatency is the time from when it was due to the end of an answer.
func (s *stat) scheduledLatency() float64 {
	if !s.done {
		return math.NaN()
	}
	return s.end - s.targeted
}

// total is the sum of the tokens, NaN where none are known.
func (s *stat) total() float64 {
	if !has(s.prompt) && !has(s.output) {
		return math.NaN()
	}
	return orZero(s.prompt) + orZero(s.output)
}

func (s *stat) ttft() float64            { return 1000 * (s.first - s.start) }
func (s *stat) firstOutputTime() float64 { return 1000 * (s.firstOutput - s.start) }

// perToken is the time from the start to the last token, over the tokens.
func (s *stat) perToken() float64 {
	last := s.last
	if !has(last) {
		last = s.end
	}
	if !(s.output > 0) {
		return math.NaN()
	}
	return 1000 * (last - s.start) / s.output
}

// interToken is the time between the first and the last token, over the others.
func (s *stat) interToken() float64 {
	if !(s.output > 1) {
		return math.NaN()
	}
	return 1000 * (s.last - s.first) / (s.output - 1)
}

// perIteration is the number of tokens of an event behind the first.
func (s *stat) perIteration() float64 {
	if !(s.output > 1 && s.tokenIterations > 1) {
		return math.NaN()
	}
	return (s.output - 1) / (s.tokenIterations - 1)
}

// promptEvent is when the prompt was through.
func (s *stat) promptEvent() point {
	at := s.first
	if !has(at) {
		at = s.end
	}
	return point{at, orZero(s.prompt)}
}

// laterTokens are the events behind the first, as if they had come evenly.
func (s *stat) laterTokens() []point {
	each := s.perIteration()
	if !has(s.first) || !has(s.last) || !has(each) {
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

// tokens are all events.
func (s *stat) tokens() []point {
	if !has(s.first) || !has(s.last) || !(s.tokenIterations > 1) {
		at := s.last
		if !has(at) {
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

// groups are the requests of a benchmark by how they ended.
type groups [numGroups][]stat

const (
	successful = iota
	incomplete
	errored
	numGroups
)

// byStatus writes one value for each group and for all: in the order of the
// file, made of them in the order of the constants.
func byStatus[T any](g *groups, of func(*stat) []T, make func([]T) any) pyjson.Object {
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

func statuses(successful, errored, incomplete, total any) pyjson.Object {
	return pyjson.Object{
		{Name: "successful", Value: successful},
		{Name: "errored", Value: errored},
		{Name: "incomplete", Value: incomplete},
		{Name: "total", Value: total},
	}
}

func (g *groups) counts() pyjson.Object {
	s, e, i := len(g[successful]), len(g[errored]), len(g[incomplete])
	return statuses(s, e, i, s+e+i)
}

// values is the distribution of a value of each request; 0 where it has none.
func (g *groups) values(of func(*stat) float64) pyjson.Object {
	return g.points(func(s *stat) []point { return []point{{orZero(of(s)), 1}} })
}

// known is the distribution of a value of the requests that have it.
func (g *groups) known(of func(*stat) float64) pyjson.Object {
	return g.points(func(s *stat) []point {
		if v := of(s); has(v) {
			return []point{{v, 1}}
		}
		return nil
	})
}

func (g *groups) points(of func(*stat) []point) pyjson.Object {
	return byStatus(g, of, func(all []point) any { return distribution(all) })
}

func (g *groups) rates(in window, of func(*stat) []point) pyjson.Object {
	return byStatus(g, of, func(all []point) any { return rate(all, in) })
}

func (g *groups) concurrencies(in window, of func(*stat) []interval) pyjson.Object {
	return byStatus(g, of, func(all []interval) any { return concurrency(all, in) })
}

// metrics are the figures of a benchmark. scheduled says that requests were due
// at times of their own.
func (g *groups) metrics(in window, scheduled bool) pyjson.Object {
	var o pyjson.Object
	set := func(name string, v any) { o = append(o, pyjson.Member{Name: name, Value: v}) }
	set("request_totals", g.counts())
	set("requests_per_second", g.rates(in, func(s *stat) []point { return []point{{s.end, 1}} }))
	set("request_concurrency", g.concurrencies(in, func(s *stat) []interval { return []interval{{s.start, s.end, 1}} }))
	set("request_latency", g.values((*stat).latency))
	for _, m := range [...]struct {
		name string
		of   func(*stat) float64
	}{
		{"request_dispatch_delay", func(s *stat) float64 { return s.start - s.targeted }},
		{"request_scheduled_latency", func(s *stat) float64 { return s.scheduledLatency() }},
		{"turn_predecessor_delay", func(s *stat) float64 { return 0 * (s.start - s.targeted) }},
		{"turn_scheduling_delay", func(s *stat) float64 { return s.start - s.targeted }},
	} {
		if scheduled {
			set(m.name, g.known(m.of))
		} else {
			set(m.name, nil)
		}
	}
	set("root_dispatch_delay", g.rootDelay())
	set("request_streaming_iterations_count", g.iterations())
	set("prompt_token_count", g.values(func(s *stat) float64 { return s.prompt }))
	set("output_token_count", g.values(func(s *stat) float64 { return s.output }))
	set("total_token_count", g.values((*stat).total))
	set("time_to_first_token_ms", g.known((*stat).ttft))
	set("time_to_first_output_token_ms", g.known((*stat).firstOutputTime))
	set("time_per_output_token_ms", g.points(func(s *stat) []point { return []point{{orZero(s.perToken()), orZero(s.output)}} }))
	set("inter_token_latency_ms", g.points(interTokens))
	zero := g.values(func(*stat) float64 { return 0 }) // of websockets only
	set("time_to_last_round_trip_ms", zero)
	set("avg_round_trip_time_ms", zero)
	set("prompt_tokens_per_second", g.rates(in, func(s *stat) []point { return []point{s.promptEvent()} }))
	set("output_tokens_per_second", g.rates(in, (*stat).tokens))
	set("tokens_per_second", g.rates(in, func(s *stat) []point { return append([]point{s.promptEvent()}, s.tokens()...) }))
	weightsOf := func(of func(*stat) []point) func(*stat) []point {
		return func(s *stat) []point { return ones(weights(of(s))) }
	}
	set("output_tokens_per_iteration", g.points(weightsOf((*stat).tokens)))
	set("iter_tokens_per_iteration", g.points(weightsOf((*stat).laterTokens)))
	none := func(*stat) float64 { return math.NaN() }
	set("text", pyjson.Object{
		{Name: "tokens", Value: g.summary(func(s *stat) float64 { return s.textTokensIn }, func(s *stat) float64 { return s.textTokensOut })},
		{Name: "words", Value: g.summary(none, func(s *stat) float64 { return s.words })},
		{Name: "characters", Value: g.summary(none, func(s *stat) float64 { return s.characters })},
	})
	empty := func(names ...string) pyjson.Object {
		var o pyjson.Object
		for _, n := range names {
			o = append(o, pyjson.Member{Name: n, Value: g.summary(none, none)})
		}
		return o
	}
	set("image", empty("tokens", "images", "pixels", "bytes"))
	set("video", empty("tokens", "frames", "seconds", "bytes"))
	set("audio", empty("tokens", "samples", "seconds", "bytes"))
	set("tool_call", empty("tokens", "mixed_tokens", "count"))
	set("turns", g.turns())
	set("slo_attainment", nil)
	set("slo_determined_requests", 0)
	set("request_goodput", nil)
	return o
}

// iterations is null where the file does not know the events of any answer.
func (g *groups) iterations() any {
	for i := range g {
		if slices.ContainsFunc(g[i], func(s stat) bool { return has(s.iterations) }) {
			return g.values(func(s *stat) float64 { return s.iterations })
		}
	}
	return nil
}

// interTokens weighs the time between tokens by how many there are. One that is
// not known weighs, too.
func interTokens(s *stat) []point {
	weight := 0.0
	if has(s.output) && s.output != 0 {
		weight = s.output - 1
	}
	return []point{{orZero(s.interToken()), weight}}
}

// rootDelay is of the first requests of conversations that were due at a time.
func (g *groups) rootDelay() any {
	var all []point
	for i := range g {
		for k := range g[i] {
			if s := &g[i][k]; s.turn == 0 && has(s.targeted) {
				all = append(all, point{s.start - s.targeted, 1})
			}
		}
	}
	if all == nil {
		return nil
	}
	return distribution(all)
}

// summary is of a quantity that goes in and comes out.
func (g *groups) summary(in, out func(*stat) float64) pyjson.Object {
	var o pyjson.Object
	side := func(name string, known bool, values ...func(*stat) float64) {
		if !known {
			for _, end := range [...]string{"", "_per_second", "_concurrency"} {
				o = append(o, pyjson.Member{Name: name + end, Value: nil})
			}
			return
		}
		o = append(o, pyjson.Member{Name: name, Value: g.each(values, func(s *stat, v float64) []point {
			if !has(v) {
				return nil
			}
			return []point{{v, 1}}
		}, func(all []point) any { return distribution(all) })})
		listed := func(s *stat) bool { return has(in(s)) || has(out(s)) }
		o = append(o, pyjson.Member{Name: name + "_per_second", Value: g.each(values, func(s *stat, v float64) []point {
			if !listed(s) {
				return nil
			}
			return []point{{s.end, orZero(v)}}
		}, func(all []point) any { return rate(all, window{}) })})
		o = append(o, pyjson.Member{Name: name + "_concurrency", Value: eachOf(g, values, func(s *stat, v float64) []interval {
			if !listed(s) {
				return nil
			}
			return []interval{{s.start, s.end, orZero(v)}}
		}, func(all []interval) any { return concurrency(all, window{}) })})
	}
	hasIn, hasOut := g.any(in), g.any(out)
	side("input", hasIn, in)
	side("output", hasOut, out)
	side("total", hasIn && hasOut, in, out)
	return o
}

func (g *groups) any(of func(*stat) float64) bool {
	for i := range g {
		for k := range g[i] {
			if has(of(&g[i][k])) {
				return true
			}
		}
	}
	return false
}

func (g *groups) each(values []func(*stat) float64, of func(*stat, float64) []point, make func([]point) any) pyjson.Object {
	return eachOf(g, values, of, make)
}

// eachOf is byStatus over several values, those of one value before those of the
// next in each group.
func eachOf[T any](g *groups, values []func(*stat) float64, of func(*stat, float64) []T, make func([]T) any) pyjson.Object {
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

// turns are the figures by place in a conversation, null where all are first.
func (g *groups) turns() any {
	var places []int
	for i := range g {
		for k := range g[i] {
			if t := g[i][k].turn; !slices.Contains(places, t) {
				places = append(places, t)
			}
		}
	}
	slices.Sort(places)
	if len(places) == 0 || len(places) == 1 && places[0] == 0 {
		return nil
	}
	var all pyjson.Array
	for _, turn := range places {
		var one groups
		for i := range g {
			for k := range g[i] {
				if g[i][k].turn == turn {
					one[i] = append(one[i], g[i][k])
				}
			}
		}
		all = append(all, pyjson.Object{
			{Name: "turn_index", Value: turn},
			{Name: "request_totals", Value: one.counts()},
			{Name: "request_latency", Value: one.values((*stat).latency)},
			{Name: "prompt_token_count", Value: one.values(func(s *stat) float64 { return s.prompt })},
			{Name: "time_to_first_token_ms", Value: one.known((*stat).ttft)},
			{Name: "inter_token_latency_ms", Value: one.points(interTokens)},
		})
	}
	return all
}
