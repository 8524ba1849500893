package serving

import (
	"strings"

	"github.com/pa-tools/pa/internal/py"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// An event is an event of a streamed answer as a tool reads it: its text without
// "data: ", and the time at which it was complete. If run is not nil, it is a token event in each of
// these responses instead, of the text of the response's value in its envelope.
type event struct {
	ns   uint64
	text string
	run  []export.Response
}

const done = "[DONE]"

// responseOutput is the output with the bytes of a response.
const responseOutput = "response"

// body returns the bytes of a response.
func body(p *export.Response) []byte {
	v := dialect.ValueOf(p, responseOutput)
	if v == nil || !v.Text {
		return nil
	}
	return v.Bytes()
}

// strip takes white space off both ends, as Python's strip does.
func strip(s string) string { return strings.Trim(s, " \t\n\r\v\f") }

// isWhole reports whether an event needs no more bytes.
func isWhole(text string) bool {
	if text == done {
		return true
	}
	_, err := py.ParseJSON(text, py.JSON)
	return text != "" && err == nil
}

// An answerText is the text of a streamed answer.
type answerText struct {
	outputs []dialect.Output
	// holds reports whether each response of an output, which has an envelope, is a token event of its text.
	holds func(o *dialect.Output) bool
}

// at returns the bytes of response k of output i.
func (t *answerText) at(i, k int) string {
	o := &t.outputs[i]
	if o.Value != nil && o.Value.Text && o.Value.Envelope == nil {
		return o.Raw
	}
	return string(body(&o.Responses[k]))
}

// isLast reports whether no response follows response k of output i.
func (t *answerText) isLast(i, k int) bool {
	return i+1 == len(t.outputs) && k+1 == len(t.outputs[i].Responses)
}

// after returns the bytes of the response after response k of output i.
func (t *answerText) after(i, k int) string {
	if k+1 < len(t.outputs[i].Responses) {
		return t.at(i, k+1)
	}
	return t.at(i+1, 0)
}

// lines yields the lines of an answer that are not blank. A line ends with its line
// feed, also in a later response. Some recorders leave out the line feed: a line that is
// whole without it ends with its response, unless the next response begins with one.
func (t *answerText) lines(yield func(event) bool) {
	open := ""
	for i := range t.outputs {
		o := &t.outputs[i]
		if open == "" && o.InEnvelope() && t.holds(o) {
			if !yield(event{run: o.Responses}) {
				return
			}
			continue
		}
		for k := range o.Responses {
			ns, data := o.Responses[k].RecvNS, t.at(i, k)
			for {
				line, rest, ended := strings.Cut(data, "\n")
				open += line
				if !ended {
					break
				}
				data = rest
				text := strip(open)
				open = ""
				if text != "" && !yield(event{ns: ns, text: strings.TrimPrefix(text, "data: ")}) {
					return
				}
			}
			last := t.isLast(i, k)
			if open == "" || !last && strings.HasPrefix(strings.TrimLeft(t.after(i, k), "\r"), "\n") {
				continue
			}
			text := strings.TrimPrefix(strip(open), "data: ")
			if last && text != "" || (text == done || strings.HasPrefix(text, "{")) && isWhole(text) {
				open = ""
				if !yield(event{ns: ns, text: text}) {
					return
				}
			}
		}
	}
}

// frames yields the events of an answer, cut at blank lines, without comments. The text
// after the last blank line is an event if it is whole; otherwise it is dropped.
func (t *answerText) frames(yield func(event) bool) {
	open := ""
	for i := range t.outputs {
		o := &t.outputs[i]
		if open == "" && o.InEnvelope() && t.holds(o) {
			if !yield(event{run: o.Responses}) {
				return
			}
			continue
		}
		for k := range o.Responses {
			ns := o.Responses[k].RecvNS
			open += t.at(i, k)
			for {
				message, rest, ended := strings.Cut(open, "\n\n")
				if !ended {
					break
				}
				open = rest
				if !frame(ns, message, yield) {
					return
				}
			}
			if text, ok := strings.CutPrefix(open, "data: "); ok && isWhole(strip(text)) {
				message := open
				open = ""
				if !frame(ns, message, yield) {
					return
				}
			}
		}
	}
}

func frame(ns uint64, message string, yield func(event) bool) bool {
	message = strip(message)
	if message == "" || message[0] == ':' {
		return true
	}
	return yield(event{ns: ns, text: strings.TrimPrefix(message, "data: ")})
}
