package answer

import (
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/wire/openai"
)

// carriedTokens sums up what the token events of an answer carried. It tells which of the tokens that the
// server counts came with events: a server may count reasoning that it never sends, or hold tokens back
// and send them with a later event.
type carriedTokens struct {
	bytes     int64 // text of all events
	first     int64 // text of the first event
	longest   int64 // the longest text of a later event
	reasoning int64 // text of reasoning
	thoughts  int64 // events of reasoning
	call      bool  // the first event is of a tool call
	ids       bool  // events have token ids, also events without text
	before    int64 // tokens by the usage in chunks before the first event
}

// add adds the text of an event, or of a further part of it. first says that it is the first one.
func (c *carriedTokens) add(first, reasoning, call bool, bytes int) {
	n := int64(bytes)
	c.bytes += n
	if first {
		c.first += n
		c.call = c.call || call
	} else {
		c.longest = max(c.longest, n)
	}
	if reasoning {
		c.reasoning += n
		c.thoughts++
	}
}

// addChoice adds the event that ch made.
func (c *carriedTokens) addChoice(first, reasoning bool, ch *openai.Choice) {
	c.add(first, reasoning, len(ch.ToolCalls) > 0, len(ch.Content)+len(ch.Reasoning)+len(ch.Refusal)+len(ch.ToolCalls))
	c.ids = c.ids || ch.TokenIDs > 0
}

// set sets Timed, Hidden and Untimed of a streamed answer.
func (c *carriedTokens) set(a *Answer) {
	if a.shape != StreamedYes || len(a.Events) == 0 {
		return
	}
	events, output, hidden := int64(len(a.Events)), a.Usage.Output.V, int64(0)
	switch {
	case a.Usage.Output.OK:
		hidden = c.hidden(a)
	case a.ids.OK:
		output = a.ids.V
	default:
		return
	}
	if hidden > 0 {
		a.Hidden = export.IntOf(hidden)
	}
	if events < 2 || output < 2 {
		return
	}
	timed := output - hidden - 1
	if a.EventTokens {
		timed = eventTokens(a.Events[1:])
	}
	switch {
	case timed < 1, !a.EventTokens && !c.tells(a, output-hidden):
		a.Untimed = true
	case timed != output-1:
		a.Timed = export.IntOf(timed)
	}
}

// hidden returns the number of output tokens that are known to be hidden before the first event.
func (c *carriedTokens) hidden(a *Answer) int64 {
	output, reasoning := a.Usage.Output.V, a.Usage.Reasoning
	hidden, most := int64(0), output-int64(len(a.Events)) // an event carries at least one
	if a.EventTokens {
		most = int64(a.Events[0].Tokens) - 1
		if len(a.choices) == 1 {
			hidden = c.before
		}
	}
	if reasoning.OK && reasoning.V <= output && c.thoughts == 0 {
		hidden = max(hidden, min(reasoning.V, most))
	}
	return hidden
}

// eventTokens returns the number of tokens of events whose Tokens are known.
func eventTokens(events []Event) (n int64) {
	for i := range events {
		n += int64(events[i].Tokens)
	}
	return n
}

// showsReasoning reports whether the events of reasoning can carry the reasoning tokens that the server
// counts. They do not if they carry a summary or the beginning only: then a token of reasoning would
// have far less text than a token of the answer.
func (c *carriedTokens) showsReasoning(reasoning, rest, events int64) bool {
	const (
		few     = 2 // tokens beyond one an event, such as the marks around the reasoning
		sparser = 3 // a token of the answer has at most this times the text of a token of reasoning
		enough  = 4 // tokens of an answer that show how much text a token has
	)
	answer := c.bytes - c.reasoning
	switch {
	case c.ids || reasoning <= c.thoughts+c.thoughts/4+few:
		return true
	case reasoning > c.reasoning:
		return false
	case rest < enough || answer == 0 || events == c.thoughts:
		return true
	}
	return float64(reasoning)*float64(answer) <= sparser*float64(c.reasoning)*float64(rest)
}

// tells reports whether the events of a can carry visible tokens, one of them with the first event. It
// returns false if the number of tokens after the first event is not known:
//
//   - there are more tokens than bytes of text, or more tokens of reasoning than the streamed reasoning
//     can be
//   - the first event carries several: it has far more text than any other
//   - tokens of a tool call were held back: it begins with the first event, whose time is not the time
//     of the tokens before the call
//   - all events came at once, and some carry several
func (c *carriedTokens) tells(a *Answer, visible int64) bool {
	const (
		marks  = 2  // tokens without text around an answer, besides the last one of each choice
		longer = 2  // a first event with several tokens has at least this times the text of any other
		held   = 3  // fewer tokens in the first event do not matter,
		share  = 20 // nor do fewer than this part of all
	)
	events, output := int64(len(a.Events)), a.Usage.Output.V
	if r := a.Usage.Reasoning; r.OK && r.V <= output && c.thoughts > 0 && !c.showsReasoning(r.V, output-r.V, events) {
		return false
	}
	if visible <= events || c.ids || c.bytes == 0 {
		return true
	}
	if visible > c.bytes+int64(len(a.choices))+marks || a.Events[0].RecvNS == a.Events[events-1].RecvNS {
		return false
	}
	if len(a.choices) > 1 {
		return true
	}
	if c.call && visible > 2*events {
		return false
	}
	first := min(int64(float64(visible)*float64(c.first)/float64(c.bytes)+0.5), visible-events+1)
	return first < held || (first-1)*share <= visible || c.first < longer*c.longest
}
