package analyze

import (
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// A Definition defines a metric of a report.
type Definition struct {
	answer.Metric
	Formula string
	Doc     string // which requests have no value, and other small print
	Source  string // where the definition was published; "" for our own

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
}

// Strict holds the definition of each metric, in the order of a report.
var Strict = [...]Definition{
	answer.TTFT: {
		Metric:   answer.TTFT,
		Formula:  "first token event − start",
		Doc:      "Time to first token. A request without a token event has none.",
		ofTokens: true, needsStream: true,
	},
	answer.TTFAT: {
		Metric:   answer.TTFAT,
		Formula:  "first token event that is not reasoning − start",
		Doc:      "Time to first answer token, only of requests that reasoned before they answered.",
		ofTokens: true,
	},
	answer.TTST: {
		Metric:   answer.TTST,
		Formula:  "second token event − first",
		Doc:      "Time to second token. With several choices, of the choice that began first.",
		needs:    export.PartGaps,
		ofTokens: true, needsStream: true,
	},
	answer.ITL: {
		Metric:   answer.ITL,
		Formula:  "token event − the previous one in the same choice, pooled over all requests",
		Doc:      "Inter-token latency at the granularity of chunks: several tokens in a chunk are one event. Events that came in one read share a stamp, their gap is 0.",
		needs:    export.PartGaps,
		ofTokens: true, needsStream: true,
	},
	answer.TPOT: {
		Metric:   answer.TPOT,
		Formula:  "(last token event − first) / (output tokens − 1)",
		Doc:      "Time per output token after the first. Tokens that came before or with the first event do not count, as far as the server shows them. None for fewer than two output tokens, fewer than two token events, or an unknown number of such tokens. Tokens of all choices count.",
		needs:    export.PartLast,
		ofTokens: true, needsStream: true,
	},
	answer.E2EL: {
		Metric:  answer.E2EL,
		Formula: "last response of any kind − start",
		Doc:     "End-to-end latency. A request without a response has none.",
		needs:   export.PartEnds,
	},
	answer.OutputTokens: {
		Metric:   answer.OutputTokens,
		Formula:  "usage of the server, else the tokenizer's count of the text, else the number of token events",
		Doc:      "The source is reported beside the number.",
		ofTokens: true,
	},
	answer.InputTokens: {
		Metric:  answer.InputTokens,
		Formula: "usage of the server",
	},
	answer.ReasoningTokens: {
		Metric:   answer.ReasoningTokens,
		Formula:  "usage of the server",
		Doc:      "Part of the output tokens. Left out when no request has any.",
		rare:     true,
		ofTokens: true,
	},
	answer.CachedTokens: {
		Metric:  answer.CachedTokens,
		Formula: "usage of the server",
		Doc:     "Part of the input tokens: the prefix that the server did not have to compute again. Left out when no request has any.",
		rare:    true,
	},
}
