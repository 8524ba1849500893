package analyze

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
