package analyze

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/pa-tools/pa/pkg/analyze/serverfigures"
	"github.com/pa-tools/pa/pkg/analyze/summary"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// A figureGroup gathers the figures of a part of the report while the requests of a level pass by. A group is a file
// figure_NAME.go, a field of Config that asks for it, a field of Experiment, and a line in groups.
type figureGroup interface {
	// add adds a request that counts, when its metrics have been added to the samples of the level.
	add(p *answer.Measured)
	// end sums up the values after the last request, while the samples of the level have their order. The error
	// says that values could not be read back from a temporary file.
	end() error
	// set sets the figures in the analysis x of the level, which has its metrics, its rates and the reasons why it
	// lacks some.
	set(x *Level, run *export.Run)
}

// A Level holds the figures of a load level, or of the part of it that is analyzed.
type Level struct {
	// DurationNS is the time of the rates: the selected part, or for a whole level the time
	// from the first start to the last response of the successful requests. It excludes
	// pauses that were left out and is 0 if the time is unknown.
	DurationNS int64
	// Metrics holds the metrics that have a value, in the order of [answer.StrictMetrics].
	Metrics    []summary.Metric
	Throughput Throughput
	// SLO counts the requests that met Config.SLO; nil without an objective.
	SLO *Attainment
	// Quality says how smoothly tokens came; nil unless Config.Quality asks for it.
	Quality *Quality
	// Economics says what the tokens cost; nil unless Config.Economics asks for it.
	Economics *Economics
	// Prefix says how the prefix cache of the server and the first tokens are related; nil unless
	// Config.Prefix asks for it.
	Prefix *Prefix
	// Phases says where the time of requests went at the server; nil unless Config.Phases asks for it.
	Phases *Phases
	// Unavailable lists the metrics that have no value because the answers of the
	// level were not streamed, or because nothing shows whether they were.
	Unavailable []Unavailable
	// Server holds the figures of servers and GPUs during the level; nil without
	// telemetry.
	Server []serverfigures.Figure
	// SeveralResponses says that streamed requests had more than one response. A Triton
	// model that sends several is decoupled.
	SeveralResponses bool
}

// Metric returns the summary of a metric; nil if it has no values.
func (e *Level) Metric(m answer.Metric) *summary.Summary { return summary.Find(e.Metrics, m) }

// whyNot returns the reason why a metric or rate of the level has no value; "" if none is known.
func (e *Level) whyNot(key string) string {
	for _, u := range e.Unavailable {
		if u.Key == key {
			return u.Why
		}
	}
	return ""
}

// A LevelFigure is a figure of a whole level, with a value or the reason why there is none.
type LevelFigure struct {
	Key, Label string
	Unit       string // "tokens/s", "J", "W", "dollars", "count", …
	Formula    string
	Source     string // where the definition was published; "" for our own
	From       string // what a value of Phases comes from: the source's metric
	Value      float64
	// Bound bounds the error of Value that comes from the times between samples; 0 if there is no
	// such error.
	Bound float64
	// Why is the reason why there is no value; "" if there is one.
	Why string
}

// Throughput holds rates per second over DurationNS, or over the length of a Window. A
// rate that is not known is 0 and not OK.
type Throughput struct {
	Requests     Rate
	OutputTokens Rate
	// TotalTokens counts input and output tokens; not OK unless the number of input
	// tokens of every request is known.
	TotalTokens Rate
	// OutputTokensPerUser is OutputTokens divided by the concurrency; not OK
	// at other kinds of load.
	OutputTokensPerUser Rate
}

// A Rate is a number per second that may be missing.
type Rate struct {
	PerSecond float64
	OK        bool
}

// perSecond returns a rate; 0 if it is not known.
func perSecond(r Rate) float64 {
	if !r.OK {
		return 0
	}
	return r.PerSecond
}

// A Span is the time from one instant to another.
type Span struct{ FromNS, ToNS uint64 }

// Duration returns the length of the span, at most 292 years; 0 if ToNS is before FromNS.
func (s Span) Duration() time.Duration {
	if s.ToNS < s.FromNS {
		return 0
	}
	return time.Duration(min(s.ToNS-s.FromNS, math.MaxInt64))
}

// A Count is a number of things of one name.
type Count struct {
	Name string
	N    int
}

// total returns the sum of the counts.
func total(c []Count) int {
	n := 0
	for i := range c {
		n += c[i].N
	}
	return n
}

// A tally counts by name.
type tally map[string]int

func (t *tally) add(name string) {
	if *t == nil {
		*t = tally{}
	}
	(*t)[name]++
}

// counts returns the tally, most frequent first.
func (t tally) counts() []Count {
	var c []Count
	for name, n := range t {
		c = append(c, Count{name, n})
	}
	slices.SortFunc(c, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Name, b.Name))
	})
	return c
}

// findFigure returns the figure with a key; nil if there is none.
func findFigure(all []LevelFigure, key string) *LevelFigure {
	i := slices.IndexFunc(all, func(f LevelFigure) bool { return f.Key == key })
	if i < 0 {
		return nil
	}
	return &all[i]
}
