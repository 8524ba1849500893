package dialect

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/export"
)

// A Trace takes note, request by request, of where a tool counts something else
// than the strict definitions do. A dialect tells it about each request that
// the tool sees, and gets words for its [Definition.Differs]: only of rules
// that were at work, each with the number of requests it was at work on.
//
// A nil Trace takes no note.
type Trace struct {
	meter    *analyze.Meter
	requests int // of the level that is explained
	notes    []note
	stated   []note
	// told counts the requests of which the server says the input tokens, untold
	// the others that the tool counts.
	told, untold int

	q *export.Request
	m *analyze.Measured
	// ownFirst: the tool's first token of the request is another one.
	ownFirst bool
	// startNS and endNS are the extremes of the requests that count.
	startNS, endNS uint64
}

// A note is that something is so in n requests.
type note struct {
	measure Measure
	why     string
	n       int
}

// NewTrace returns a Trace of a run, if the Config wants one.
func NewTrace(run *export.Run, cfg Config) *Trace {
	if !cfg.Explain {
		return nil
	}
	return &Trace{meter: analyze.NewMeter(run, analyze.Config{Counter: counter(cfg), Streaming: cfg.Streaming})}
}

// Meter returns a Meter for tools that take every answer for a streamed one: they
// decide by themselves what they print of others.
func Meter(run *export.Run) *analyze.Meter {
	streamed := true
	return analyze.NewMeter(run, analyze.Config{Streaming: &streamed})
}

// counter returns the Config's tokenizer as package analyze has it.
func counter(cfg Config) analyze.TokenCounter {
	if cfg.Tokenizer == nil {
		return nil
	}
	return counting{cfg.Tokenizer}
}

type counting struct{ t Tokenizer }

func (c counting) CountTokens(text []byte) (int, error) { return c.t.Count(string(text)), nil }

// Request begins a request that the tool sees. What is told about a request is
// told before the next one begins.
func (t *Trace) Request(q *export.Request) {
	if t == nil {
		return
	}
	t.requests++
	t.q = q
	t.m = t.meter.Measure(q)
	t.ownFirst = false
	if end, ok := q.EndNS(); ok && t.m.Counted {
		if t.endNS == 0 || q.StartNS < t.startNS {
			t.startNS = q.StartNS
		}
		t.endNS = max(t.endNS, end)
	}
	if !t.m.Counted {
		why := t.m.Excluded
		if t.m.Class != "" {
			why += ": " + t.m.Class
		}
		for _, m := range [...]Measure{Requests, RequestRate} {
			t.Note(m, "counts requests that are none to strict ("+why+")")
		}
	}
}

// Failed says that the tool takes the request for one that failed.
func (t *Trace) Failed() {
	if t == nil || !t.m.Counted {
		return
	}
	for _, m := range measures {
		t.Note(m.name, "takes requests for failed that are none to strict")
	}
}

// Strict returns what the strict definitions make of the present request; nil of
// a nil Trace.
func (t *Trace) Strict() *analyze.Measured {
	if t == nil {
		return nil
	}
	return t.m
}

// Empty says that the tool finds no response in the request, which leaves it
// out of all that is measured of single requests.
func (t *Trace) Empty() {
	if t == nil || !t.m.Counted {
		return
	}
	for _, m := range [...]Measure{Requests, Latency, OutputTokens, InputTokens} {
		t.Note(m, "leaves out requests without text")
	}
	if t.m.Events > 0 {
		t.Note(FirstToken, "leaves out requests whose output is "+t.kindAt(t.m.Answer.Events[0].RecvNS))
	}
}

// First says which response the tool takes for the first token, and what else
// begins there.
func (t *Trace) First(recvNS uint64, also ...Measure) { t.token(FirstToken, 0, recvNS, also) }

// Second says which response the tool takes for the second token.
func (t *Trace) Second(recvNS uint64) { t.token(SecondToken, 1, recvNS, nil) }

func (t *Trace) token(m Measure, i int, recvNS uint64, also []Measure) {
	if t == nil {
		return
	}
	name := [...]string{"first", "second"}[i]
	events := t.m.Answer.Events
	if i < len(events) && recvNS == events[i].RecvNS {
		if i > 0 && t.ownFirst {
			t.Note(m, "begins at its own first token")
		}
		return
	}
	if i == 0 {
		t.ownFirst = true
		for _, x := range also {
			t.Note(x, "begins at "+t.kindAt(recvNS)+", not at the first token event")
		}
	}
	switch {
	case i == 1 && len(events) > 1 && recvNS > events[1].RecvNS && events[1].RecvNS == events[0].RecvNS:
		t.Note(m, "takes what came in one read for one token")
	case i >= len(events):
		t.Note(m, "takes "+t.kindAt(recvNS)+" for the "+name+" token, which strict does not find in the request")
	case recvNS < events[i].RecvNS:
		t.Note(m, "takes "+t.kindAt(recvNS)+" for the "+name+" token")
	default:
		t.Note(m, "does not take "+t.kindAt(events[i].RecvNS)+" for the "+name+" token")
	}
}

