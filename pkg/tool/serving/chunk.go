package serving

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/pa-tools/pa/internal/py"
	measures "github.com/pa-tools/pa/pkg/answer"
)

// A chunk is the JSON of an event. Its methods access members as a Python program does,
// and return the exception that Python would raise.
type chunk struct{ v py.Value }

// Exceptions, in Python's words.
var (
	errNoAttribute = errors.New("AttributeError: the event is no JSON object")
	errIndex       = errors.New("IndexError: list index out of range")
	errNotText     = errors.New("TypeError: can only concatenate str to str")
)

func errKey(name string) error { return fmt.Errorf("KeyError: '%s'", name) }

// parseChunk reads the text of an event.
func parseChunk(text string) (chunk, error) {
	v, err := py.ParseJSON(text, py.JSON)
	if err != nil {
		return chunk{}, fmt.Errorf("JSONDecodeError: %w", err)
	}
	if v.Kind() != py.Dict {
		return chunk{}, errNoAttribute
	}
	return chunk{v}, nil
}

// choice returns data.get("choices")[0]; ok is false if there are no choices.
func (c chunk) choice() (first chunk, ok bool, e error) {
	all, _ := c.v.Member("choices")
	if !all.Truthy() {
		return chunk{}, false, nil
	}
	v, found := all.First()
	switch {
	case all.Kind() == py.Dict:
		return chunk{}, false, errKey("0")
	case !found:
		return chunk{}, false, errNoAttribute
	case v.Kind() != py.Dict:
		return chunk{}, false, errNoAttribute
	}
	return chunk{v}, true, nil
}

// text returns x.get(name) or "".
func (c chunk) text(name string) (string, error) {
	v, _ := c.v.Member(name)
	switch {
	case !v.Truthy():
		return "", nil
	case v.Kind() != py.String:
		return "", errNotText
	}
	return v.Text(), nil
}

// truthy reports whether x.get(name) is true.
func (c chunk) truthy(name string) bool {
	v, _ := c.v.Member(name)
	return v.Truthy()
}

// usage returns the token counts of data.get("usage"); ok is false without usage. A
// missing count is −1.
func (c chunk) usage() (prompt, completion int64, ok bool, e error) {
	u, _ := c.v.Member("usage")
	if !u.Truthy() {
		return -1, -1, false, nil
	}
	if u.Kind() != py.Dict {
		return -1, -1, false, errNoAttribute
	}
	return count(u, "prompt_tokens"), count(u, "completion_tokens"), true, nil
}

// decoded returns the server's number of tokens per iteration.
func (c chunk) decoded() (v py.Value, ok bool) {
	first, _, _ := c.choice()
	return first.v.Member("avg_decoded_tokens_per_iter")
}

// count returns a member that is a whole number of 0 or more and can be a number of tokens; else −1.
func count(v py.Value, name string) int64 {
	m, _ := v.Member(name)
	n, err := strconv.ParseInt(m.Raw(), 10, 64)
	if err != nil || !measures.PossibleTokens(n) {
		return -1
	}
	return n
}

// anyChoice reports that every event with choices is a token event of a completion,
// also with an empty text.
func anyChoice(data chunk) (bool, string, error) {
	c, ok, e := data.choice()
	if !ok {
		return false, "", e
	}
	t, e := c.text("text")
	return true, t, e
}

// anyDelta reports that every event with choices is a token event of a chat, also with
// only a role or a finish reason.
func anyDelta(data chunk) (bool, string, error) {
	c, ok, e := data.choice()
	if !ok {
		return false, "", e
	}
	d, there := c.v.Member("delta")
	switch {
	case !there:
		return false, "", errKey("delta")
	case d.Kind() != py.Dict:
		return false, "", errNoAttribute
	}
	t, e := chunk{d}.text("content")
	return true, t, e
}

// streamedDelta reports that a delta is a token event of a chat if it has content,
// reasoning or calls, or an empty content without a role, which is a token without
// text. The text is the content.
func streamedDelta(data chunk) (bool, string, error) {
	c, ok, e := data.choice()
	if !ok {
		return false, "", e
	}
	v, _ := c.v.Member("delta")
	if v.Kind() != py.Dict {
		return false, "", nil
	}
	d := chunk{v}
	if !d.truthy("content") && !d.truthy("reasoning") && !d.truthy("tool_calls") && !d.truthy("function_call") {
		content, _ := v.Member("content")
		_, role := v.Member("role")
		if content.Kind() != py.String || role {
			return false, "", nil
		}
	}
	t, e := d.text("content")
	return true, t, e
}

// anyText reports that an event with text is a token event of a completion. An event
// without choices is an exception.
func anyText(data chunk) (bool, string, error) {
	all, there := data.v.Member("choices")
	if !there {
		return false, "", errKey("choices")
	}
	if all.Kind() == py.List && all.Len() == 0 {
		return false, "", errIndex
	}
	c, ok, e := data.choice()
	if e != nil || !ok {
		return false, "", errors.Join(e, errIndex)
	}
	if _, there := c.v.Member("text"); !there {
		return false, "", errKey("text")
	}
	t, e := c.text("text")
	return t != "", t, e
}

// anyContent reports that a delta with reasoning or content is a token event of a chat.
// The text is both.
func anyContent(data chunk) (bool, string, error) {
	c, ok, e := data.choice()
	if !ok {
		return false, "", e
	}
	v, _ := c.v.Member("delta")
	if !v.Truthy() {
		return false, "", nil
	}
	if v.Kind() != py.Dict {
		return false, "", errNoAttribute
	}
	t, e := combined(chunk{v})
	return t != "", t, e
}

// combined returns the text of a message for SGLang's tool: reasoning, then content.
func combined(m chunk) (string, error) {
	name := "reasoning_content"
	if !m.truthy(name) {
		name = "reasoning"
	}
	reasoning, e := m.text(name)
	if e != nil {
		return "", e
	}
	content, e := m.text("content")
	return reasoning + content, e
}
