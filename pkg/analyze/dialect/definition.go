package dialect

import "math"

// A Measure is something that several tools measure, whatever they call it and
// however they do it.
type Measure string

// The measures, as they stand in JSON.
const (
	FirstToken  Measure = "ttft"
	SecondToken Measure = "ttst"
	// InterToken is what a tool calls inter-token latency; OutputTime what it
	// calls time per output token. What the one calls by this name is the
	// formula of the other's, often enough.
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

// measures are all, in the order of reports.
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

// Words returns what people call the measure: "TTFT, time to first token".
func (m Measure) Words() string {
	for i := range measures {
		if measures[i].name == m {
			return measures[i].words
		}
	}
	return string(m)
}

// Unit returns the unit that values of the measure have here, whatever the tool
// prints them in.
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

// A Definition is how a tool measures something, what comes out on a file, and
// why that is not what the strict definition gives.
type Definition struct {
	Measure Measure
	// Name is the tool's: "Inter token latency"; "" where it has none.
	Name string
	// Formula says in one line how it is done; "" where the tool has no such
	// metric.
	Formula string
	// Values are what came out; NA is why there are none.
	Values Values
	NA     string
	// Differs are the rules of the tool that make it another number than the
	// strict definition's, each of which is at work on this very file. The
	// strict definitions have none.
	Differs []string
}

// Values are the statistics that the tools have in common, in the unit of the
// Measure. What is not there is NaN: all but Mean where there is one value for
// the whole level.
type Values struct {
	N              int
	Mean, P50, P99 float64
}

// Single returns the Values of a metric that is one number.
func Single(v float64) Values { return Values{N: 1, Mean: v, P50: math.NaN(), P99: math.NaN()} }

// A Definer is a Report that can say what it measured and how. Its dialect was
// asked to take note: Config.Explain.
type Definer interface {
	// Definitions returns one for each of [Measures], in that order.
	Definitions() []Definition
	// Remarks are what a reader must know about all of them, in words that do
	// not name the release.
	Remarks() []string
}
