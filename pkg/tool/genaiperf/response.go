package genaiperf

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pa-tools/pa/internal/py"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// A response is one entry of response_outputs while it is cleaned.
type response struct {
	recvNS uint64
	raw    string
	// text is the text in raw; it is valid if known is set.
	text  pyText
	known bool
	// run, if it is not nil, is one or several responses in place of this one: each is one event
	// around the text of its value, which is not empty. raw and text are not valid then, and
	// recvNS is of the first one.
	run []export.Response
}

// whole returns raw, and makes it of run first, which is one response. The caller may change raw then.
func (r *response) whole() string {
	if r.run != nil {
		r.raw, r.run = dialect.Joined(dialect.ValueOf(&r.run[0], responseOutput)), nil
	}
	return r.raw
}

// appendText appends the text, which is known.
func (r *response) appendText(b []byte) []byte {
	if r.run == nil {
		return append(b, r.text.text...)
	}
	for i := range r.run {
		text := dialect.ValueOf(&r.run[i], responseOutput).Data
		if !utf8.Valid(text) {
			text = []byte(dialect.Valid(text))
		}
		b = append(b, text...)
	}
	return b
}

// split returns rs with a response for each one of every run. The result is valid until the next request.
func (a *analysis) split(rs []response) []response {
	if !slices.ContainsFunc(rs, func(r response) bool { return len(r.run) > 1 }) {
		return rs
	}
	all := a.single[:0]
	for i := range rs {
		if rs[i].run == nil {
			all = append(all, rs[i])
		}
		for k := range rs[i].run {
			all = append(all, response{recvNS: rs[i].run[k].RecvNS, run: rs[i].run[k : k+1]})
		}
	}
	a.single = all
	return all
}

// times returns the number of responses, the time of the second response, and the time of the last one. There is
// at least one response; without a second one, secondNS is 0.
func times(rs []response) (n int, secondNS, lastNS uint64) {
	for i := range rs {
		run := rs[i].run
		switch {
		case n == 1:
			secondNS = rs[i].recvNS
		case n == 0 && len(run) > 1:
			secondNS = run[1].RecvNS
		}
		n++
		lastNS = rs[i].recvNS
		if k := len(run); k > 1 {
			n += k - 1
			lastNS = run[k-1].RecvNS
		}
	}
	return n, secondNS, lastNS
}

// A pyText is the Python value in the place of a text: a str, None, or a value of
// another type.
type pyText struct {
	text   string
	typ    string // "str", "NoneType", …
	truthy bool
}

func str(s string) pyText { return pyText{s, "str", s != ""} }

// textOf returns v as a text; the zero Value is the default of get, "".
func textOf(v py.Value) pyText {
	switch v.Kind() {
	case py.None:
		return str("")
	case py.String:
		return str(v.Text())
	}
	return pyText{typ: v.PythonType(), truthy: v.Truthy()}
}

// asText returns what item or get found as a text.
func asText(v py.Value, e *exception) (pyText, *exception) { return textOf(v), e }

// strip removes white space from both ends, as Python's str.strip does.
func strip(s string) string {
	return strings.TrimFunc(s, isPythonSpace)
}

func isPythonSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

// withoutPrefix returns the data of an event.
func (r *rules) withoutPrefix(event string) string {
	return strip(strings.TrimPrefix(event, r.prefix))
}

// isOtherField reports whether an event begins with a comment or a field other
// than data.
func isOtherField(event string) bool {
	for _, p := range [...]string{":", "event:", "id:", "retry:"} {
		if strings.HasPrefix(event, p) {
			return true
		}
	}
	return false
}

func isErrorEvent(event string) bool {
	return strings.HasPrefix(event, "event:") && strings.Contains(strings.ToLower(event), "error")
}

// textIn returns the text of a response or of one event in it.
func (r *rules) textIn(event string, f format) (pyText, *exception) {
	if f == formatGenerate && r.text >= text2412 && r.text < text2504 {
		return r.generatedText(event)
	}
	if r.skipsFields && (event == "" || isOtherField(event)) {
		return str(""), nil
	}
	data := r.withoutPrefix(event)
	if data == "[DONE]" && r.text > text2403 {
		return str(""), nil
	}
	t, e := r.textInData(data, f)
	if !t.truthy && r.nullIsEmpty {
		t = str("")
	}
	return t, e
}

