package answer

// A Metric is a measure that reports, objectives and comparisons name. This file has
// the only table of these names. The keys of other tools are in the packages of their
// dialects.
type Metric uint8

// The metrics, in the order of reports.
const (
	TTFT Metric = iota
	TTFAT
	TTST
	ITL
	TPOT
	E2EL
	OutputTokens
	InputTokens
	ReasoningTokens
	CachedTokens

	// How smoothly tokens came, in reports that ask for it.
	Fluidity
	FluidInterval
	TokensInTime
	ReaderIdle
	Stalls
	LongestStall
	StallShare
	TokensPerEvent
	ITLPerToken
	NormalizedLatency

	// Times at the server, as it states them in its answers.
	ServerPrefill
	ServerDecode
	numMetrics
)

// A Unit is the unit of a metric's values, as JSON and CSV name it.
type Unit string

// The units of metrics. Package report scales them for people.
const (
	Nanoseconds Unit = "ns"
	Tokens      Unit = "tokens"
	Ratio       Unit = "ratio"
	Count       Unit = "count"
)

var metrics = [numMetrics]struct {
	name, label string
	unit        Unit
}{
	TTFT:            {"ttft", "TTFT", Nanoseconds},
	TTFAT:           {"ttfat", "TTFAT", Nanoseconds},
	TTST:            {"ttst", "TTST", Nanoseconds},
	ITL:             {"itl", "ITL", Nanoseconds},
	TPOT:            {"tpot", "TPOT", Nanoseconds},
	E2EL:            {"e2el", "E2EL", Nanoseconds},
	OutputTokens:    {"output_tokens", "output tokens", Tokens},
	InputTokens:     {"input_tokens", "input tokens", Tokens},
	ReasoningTokens: {"reasoning_tokens", "reasoning tok.", Tokens},
	CachedTokens:    {"cached_tokens", "cached tokens", Tokens},

	Fluidity:          {"fluidity", "fluidity index", Ratio},
	FluidInterval:     {"fluid_interval", "fluid interval", Nanoseconds},
	TokensInTime:      {"tokens_in_time", "tokens in time", Ratio},
	ReaderIdle:        {"reader_idle", "reader idle", Nanoseconds},
	Stalls:            {"stalls", "stalls", Count},
	LongestStall:      {"longest_stall", "longest stall", Nanoseconds},
	StallShare:        {"stall_share", "stall share", Ratio},
	TokensPerEvent:    {"tokens_per_event", "tokens per event", Ratio},
	ITLPerToken:       {"itl_per_token_estimated", "ITL per token, estimated", Nanoseconds},
	NormalizedLatency: {"normalized_latency", "E2EL per token", Nanoseconds},

	ServerPrefill: {"server_prefill", "prefill, by the server", Nanoseconds},
	ServerDecode:  {"server_decode", "decode, by the server", Nanoseconds},
}

// String returns the name in objectives and gates: "ttft", "output_tokens".
func (m Metric) String() string { return metrics[m].name }

// Label returns the name in tables for people: "TTFT", "output tokens".
func (m Metric) Label() string { return metrics[m].label }

// Unit returns the unit of the values.
func (m Metric) Unit() Unit { return metrics[m].unit }

// Key returns the key in JSON and CSV, which has the unit of a time as suffix:
// "ttft_ns", "output_tokens".
func (m Metric) Key() string {
	if m.Unit() == Nanoseconds {
		return m.String() + "_ns"
	}
	return m.String()
}

// Value returns the value of a metric that is one whole number per request. ITL, which
// has many, is in Gaps, and TPOT, which is a ratio, in [Measures.TPOT].
func (m *Measures) Value(x Metric) Value {
	switch x {
	case TTFT:
		return m.TTFT
	case TTFAT:
		return m.TTFAT
	case TTST:
		return m.TTST
	case E2EL:
		return m.E2EL
	case OutputTokens:
		return m.OutputTokens
	case InputTokens:
		return m.InputTokens
	case ReasoningTokens:
		return m.ReasoningTokens
	case CachedTokens:
		return m.CachedTokens
	}
	return Value{}
}
