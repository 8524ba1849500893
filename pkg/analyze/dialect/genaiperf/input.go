package genaiperf

import (
	"strings"

	"github.com/pa-tools/pa/internal/pyjson"
	"github.com/pa-tools/pa/pkg/analyze/dialect/explain"
	"github.com/pa-tools/pa/pkg/export"
)

// What transformers and tokenizers say to what is no text.
var (
	errTextInput = &exception{"TypeError", "TextEncodeInput must be Union[TextInputSequence, Tuple[InputSequence, InputSequence]]"}
	errTextType  = &exception{
		"ValueError",
		"text input must be of type `str` (single example), `List[str]` (batch or single pretokenized example) or `List[List[str]]` (batch of pretokenized examples).",
	}
)

// An input is what of a request's inputs is counted as tokens.
type input struct {
	text string
	// second is the other text of a pair, which a list of two texts is.
	second string
	// number is the count where no text is counted: of token ids, or of a list
	// taken for a batch. -1 where there is a text.
	number int
	// none: there is nothing that could be counted.
	none bool
}

func inputOf(text string) input { return input{text: text, number: -1} }

// input returns what is counted of a request. After an exception it is what
// most resembles it.
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
		case ids.Kind() == pyjson.List:
			return input{number: ids.Len()}, nil
		case ids.Kind() == pyjson.String:
			return input{number: len([]rune(ids.Text()))}, nil
		}
		return input{number: 1}, typeError("object of type '%s' has no len()", ids.PythonType())
	case "openai":
		v, ok := q.Inputs.Get("payload")
		if !ok {
			return input{none: true}, keyError("payload")
		}
		payload, e := a.rules.parseJSON(text(v))
		if e != nil {
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
	var all []string
	gather(list, &all)
	return inputOf(strings.Join(all, " ")), errTextInput
}

// batch returns what is counted of something that is no text where the
// tokenizer is called with it: of a list of texts their number.
func batch(v pyjson.Value) (input, *exception) {
	all := input{number: v.Len()}
	if one, _ := v.First(); v.Kind() != pyjson.List || one.Kind() != pyjson.String && all.number > 0 {
		var texts []string
		gather(v, &texts)
		return inputOf(strings.Join(texts, " ")), errTextType
	}
	var e *exception
	v.Elements(func(_ int, one pyjson.Value) bool {
		if one.Kind() != pyjson.String {
			e = errTextInput
		}
		return e == nil
	})
	return all, e
}

// value returns a value of the export as Python sees it.
func (a *analysis) value(v export.Value) (pyjson.Value, *exception) {
	if v.Text {
		return a.rules.parseJSON(string(pyjson.AppendString(nil, text(v))))
	}
	return a.rules.parseJSON(text(v))
}

// text returns the content of v as Python reads it: bytes that are no UTF-8 are
// left out.
func text(v export.Value) string { return strings.ToValidUTF8(string(v.Data), "") }

// payload returns what is counted of the body of a request.
func (a *analysis) payload(p pyjson.Value) (input, *exception) {
	in, e := a.payloadText(p)
	if e == nil || !in.none {
		return in, e
	}
	for _, name := range [...]string{"messages", "prompt", "text_input", "inputs", "input"} {
		if v, ok := p.Member(name); ok {
			var all []string
			gather(v, &all)
			return inputOf(strings.Join(all, " ")), e
		}
	}
	return in, e
}

// gather collects the texts of messages, content parts or prompts.
func gather(v pyjson.Value, all *[]string) {
	switch v.Kind() {
	case pyjson.String:
		*all = append(*all, v.Text())
	case pyjson.List:
		v.Elements(func(_ int, e pyjson.Value) bool {
			gather(e, all)
			return true
		})
	case pyjson.Dict:
		for _, name := range [...]string{"content", "text"} {
			if m, ok := v.Member(name); ok {
				gather(m, all)
			}
		}
	}
}

// payloadText is payload by the letter: after an exception there is none.
func (a *analysis) payloadText(p pyjson.Value) (input, *exception) {
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
		if e == nil && v.Kind() != pyjson.String {
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
		m, e := first(messages)
		if e != nil {
			return none, e
		}
		content, e := item(m, "content")
		switch {
		case e != nil:
			return none, e
		case a.format == formatMultimodal:
			return joinParts(content)
		case content.Kind() != pyjson.String && a.rules.prompt <= promptBatch:
			return batch(content)
		case content.Kind() != pyjson.String:
			return none, errTextInput
		}
		return inputOf(content.Text()), nil
	}
	return none, valueError("Failed to parse request input in profile export file.")
}

// prompt returns what is counted of the prompt of a completion.
func (a *analysis) prompt(v pyjson.Value) (input, *exception) {
	if v.Kind() == pyjson.String {
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
		case e.Kind() != pyjson.String:
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

// pair returns what is counted of a list where one text belongs: two texts are
// taken for a pair.
func pair(v pyjson.Value) (input, *exception) {
	in := input{number: -1}
	if v.Kind() != pyjson.List || v.Len() != 2 {
		return input{none: true}, errTextInput
	}
	for i, to := range [...]*string{&in.text, &in.second} {
		v.Elements(func(k int, e pyjson.Value) bool {
			if k == i {
				*to = e.Text()
			}
			in.none = in.none || e.Kind() != pyjson.String
			return true
		})
	}
	if in.none {
		return input{none: true}, errTextInput
	}
	return in, nil
}

// join is " ".join(v): of a string a blank between every two characters.
func join(v pyjson.Value) (input, *exception) {
	switch v.Kind() {
	case pyjson.String:
		s := v.Text()
		b := make([]byte, 0, 2*len(s))
		for i, c := range s {
			if i > 0 {
				b = append(b, ' ')
			}
			b = append(b, string(c)...)
		}
		return inputOf(string(b)), nil
	case pyjson.List:
		return joinEach(v, func(e pyjson.Value) (pyjson.Value, bool, *exception) { return e, true, nil })
	}
	return input{none: true}, typeError("can only join an iterable")
}

// joinContents joins the contents of all messages.
func joinContents(messages pyjson.Value) (input, *exception) {
	return joinEach(messages, func(m pyjson.Value) (pyjson.Value, bool, *exception) {
		c, e := item(m, "content")
		return c, true, e
	})
}

// joinParts joins the texts of a message's parts.
func joinParts(content pyjson.Value) (input, *exception) {
	if content.Kind() != pyjson.List {
		return input{none: true}, typeError("string indices must be integers, not 'str'")
	}
	return joinEach(content, func(part pyjson.Value) (pyjson.Value, bool, *exception) {
		kind, e := item(part, "type")
		if e != nil || kind.Text() != "text" {
			return kind, false, e
		}
		t, e := item(part, "text")
		return t, true, e
	})
}

// joinEach joins what pick takes out of the elements of v by blanks.
func joinEach(v pyjson.Value, pick func(pyjson.Value) (pyjson.Value, bool, *exception)) (input, *exception) {
	var texts []string
	var exc *exception
	v.Elements(func(_ int, e pyjson.Value) bool {
		t, ok, err := pick(e)
		switch {
		case err != nil:
			exc = err
		case ok && t.Kind() != pyjson.String:
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