// generatedText returns the text of an answer of Triton's generate.
func (r *rules) generatedText(event string) (pyText, *exception) {
	if r.skipsFields && (event == "" || isOtherField(event)) {
		return str(""), nil
	}
	data := r.withoutPrefix(event)
	if data == "" {
		return str(""), nil
	}
	v, e := r.parseJSON(data)
	if e != nil {
		return str(""), e
	}
	return asText(item(v, "text_output"))
}

// textInData returns the text of one response in a format.
func (r *rules) textInData(data string, f format) (pyText, *exception) {
	if r.text >= text2504 {
		switch f {
		case formatGenerate:
			return r.generatedText(data)
		case formatHuggingFace:
			return r.huggingFaceText(data)
		case formatChat, formatMultimodal, formatCompletions:
		default:
			return str(""), valueError("Unknown response format: %s", f.python())
		}
	}
	v, e := r.parseJSON(data)
	if e != nil {
		return str(""), e
	}
	return r.openAIText(v, f)
}

// openAIText returns the text of an OpenAI object.
func (r *rules) openAIText(v py.Value, f format) (pyText, *exception) {
	choice, e := r.choice(v, f)
	if e != nil {
		return str(""), e
	}
	object, hasObject := v.Member("object")
	if r.text >= text2505 && !object.Truthy() {
		hasObject = false
	}
	switch name := object.Text(); {
	case !hasObject && r.text < text2405:
		return str(""), keyError("object")
	case !hasObject:
		return asText(get(choice, "text"))
	case name == "text_completion" && (r.text < text2504 || f == formatCompletions):
		if r.text == text2403 {
			return asText(item(choice, "text"))
		}
		return asText(get(choice, "text"))
	case name == "chat.completion" && (r.text < text2504 || f != formatCompletions):
		m, e := item(choice, "message")
		switch {
		case e != nil:
			return str(""), e
		case r.text < text2405:
			return asText(item(m, "content"))
		}
		return asText(get(m, "content"))
	case name == "chat.completion.chunk" && (r.text < text2504 || f != formatCompletions):
		d, e := item(choice, "delta")
		if e != nil {
			return str(""), e
		}
		return asText(get(d, "content"))
	}
	return str(""), valueError("Unknown OpenAI response object type '%s'.", printed(object))
}

// printed formats a scalar as Python's str does.
func printed(v py.Value) string {
	switch v.Kind() {
	case py.String:
		return v.Text()
	case py.Null:
		return "None"
	case py.Bool:
		return strings.ToUpper(v.Raw()[:1]) + v.Raw()[1:]
	}
	return v.Raw()
}

// choice returns the first of the choices.
func (r *rules) choice(v py.Value, f format) (py.Value, *exception) {
	if r.text >= text2505 && f != formatCompletions {
		choices, e := get(v, "choices")
		if e != nil || choices.Kind() == py.None { // the default: an empty dict
			empty, _ := py.ParseJSON("{}", r.json)
			return empty, e
		}
		return first(choices)
	}
	return at(v, "choices", "[0]")
}

// huggingFaceText returns the text of an answer of Text Generation Inference.
func (r *rules) huggingFaceText(data string) (pyText, *exception) {
	v, e := r.parseJSON(data)
	if e != nil {
		return str(""), e
	}
	if v.Kind() != py.List {
		return str(""), valueError("Unknown HuggingFace response type: <class '%s'>", v.PythonType())
	}
	one, ok := v.First()
	switch {
	case !ok:
		return str(""), nil
	case one.Kind() != py.Dict:
		return str(""), valueError("Unknown HuggingFace response type in list: <class '%s'>", one.PythonType())
	}
	return asText(get(one, "generated_text"))
}

// python returns the name that Python prints for the format.
func (f format) python() string {
	return "ResponseFormat." + [...]string{
		formatUnknown: "UNKNOWN", formatChat: "OPENAI_CHAT_COMPLETIONS", formatCompletions: "OPENAI_COMPLETIONS",
		formatEmbeddings: "OPENAI_EMBEDDINGS", formatMultimodal: "OPENAI_MULTIMODAL", formatRankings: "RANKINGS",
		formatImages: "IMAGE_RETRIEVAL", formatGenerate: "TRITON_GENERATE", formatHuggingFace: "HUGGINGFACE_GENERATE",
	}[f]
}
