package answer

import "github.com/pa-tools/pa/pkg/export"

// A Metric is a measure of a request that reports, objectives, comparisons and queries name. The
// table in this file has all that they say about it.
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

	// How smoothly tokens came, in reports that ask for it. A request has one value of each but ITLPerToken, if it
	// has one streamed choice whose token times are all known; a token event counts as one token, as for ITL.
	// TokensPerEvent and NormalizedLatency are of all requests. See package quality.
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

	// Times at the server, as it states them in its answers, in the order of export.ServerNumbers.
	ServerQueue
	ServerPrefill
	ServerTTFT
	ServerDecode

	// The other parts of the TTFT: see [Waterfall].
	TTFTWait
	TTFTConnect
	TTFTSend
	ServerFirstDecode
	TTFTRest

	// Speculation, the cache by level, and requests that lost their place in the batch, as answers state them.
	AcceptanceLength
	DraftAcceptance
	CachedLocal
	CachedHost
	CachedStorage
	CachedExternal
	Retractions

	// Of requests to the audio endpoints, in reports that ask for it.
	FirstAudio
	AudioLength
	RealTimeFactor
	Underruns
	UnderrunTime
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

// Numbers of metrics: NumStrict of the usual report, NumQuality of its quality, NumServer of the
// times at the server, and NumAudio of the audio endpoints.
const (
	NumStrict  = int(Fluidity)
	NumQuality = int(ServerQueue - Fluidity)
	NumServer  = int(FirstAudio - ServerQueue)
	NumAudio   = int(numMetrics - FirstAudio)
)

// A Definition is a row of the table of metrics.
type Definition struct {
	Metric
	name, label string
	unit        Unit

	Formula string
	Doc     string // which requests have no value, and other small print
	Source  string // where the definition was published; "" for our own
	Foreign

	// Needs is the part of a run that the metric is computed from; files of other tools
	// may lack it.
	Needs export.Part
	// Rare metrics are left out when all values are 0, because most servers do not
	// report them.
	Rare bool
	// OfTokens metrics have no value where answers hold no tokens.
	OfTokens bool
	// NeedsStream metrics have no value where answers were not streamed.
	NeedsStream bool
	// View is the view of package sql that has a column with the values; "" for none.
	View View

	// value returns the value of a metric that is one whole number per request; nil for others.
	value func(*Measures) export.Int
}

// A View is a view over the columns of a table: requests that count, their token events or their gaps.
type View string

// The views.
const (
	ViewRequests View = "measured"
	ViewTokens   View = "tokens"
	ViewGaps     View = "gaps"
)

// Foreign holds the names that others have for a quantity; "" for none. Tools with the same name often
// have another formula: pa-analyze definitions shows how.
type Foreign struct {
	OTel OTel
	// GuideLLM and InferencePerf are the names in the result files of these tools.
	GuideLLM, InferencePerf string
}

// An OTel holds the names of a quantity in OpenTelemetry's conventions for GenAI.
type OTel struct {
	// Name is the name of the client's metric; "" if there is none.
	Name string
	// TokenType is the value of the attribute gen_ai.token.type that belongs to Name; "" for none.
	TokenType string
	// Attribute is the name for the value of one request: an attribute of a span, or the metric; ""
	// for none.
	Attribute string
	// Differs says how our values differ from the metric of the conventions; "" if they do not.
	Differs string
}

// The client's metrics of OpenTelemetry's conventions.
const (
	otelDuration   = "gen_ai.client.operation.duration"
	otelFirstChunk = "gen_ai.client.operation.time_to_first_chunk"
	otelPerChunk   = "gen_ai.client.operation.time_per_output_chunk"
	otelTokens     = "gen_ai.client.token.usage"
)

// Parts of the table of metrics, in the order of reports.
var (
	StrictMetrics  = metrics[:NumStrict]
	QualityMetrics = metrics[NumStrict : NumStrict+NumQuality]
	ServerMetrics  = metrics[ServerQueue:FirstAudio]
	AudioMetrics   = metrics[FirstAudio:]
)

