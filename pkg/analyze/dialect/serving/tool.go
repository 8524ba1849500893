package serving

// A Tool is a release of a serving benchmark: what its request functions take
// for a token, and what its report holds. The zero value is none; see [Tools].
type Tool struct {
	// Name is that of the dialect: "vllm".
	Name string
	// Release says which code that is: "vllm bench serve 0.33.0".
	Release string

	chat, completions *client
	layout            layout
}

// layout tells the tools' reports apart.
type layout uint8

const (
	layoutTRTLLM10   layout = iota // TensorRT-LLM 1.0: acceptance rates
	layoutTRTLLMMain               // later: requests, deviations, tokens per iteration
	layoutVLLM
	layoutSGLang
)

// Tools returns all tools, in the order of help texts.
func Tools() []*Tool { return tools }

// Find returns the tool of that name, nil if there is none.
func Find(name string) *Tool {
	for _, t := range tools {
		if t.Name == name {
			return t
		}
	}
	return nil
}

var tools = []*Tool{
	{Name: "trtllm-1.0", Release: "benchmark_serving of TensorRT-LLM 1.0", chat: &trtllmChat, completions: &trtllmCompletions, layout: layoutTRTLLM10},
	{Name: "trtllm-main", Release: "benchmark_serving of TensorRT-LLM's main branch", chat: &trtllmChat, completions: &trtllmCompletions, layout: layoutTRTLLMMain},
	{Name: "vllm", Release: "vllm bench serve 0.33.0", chat: &vllmChat, completions: &vllmCompletions, layout: layoutVLLM},
	{Name: "sglang", Release: "sglang.benchmark.serving 0.5.23", chat: &sglangChat, completions: &sglangCompletions, layout: layoutSGLang},
}

// Omits lists the parts of a run that a result file of the tool does not hold.
func (t *Tool) Omits() string {
	const most = "prompts, what the single events held, those that the tool does not count, and when the requests failed"
	switch t.layout {
	case layoutVLLM:
		return most
	case layoutSGLang:
		return "when the requests were sent and over, " + most
	}
	return "when the requests were sent, " + most
}

// isTRTLLM reports whether the tool is TensorRT-LLM's.
func (t *Tool) isTRTLLM() bool { return t.layout == layoutTRTLLM10 || t.layout == layoutTRTLLMMain }

// backends are the names of the request functions that are known here, by what
// they ask.
func (t *Tool) backends() map[string]*client {
	switch t.layout {
	case layoutSGLang:
		return map[string]*client{
			"sglang-oai": t.completions, "sglang-oai-chat": t.chat,
			"vllm": t.completions, "vllm-chat": t.chat, "lmdeploy": t.completions, "lmdeploy-chat": t.chat,
		}
	case layoutVLLM:
		return map[string]*client{"openai": t.completions, "openai-chat": t.chat, "vllm": t.completions}
	}
	return map[string]*client{"openai": t.completions, "openai-chat": t.chat}
}

// defaultBackend is the name for an endpoint.
func (t *Tool) defaultBackend(chat bool) string {
	name := "openai"
	if t.layout == layoutSGLang {
		name = "sglang-oai"
	}
	if chat {
		name += "-chat"
	}
	return name
}

// A client is what a request function of a tool does with the events of a
// streamed answer. All of them go through the events like this:
//
//	token event, the first:   ttft = its time − start
//	a later one:              a gap, its time − the mark
//	the mark moves to every token event, or to every event (marksAll)
//
// and stop with an exception, which makes the request a failed one, at what they
// cannot read.
type client struct {
	// token looks at the JSON of an event: is it one, and what text does it add.
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
	// firstByZero: the first token event is the one that finds a ttft of 0,
	// so one that came in the very nanosecond of the start does not count.
	firstByZero bool
	// usage says which events' usage counts.
	usage usageRule
}

type usageRule uint8

const (
	usageElse     usageRule = iota // of events that are no token event
	usageWithText                  // of token events
	usageAny                       // of all
)

var (
	trtllmCompletions = client{token: anyChoice, needsToken: true}
	trtllmChat        = client{token: anyDelta, marksAll: true, firstByZero: true}
	vllmCompletions   = client{token: anyChoice, frames: true, needsToken: true}
	vllmChat          = client{token: streamedDelta, frames: true, needsToken: true}
	sglangCompletions = client{token: anyText, endsAll: true, firstByZero: true, usage: usageWithText}
	sglangChat        = client{token: anyContent, endsAll: true, firstByZero: true, usage: usageAny}
)
