package aiperf

import (
	"math"

	"github.com/pa-tools/pa/pkg/analyze/dialect"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// A record is what is measured of one successful request, in nanoseconds and
// tokens.
type record struct {
	issuedNS, startNS uint64
	endNS             uint64 // when the client was through with it
	ttft              int64
	ttfo              int64 // to the first that is no reasoning; -1: there is none
	latency           int64 // to the last response with content
	gaps              []int64
	input, output     int64
	reasoning         int64 // of the output
	usage             [2]int64
	hasUsage, cached  bool
	figures           []figure // the others

	// What is not known is not counted.
	hasInput, hasOutput, hasReasoning bool
}

// read takes the times of a request; false when it has no response with
// content.
func (r *record) read(q *export.Request, m *answer.Measured) bool {
	events := m.Answer.Events
	*r = record{gaps: r.gaps[:0], figures: r.figures[:0], issuedNS: q.IssuedNS, startNS: q.StartNS, ttfo: -1}
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
	if end, ok := q.EndNS(); ok {
		r.endNS = max(r.endNS, end)
	}
	if s := q.Stated; s != nil && s.EndNS != nil {
		r.endNS = max(r.endNS, *s.EndNS)
	}
	if s := q.Stated; s != nil && s.Figures != nil {
		in, ok1 := s.Figures["usage_prompt_tokens"]
		out, ok2 := s.Figures["usage_completion_tokens"]
		r.usage, r.hasUsage = [2]int64{int64(in), int64(out)}, ok1 && ok2
	} else if m.InputTokens.OK && m.OutputTokens.OK && (m.TokenSource == answer.TokenUsage || m.TokenSource == answer.TokenStated) {
		r.usage, r.hasUsage = [2]int64{m.InputTokens.V, m.OutputTokens.V}, true
	}
	r.cached = m.CachedTokens.OK && m.CachedTokens.V > 0
	return true
}

// count counts the tokens of a request: as the file of AIPerf says, as the
// server says if that is what was asked for, else with the tokenizer.
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
		if m.TokenSource == answer.TokenUsage {
			r.output, r.hasOutput = m.OutputTokens.V, m.OutputTokens.OK
			r.reasoning, r.hasReasoning = m.ReasoningTokens.V, m.ReasoningTokens.V > 0
		}
		r.input, r.hasInput = m.InputTokens.V, m.InputTokens.OK
		return nil
	}
	tok := a.cfg.Tokenizer
	if tok == nil {
		return dialect.ErrNoTokenizer
	}
	answer, reasoning := a.text.answer(q)
	r.reasoning, r.hasReasoning = int64(tok.Count(reasoning)), reasoning != ""
	r.output, r.hasOutput = int64(tok.Count(answer))+r.reasoning, true
	if prompt, ok := a.text.prompt(q); ok {
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
