package aiperf

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/py"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// A record holds the measures of one successful request, in nanoseconds and tokens.
type record struct {
	issuedNS, startNS uint64
	endNS             uint64 // when the client finished it
	ttft              int64
	ttfo              int64 // to the first response with text; -1 for none
	latency           int64 // to the last response with content
	gaps              []int64
	input, output     int64
	reasoning         int64 // output tokens that are reasoning
	usage             [2]int64
	total             int64 // of the usage
	hasUsage, cached  bool
	hasTotal          bool
	// figures are other numbers of the request by their tags: nanoseconds, bytes, tokens.
	figures map[string]float64

	// Unknown counts are left out.
	hasInput, hasOutput, hasReasoning bool
}

// timedEvents returns the events that AIPerf times: all but the starts of blocks in Anthropic Messages, which may
// name a tool.
func timedEvents(events []answer.Event) []answer.Event {
	starts := func(e answer.Event) bool { return e.BlockStart }
	if !slices.ContainsFunc(events, starts) {
		return events
	}
	return slices.DeleteFunc(slices.Clone(events), starts)
}

// usageOf returns the server's counts of an answer as AIPerf reads them, which takes a count of 0 for a count.
func usageOf(m *answer.Measured) answer.Usage {
	if m.Answer.Written.Input.OK {
		return m.Answer.Written
	}
	u := answer.Usage{Input: m.InputTokens, Reasoning: m.ReasoningTokens, Cached: m.CachedTokens}
	if m.TokenSource == answer.TokenUsage || m.TokenSource == answer.TokenStated {
		u.Output = m.OutputTokens
	}
	return u
}

// read sets the times of a request. It returns false if no response has content.
func (r *record) read(q *export.Request, m *answer.Measured) bool {
	events := timedEvents(m.Answer.Events)
	if r.figures == nil {
		r.figures = map[string]float64{}
	}
	clear(r.figures)
	*r = record{gaps: r.gaps[:0], figures: r.figures, issuedNS: q.IssuedNS, startNS: q.StartNS, ttfo: -1}
	if len(events) == 0 {
		return false
	}
	r.ttft = int64(events[0].RecvNS - q.StartNS)
	for i := range events {
		if r.ttfo < 0 && !events[i].Reasoning {
			r.ttfo = int64(events[i].RecvNS - q.StartNS)
		}
		if i > 0 {
			r.gaps = append(r.gaps, int64(events[i].RecvNS-events[i-1].RecvNS))
		}
	}
	if s := q.Stated; s != nil && s.Figures != nil { // records do not say which chunk is reasoning
		r.ttfo = -1
		if ms, ok := s.Figures["time_to_first_output_token"]; ok {
			r.ttfo = int64(math.Round(ms * 1e6))
		}
	}
	last := events[len(events)-1].RecvNS
	r.latency = int64(last - q.StartNS)
	r.endNS = last
	if end, ok := q.FinalResponseNS(); ok {
		r.endNS = max(r.endNS, end)
	}
	if s := q.Stated; s != nil && s.EndNS != nil {
		r.endNS = max(r.endNS, *s.EndNS)
	}
	if s := q.Stated; s != nil && s.Figures != nil {
		in, ok1 := s.Figures["usage_prompt_tokens"]
		out, ok2 := s.Figures["usage_completion_tokens"]
		r.usage, r.hasUsage = [2]int64{int64(in), int64(out)}, ok1 && ok2
		total, ok := s.Figures[usageTotal]
		r.total, r.hasTotal = int64(total), ok
	} else if u := usageOf(m); u.Input.OK && u.Output.OK {
		r.usage, r.hasUsage = [2]int64{u.Input.V, u.Output.V}, true
		r.total, r.hasTotal = u.Input.V+u.Output.V, true
		if m.Answer.Written.Input.OK { // Messages has no total, and AIPerf adds none up
			r.total, r.hasTotal = m.Answer.WrittenTotal.V, m.Answer.WrittenTotal.OK
		}
	}
	r.cached = m.CachedTokens.OK && m.CachedTokens.V > 0
	return true
}

// count counts the tokens of a request: from AIPerf's own file, from the server's usage
// if use_server_token_count is set, or with the tokenizer.
func (a *analysis) count(r *record, q *export.Request, m *answer.Measured) error {
	if s := q.Stated; s != nil && (s.OutputTokens != nil || s.Figures != nil) {
		if out := or(s.CountedOutput, s.OutputTokens); out != nil {
			r.output, r.hasOutput = *out, true
		}
		r.reasoning, r.hasReasoning = m.ReasoningTokens.V, m.ReasoningTokens.OK
		if n, ok := s.Figures["reasoning_token_count"]; ok || s.Figures != nil {
			r.reasoning, r.hasReasoning = int64(n), ok
		}
		if in := or(s.CountedInput, s.InputTokens); in != nil {
			r.input, r.hasInput = *in, true
		}
		return nil
	}
	if a.fromUsage {
		a.rep.fromUsage = true
		u := usageOf(m)
		if m.TokenSource != answer.TokenStated {
			r.reasoning, r.hasReasoning = u.Reasoning.V, u.Reasoning.OK
			r.output, r.hasOutput = max(u.Output.V, r.reasoning), u.Output.OK
		}
		r.input, r.hasInput = u.Input.V, u.Input.OK
		return nil
	}
	tok := a.cfg.Tokenizer
	if tok == nil {
		return dialect.ErrNoTokenizer
	}
	if r.hasOutput = true; !a.c.brief || !a.rep.uncounted {
		answer, reasoning, _ := a.texts.Of(q)
		r.reasoning, r.hasReasoning = int64(tok.Count(reasoning)), reasoning != ""
		r.output = int64(tok.Count(answer)) + r.reasoning
	}
	if prompt, ok := promptOf(q); ok {
		r.input, r.hasInput = int64(tok.Count(prompt)), true
	}
	return nil
}

