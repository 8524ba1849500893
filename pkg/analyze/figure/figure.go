package figure

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

// A Group gathers the figures of a part of the report while the requests of a level pass by. A group is a file of
// this package, a field of Level, a field of [github.com/pa-tools/pa/pkg/analyze.Config] that asks for it, and a line
// where package analyze begins a level.
type Group interface {
	// Add adds a request that counts, when its metrics have been added to the samples of the level.
	Add(q *answer.Measured)
	// End sums up the values after the last request, while the samples of the level have their order. The error
	// says that values could not be read back from a temporary file.
	End() error
	// Set sets the figures in the level x, which has its metrics, its rates and the reasons why it
	// lacks some.
	Set(x *Level, run *export.Run)
}

// A Level holds the figures of a load level, or of the part of it that is analyzed.
type Level struct {
	// DurationNS is the measured time: the selected part, or for a whole level the time
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
	// Audio says how fast audio was transcribed or made; nil unless Config.Audio asks for it.
	Audio *Audio
	// Sessions says how long sessions took as wholes; nil unless Config.Sessions asks for it.
	Sessions *Sessions
	// Images says how many images the answers hold; nil unless Config.Images asks for it.
	Images *Images
	// Realtime says how soon the text of speech came; nil unless Config.Realtime asks for it.
	Realtime *Realtime
	// Stated holds rates over the duration that the file states; nil unless the rates of Throughput are n/a and the file states it.
	Stated *Stated
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

// A Part is a group as a part of the report.
type Part struct {
	Name    string              // the value of --metrics that asks for it; "stated" needs none
	Metrics []answer.Definition // of requests
	Figures []Figure            // of the level, without values
	// of returns the values that a level has.
	of func(x *Level) ([]summary.Metric, []Figure)
}

// Parts lists the groups with figures of the level, in the order of a report. Comparisons, pages and the table of all numbers
// follow it.
var Parts = [...]Part{
	{"quality", answer.QualityMetrics, QualityFigures[:], func(x *Level) ([]summary.Metric, []Figure) {
		if x.Quality == nil {
			return nil, nil
		}
		return x.Quality.Metrics, x.Quality.Figures
	}},
	{"economics", nil, EconomicsFigures[:], func(x *Level) ([]summary.Metric, []Figure) {
		if x.Economics == nil {
			return nil, nil
		}
		return nil, x.Economics.Figures
	}},
	{"prefix", nil, PrefixFigures[:], func(x *Level) ([]summary.Metric, []Figure) {
		if x.Prefix == nil {
			return nil, nil
		}
		return nil, x.Prefix.Figures
	}},
	{"phases", answer.ServerMetrics, PhaseFigures[:], func(x *Level) ([]summary.Metric, []Figure) {
		if x.Phases == nil {
			return nil, nil
		}
		return x.Phases.Metrics, x.Phases.Figures
	}},
	{"audio", answer.AudioMetrics, audioFigures[:], func(x *Level) ([]summary.Metric, []Figure) {
		if x.Audio == nil {
			return nil, nil
		}
		return x.Audio.Metrics, x.Audio.Figures
	}},
	{"sessions", nil, sessionFigures[:], func(x *Level) ([]summary.Metric, []Figure) {
		if x.Sessions == nil {
			return nil, nil
		}
		return nil, x.Sessions.Figures
	}},
	{"images", nil, ImageFigures[:], func(x *Level) ([]summary.Metric, []Figure) {
		if x.Images == nil {
			return nil, nil
		}
		return nil, x.Images.Figures
	}},
	{"realtime", nil, realtimeFigures[:], func(x *Level) ([]summary.Metric, []Figure) {
		if x.Realtime == nil {
			return nil, nil
		}
		return nil, x.Realtime.Figures
	}},
	{"stated", nil, statedFigures[:], func(x *Level) ([]summary.Metric, []Figure) {
		if x.Stated == nil {
			return nil, nil
		}
		return nil, x.Stated.Figures
	}},
}

// Of returns the metrics and the figures of the part in a level; nil if they were not asked for.
func (p *Part) Of(x *Level) ([]summary.Metric, []Figure) { return p.of(x) }

// Metric returns the summary of a metric; nil if it has no values.
func (x *Level) Metric(m answer.Metric) *summary.Summary { return summary.Find(x.Metrics, m) }

// WhyNot returns the reason why a metric or rate of the level has no value; "" if none is known.
func (x *Level) WhyNot(key string) string {
	for _, u := range x.Unavailable {
		if u.Key == key {
			return u.Why
		}
	}
	return ""
}

// DropShares removes the shares of requests that met an objective, and says why.
func (x *Level) DropShares(why string) {
	if x.SLO == nil {
		return
	}
	x.SLO.Share = Share{NA: why}
	for i := range x.SLO.Conditions {
		x.SLO.Conditions[i].Share = Share{NA: why}
	}
}

// DropRates removes the rates of a level, and says why.
func (x *Level) DropRates(why string) {
	x.Throughput = Throughput{}
	if x.Sessions != nil {
		x.Sessions.dropRates(why)
	}
	if x.Images != nil {
		x.Images.dropRate(why)
	}
	if x.SLO != nil {
		x.SLO.Requests, x.SLO.OutputTokens = Rate{}, Rate{}
		for i := range x.SLO.Conditions {
			c := &x.SLO.Conditions[i]
			c.Requests, c.OutputTokens = Rate{}, Rate{}
		}
	}
	x.Unavailable = append(x.Unavailable, Unavailable{Key: "throughput", Name: "rates", Why: why})
}

// A Figure is a figure of a whole level, with a value or the reason why there is none.
type Figure struct {
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

// A Rate is a number per second that may be missing: a fraction, which an [export.Int] cannot hold.
type Rate struct {
	PerSecond float64
	OK        bool
}

// PerSecond returns the rate of n per second.
func PerSecond(n float64) Rate { return Rate{n, true} }

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

// Total returns the sum of the counts.
func Total(c []Count) int {
	n := 0
	for i := range c {
		n += c[i].N
	}
	return n
}

// A Tally counts by name.
type Tally map[string]int

// Add counts one more of a name.
func (t *Tally) Add(name string) {
	if *t == nil {
		*t = Tally{}
	}
	(*t)[name]++
}

// Counts returns the tally, most frequent first.
func (t Tally) Counts() []Count {
	var c []Count
	for name, n := range t {
		c = append(c, Count{name, n})
	}
	slices.SortFunc(c, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Name, b.Name))
	})
	return c
}

// Find returns the figure with a key; nil if there is none.
func Find(all []Figure, key string) *Figure {
	i := slices.IndexFunc(all, func(f Figure) bool { return f.Key == key })
	if i < 0 {
		return nil
	}
	return &all[i]
}
