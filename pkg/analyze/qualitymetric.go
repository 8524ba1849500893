package analyze

import "github.com/pa-tools/pa/pkg/answer"

// QualityMetrics holds the definitions of the metrics of [Quality], in the order of a report. All but
// the last have a value for requests with one streamed choice whose token times are all known; a
// token event counts as one token, as for ITL. Times are of token events; see package quality.
var QualityMetrics = [...]Definition{
	{
		Metric:  answer.Fluidity,
		Formula: "1 − missed deadlines / deadlines of tokens",
		Doc:     "The first token is due after FirstTokenNS, each later token TokenNS after the previous token. An early token adds to the slack. A late token misses ⌊lateness/TokenNS⌋+1 deadlines and resets the slack.",
		Source:  "arXiv 2407.07000, arXiv 2507.09019",
	},
	{
		Metric:  answer.FluidInterval,
		Formula: "the smallest time between tokens at which the fluidity index is at least Target",
		Doc:     "1 ns, the shortest time, if the tokens come so early that every time reaches the target; tables show it as 0. None if no time reaches the target, because the first token is late and the answer is short.",
		Source:  "arXiv 2407.07000",
	},
	{
		Metric:  answer.TokensInTime,
		Formula: "tokens that came by i·PaceNS after the start, i from 1, / tokens",
		Source:  "arXiv 2410.14257",
	},
	{
		Metric:  answer.ReaderIdle,
		Formula: "max(0, time of token i − i·PaceNS)",
		Doc:     "How long a reader who takes PaceNS for each token waits in all.",
		Source:  "arXiv 2410.14257",
	},
	{
		Metric:  answer.Stalls,
		Formula: "gaps above StallNS and above StallFactor · the median gap of the request",
	},
	{
		Metric:  answer.LongestStall,
		Formula: "the time of the longest stall",
		Doc:     "Only of requests with a stall.",
	},
	{
		Metric:  answer.StallShare,
		Formula: "Σ times of stalls / (last token event − first token event)",
		Doc:     "None for requests with fewer than two token events.",
	},
	{
		Metric:  answer.TokensPerEvent,
		Formula: "visible output tokens / token events",
		Doc:     "Of all choices. None where output tokens are counts of events, and where the server counts tokens that no event carried and does not say how many.",
	},
	{
		Metric:  answer.ITLPerToken,
		Formula: "gap · (token events − 1) / output tokens after the first event, pooled over all requests; gap / tokens of the event, for each token, where the server counts the tokens of each event",
		Doc:     "An estimate: it spreads the time of an event over its tokens and, unless the server counts the tokens of each event, the tokens evenly over the events of the request. None where output tokens are counts of events.",
	},
	{
		Metric:  answer.NormalizedLatency,
		Formula: "E2EL / output tokens",
		Doc:     "Of every request with both, streamed or not.",
		Source:  "arXiv 2407.07000, arXiv 2605.24217",
	},
}

// The indices of QualityFigures.
const (
	poolFluidity = iota
	fluidRate
	poolInTime
	smoothGoodput
	poolStalls
	stalledRequests
	poolStallShare
	poolPerEvent
	interactivity90
	interactivity75
	numQualityFigures
)

// QualityFigures are the figures of [Quality] without values, in the order of a report.
var QualityFigures = [numQualityFigures]LevelFigure{
	poolFluidity:    {Key: "fluidity_index", Label: "fluidity index", Unit: "ratio", Formula: "1 − Σ missed deadlines / Σ deadlines, over all requests", Source: "arXiv 2507.09019"},
	fluidRate:       {Key: "fluid_token_rate", Label: "fluid token rate", Unit: "tokens/s", Formula: "1 / the smallest time between tokens at which Share of the requests have a fluidity index of at least Target", Source: "arXiv 2407.07000"},
	poolInTime:      {Key: "tokens_in_time", Label: "tokens in time", Unit: "ratio", Formula: "Σ tokens in time / Σ tokens", Source: "arXiv 2410.14257"},
	smoothGoodput:   {Key: "smooth_goodput", Label: "smooth goodput", Unit: "tokens/s", Formula: "Σ (tokens − reader idle / PaceNS) / duration", Source: "arXiv 2410.14257, with one token a pace as the weight of idle time"},
	poolStalls:      {Key: "stalls", Label: "stalls", Unit: "count", Formula: "Σ stalls"},
	stalledRequests: {Key: "stalled_requests", Label: "requests with a stall", Unit: "count", Formula: "requests with at least one stall"},
	poolStallShare:  {Key: "stall_share", Label: "stall share", Unit: "ratio", Formula: "Σ times of stalls / Σ (last token event − first token event)"},
	poolPerEvent:    {Key: "tokens_per_event", Label: "tokens per event", Unit: "ratio", Formula: "Σ visible output tokens / Σ token events"},
	interactivity90: {Key: "interactivity_p90", Label: "interactivity p90", Unit: "tokens/s", Formula: "1 / p90 of E2EL per token", Source: "the sites that publish benchmarks; not p90 of the inverse"},
	interactivity75: {Key: "interactivity_p75", Label: "interactivity p75", Unit: "tokens/s", Formula: "1 / p75 of E2EL per token"},
}