func or(a, b *int64) *int64 {
	if a != nil {
		return a
	}
	return b
}

// A measure computes a metric from the times and token counts of one request, in
// nanoseconds, tokens or tokens per second.
type measure struct {
	tag      string
	streamed bool // only streamed answers have it
	whole    bool // the value is an integer
	value    func(*record) (v float64, ok bool)
}

// valueOf returns the value of the metric for a request; ok is false if it has none.
func (m *measure) valueOf(r *record, streamed bool) (v float64, ok bool) {
	if m.streamed && !streamed {
		return 0, false
	}
	return m.value(r)
}

// measures lists the metrics of a request that AIPerf computes. The figures of a record
// hold the others.
var measures = []measure{
	{tag: requestLatency, whole: true, value: func(r *record) (float64, bool) { return float64(r.latency), true }},
	{tag: firstToken, streamed: true, whole: true, value: func(r *record) (float64, bool) { return float64(r.ttft), true }},
	{tag: secondToken, streamed: true, whole: true, value: func(r *record) (float64, bool) { return float64(first(r.gaps)), len(r.gaps) > 0 }},
	{tag: "time_to_first_output_token", streamed: true, whole: true, value: func(r *record) (float64, bool) { return float64(r.ttfo), r.ttfo >= 0 }},
	{tag: "decode_duration", streamed: true, whole: true, value: func(r *record) (float64, bool) { return float64(r.latency - r.ttft), true }},
	{tag: interToken, streamed: true, value: (*record).interToken},
	{tag: perUser, streamed: true, value: (*record).userRate},
	{tag: "prefill_throughput_per_user", streamed: true, value: func(r *record) (float64, bool) {
		return float64(r.input) / (float64(r.ttft) * 1e-9), r.hasInput && r.ttft > 0
	}},
	{tag: "e2e_output_token_throughput", value: func(r *record) (float64, bool) {
		return float64(r.output) / (float64(r.latency) * 1e-9), r.hasOutput && r.latency > 0
	}},
	{tag: outputLength, whole: true, value: func(r *record) (float64, bool) { return float64(r.output), r.hasOutput }},
	{tag: inputLength, whole: true, value: func(r *record) (float64, bool) { return float64(r.input), r.hasInput }},
	{tag: "output_token_count", whole: true, value: func(r *record) (float64, bool) { return float64(r.output - r.reasoning), r.output > r.reasoning }},
	{tag: "usage_prompt_tokens", whole: true, value: func(r *record) (float64, bool) { return float64(r.usage[0]), r.hasUsage }},
	{tag: "usage_completion_tokens", whole: true, value: func(r *record) (float64, bool) { return float64(r.usage[1]), r.hasUsage }},
	{tag: usageTotal, whole: true, value: func(r *record) (float64, bool) { return float64(r.total), r.hasTotal }},
}

// interToken returns the time per token after the first, in nanoseconds.
func (r *record) interToken() (v float64, ok bool) {
	return float64(r.latency-r.ttft) / float64(r.output-1), r.output > 1
}

// userRate returns the tokens per second after the first.
func (r *record) userRate() (v float64, ok bool) {
	v, ok = r.interToken()
	return 1 / (v * 1e-9), ok && v > 0
}

// value returns the value of any metric for the request.
func (r *record) value(tag string, streamed bool) (v float64, ok bool) {
	if i := slices.IndexFunc(measures, func(m measure) bool { return m.tag == tag }); i >= 0 {
		return measures[i].valueOf(r, streamed)
	}
	v, ok = r.figures[tag]
	return v, ok
}

// promptOf returns the texts of the prompt, joined by blanks; ok is false if there are none.
func promptOf(q *export.Request) (text string, ok bool) {
	if v, ok := q.Inputs.Get("text_input"); ok && v.Text {
		return string(v.Data), true
	}
	v, ok := q.Inputs.Get("payload")
	if !ok {
		return "", false
	}
	var body struct {
		Messages []struct{ Content any }
		Prompt   any
		Input    any
	}
	if json.Unmarshal(v.Data, &body) != nil {
		return "", false
	}
	var all []string
	for _, m := range body.Messages {
		collectTexts(m.Content, &all)
	}
	collectTexts(body.Prompt, &all)
	collectTexts(body.Input, &all)
	return strings.Join(all, " "), len(all) > 0
}

// collectTexts collects the texts of a content, a prompt, or lists of them.
func collectTexts(v any, all *[]string) {
	switch v := v.(type) {
	case string:
		*all = append(*all, v)
	case []any:
		for _, e := range v {
			collectTexts(e, all)
		}
	case map[string]any:
		collectTexts(v["text"], all)
	}
}

// requestedTokens returns the number of output tokens that the body of a request asks for; ok is false if it
// sets none. Requests name it by their API; the newest name comes first.
func requestedTokens(body py.Value) (n int64, ok bool) {
	for _, name := range [...]string{"max_completion_tokens", "max_tokens", "max_output_tokens"} {
		if v, there := body.Member(name); there && v.Kind() == py.Number {
			f, err := strconv.ParseFloat(v.Raw(), 64) // JSON may write 1000 as 1e3 or 1000.0
			return int64(f), err == nil && f >= 1 && f < 1<<53
		}
	}
	return 0, false
}
