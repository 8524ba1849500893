package analyze

import (
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// A Unit is the unit of a metric's values.
type Unit uint8

// The units of metrics. Package report scales them for people.
const (
	Nanoseconds Unit = 1
	Tokens      Unit = 2
)

// String returns "ns" or "tokens".
func (u Unit) String() string {
	switch u {
	case Nanoseconds:
		return "ns"
	case Tokens:
		return "tokens"
	}
	return "unknown"
}

// A Population is the kind of thing that has one value of a metric.
type Population uint8

// PerRequest metrics have at most one value per request. PerGap metrics have one value
// per gap; the gaps of all requests are pooled.
const (
	PerRequest Population = 1
	PerGap     Population = 2
)

// String returns "request" or "gap".
func (p Population) String() string {
	switch p {
	case PerRequest:
		return "request"
	case PerGap:
		return "gap"
	}
	return "unknown"
}

// A Definition defines a metric: its names, its formula, and how to get its values from
// the measures of a request.
type Definition struct {
	Key        string // in JSON, with the unit as suffix: "ttft_ns"
	Name       string // for people: "TTFT"
	Unit       Unit
	Population Population
	Formula    string
	Doc        string // which requests have no value, and other small print

	// needs is the part of a run that the metric is computed from; files of other tools
	// may lack it.
	needs export.Part
	// rare metrics are left out when all values are 0, because most servers do not
	// report them.
	rare bool
	// ofTokens metrics have no value where answers hold no tokens.
	ofTokens bool
	// needsStream metrics have no value where answers were not streamed.
	needsStream bool
	// Exactly one of these returns the values from a request's measures.
	one   func(*answer.Measures) answer.Value
	many  func(*answer.Measures) []int64
	ratio func(*answer.Measures) (float64, bool)
}

// Strict holds this project's own definitions, in the order of a report.
var Strict = [...]Definition{
	{
		Key: "ttft_ns", Name: "TTFT", Unit: Nanoseconds, Population: PerRequest,
		Formula:  "first token event − start",
		Doc:      "Time to first token. A request without a token event has none.",
		ofTokens: true, needsStream: true,
		one: func(m *answer.Measures) answer.Value { return m.TTFT },
	},
	{
		Key: "ttfat_ns", Name: "TTFAT", Unit: Nanoseconds, Population: PerRequest,
		Formula:  "first token event that is no reasoning − start",
		Doc:      "Time to first answer token, only of requests that reasoned before they answered.",
		ofTokens: true,
		one:      func(m *answer.Measures) answer.Value { return m.TTFAT },
	},
	{
		Key: "ttst_ns", Name: "TTST", Unit: Nanoseconds, Population: PerRequest,
		Formula:  "second token event − first",
		Doc:      "Time to second token. With several choices, of the choice that began first.",
		needs:    export.PartGaps,
		ofTokens: true, needsStream: true,
		one: func(m *answer.Measures) answer.Value { return m.TTST },
	},
	{
		Key: "itl_ns", Name: "ITL", Unit: Nanoseconds, Population: PerGap,
		Formula:  "token event − the one before it in the same choice, pooled over all requests",
		Doc:      "Inter-token latency at the granularity of chunks: several tokens in a chunk are one event. Events that came in one read share a stamp, their gap is 0.",
		needs:    export.PartGaps,
		ofTokens: true, needsStream: true,
		many: func(m *answer.Measures) []int64 { return m.Gaps },
	},
	{
		Key: "tpot_ns", Name: "TPOT", Unit: Nanoseconds, Population: PerRequest,
		Formula:  "(last token event − first) / (output tokens − 1)",
		Doc:      "Time per output token after the first. None for fewer than two output tokens or fewer than two token events. Tokens of all choices count.",
		needs:    export.PartLast,
		ofTokens: true, needsStream: true,
		ratio: (*answer.Measures).TPOT,
	},
	{
		Key: "e2el_ns", Name: "E2EL", Unit: Nanoseconds, Population: PerRequest,
		Formula: "last response of any kind − start",
		Doc:     "End-to-end latency. A request without a response has none.",
		needs:   export.PartEnds,
		one:     func(m *answer.Measures) answer.Value { return m.E2EL },
	},
	{
		Key: "output_tokens", Name: "output tokens", Unit: Tokens, Population: PerRequest,
		Formula:  "usage of the server, else the tokenizer's count of the text, else the number of token events",
		Doc:      "The source is reported beside the number.",
		ofTokens: true,
		one:      func(m *answer.Measures) answer.Value { return m.OutputTokens },
	},
	{
		Key: "input_tokens", Name: "input tokens", Unit: Tokens, Population: PerRequest,
		Formula: "usage of the server",
		one:     func(m *answer.Measures) answer.Value { return m.InputTokens },
	},
	{
		Key: "reasoning_tokens", Name: "reasoning tok.", Unit: Tokens, Population: PerRequest,
		Formula:  "usage of the server",
		Doc:      "Part of the output tokens. Left out when no request has any.",
		rare:     true,
		ofTokens: true,
		one:      func(m *answer.Measures) answer.Value { return m.ReasoningTokens },
	},
	{
		Key: "cached_tokens", Name: "cached tokens", Unit: Tokens, Population: PerRequest,
		Formula: "usage of the server",
		Doc:     "Part of the input tokens: the prefix that the server did not have to compute again. Left out when no request has any.",
		rare:    true,
		one:     func(m *answer.Measures) answer.Value { return m.CachedTokens },
	},
}
