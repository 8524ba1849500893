package explain

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// An Explainer collects why a tool's figures differ from the strict ones. A dialect
// reports each request that the tool counts, with the values that the tool takes from it.
// Each difference becomes a sentence for [Definition.Differs], with the number of
// requests that showed it. Rules that changed nothing are not mentioned.
//
// The methods of a nil Explainer do nothing.
type Explainer struct {
	meter    Meter
	requests int // of the level that is explained
	notes    []note
	stated   []note
	// inputStated counts the requests with input tokens from the server, inputCounted
	// the requests whose prompt the tool counts instead.
	inputStated, inputCounted int

	q     *export.Request
	m     *answer.Measured
	kinds *Kinds
	// ownFirst says that the tool's first token of the request is not the strict one.
	ownFirst bool
	// startNS and endNS are the first start and the last end of the requests that count.
	startNS, endNS uint64
}

// A Meter measures requests by pa-analyze's own definitions; [answer.Meter] is one. The result is
// valid until the next request.
type Meter interface {
	Measure(q *export.Request) *answer.Measured
}

// A note is a difference that n requests showed.
type note struct {
	measure Measure
	why     string
	n       int
}

// NewExplainer returns an Explainer that compares with the measures of a Meter. k may be shared.
func NewExplainer(m Meter, k *Kinds) *Explainer { return &Explainer{meter: m, kinds: k} }

// Request starts a request that the tool reads. The methods below then describe this
// request, until the next call of Request.
func (x *Explainer) Request(q *export.Request) {
	if x == nil {
		return
	}
	x.requests++
	x.q = q
	x.m = x.meter.Measure(q)
	x.ownFirst = false
	if end, ok := q.FinalResponseNS(); ok && x.m.Counted {
		if x.endNS == 0 || q.StartNS < x.startNS {
			x.startNS = q.StartNS
		}
		x.endNS = max(x.endNS, end)
	}
	if !x.m.Counted {
		why := string(x.m.Excluded)
		if x.m.Class != "" {
			why += ": " + x.m.Class
		}
		for _, m := range [...]Measure{Requests, RequestRate} {
			x.Note(m, "counts requests that strict leaves out ("+why+")")
		}
	}
}

// Failed records that the tool counts the request as a failure.
func (x *Explainer) Failed() {
	if x == nil || !x.m.Counted {
		return
	}
	for _, m := range measures {
		x.Note(m.name, "counts requests as failed that strict counts as ok")
	}
}

// Strict returns the measures of the current request by pa-analyze's own definitions. A
// nil Explainer returns nil.
func (x *Explainer) Strict() *answer.Measured {
	if x == nil {
		return nil
	}
	return x.m
}

// Empty records that the tool finds no response in the request and leaves the request
// out of every per-request measure.
func (x *Explainer) Empty() {
	if x == nil || !x.m.Counted {
		return
	}
	for _, m := range [...]Measure{Requests, Latency, OutputTokens, InputTokens} {
		x.Note(m, "leaves out requests without text")
	}
	if x.m.Events > 0 {
		x.Note(FirstToken, "leaves out requests whose output is "+x.kindAt(x.m.Answer.Events[0].RecvNS))
	}
}

// First records when the tool's first token arrived, and which other measures begin
// at it.
func (x *Explainer) First(recvNS uint64, also ...Measure) { x.token(FirstToken, 0, recvNS, also) }

// Second records when the tool's second token arrived.
func (x *Explainer) Second(recvNS uint64) { x.token(SecondToken, 1, recvNS, nil) }

func (x *Explainer) token(m Measure, i int, recvNS uint64, also []Measure) {
	if x == nil {
		return
	}
	name := [...]string{"first", "second"}[i]
	events := x.m.Answer.Events
	if i < len(events) && recvNS == events[i].RecvNS {
		if i > 0 && x.ownFirst {
			x.Note(m, "begins at its own first token")
		}
		return
	}
	if i == 0 {
		x.ownFirst = true
		for _, m := range also {
			x.Note(m, "begins at "+x.kindAt(recvNS)+", not at the first token event")
		}
	}
	switch {
	case i == 1 && len(events) > 1 && recvNS > events[1].RecvNS && events[1].RecvNS == events[0].RecvNS:
		x.Note(m, "counts tokens that arrived in one read as one token")
	case i >= len(events):
		x.Note(m, "counts "+x.kindAt(recvNS)+" as the "+name+" token; strict finds none in the request")
	case recvNS < events[i].RecvNS:
		x.Note(m, "counts "+x.kindAt(recvNS)+" as the "+name+" token")
	default:
		x.Note(m, "does not count "+x.kindAt(events[i].RecvNS)+" as the "+name+" token")
	}
}

