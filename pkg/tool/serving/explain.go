package serving

import (
	"cmp"
	"math"

	"github.com/pa-tools/pa/pkg/analyze/explain"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

var _ explain.Definer = (*report)(nil)

// explain notes the tool's rules that affected a request.
func (l *level) explain(o *outcome, q *export.Request) {
	t := l.explainer
	if t == nil || q.Excluded() != export.NotExcluded {
		return
	}
	t.Request(q)
	if !o.success {
		t.Failed()
		return
	}
	after := func(s float64) uint64 { return q.StartNS + uint64(math.Round(s*1e9)) }
	switch {
	case o.whole:
		t.Note(explain.FirstToken, "takes −1 s for the time of an answer that is not streamed")
		t.Note(explain.OutputTime, "divides the latency and a second more: the first token is at −1 s")
	case o.ttft == 0 && o.iterations == 0:
		t.Note(explain.FirstToken, "takes 0 for the time of an answer without a token")
	default:
		t.First(after(o.ttft), explain.InterToken, explain.OutputTime)
		t.Gaps(len(o.itl) + 1)
	}
	if !math.IsNaN(o.latency) {
		t.End(after(o.latency), explain.OutputTime)
	}
	if l.client != nil && l.client.marksAll && len(o.itl) > 0 {
		t.Note(explain.InterToken, "measures a gap from the previous event, whatever it holds")
	}
	if l.uncounted() {
		return
	}
	t.Output(o.output)
	t.Input(o.input)
	switch m := t.Strict(); {
	case o.output > 1 && m.Events < 2:
		t.Note(explain.OutputTime, "also of answers that came in one piece")
	case m.OutputTokens.OK && m.OutputTokens.V != o.output:
		t.Note(explain.OutputTime, "divides by its own count of output tokens − 1")
	case m.Untimed, m.TimedTokens.OK:
		t.Note(explain.OutputTime, "also divides by tokens that came before or with the first event")
	}
}

func (l *level) uncounted() bool { return l.tokenizer == dialect.Uncounted() }

// explainLevel notes the rules that affected the whole level.
func (l *level) explainLevel(out *levelReport) {
	t := l.explainer
	t.Over(int64(math.Round(out.Duration*1e9)), "the whole of the tool's run")
	if len(t.Differs(explain.OutputTokens)) > 0 {
		t.State("adds up its own count of output tokens", explain.OutputRate, explain.TotalRate)
	}
	if len(t.Differs(explain.InputTokens)) > 0 {
		t.State("adds up its own count of input tokens", explain.TotalRate)
	}
	t.State("the mean of each request's output tokens / latency; strict divides the rate of all by the concurrency", explain.UserRate)
}

// clientWords describe the token events and the end of an answer for each request
// function.
var clientWords = map[*client]struct{ token, end string }{
	&trtllmCompletions: {"event with choices, an empty text too", "last event that is a token to it"},
	&trtllmChat:        {"event with choices, the role and the finish reason too", "last event with JSON, usage too"},
	&vllmCompletions:   {"event with choices, an empty text too", "last event that is a token to it"},
	&vllmChat:          {"delta with content, reasoning or calls, or an empty content without a role", "last event that is a token to it"},
	&sglangCompletions: {"event with text", "last event of any kind, [DONE] too"},
	&sglangChat:        {"delta with content or reasoning", "last event of any kind, [DONE] too"},
}

// naGaps is the reason for missing gaps if a file has none.
const naGaps = "the file does not hold the tokens between the first and the last"

// Definitions returns, for each measure of the last reported level, the tool's name and
// formula, and why its value differs from strict's.
func (r *report) Definitions() []explain.Definition { return explain.DefineLast(r.Levels, r.define) }

// define fills in a definition and its values on a level.
func (r *report) define(d *explain.Definition, l *levelReport) {
	words := clientWords[r.client]
	stats := func(name, formula string, s *stats) {
		d.Name, d.Formula, d.NA = name, formula, ""
		d.Values = explain.Values{N: s.N, Mean: s.Mean * 1e6, P50: s.Median * 1e6, P99: s.P99 * 1e6}
		if s.N == 0 {
			d.NA = "no request has one; the tool prints 0"
		}
	}
	single := func(name, formula string, v float64) {
		d.Name, d.Formula, d.NA, d.Values = name, formula, "", explain.Single(v)
	}
	switch d.Measure {
	case explain.FirstToken:
		stats("ttft", "first "+words.token+" − start", &l.TTFT)
	case explain.InterToken:
		stats("itl", "gaps before each later "+words.token+", pooled", &l.ITL)
		if math.IsNaN(l.ITL.Mean) {
			d.NA = naGaps
		}
	case explain.OutputTime:
		stats("tpot", "(latency − ttft) / (output tokens − 1), of each request with two output tokens", &l.TPOT)
		d.NA = cmp.Or(l.noLast, d.NA)
	case explain.Latency:
		stats("e2el", words.end+" − start", &l.E2EL)
		d.NA = cmp.Or(l.noLast, d.NA)
	case explain.OutputTokens:
		single("total_output_tokens / completed", r.outputHow(), ratio(float64(l.OutputTokens), float64(l.Completed)))
	case explain.InputTokens:
		single("total_input_tokens / completed", r.inputHow(), ratio(float64(l.InputTokens), float64(l.Completed)))
	case explain.Requests:
		single("completed", "requests that did not fail for the tool", float64(l.Completed))
	case explain.RequestRate:
		single("request_throughput", "completed / duration of the run", l.RequestRate)
	case explain.OutputRate:
		single("output_throughput", "Σ output tokens / the same duration", l.OutputRate)
	case explain.TotalRate:
		single("total_token_throughput", "Σ input and output tokens / the same duration", l.TotalRate)
	case explain.UserRate:
		if r.release.rules.userRate {
			single("user_throughput", "mean of output tokens / latency of each request", l.UserRate)
			d.NA = l.noLast
		}
	}
	switch {
	case d.NA != "":
	case l.Completed == 0 && d.Measure != explain.Requests:
		d.NA = "no request completed"
	case r.uncounted && (d.Measure == explain.OutputTime || d.Measure == explain.OutputTokens || d.Measure == explain.InputTokens ||
		d.Measure == explain.OutputRate || d.Measure == explain.TotalRate || d.Measure == explain.UserRate):
		d.NA = "tokens that the server does not count are counted with the model's tokenizer; give --tokenizer"
	default:
		d.Differs = r.explainer.Differs(d.Measure)
	}
}

func (r *report) outputHow() string {
	if r.release.rules.asksOutput {
		return "the server's usage, else the length that was asked for"
	}
	return "the server's usage, else the tokenizer's count of the text"
}

func (r *report) inputHow() string {
	if r.release.rules.usageInput {
		return "the server's usage, else the tokenizer's count of the prompt"
	}
	return "the tokenizer's count of the prompt"
}

// Remarks returns the Warnings.
func (r *report) Remarks() []string { return explain.Texts(r.warnings) }