// Gaps says how many responses of the request the tool takes the gaps of.
func (t *Trace) Gaps(responses int) {
	if t == nil {
		return
	}
	switch events := len(t.m.Answer.Events); {
	case responses < events:
		t.Note(InterToken, "takes several token events for one, which came in one read or are no text")
	case responses > events:
		t.Note(InterToken, "takes gaps to responses that hold no token, too")
	}
}

// End says which response the tool takes for the last one, and what else ends
// there.
func (t *Trace) End(recvNS uint64, also ...Measure) {
	if t == nil {
		return
	}
	end, ok := t.q.EndNS()
	if ok && recvNS < end {
		t.Note(Latency, "ends at "+t.kindAt(recvNS)+", not at the last response: "+t.kindAt(end))
	}
	if n := len(t.m.Answer.Events); n > 0 && recvNS > t.m.Answer.Events[n-1].RecvNS {
		for _, x := range also {
			t.Note(x, "ends at "+t.kindAt(recvNS)+", after the last token")
		}
	}
}

// Output says how many output tokens the tool counts.
func (t *Trace) Output(n int64) {
	if t == nil || !t.m.OutputTokens.OK || t.m.OutputTokens.V == n {
		return
	}
	t.Note(OutputTokens, "strict takes "+sourceWords(t.m.TokenSource))
}

// Input is Output for input tokens.
func (t *Trace) Input(n int64) {
	if t == nil {
		return
	}
	if !t.m.InputTokens.OK {
		t.untold++
		return
	}
	if t.told++; t.m.InputTokens.V == n {
		return
	}
	t.Note(InputTokens, "strict takes the server's usage")
}

func sourceWords(s analyze.TokenSource) string {
	switch s {
	case analyze.TokenUsage:
		return "the server's usage"
	case analyze.TokenStated:
		return "what the file states"
	case analyze.TokenTokenizer:
		return "the tokenizer's count of the whole text"
	}
	return "the number of token events"
}

// Note says that a rule is at work on the present request, or that it is at
// work once more in it.
func (t *Trace) Note(m Measure, why string) {
	if t == nil {
		return
	}
	for i := range t.notes {
		if n := &t.notes[i]; n.measure == m && n.why == why {
			n.n++
			return
		}
	}
	t.notes = append(t.notes, note{m, why, 1})
}

// Over says over what time the tool's rates are: what ends it, in words.
func (t *Trace) Over(ns int64, how string) {
	if t == nil {
		return
	}
	if strict := int64(t.endNS - t.startNS); ns != strict {
		own, other := apart(float64(ns)/1e9, float64(strict)/1e9)
		t.State(fmt.Sprintf("over %s s, %s; strict over %s s", own, how, other), RequestRate, OutputRate, TotalRate)
	}
}

// apart writes two numbers with six digits, or with as many as it takes to tell
// them apart.
func apart(a, b float64) (string, string) {
	for digits := 6; ; digits++ {
		x, y := strconv.FormatFloat(a, 'g', digits, 64), strconv.FormatFloat(b, 'g', digits, 64)
		if x != y || a == b { // 17 tell any two apart
			return x, y
		}
	}
}

// State says that a rule makes measures other numbers than the strict ones,
// whatever the requests hold.
func (t *Trace) State(why string, all ...Measure) {
	if t == nil {
		return
	}
	for _, m := range all {
		if n := (note{measure: m, why: why}); !slices.Contains(t.stated, n) {
			t.stated = append(t.stated, n)
		}
	}
}

// Differs returns what was stated and noted about a measure, of the notes the
// most frequent first.
func (t *Trace) Differs(m Measure) []string {
	if t == nil {
		return nil
	}
	var found []note
	if m == InputTokens && t.told > 0 && t.untold > 0 {
		found = append(found, note{m, "counts the prompt where the server does not say it, too", t.untold})
	}
	for _, n := range t.notes {
		if n.measure == m {
			found = append(found, n)
		}
	}
	slices.SortStableFunc(found, func(a, b note) int { return b.n - a.n })
	var all []string
	for _, n := range t.stated {
		if n.measure == m {
			all = append(all, n.why)
		}
	}
	for _, n := range found {
		all = append(all, fmt.Sprintf("%s (%d of %d requests)", n.why, n.n, t.requests))
	}
	return all
}

// kindAt says what is in the responses of the request that came at that time.
func (t *Trace) kindAt(recvNS uint64) string {
	var kinds []string
	for i := range t.q.Responses {
		if p := &t.q.Responses[i]; p.RecvNS == recvNS {
			if k := kind(p); !slices.Contains(kinds, k) {
				kinds = append(kinds, k)
			}
		}
	}
	if len(kinds) == 0 {
		return "a response"
	}
	return strings.Join(kinds, " and ")
}
