package genaiperf

import (
	"fmt"
	"slices"

	"github.com/pa-tools/pa/pkg/analyze/explain"
)

var _ explain.Definer = (*report)(nil)

// explain records the rules that applied to a request with n remaining responses. decode is
// the time from the first to the last of them.
func (a *analysis) explain(n int, firstNS, secondNS, lastNS uint64, each []int64, total, decode int64) {
	t := a.explainer
	if t == nil {
		return
	}
	t.First(firstNS, explain.InterToken)
	if n > 1 {
		t.Second(secondNS)
	}
	t.End(lastNS, explain.InterToken)
	if a.rep.uncounted {
		return
	}
	t.Output(total)
	switch {
	case a.rules.itl == itlGaps:
		t.Gaps(n)
		if len(each) > 1 && slices.Max(each[1:]) > 1 {
			t.Note(explain.InterToken, "divides a gap by the tokens of the response at its end")
		}
	case total > 1 && (n > 1 || a.rules.itl == itlMean) && decode%(total-1) != 0:
		t.Note(explain.InterToken, "rounded to a whole nanosecond")
	}
}

// explainInput records the input tokens of a request.
func (a *analysis) explainInput(n int64) {
	if !a.rep.uncounted {
		a.explainer.Input(n)
	}
}

// explainLevel records the rules that applied to the whole level, after its last request.
func (a *analysis) explainLevel() {
	t := a.rep.explainer
	if a.c.found {
		t.Over(int64(a.c.endNS-a.c.startNS), "to the last response that counts")
	} else {
		t.State("no request has a response left: divides by a duration of minus infinity", explain.RequestRate, explain.OutputRate)
	}
	a.rep.kind, a.rep.format = a.kind, a.format
	if len(t.Differs(explain.OutputTokens)) > 0 {
		t.State("adds up its own count of output tokens", explain.OutputRate)
	}
	if a.rules.itl != itlGaps {
		t.State("one value per request, not one per gap: divides by output tokens − 1, as strict's TPOT", explain.InterToken)
	}
	t.State("of each request by itself; strict divides the rate of all by the concurrency", explain.UserRate)
}

// outputHow says how output tokens are counted.
func (r *rules) outputHow(kind string) string {
	switch {
	case kind == "triton_c_api":
		return "the ids of every response; a response that is not a list counts as one"
	case r.count == countPlain:
		return "the tokenizer's count of each response by itself, with its special tokens"
	case r.count == countMarked:
		return "the tokenizer's count of each response by itself, behind an exclamation mark"
	}
	return "the tokenizer's count of the joined text"
}

// inputWhat names the part of a request that is counted as input.
func (r *rules) inputWhat(kind string, f format) string {
	switch {
	case kind == "triton_c_api":
		return "input_ids"
	case kind != "openai", f == formatGenerate:
		return "text_input"
	case f == formatHuggingFace:
		return "inputs"
	case f == formatCompletions:
		return "prompt"
	case f == formatChat && r.input == inputAll:
		return "the contents of all messages, joined by blanks"
	}
	return "the content of the first message"
}

// Definitions returns the release's name and formula of each measure, and why its value
// differs from the strict one.
func (r *report) Definitions() []explain.Definition {
	return explain.DefineAll(r.define)
}

// define completes a definition with the release's metric, unless the release has none.
func (r *report) define(d *explain.Definition) {
	name, formula := r.release.rules.define(d.Measure)
	switch {
	case name == "":
		return
	case !r.measures(name):
		d.NA = "of such an endpoint it measures nothing but the latency"
		return
	}
	d.Name, d.Formula, d.NA = name, formula, ""
	switch d.Measure {
	case explain.OutputTokens:
		d.Formula = r.release.rules.outputHow(r.kind)
	case explain.InputTokens:
		d.Formula = "the tokenizer's count of " + r.release.rules.inputWhat(r.kind, r.format)
	}
	if x := r.Metric(name); x != nil && (!r.uncounted || !needsTokens(name)) {
		d.Values = r.values(x)
		d.Differs = append(r.explainer.Differs(d.Measure), r.faults(x)...)
	} else {
		d.NA = r.missing(name)
	}
}

