package explain

import "math"

// A Measure is a quantity that several tools report, each under a name and by a
// formula of its own.
type Measure string

// The measures, as JSON spells them.
const (
	FirstToken  Measure = "ttft"
	SecondToken Measure = "ttst"
	// InterToken is the metric that a tool calls inter-token latency, OutputTime the
	// one that it calls time per output token. Tools often swap the two formulas.
	InterToken   Measure = "itl"
	OutputTime   Measure = "tpot"
	Latency      Measure = "e2el"
	OutputTokens Measure = "output_tokens"
	InputTokens  Measure = "input_tokens"
	Requests     Measure = "requests"
	RequestRate  Measure = "request_throughput"
	OutputRate   Measure = "output_token_throughput"
	TotalRate    Measure = "total_token_throughput"
	UserRate     Measure = "output_token_throughput_per_user"
)

// measures lists all measures in the order of reports.
var measures = [...]struct {
	name  Measure
	words string
	unit  Unit
}{
	{FirstToken, "TTFT, time to first token", Nanoseconds},
	{SecondToken, "TTST, time to second token", Nanoseconds},
	{InterToken, "ITL, inter-token latency", Nanoseconds},
	{OutputTime, "TPOT, time per output token", Nanoseconds},
	{Latency, "E2EL, request latency", Nanoseconds},
	{OutputTokens, "output tokens of a request", Tokens},
	{InputTokens, "input tokens of a request", Tokens},
	{Requests, "requests that count", Count},
	{RequestRate, "request throughput", PerSecond},
	{OutputRate, "output token throughput", PerSecond},
	{TotalRate, "total token throughput", PerSecond},
	{UserRate, "output tokens per second and user", PerSecond},
}

// Measures returns all measures in the order of reports.
func Measures() []Measure {
	var all []Measure
	for i := range measures {
		all = append(all, measures[i].name)
	}
	return all
}

// Words returns the common name of the measure: "TTFT, time to first token".
func (m Measure) Words() string {
	for i := range measures {
		if measures[i].name == m {
			return measures[i].words
		}
	}
	return string(m)
}

// Unit returns the unit of the measure's Values. The tool may print another one.
func (m Measure) Unit() Unit {
	for i := range measures {
		if measures[i].name == m {
			return measures[i].unit
		}
	}
	return ""
}

// A Unit is the unit of the values of a Measure.
type Unit string

// The units.
const (
	Nanoseconds Unit = "ns"
	Tokens      Unit = "tokens"
	Count       Unit = "count"
	PerSecond   Unit = "1/s"
)

// A Definition says how a tool measures something, which values a file has under this
// rule, and why they differ from the strict ones.
type Definition struct {
	Measure Measure
	// Name is the tool's name of the metric: "Inter token latency"; "" if it has none.
	Name string
	// Formula is the rule in one line; "" if the tool has no such metric.
	Formula string
	// Values are the statistics; NA is the reason if there are none.
	Values Values
	NA     string
	// Differs are the rules of the tool that changed the values of this file. The
	// dialect strict has none.
	Differs []string
}

// Values are the statistics that all tools report, in the unit of the Measure. A
// missing statistic is NaN. A measure with one value for the whole level has only
// Mean.
type Values struct {
	N              int
	Mean, P50, P99 float64
}

// Single returns the Values of a metric with one value for the whole level.
func Single(v float64) Values { return Values{N: 1, Mean: v, P50: math.NaN(), P99: math.NaN()} }

// A Definer is a report of a dialect that explains its measures. The dialect collects
// the explanations if its Config.Explain is set.
type Definer interface {
	// Definitions returns one Definition for each of [Measures], in that order.
	Definitions() []Definition
	// Remarks are notes for the reader that concern all of them. They do not name the
	// release.
	Remarks() []string
}

// NeedsTokenizer is the Definition.NA of figures that count tokens with a tokenizer, if there
// is none.
const NeedsTokenizer = "tokens are counted with the model's tokenizer; give --tokenizer"

// DefineAll returns one Definition for each of [Measures], in that order. define completes it;
// a Definition that define leaves alone says that the tool has no such metric.
func DefineAll(define func(*Definition)) []Definition {
	var all []Definition
	for _, m := range Measures() {
		d := Definition{Measure: m, NA: "there is no such metric"}
		define(&d)
		all = append(all, d)
	}
	return all
}

// DefineLast returns the definitions of a tool that reports the last of its levels. Without levels no definition is completed.
func DefineLast[L any](levels []L, define func(*Definition, *L)) []Definition {
	return DefineAll(func(d *Definition) {
		if n := len(levels); n > 0 {
			define(d, &levels[n-1])
		}
	})
}

// Texts returns the texts of warnings, for [Definer.Remarks].
func Texts(warnings []error) []string {
	var all []string
	for _, w := range warnings {
		all = append(all, w.Error())
	}
	return all
}
