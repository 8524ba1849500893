package answer

import "github.com/pa-tools/pa/pkg/wire/openai"

// A carried sums up what the token events of an answer carried. It tells which of the tokens that the
// server counts came with events: a server may count reasoning that it never sends, or hold tokens back
// and send them with a later event.
type carried struct {
	bytes     int64 // text of all events
	first     int64 // text of the first event
	reasoning int64 // text of reasoning
	thoughts  int64 // events of reasoning
	call      bool  // the first event is of a tool call
	ids       bool  // events have token ids, also events without text
	before    int64 // tokens by the usage in chunks before the first event
}

// add adds the text of an event, or of a further part of it. first says that it is the first one.
func (c *carried) add(first, reasoning, call bool, bytes int) {
	c.bytes += int64(bytes)
	if first {
		c.first += int64(bytes)
		c.call = c.call || call
	}
	if reasoning {
		c.reasoning += int64(bytes)
		c.thoughts++
	}
}

// addChoice adds the event that ch made.
func (c *carried) addChoice(first, reasoning bool, ch *openai.Choice) {
	c.add(first, reasoning, len(ch.ToolCalls) > 0, len(ch.Content)+len(ch.Reasoning)+len(ch.Refusal)+len(ch.ToolCalls))
	c.ids = c.ids || ch.TokenIDs > 0
}

// set sets Timed, Hidden and Untimed of a streamed answer.
func (c *carried) set(a *Answer) {
	events := int64(len(a.Events))
	switch {
	case a.shape != StreamedYes || events == 0:
		return
	case a.EventTokens:
		n := int64(0)
		for i := range a.Events[1:] {
			n += int64(a.Events[1+i].Tokens)
		}
		if !a.Usage.Output.OK || n != a.Usage.Output.V-1 {
			a.Timed = Some(n)
		}
		if len(a.choices) == 1 && c.before > 0 {
			a.Hidden = Some(c.before)
		}
		return
	case !a.Usage.Output.OK:
		return
	}
	output, hidden := a.Usage.Output.V, int64(0)
	if r := a.Usage.Reasoning; r.OK && r.V <= output {
		switch {
		case c.thoughts == 0:
			hidden = min(r.V, max(0, output-events)) // an event carries at least one
		case !c.showsReasoning(r.V, output-r.V, events):
			a.Untimed = true
			return
		}
	}
	if hidden > 0 {
		a.Hidden = Some(hidden)
	}
	if events < 2 || output < 2 {
		return
	}
	switch visible := output - hidden; {
	case !c.tells(a, visible):
		a.Untimed = true
	case hidden > 0:
		a.Timed = Some(visible - 1)
	}
}

// showsReasoning reports whether the events of reasoning can carry the reasoning tokens that the server
// counts. They do not if they carry a summary or the beginning only: then a token of reasoning would
// have far less text than a token of the answer.
func (c *carried) showsReasoning(reasoning, rest, events int64) bool {
	const (
		few     = 2 // tokens beyond one an event, such as the marks around the reasoning
		sparser = 2 // text of a token of the answer, in those of reasoning
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

// tells reports whether visible tokens, one of them with the first event, can be what the events of a
// carried. It returns false if their number after the first event is not known:
//
//   - there are more tokens than bytes of text
//   - the first event carries several: it has far more text than the others
//   - tokens of a tool call were held back: it begins with the first event, whose time is not the time
//     of the tokens before the call
//   - all events came at once, and some carry several
func (c *carried) tells(a *Answer, visible int64) bool {
	const (
		marks  = 2  // tokens without text around an answer, besides the last one of each choice
		longer = 4  // text of a first event with several tokens, in the mean text of the others
		held   = 3  // fewer tokens in the first event do not matter,
		share  = 20 // nor do fewer than this part of all
	)
	events := int64(len(a.Events))
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
	return first < held || (first-1)*share <= visible || c.first*(events-1) < longer*(c.bytes-c.first)
}