// metrics is the table of metrics.
var metrics = [numMetrics]Definition{
	TTFT: {
		Metric: TTFT, name: "ttft", label: "TTFT", unit: Nanoseconds,
		Formula: "first token event − start",
		Doc:     "Time to first token. A request without a token event has none.",
		Foreign: Foreign{
			OTel:     OTel{Name: otelFirstChunk, Attribute: "gen_ai.response.time_to_first_chunk", Differs: "only chunks that add output count"},
			GuideLLM: "time_to_first_token_ms", InferencePerf: "time_to_first_token",
		},
		OfTokens: true, NeedsStream: true,
		View:  ViewRequests,
		value: func(m *Measures) export.Int { return m.TTFT },
	},
	TTFAT: {
		Metric: TTFAT, name: "ttfat", label: "TTFAT", unit: Nanoseconds,
		Formula:  "first token event that is not reasoning − start",
		Doc:      "Time to first answer token, only of requests that reasoned before they answered.",
		Foreign:  Foreign{GuideLLM: "time_to_first_output_token_ms"},
		OfTokens: true,
		View:     ViewTokens,
		value:    func(m *Measures) export.Int { return m.TTFAT },
	},
	TTST: {
		Metric: TTST, name: "ttst", label: "TTST", unit: Nanoseconds,
		Formula:  "second token event − first",
		Doc:      "Time to second token. With several choices, of the choice that began first.",
		Needs:    export.PartGaps,
		OfTokens: true, NeedsStream: true,
		View:  ViewTokens,
		value: func(m *Measures) export.Int { return m.TTST },
	},
	ITL: {
		Metric: ITL, name: "itl", label: "ITL", unit: Nanoseconds,
		Formula: "token event − the previous one in the same choice, pooled over all requests",
		Doc:     "Inter-token latency at the granularity of chunks: several tokens in a chunk are one event. Events that came in one read share a stamp, their gap is 0.",
		Foreign: Foreign{
			OTel:     OTel{Name: otelPerChunk, Differs: "only chunks that add output count, each choice by itself"},
			GuideLLM: "inter_token_latency_ms", InferencePerf: "inter_token_latency",
		},
		Needs:    export.PartGaps,
		OfTokens: true, NeedsStream: true,
		View: ViewGaps,
	},
	TPOT: {
		Metric: TPOT, name: "tpot", label: "TPOT", unit: Nanoseconds,
		Formula:  "(last token event − first) / (output tokens − 1)",
		Doc:      "Time per output token after the first. Tokens that came before or with the first event do not count, as far as the server shows them. None for a request with fewer than two output tokens or token events, and where the number of tokens that came before or with the first event is unknown. Tokens of all choices count.",
		Foreign:  Foreign{GuideLLM: "time_per_output_token_ms", InferencePerf: "time_per_output_token"},
		Needs:    export.PartLast,
		OfTokens: true, NeedsStream: true,
		View: ViewRequests,
	},
	E2EL: {
		Metric: E2EL, name: "e2el", label: "E2EL", unit: Nanoseconds,
		Formula: "last response of any kind − start",
		Doc:     "End-to-end latency. A request without a response has none.",
		Foreign: Foreign{
			OTel:     OTel{Name: otelDuration, Attribute: otelDuration, Differs: "only successful requests count; to the last response"},
			GuideLLM: "request_latency", InferencePerf: "request_latency",
		},
		Needs: export.PartEnds,
		View:  ViewRequests,
		value: func(m *Measures) export.Int { return m.E2EL },
	},
	OutputTokens: {
		Metric: OutputTokens, name: "output_tokens", label: "output tokens", unit: Tokens,
		Formula: "usage of the server, else the tokenizer's count of the text, else the number of token events",
		Doc:     "The source is reported beside the number.",
		Foreign: Foreign{
			OTel:     OTel{Name: otelTokens, TokenType: "output", Attribute: "gen_ai.usage.output_tokens"},
			GuideLLM: "output_token_count", InferencePerf: "output_tokens",
		},
		OfTokens: true,
		View:     ViewRequests,
		value:    func(m *Measures) export.Int { return m.OutputTokens },
	},
	InputTokens: {
		Metric: InputTokens, name: "input_tokens", label: "input tokens", unit: Tokens,
		Formula: "usage of the server",
		Foreign: Foreign{
			OTel:     OTel{Name: otelTokens, TokenType: "input", Attribute: "gen_ai.usage.input_tokens"},
			GuideLLM: "prompt_token_count", InferencePerf: "prompt_tokens",
		},
		View:  ViewRequests,
		value: func(m *Measures) export.Int { return m.InputTokens },
	},
	ReasoningTokens: {
		Metric: ReasoningTokens, name: "reasoning_tokens", label: "reasoning tok.", unit: Tokens,
		Formula: "usage of the server",
		Doc:     "Part of the output tokens. Left out when no request has any.",
		Foreign: Foreign{OTel: OTel{Attribute: "gen_ai.usage.reasoning.output_tokens"}},
		Rare:    true, OfTokens: true,
		View:  ViewRequests,
		value: func(m *Measures) export.Int { return m.ReasoningTokens },
	},
	CachedTokens: {
		Metric: CachedTokens, name: "cached_tokens", label: "cached tokens", unit: Tokens,
		Formula: "usage of the server",
		Doc:     "Part of the input tokens: the prefix that the server did not have to compute again. Left out when no request has any.",
		Foreign: Foreign{OTel: OTel{Attribute: "gen_ai.usage.cache_read.input_tokens"}, InferencePerf: "cached"},
		Rare:    true,
		View:    ViewRequests,
		value:   func(m *Measures) export.Int { return m.CachedTokens },
	},
	Fluidity: {
		Metric: Fluidity, name: "fluidity", label: "fluidity index", unit: Ratio,
		Formula: "1 − missed deadlines / deadlines of tokens",
		Doc:     "The first token is due after FirstTokenNS, each later token TokenNS after the previous token. An early token adds to the slack. A late token misses ⌊lateness/TokenNS⌋+1 deadlines and resets the slack.",
		Source:  "arXiv 2407.07000, arXiv 2507.09019",
	},
	FluidInterval: {
		Metric: FluidInterval, name: "fluid_interval", label: "fluid interval", unit: Nanoseconds,
		Formula: "the smallest time between tokens at which the fluidity index is at least Target",
		Doc:     "1 ns, the shortest time, if the tokens come so early that every time reaches the target; tables show it as 0. None if no time reaches the target, because the first token is late and the answer is short.",
		Source:  "arXiv 2407.07000",
	},
	TokensInTime: {
		Metric: TokensInTime, name: "tokens_in_time", label: "tokens in time", unit: Ratio,
		Formula: "tokens that came by i·PaceNS after the start, i from 1, / tokens",
		Source:  "arXiv 2410.14257",
	},
	ReaderIdle: {
		Metric: ReaderIdle, name: "reader_idle", label: "reader idle", unit: Nanoseconds,
		Formula: "max(0, time of token i − i·PaceNS)",
		Doc:     "Total wait of a reader who takes PaceNS for each token.",
		Source:  "arXiv 2410.14257",
	},
	Stalls: {
		Metric: Stalls, name: "stalls", label: "stalls", unit: Count,
		Formula: "gaps above StallNS and above StallFactor · the median gap of the request",
	},
	LongestStall: {
		Metric: LongestStall, name: "longest_stall", label: "longest stall", unit: Nanoseconds,
		Formula: "the time of the longest stall",
		Doc:     "Only of requests with a stall.",
	},
	StallShare: {
		Metric: StallShare, name: "stall_share", label: "stall share", unit: Ratio,
		Formula: "Σ times of stalls / (last token event − first token event)",
		Doc:     "None for requests with fewer than two token events.",
	},
	TokensPerEvent: {
		Metric: TokensPerEvent, name: "tokens_per_event", label: "tokens per event", unit: Ratio,
		Formula: "visible output tokens / token events",
		Doc:     "Of all choices. None where output tokens are counts of events, and where the server counts tokens that no event carried and does not say how many.",
	},
	ITLPerToken: {
		Metric: ITLPerToken, name: "itl_per_token_estimated", label: "ITL per token, estimated", unit: Nanoseconds,
		Formula: "gap · (token events − 1) / output tokens after the first event, pooled over all requests; gap / tokens of the event, for each token, where the server counts the tokens of each event",
		Doc:     "An estimate: it spreads the time of an event over its tokens and, unless the server counts the tokens of each event, the tokens evenly over the events of the request. None where output tokens are counts of events.",
	},
	NormalizedLatency: {
		Metric: NormalizedLatency, name: "normalized_latency", label: "E2EL per token", unit: Nanoseconds,
		Formula: "E2EL / output tokens",
		Doc:     "Of every request with both, streamed or not.",
		Source:  "arXiv 2407.07000, arXiv 2605.24217",
		Foreign: Foreign{InferencePerf: "normalized_time_per_output_token"},
	},
	ServerQueue: {
		Metric: ServerQueue, name: "server_queue", label: "queue, by the server", unit: Nanoseconds,
		Formula: "wait before the work on the prompt began, as the answer states it",
		Doc:     "Of vLLM (metrics.queue_time_ms), SGLang (meta_info.queue_time), Dynamo, Groq; of Ollama the wait for a loaded model.",
		View:    ViewRequests,
		value:   func(m *Measures) export.Int { return m.Server.Queue },
	},
	ServerPrefill: {
		Metric: ServerPrefill, name: "server_prefill", label: "prefill, by the server", unit: Nanoseconds,
		Formula: "time to process the prompt after the queue, as the answer states it",
		Doc:     "Of servers that state it in their answers: llama.cpp (timings.prompt_ms), vLLM (metrics.time_to_first_token_ms), Ollama, Dynamo, Groq. Of several choices, of the last one.",
		View:    ViewRequests,
		value:   func(m *Measures) export.Int { return m.Server.Prefill },
	},
	ServerTTFT: {
		Metric: ServerTTFT, name: "server_ttft", label: "TTFT, by the server", unit: Nanoseconds,
		Formula: "time from the arrival at the server to the first token, as the answer states it",
		Doc:     "Of vLLM (metrics.queue_time_ms + metrics.time_to_first_token_ms) and Dynamo (nvext.timing.ttft_ms).",
		View:    ViewRequests,
		value:   func(m *Measures) export.Int { return m.Server.TTFT },
	},
	ServerDecode: {
		Metric: ServerDecode, name: "server_decode", label: "decode, by the server", unit: Nanoseconds,
		Formula: "time from the first token, or from the end of the prefill, to the last token, as the answer states it",
		Doc:     "Of llama.cpp (timings.predicted_ms), vLLM (metrics.generation_time_ms), Ollama, Groq. Of several choices, of the last one.",
		View:    ViewRequests,
		value:   func(m *Measures) export.Int { return m.Server.Decode },
	},
	TTFTWait: {
		Metric: TTFTWait, name: "ttft_wait", label: "wait before sending", unit: Nanoseconds,
		Formula: "start − hand-over or schedule − connect",
		Doc:     "Part of a TTFT that begins at --latency-from issued or scheduled.",
		value:   partOf(WaitPart),
	},
	TTFTConnect: {
		Metric: TTFTConnect, name: "ttft_connect", label: "connect", unit: Nanoseconds,
		Formula: "name lookup + connect + TLS, as far as they lie in the TTFT",
		Doc:     "Part of a TTFT that begins at --latency-from issued or scheduled.",
		value:   partOf(ConnectPart),
	},
	TTFTSend: {
		Metric: TTFTSend, name: "ttft_send", label: "send", unit: Nanoseconds,
		Formula: "last byte of the request left − start",
		Doc:     "Only of requests whose answers state a time before their first token.",
		value:   partOf(SendPart),
	},
	ServerFirstDecode: {
		Metric: ServerFirstDecode, name: "server_first_decode", label: "first decode, by the server", unit: Nanoseconds,
		Formula: "TTFT by the server − queue − prefill, by the server",
		Doc:     "Everything else that the server does before the first token is in it. None if the server states no TTFT, or no prefill.",
		value:   partOf(FirstDecodePart),
	},
	TTFTRest: {
		Metric: TTFTRest, name: "ttft_rest", label: "network and rest", unit: Nanoseconds,
		Formula: "TTFT − the other parts: wait, connect, send, queue, prefill, first decode",
		Doc:     "The network, the front end of the server, and parts that are not stated. Below 0 if the server states more time than passed for the client.",
		value:   partOf(RestPart),
	},
	AcceptanceLength: {
		Metric: AcceptanceLength, name: "acceptance_length", label: "acceptance length", unit: Tokens,
		Formula: "1 + accepted tokens / steps of speculation",
	},
	DraftAcceptance: {
		Metric: DraftAcceptance, name: "draft_acceptance_rate", label: "draft acceptance rate", unit: Ratio,
		Formula: "accepted tokens / draft tokens",
	},
	CachedLocal: {
		Metric: CachedLocal, name: "cached_local_tokens", label: "cached in the accelerator", unit: Tokens,
		Formula: "cached input tokens in the memory of the accelerator",
		value:   func(m *Measures) export.Int { return m.Server.CachedLocal },
	},
	CachedHost: {
		Metric: CachedHost, name: "cached_host_tokens", label: "cached in the host", unit: Tokens,
		Formula: "cached input tokens in the memory of the host",
		value:   func(m *Measures) export.Int { return m.Server.CachedHost },
	},
	CachedStorage: {
		Metric: CachedStorage, name: "cached_storage_tokens", label: "cached on storage", unit: Tokens,
		Formula: "cached input tokens on storage",
		value:   func(m *Measures) export.Int { return m.Server.CachedStorage },
	},
	CachedExternal: {
		Metric: CachedExternal, name: "cached_external_tokens", label: "cached by other servers", unit: Tokens,
		Formula: "cached input tokens in a store that other servers fill",
		value:   func(m *Measures) export.Int { return m.Server.CachedExternal },
	},
	Retractions: {
		Metric: Retractions, name: "retractions", label: "retractions", unit: Count,
		Formula: "how often the server took the request out of its batch to make room",
		value:   func(m *Measures) export.Int { return m.Server.Retractions },
	},
	FirstAudio: {
		Metric: FirstAudio, name: "first_audio", label: "first audio", unit: Nanoseconds,
		Formula: "first byte of audio − start",
		Doc:     "Of v1/audio/speech. The header of a WAV file does not count as audio.",
		value:   func(m *Measures) export.Int { return m.Audio.First },
	},
	AudioLength: {
		Metric: AudioLength, name: "audio_length", label: "audio length", unit: Nanoseconds,
		Formula: "length of the clip of a transcription; of speech, bytes of audio / bytes a second",
		Doc:     "Of clips whose header or row states it, and of speech as WAV or PCM.",
		value:   func(m *Measures) export.Int { return m.Audio.Length },
	},
	RealTimeFactor: {
		Metric: RealTimeFactor, name: "real_time_factor", label: "real-time factor", unit: Ratio,
		Formula: "E2EL / audio length",
		Doc:     "Below 1 the server is faster than the audio plays.",
	},
	Underruns: {
		Metric: Underruns, name: "underruns", label: "underruns", unit: Count,
		Formula: "pieces of audio that came late: a player that starts at the first byte of audio had played everything before them",
		Doc:     "Of v1/audio/speech as WAV or PCM. A player that waits plays everything after it later, so the deadlines of later pieces move by its waits.",
		value:   func(m *Measures) export.Int { return m.Audio.Underruns },
	},
	UnderrunTime: {
		Metric: UnderrunTime, name: "underrun_time", label: "underrun time", unit: Nanoseconds,
		Formula: "Σ time of a piece of audio − its deadline, of the pieces after their deadline",
		value:   func(m *Measures) export.Int { return m.Audio.UnderrunNS },
	},
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
func (m *Measures) Value(x Metric) export.Int {
	if value := metrics[x].value; value != nil {
		return value(m)
	}
	return export.Int{}
}

// Definition returns the row of m in the table of metrics.
func (m Metric) Definition() *Definition { return &metrics[m] }
