package genaiperf

import (
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/internal/py"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// A cleaner cleans the responses of requests to OpenAI servers. It passes the release's
// exceptions to raise and goes on; an unreadable response has no text.
type cleaner struct {
	rules  *rules
	format format
	raise  func(*exception)
	// failed counts the unreadable responses.
	failed    int
	form      py.Form // of responses that hold one event with a text
	texts     map[py.EventKey]pyText
	attempts  jsonscan.Attempts // to remember texts
	envelopes dialect.Envelopes
}

// holds reports whether a response with the value v, which has an envelope and a text in it, is one
// event with the text v.Data.
func (c *cleaner) holds(v *export.Value) bool {
	return c.envelopes.Hold(v, func(raw, text string) bool {
		t, err := c.rules.textIn(raw, c.format)
		return err == nil && t == str(text) && strings.HasPrefix(raw, "data: ") && len(events(raw)) == 1
	})
}

// clean returns the remaining responses of a request. It reuses the memory of rs.
func (c *cleaner) clean(rs []response) []response {
	if c.rules.text >= text2504 && c.format == formatHuggingFace {
		return rs
	}
	switch c.rules.rejoin {
	case rejoinCircular:
		if len(rs) > 1 {
			rejoinInCircle(rs)
		}
	case rejoinData:
		c.rejoin(rs, "data: ")
	case rejoinColon:
		c.rejoin(rs, "data:")
	}
	for i := range rs {
		if rs[i].run != nil || c.match(&rs[i]) {
			continue
		}
		if c.rules.merge >= mergeJoin {
			c.mergeReplacing(&rs[i])
		} else if c.rules.merge != mergeNot {
			c.mergeAppending(&rs[i])
		}
	}
	switch c.rules.drop {
	case dropDone:
		rs = c.dropDone(rs)
	case trimEmpty, trimSafe:
		rs = c.trim(rs)
	case dropEmpty:
		left := rs[:0]
		for i := range rs {
			r := &rs[i]
			if r.raw == "" && r.run == nil && c.rules.rejoin != rejoinNot {
				continue
			}
			switch {
			case r.run == nil && !c.textOf(r).truthy:
			case len(left) == i:
				left = rs[:i+1]
			default:
				left = append(left, *r)
			}
		}
		rs = left
	}
	return rs
}

// textOf returns the text of a response.
func (c *cleaner) textOf(r *response) pyText {
	if !r.known {
		t, e := c.textIn(r.raw)
		if e != nil {
			c.raise(e)
			t = str("")
		}
		r.text, r.known = t, true
		c.learn(r.raw, t)
	}
	return r.text
}

const (
	mostTexts = 32      // events that are remembered
	maxText   = 1 << 12 // bytes of such an event
)

// textIn is rules.textIn. It remembers the results of some events: every answer has the same
// events with a role, with the reason of the end, and [DONE].
func (c *cleaner) textIn(event string) (pyText, *exception) {
	if known, ok := c.texts[py.EventKeyOf(event)]; ok {
		c.attempts.Used()
		return known, nil
	}
	remember := len(event) <= maxText && c.attempts.Try()
	if remember {
		event = strings.Clone(event) // which may be part of a long text
	}
	t, e := c.rules.textIn(event, c.format)
	if remember && e == nil { // an exception may repeat the text
		if c.texts == nil || len(c.texts) >= mostTexts {
			c.texts = map[py.EventKey]pyText{}
		}
		c.texts[py.EventKeyOf(event)] = t
	}
	return t, e
}

// match sets the text of a response that has the form of an earlier one, and reports whether
// it has. Such a response holds one event.
func (c *cleaner) match(r *response) bool {
	t, ok := c.form.Match(r.raw)
	if ok {
		r.text, r.known = str(t), true
	}
	return ok
}

// learn makes a response with the text t a form for others, unless it holds several events or
// a name of an event, which mergeReplacing looks at.
func (c *cleaner) learn(raw string, t pyText) {
	if t.text == "" || strings.HasPrefix(raw, "event:") || len(events(raw)) > 1 {
		return
	}
	c.form.Learn(raw, t.text, func(raw string) (string, bool) {
		t, e := c.rules.textIn(raw, c.format)
		return t.text, e == nil && t.typ == "str"
	})
}

// rejoins reports whether clean may append a part of a response to the previous one, which must
// not be a run of several then.
func (c *cleaner) rejoins(rs []response) bool {
	return c.rules.rejoin != rejoinNot && slices.ContainsFunc(rs, func(r response) bool {
		return r.run == nil && !strings.HasPrefix(r.raw, "data: ")
	})
}

// rejoinInCircle appends the part of a response before its first "data: " to the previous
// response. The previous one of the first is the last, as in Python.
func rejoinInCircle(rs []response) {
	for i := len(rs) - 1; i >= 0; i-- {
		if rs[i].run != nil { // it begins so
			continue
		}
		before := &rs[(i+len(rs)-1)%len(rs)]
		raw := rs[i].raw
		if strings.HasPrefix(raw, "data: ") {
			continue
		}
		switch at := strings.Index(raw, "data: "); at {
		case -1:
			before.raw = before.whole() + strip(raw)
			rs[i].raw = ""
		default:
			before.raw = before.whole() + strip(raw[:at])
			rs[i].raw = strip(raw[at:])
		}
	}
}

// rejoin appends the part of a response before its first "data: " to the previous
// response, which must contain needed.
func (c *cleaner) rejoin(rs []response, needed string) {
	for i := len(rs) - 1; i > 0; i-- {
		raw := rs[i].raw
		if rs[i].run != nil || strings.HasPrefix(raw, "data: ") || isOtherField(raw) {
			continue
		}
		at := strings.Index(raw, "data: ")
		if !strings.Contains(rs[i-1].whole(), needed) {
			c.raise(&exception{
				"GenAIPerfException",
				"Detected a splintered SSE response but the previous response does not contain proper SSE prefix to continue the fix.",
			})
			continue
		}
		if at < 0 {
			at = len(raw)
		}
		rs[i-1].raw += raw[:at]
		rs[i].raw = raw[at:]
	}
}

// events splits a read into events.
func events(raw string) []string {
	raw = strip(raw)
	if !strings.Contains(raw, "\n\n") {
		return []string{raw}
	}
	return strings.Split(raw, "\n\n")
}

// mergeAppending merges the events of a response by the rules before 25.03.
func (c *cleaner) mergeAppending(r *response) {
	all := events(r.raw)
	if len(all) == 1 {
		return
	}
	t, e := c.appended(all)
	if e != nil {
		c.raise(e)
		t = str(c.readable(all))
	}
	r.text, r.known = t, true
}

// appended returns the text of the first event after the other events' texts were
// appended to its delta.
func (c *cleaner) appended(all []string) (pyText, *exception) {
	data, e := c.rules.parseJSON(c.rules.withoutPrefix(all[0]))
	if e != nil {
		return pyText{}, e
	}
	var content pyText
	if c.rules.merge != mergeAppend { // mergeAppend reads the other event first
		if content, e = c.content(data); e != nil {
			return pyText{}, e
		}
	}
	joined := content.text
	for i, event := range all[1:] {
		t, e := c.rules.textIn(event, c.format)
		if e == nil && i == 0 && c.rules.merge == mergeAppend {
			content, e = c.content(data)
			joined = content.text
		}
		switch {
		case e != nil:
			return pyText{}, e
		case content.typ == "":
			return pyText{}, keyError("content")
		case content.typ == "NoneType":
			return pyText{}, typeError("unsupported operand type(s) for +=: 'NoneType' and '%s'", t.typ)
		case t.typ != "str":
			return pyText{}, typeError("can only concatenate str (not \"%s\") to str", t.typ)
		}
		joined += t.text
	}
	return c.rejoined(data, joined)
}

// content returns the content of the first choice's delta, to which the other events'
// texts are appended. If the release requires it, a missing content has no type.
func (c *cleaner) content(data py.Value) (pyText, *exception) {
	if c.rules.merge == mergeGenerate && c.format == formatGenerate {
		if data.Kind() != py.Dict {
			return pyText{}, typeError("argument of type '%s' is not iterable", data.PythonType())
		}
		m, _ := data.Member("text_output")
		return textOf(m), nil
	}
	delta, e := at(data, "choices", "[0]", "delta")
	if e != nil {
		return pyText{}, e
	}
	content, ok := delta.Member("content")
	switch {
	case c.rules.merge == mergeAppend && !ok:
		return pyText{}, nil
	case c.rules.merge != mergeAppend && content.Kind() <= py.Null:
		return str(""), nil
	}
	return textOf(content), nil
}

// mergeReplacing merges the events of a response by the rules since 25.03.
func (c *cleaner) mergeReplacing(r *response) {
	all := events(r.raw)
	for _, event := range all {
		if isErrorEvent(event) {
			c.fail(&exception{"GenAIPerfException", "Detected an error event in the SSE response: " + event})
			r.raw = ""
		}
	}
	if len(all) == 1 {
		t, e := c.textIn(all[0])
		if e != nil {
			c.fail(e)
		}
		if e != nil || !t.truthy {
			r.raw = ""
		}
		if strings.HasPrefix(r.raw, all[0]) { // the response is read again, with the white space before it
			r.text, r.known = t, r.raw != ""
			if r.known {
				c.learn(r.raw, t)
			}
		}
		return
	}
	t, e := c.replaced(all)
	if e != nil {
		c.fail(e)
		r.raw = ""
		return
	}
	r.raw, r.text, r.known = all[0], t, true
}

// fail counts an unreadable response, and raises the exception unless the release
// survives it.
func (c *cleaner) fail(e *exception) {
	if !c.rules.survives {
		c.raise(e)
	}
	c.failed++
}

// replaced returns the text of the first event after the joined texts of all events
// replaced it.
func (c *cleaner) replaced(all []string) (pyText, *exception) {
	data, e := c.rules.parseJSON(c.rules.withoutPrefix(all[0]))
	if e != nil {
		return pyText{}, e
	}
	joined := ""
	for i, event := range all {
		var t pyText
		if c.format == formatGenerate {
			t, e = c.rules.generatedText(event)
		} else {
			t, e = c.rules.textIn(event, c.format)
		}
		switch {
		case e != nil:
			return pyText{}, e
		case t.typ != "str":
			return pyText{}, typeError("sequence item %d: expected str instance, %s found", i, t.typ)
		}
		joined += t.text
	}
	if c.format != formatGenerate {
		choice, e := at(data, "choices", "[0]")
		if e != nil {
			return pyText{}, e
		}
		if c.rules.merge == mergeFormat && c.format == formatCompletions {
			if choice.Kind() != py.Dict {
				return pyText{}, typeError("'%s' object does not support item assignment", choice.PythonType())
			}
		} else if _, e = item(choice, "delta"); e != nil {
			return pyText{}, e
		}
	}
	return c.rejoined(data, joined)
}

// rejoined returns the text of an object after joined was stored in it: joined, unless
// the release stores the text in another member than it reads.
func (c *cleaner) rejoined(data py.Value, joined string) (pyText, *exception) {
	if c.format == formatGenerate && c.rules.merge >= mergeGenerate {
		return str(joined), nil
	}
	object, has := data.Member("object")
	readFrom := object.Text()
	if !has {
		readFrom = "text_completion"
	}
	putIn := "chat.completion.chunk"
	if c.rules.merge == mergeFormat && c.format == formatCompletions {
		putIn = "text_completion"
	}
	if readFrom == putIn {
		return str(joined), nil
	}
	return c.rules.openAIText(data, c.format)
}

// readable joins the texts of the readable events.
func (c *cleaner) readable(all []string) string {
	var b strings.Builder
	for _, event := range all {
		if t, e := c.rules.textIn(event, c.format); e == nil {
			b.WriteString(t.text)
		}
	}
	return b.String()
}

func (c *cleaner) dropDone(rs []response) []response {
	if n := len(rs); n > 0 && rs[n-1].run == nil && c.rules.withoutPrefix(rs[n-1].raw) == "[DONE]" {
		rs = rs[:n-1]
	}
	return rs
}

func (c *cleaner) trim(rs []response) []response {
	for len(rs) > 0 && rs[0].run == nil && !c.textOf(&rs[0]).truthy {
		rs = rs[1:]
	}
	for len(rs) > 0 && rs[len(rs)-1].run == nil && !c.textOf(&rs[len(rs)-1]).truthy {
		rs = rs[:len(rs)-1]
	}
	if len(rs) == 0 && c.rules.drop == trimEmpty {
		c.raise(errIndex)
	}
	return rs
}
