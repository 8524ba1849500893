package genaiperf

import (
	"strings"

	"github.com/pa-tools/pa/internal/py"
	"github.com/pa-tools/pa/pkg/analyze/explain"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// Exceptions of transformers and tokenizers for an input that is no text.
var (
	errTextInput = &exception{"TypeError", "TextEncodeInput must be Union[TextInputSequence, Tuple[InputSequence, InputSequence]]"}
	errTextType  = &exception{
		"ValueError",
		"text input must be of type `str` (single example), `List[str]` (batch or single pretokenized example) or `List[List[str]]` (batch of pretokenized examples).",
	}
)

// An input is the part of a request's inputs whose tokens are counted.
type input struct {
	text string
	// second is the second text of a list of two texts, which the tokenizer takes for a
	// pair.
	second string
	// number is the count of token ids, or of a list that the tokenizer takes for a
	// batch; -1 for a text.
	number int
	// none: nothing can be counted.
	none bool
}

func inputOf(text string) input { return input{text: text, number: -1} }

// input returns the counted input of a request; with an exception, the nearest text.
func (a *analysis) input(q *export.Request) (input, *exception) {
	switch a.kind {
	case "triton_c_api":
		v, ok := q.Inputs.Get("input_ids")
		if !ok {
			return input{none: true}, keyError("input_ids")
		}
		ids, e := a.value(v)
		switch {
		case e != nil:
			return input{none: true}, e
		case ids.Kind() == py.List:
			return input{number: ids.Len()}, nil
		case ids.Kind() == py.String:
			return input{number: len([]rune(ids.Text()))}, nil
		}
		return input{number: 1}, typeError("object of type '%s' has no len()", ids.PythonType())
	case "openai":
		text, ok := a.parts.Payload(q)
		if !ok {
			return input{none: true}, keyError("payload")
		}
		payload, err := a.parts.ParsePayload(q, a.rules.json)
		if e := a.rules.jsonException(text, err); e != nil {
			return input{none: true}, e
		}
		return a.payload(payload)
	}
	v, ok := q.Inputs.Get("text_input")
	if !ok {
		return input{none: true}, keyError("text_input")
	}
	if v.Text {
		return inputOf(text(v)), nil
	}
	list, e := a.value(v)
	switch {
	case e != nil:
		return input{none: true}, e
	case a.rules.prompt <= promptBatch:
		return batch(list)
	}
	return inputOf(joinTexts(list, " ")), errTextInput
}

// batch returns the counted input if the tokenizer gets v instead of a text: of a list of
// texts, their number.
func batch(v py.Value) (input, *exception) {
	all := input{number: v.Len()}
	if one, _ := v.First(); v.Kind() != py.List || one.Kind() != py.String && all.number > 0 {
		return inputOf(joinTexts(v, " ")), errTextType
	}
	var e *exception
	v.Elements(func(_ int, one py.Value) bool {
		if one.Kind() != py.String {
			e = errTextInput
		}
		return e == nil
	})
	return all, e
}

// value parses a value of the export as Python does.
func (a *analysis) value(v export.Value) (py.Value, *exception) {
	if v.Text {
		return a.rules.parseJSON(string(py.AppendJSONString(nil, text(v))))
	}
	return a.rules.parseJSON(text(v))
}

// text returns the content of v as Python reads it, without bytes that are no UTF-8.
func text(v export.Value) string { return dialect.Valid(v.Bytes()) }

// payload returns the counted input of a request's body.
func (a *analysis) payload(p py.Value) (input, *exception) {
	in, e := a.payloadText(p)
	if e == nil || !in.none {
		return in, e
	}
	for _, name := range [...]string{"messages", "prompt", "text_input", "inputs", "input"} {
		if v, ok := p.Member(name); ok {
			return inputOf(joinTexts(v, " ")), e
		}
	}
	return in, e
}

// joinTexts joins the texts of messages, content parts or prompts.
func joinTexts(v py.Value, between string) string {
	return strings.Join(v.Texts("content", "text"), between)
}

// payloadText returns the counted input of a request's body exactly as the release finds
// it: none with most exceptions.
func (a *analysis) payloadText(p py.Value) (input, *exception) {
	none := input{none: true}
	switch a.format {
	case formatGenerate:
		v, e := item(p, "text_input")
		if e != nil {
			return none, e
		}
		return join(v)
	case formatHuggingFace:
		v, e := item(p, "inputs")
		if e == nil && v.Kind() != py.String {
			e = errTextInput
		}
		if e != nil {
			return none, e
		}
		return inputOf(v.Text()), nil
	case formatCompletions:
		v, e := item(p, "prompt")
		if e != nil {
			return none, e
		}
		return a.prompt(v)
	case formatChat, formatMultimodal:
		messages, e := item(p, "messages")
		if e != nil {
			return none, e
		}
		if a.format == formatChat && a.rules.input == inputAll {
			return joinContents(messages)
		}
		if messages.Len() > 1 {
			a.explainer.Note(explain.InputTokens, "counts the first message only")
		}
		content, e := at(messages, "[0]", "content")
		switch {
		case e != nil:
			return none, e
		case a.format == formatMultimodal:
			return joinParts(content)
		case content.Kind() != py.String && a.rules.prompt <= promptBatch:
			return batch(content)
		case content.Kind() != py.String:
			return none, errTextInput
		}
		return inputOf(content.Text()), nil
	}
	return none, valueError("Failed to parse request input in profile export file.")
}

// prompt returns the counted input of a completion's prompt.
func (a *analysis) prompt(v py.Value) (input, *exception) {
	if v.Kind() == py.String {
		switch s := v.Text(); a.rules.prompt {
		case promptFirst:
			a.explainer.Note(explain.InputTokens, "counts the first letter of a prompt that is a string")
			for _, c := range s {
				return inputOf(string(c)), nil
			}
			return input{none: true}, &exception{"IndexError", "string index out of range"}
		case promptJoin:
			a.explainer.Note(explain.InputTokens, "counts a prompt that is a string letter by letter, with a blank between every two")
			return join(v)
		default:
			return inputOf(s), nil
		}
	}
	switch a.rules.prompt {
	case promptFirst:
		e, exc := first(v)
		switch {
		case exc != nil:
			return input{none: true}, exc
		case e.Kind() != py.String:
			return batch(e)
		}
		return inputOf(e.Text()), nil
	case promptBatch:
		a.explainer.Note(explain.InputTokens, "counts the elements of a prompt that is a list")
		return batch(v)
	case promptPlain:
		return pair(v)
	}
	return join(v)
}

// pair returns the counted input if the tokenizer gets a list instead of a text. It takes
// two texts for a pair; any other list is an exception.
func pair(v py.Value) (input, *exception) {
	in := input{number: -1}
	if v.Kind() != py.List || v.Len() != 2 {
		return input{none: true}, errTextInput
	}
	for i, to := range [...]*string{&in.text, &in.second} {
		v.Elements(func(k int, e py.Value) bool {
			if k == i {
				*to = e.Text()
			}
			in.none = in.none || e.Kind() != py.String
			return true
		})
	}
	if in.none {
		return input{none: true}, errTextInput
	}
	return in, nil
}

// join is Python's " ".join(v), which puts a blank between every two characters of a
// string.
func join(v py.Value) (input, *exception) {
	switch v.Kind() {
	case py.String:
		s := v.Text()
		b := make([]byte, 0, 2*len(s))
		for i, c := range s {
			if i > 0 {
				b = append(b, ' ')
			}
			b = append(b, string(c)...)
		}
		return inputOf(string(b)), nil
	case py.List:
		return joinEach(v, func(e py.Value) (py.Value, bool, *exception) { return e, true, nil })
	}
	return input{none: true}, typeError("can only join an iterable")
}

// joinContents joins the contents of all messages.
func joinContents(messages py.Value) (input, *exception) {
	return joinEach(messages, func(m py.Value) (py.Value, bool, *exception) {
		c, e := item(m, "content")
		return c, true, e
	})
}

// joinParts joins the texts of a message's parts.
func joinParts(content py.Value) (input, *exception) {
	if content.Kind() != py.List {
		return input{none: true}, typeError("string indices must be integers, not 'str'")
	}
	return joinEach(content, func(part py.Value) (py.Value, bool, *exception) {
		kind, e := item(part, "type")
		if e != nil || kind.Text() != "text" {
			return kind, false, e
		}
		t, e := item(part, "text")
		return t, true, e
	})
}

// joinEach joins the texts that pick returns for the elements of v by blanks.
func joinEach(v py.Value, pick func(py.Value) (py.Value, bool, *exception)) (input, *exception) {
	var texts []string
	var exc *exception
	v.Elements(func(_ int, e py.Value) bool {
		t, ok, err := pick(e)
		switch {
		case err != nil:
			exc = err
		case ok && t.Kind() != py.String:
			exc = typeError("sequence item %d: expected str instance, %s found", len(texts), t.PythonType())
		case ok:
			texts = append(texts, t.Text())
		}
		return exc == nil
	})
	if exc != nil {
		return input{none: true}, exc
	}
	return inputOf(strings.Join(texts, " ")), nil
}