// Remarks returns the Warnings without the release's name.
func (r *report) Remarks() []string {
	var all []string
	if text := r.crashText(); text != "" {
		all = append(all, text)
	}
	return append(all, explain.Texts(r.warnings)...)
}

// measures reports whether the release measures the metric for this type of endpoint.
func (r *report) measures(name string) bool {
	return r.parser == parseText || slices.Contains([]string{requestLatency, requestRate, requestCount}, name)
}

// values returns the statistics in the unit of a measure.
func (r *report) values(x *metric) explain.Values {
	if x.Single {
		return explain.Single(x.Avg)
	}
	scale := 1.0
	if isTime(x.Name) && r.release.rules.layout >= layout2407 {
		scale = 1e6
	}
	return explain.Values{N: x.N, Mean: x.Avg * scale, P50: x.P(50) * scale, P99: x.P(99) * scale}
}

func needsTokens(name string) bool {
	return slices.Contains([]string{interToken, tokenRate, tokensPerReq, tokensPerUser, outputLength, numOutput, inputLength, numInput}, name)
}

// missing says why a metric has no values.
func (r *report) missing(name string) string {
	switch {
	case r.noTexts != "":
		return r.noTexts
	case r.noRate != "" && (name == requestRate || name == tokenRate):
		return r.noRate
	case r.uncounted && needsTokens(name):
		return explain.NeedsTokenizer
	case name == secondToken:
		return "no request has two responses left"
	case name == interToken, name == tokensPerUser:
		return "no request has two output tokens in two responses"
	case name == inputLength, name == numInput:
		return "no prompt is found in the requests"
	}
	return "no request has a response left"
}

// faults lists mistakes of the release that show in a metric.
func (r *report) faults(x *metric) []string {
	var all []string
	k := &r.release.rules
	if k.jsonReport == json2409 && !isTime(x.Name) && x.Name != requestRate {
		all = append(all, fmt.Sprintf("its JSON report names the unit %s", x.Unit))
	}
	if k.missing == missingOrZeroNA && !x.Single {
		for _, s := range k.csvStats() {
			if x.Stat(s) == 0 {
				all = append(all, fmt.Sprintf("prints N/A for %s, which is 0", s))
			}
		}
	}
	return all
}

// define returns the release's name and formula of a measure; "" if the release has no
// such metric. Definitions replaces the formulas of token counts.
func (r *rules) define(m explain.Measure) (name, formula string) {
	left := "response left"
	if r.drop == dropDone {
		left = "response"
	}
	switch m {
	case explain.FirstToken:
		return firstToken, "first " + left + " − timestamp"
	case explain.SecondToken:
		if r.secondToken {
			return secondToken, "second response left − first"
		}
	case explain.InterToken:
		switch r.itl {
		case itlGaps:
			return interToken, "gap between responses left / max(1, tokens of the later one), pooled"
		case itlMean:
			return interToken, "(last response left − first) / (output tokens − 1), of each request"
		case itlMean2:
			return interToken, "(last response left − first) / (output tokens − 1), of each request with two responses left"
		}
	case explain.Latency:
		return requestLatency, "last " + left + " − timestamp"
	case explain.OutputTokens:
		name = outputLength
		if r.layout < layout2407 {
			name = numOutput
		}
		return name, "counted"
	case explain.InputTokens:
		name = inputLength
		if r.layout < layout2407 {
			name = numInput
		}
		if r.input != inputNone {
			return name, "counted"
		}
	case explain.Requests:
		if r.requestCount {
			return requestCount, "requests with a response left"
		}
	case explain.RequestRate:
		return requestRate, "all requests / (first start to last response left)"
	case explain.OutputRate:
		return tokenRate, "Σ output tokens / the same duration"
	case explain.UserRate:
		if r.perUser {
			return tokensPerUser, "1 / inter token latency, of each request"
		}
		if r.jsonReport != jsonNone {
			return tokensPerReq, "output tokens / request latency, of each request; in the JSON report only"
		}
	}
	return "", ""
}
