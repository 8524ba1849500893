package serving

import (
	"github.com/pa-tools/pa/internal/py"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// A release is one release of a serving benchmark. The zero value is no release.
type release struct {
	// Name is the name of the dialect: "vllm".
	Name string
	// Source names the reproduced code: "vllm bench serve 0.33.0".
	Source string

	rules rules
}

// rules are the differences between releases.
type rules struct {
	family string
	// transformers is the major release of the transformers library that it requires.
	transformers int
	// setters returns the setters of the keys of Config.Args that only this tool has; nil: none.
	setters func(*arguments) map[string]dialect.Setter

	// Sending requests.

	chat, completions *client // the request functions
	// backends maps the name of a request function to whether it is for chats. backend is
	// the default name for completions, and with the suffix "-chat" for chats.
	backends map[string]bool
	backend  string

	// Measuring a request.

	bodyInError    bool // an HTTP error is reported with the body of the answer
	latencyAsTTFT  bool // the TTFT of an answer that was not streamed is its latency; else −1
	joinsReasoning bool // the text of a whole answer includes the reasoning
	needsUsage     bool // a whole answer without usage raises an exception
	asksOutput     bool // output tokens are the server's or as many as were asked for
	usageInput     bool // input tokens are the server's, else counted
	showsUsage     bool // input tokens are counted, and the server's are shown beside

	// Measuring a level.

	metrics        []string  // default of percentile_metrics
	percentiles    []float64 // nil: as metric_percentiles says
	peaks          bool      // tokens and requests in the busiest second
	userRate       bool      // tokens per second and user, acceptance rates, tokens per iteration
	needsSuccess   bool      // a level without a success raises an exception
	queueTimes     bool      // times in the client's queue
	finiteGoodput  bool      // objectives must be finite and above 0
	goodputInMS    bool      // objectives are compared in milliseconds; else in seconds
	keepsLatencies bool      // the result holds latencies even if it is not detailed

	// Printing.

	block        func(*report, *block, *levelReport)     // the table
	result       func(*report, *py.Object, *levelReport) // the result file
	deviations   bool                                    // deviations and extremes, total requests, tokens per iteration
	resultLines  bool                                    // each level's result is a line of the file
	cutsMetadata bool                                    // a metadata value ends at its first "="
	omits        string                                  // further parts of a run that the result file does not hold
}

// releases has the rules of each entry of history.
var releases = func() []*release {
	var all []*release
	var r rules
	for _, h := range history {
		if !h.continues {
			r = rules{transformers: 4, metrics: []string{"ttft", "tpot", "itl"}}
		}
		h.change(&r)
		all = append(all, &release{Name: h.name, Source: h.source, rules: r})
	}
	return all
}()

// history has the changes of each release to the default rules, or, if it continues, to
// the rules of the release before. A slice is replaced, never changed in place.
var history = []struct {
	name, source string
	continues    bool
	change       func(*rules)
}{
	{"trtllm-1.0", "benchmark_serving of TensorRT-LLM 1.0", false, func(r *rules) {
		r.family = "trtllm"
		r.chat, r.completions = &trtllmChat, &trtllmCompletions
		r.backend, r.backends = "openai", map[string]bool{"openai": false, "openai-chat": true}
		r.needsUsage, r.userRate, r.cutsMetadata = true, true, true
		r.metrics = []string{"ttft", "tpot", "itl", "request_ar"}
		r.block, r.result = (*report).trtllmBlock, (*report).trtllmResult
		r.omits = "when the requests were sent, "
	}},
	{"trtllm-main", "benchmark_serving of TensorRT-LLM's main branch", true, func(r *rules) {
		r.metrics = []string{"ttft", "tpot", "itl"}
		r.deviations = true
	}},
	{"vllm", "vllm bench serve 0.33.0", false, func(r *rules) {
		r.family, r.transformers = "vllm", 5
		r.setters = vllmSetters
		r.chat, r.completions = &vllmChat, &vllmCompletions
		r.backend, r.backends = "openai", map[string]bool{"openai": false, "openai-chat": true, "vllm": false}
		r.usageInput, r.peaks, r.queueTimes, r.keepsLatencies = true, true, true, true
		r.block, r.result = (*report).vllmBlock, (*report).vllmResult
	}},
	{"sglang", "sglang.benchmark.serving 0.5.23", false, func(r *rules) {
		r.family, r.transformers = "sglang", 5
		r.setters = sglangSetters
		r.chat, r.completions = &sglangChat, &sglangCompletions
		r.backend, r.backends = "sglang-oai", map[string]bool{
			"sglang-oai": false, "sglang-oai-chat": true,
			"vllm": false, "vllm-chat": true, "lmdeploy": false, "lmdeploy-chat": true,
		}
		r.bodyInError, r.latencyAsTTFT, r.joinsReasoning, r.asksOutput, r.showsUsage = true, true, true, true, true
		r.percentiles = []float64{90, 95, 99}
		r.peaks, r.needsSuccess, r.finiteGoodput, r.goodputInMS = true, true, true, true
		r.block, r.result, r.resultLines = (*report).sglangBlock, (*report).sglangResult, true
		r.omits = "when the requests were sent and over, "
	}},
}

// requestFunction returns the request function of a backend; ok is false for an unknown
// name.
func (r *rules) requestFunction(backend string) (_ *client, ok bool) {
	chat, ok := r.backends[backend]
	switch {
	case !ok:
		return nil, false
	case chat:
		return r.chat, true
	}
	return r.completions, true
}

// defaultBackend returns the backend's name for an endpoint.
func (r *rules) defaultBackend(chat bool) string {
	if chat {
		return r.backend + "-chat"
	}
	return r.backend
}

// A client describes a request function of a tool, which reads the events of a streamed
// answer like this:
//
//	first token event:    ttft = its time − start
//	later token events:   gap = its time − the mark
//	the mark moves to every token event, or to every event (marksAll)
//
// An event that it cannot read raises an exception, and the request has failed.
type client struct {
	// token reports whether an event is a token event, and the text that it adds.
	token func(data chunk) (isToken bool, text string, e error)
	// frames: events are cut at blank lines, and comments are skipped. Else
	// each line is an event, and a comment is an exception.
	frames bool
	// marksAll: the mark moves to every event with JSON, and the answer ends
	// with the last of them.
	marksAll bool
	// endsAll: the answer ends with the last event of any kind, [DONE] too.
	endsAll bool
	// needsToken: without a token event the request has failed.
	needsToken bool
	// firstByZero: the first token event is an event at which ttft is 0, so an event
	// in the nanosecond of the start does not count.
	firstByZero bool
	// usage says which events' usage counts.
	usage usageRule
}

type usageRule uint8

const (
	usageElse     usageRule = iota // usage of events that are not token events
	usageWithText                  // usage of token events
	usageAny                       // usage of all events
)

var (
	trtllmCompletions = client{token: anyChoice, needsToken: true}
	trtllmChat        = client{token: anyDelta, marksAll: true, firstByZero: true}
	vllmCompletions   = client{token: anyChoice, frames: true, needsToken: true}
	vllmChat          = client{token: streamedDelta, frames: true, needsToken: true}
	sglangCompletions = client{token: anyText, endsAll: true, firstByZero: true, usage: usageWithText}
	sglangChat        = client{token: anyContent, endsAll: true, firstByZero: true, usage: usageAny}
)