// Gaps records the number of responses between which the tool measures gaps.
func (x *Explainer) Gaps(responses int) {
	if x == nil {
		return
	}
	switch events := len(x.m.Answer.Events); {
	case responses < events:
		x.Note(InterToken, "counts several token events as one: they arrived in one read, or are not text")
	case responses > events:
		x.Note(InterToken, "also counts gaps to responses without a token")
	}
}

// End records when the tool's last response arrived, and which other measures end at
// it.
func (x *Explainer) End(recvNS uint64, also ...Measure) {
	if x == nil {
		return
	}
	end, ok := x.q.FinalResponseNS()
	if ok && recvNS < end {
		x.Note(Latency, "ends at "+x.kindAt(recvNS)+", not at the last response: "+x.kindAt(end))
	}
	if n := len(x.m.Answer.Events); n > 0 && recvNS > x.m.Answer.Events[n-1].RecvNS {
		for _, m := range also {
			x.Note(m, "ends at "+x.kindAt(recvNS)+", after the last token")
		}
	}
}

// Output records the number of output tokens that the tool counts.
func (x *Explainer) Output(n int64) {
	if x == nil || !x.m.OutputTokens.OK || x.m.OutputTokens.V == n {
		return
	}
	x.Note(OutputTokens, "strict uses "+sourceWords(x.m.TokenSource))
}

// Input records the number of input tokens that the tool counts.
func (x *Explainer) Input(n int64) {
	if x == nil {
		return
	}
	if !x.m.InputTokens.OK {
		x.inputCounted++
		return
	}
	if x.inputStated++; x.m.InputTokens.V == n {
		return
	}
	x.Note(InputTokens, "strict uses the server's usage")
}

func sourceWords(s answer.TokenSource) string {
	switch s {
	case answer.TokenUsage:
		return "the server's usage"
	case answer.TokenStated:
		return "what the file states"
	case answer.TokenIDs:
		return "the answers' token ids"
	case answer.TokenTokenizer:
		return "the tokenizer's count of the whole text"
	}
	return "the number of token events"
}

// Note records that a rule changes a measure of the current request. A second call
// for the same request counts twice.
func (x *Explainer) Note(m Measure, why string) {
	if x == nil {
		return
	}
	for i := range x.notes {
		if n := &x.notes[i]; n.measure == m && n.why == why {
			n.n++
			return
		}
	}
	x.notes = append(x.notes, note{m, why, 1})
}

// Over records the duration by which the tool divides its rates, and what ends it in
// words.
func (x *Explainer) Over(ns int64, how string) {
	if x == nil {
		return
	}
	if strict := int64(x.endNS - x.startNS); ns != strict {
		own, other := apart(float64(ns)/1e9, float64(strict)/1e9)
		x.State(fmt.Sprintf("over %s s, %s; strict over %s s", own, how, other), RequestRate, OutputRate, TotalRate)
	}
}

// apart formats two numbers with six digits, or with as many digits as make the
// texts differ.
func apart(a, b float64) (string, string) {
	for digits := 6; ; digits++ {
		x, y := strconv.FormatFloat(a, 'g', digits, 64), strconv.FormatFloat(b, 'g', digits, 64)
		if x != y || a == b { // 17 tell any two apart
			return x, y
		}
	}
}

// State records a rule that changes measures of the whole level, without a number of
// requests.
func (x *Explainer) State(why string, all ...Measure) {
	if x == nil {
		return
	}
	for _, m := range all {
		if n := (note{measure: m, why: why}); !slices.Contains(x.stated, n) {
			x.stated = append(x.stated, n)
		}
	}
}

// Differs returns the sentences about a measure: first the statements, then the notes,
// the most frequent note first.
func (x *Explainer) Differs(m Measure) []string {
	if x == nil {
		return nil
	}
	var found []note
	if m == InputTokens && x.inputStated > 0 && x.inputCounted > 0 {
		found = append(found, note{m, "counts the tokens of the prompt where the server does not state them", x.inputCounted})
	}
	for _, n := range x.notes {
		if n.measure == m {
			found = append(found, n)
		}
	}
	slices.SortStableFunc(found, func(a, b note) int { return b.n - a.n })
	var all []string
	for _, n := range x.stated {
		if n.measure == m {
			all = append(all, n.why)
		}
	}
	for _, n := range found {
		all = append(all, fmt.Sprintf("%s (%d of %s)", n.why, n.n, plural.Of(x.requests, "request")))
	}
	return all
}

// kindAt describes the responses of the current request that arrived at that time.
func (x *Explainer) kindAt(recvNS uint64) string { return x.kinds.describe(x.q, recvNS) }
