package workload

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/pkg/wire/openai"
)

// Map returns the entries of src after change. At calls change each time, so change must
// depend only on the entry and its number k. Errors of change get the entry's position. If src is
// Sessions, so is what Map returns, and calls of change may overlap.
func Map(src Source, change func(k int, e *Entry) error) Source {
	all, ok := src.(Sessions)
	if !ok {
		return mappedSource{src, change}
	}
	var v *sessionView
	v = mapSessions(all, func(k int, _ *Session) func(i int, e *Entry) error {
		first := v.first(k)
		return func(i int, e *Entry) error { return change(first+i, e) }
	})
	return v
}

// A mappedSource is the Source that Map returns.
type mappedSource struct {
	Source
	change func(k int, e *Entry) error
}

// At implements Source.
func (s mappedSource) At(k int) (Entry, error) {
	e, err := s.Source.At(k)
	if err != nil {
		return e, err
	}
	if err := s.change(k, &e); err != nil {
		return e, fmt.Errorf("%s: %w", e.Place(), err)
	}
	return e, nil
}

// errWholeRequest is the error for entries that hold a complete request, not a prompt.
var errWholeRequest = errors.New("is a whole request, which is sent as it is")

// WithOutputLength returns a change for [Map] that sets the output length to draw(k),
// unless the entry has one. exact requests exactly that length.
func WithOutputLength(draw func(k int) int, exact bool) func(k int, e *Entry) error {
	return func(k int, e *Entry) error {
		if e.Prompt == nil || e.Prompt.Body != nil {
			return fmt.Errorf("the length of its answer cannot be set: it %w", errWholeRequest)
		}
		p := *e.Prompt
		if e.Prompt = &p; p.MaxTokens == 0 {
			p.MaxTokens = draw(k)
		}
		p.Exact = exact
		return nil
	}
}

// WithPrefix returns a change for [Map] that puts words in front of each text of a prompt,
// or in front of the first message of a conversation. A server then cannot answer from
// its prefix cache.
func WithPrefix(words func(k int, e *Entry) (string, error)) func(k int, e *Entry) error {
	return func(k int, e *Entry) error {
		if e.Prompt == nil || e.Prompt.Body != nil {
			return fmt.Errorf("it cannot get a prefix: it %w", errWholeRequest)
		}
		if e.Prompt.isIDs() {
			return errors.New("it cannot get a prefix: it holds token ids")
		}
		first, err := words(k, e)
		if err != nil || first == "" {
			return err
		}
		p := *e.Prompt
		e.Prompt, p.IDs = &p, nil
		switch {
		case p.Messages != nil:
			p.Messages, err = prefixMessages(p.Messages, first)
			return err
		case p.System != "":
			p.System = first + " " + p.System
		default:
			p.Text = first + " " + p.Text
		}
		p.More = slices.Clone(p.More)
		for i, text := range p.More {
			p.More[i] = first + " " + text
		}
		return nil
	}
}

// prefixMessages puts words in front of the first message of a conversation.
func prefixMessages(js []byte, words string) ([]byte, error) {
	var messages []json.RawMessage
	var first struct{ Content json.RawMessage }
	err := json.Unmarshal(js, &messages)
	if err == nil && len(messages) > 0 {
		err = json.Unmarshal(messages[0], &first)
	}
	if err != nil || len(messages) == 0 {
		return nil, errors.Join(errors.New("it cannot get a prefix: it is not a conversation"), jsonscan.InWords(err))
	}
	content, err := prefixContent(first.Content, words)
	if err != nil {
		return nil, err
	}
	if messages[0], err = withMember(messages[0], "content", content); err != nil {
		return nil, err
	}
	return marshal(messages)
}

// prefixContent puts words in front of the content of a message, a text or a list of parts.
func prefixContent(js json.RawMessage, words string) (any, error) {
	var text string
	if err := json.Unmarshal(js, &text); err == nil && string(js) != "null" {
		return words + " " + text, nil
	}
	var parts []json.RawMessage
	if err := json.Unmarshal(js, &parts); err != nil || parts == nil {
		return nil, errors.New("it cannot get a prefix: its first message has no text")
	}
	for i, part := range parts {
		var p struct{ Text *string }
		if json.Unmarshal(part, &p) != nil || p.Text == nil {
			continue
		}
		var err error
		parts[i], err = withMember(part, "text", words+" "+*p.Text)
		return parts, err
	}
	before, err := marshal(map[string]string{"type": "text", "text": words})
	return slices.Insert(parts, 0, json.RawMessage(before)), err
}

// marshal is json.Marshal without escapes for HTML, so that given text stays unchanged.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

// withMember returns a JSON object with one member replaced.
func withMember(object []byte, name string, value any) (json.RawMessage, error) {
	js, err := marshal(map[string]any{name: value})
	if err != nil {
		return nil, err
	}
	return openai.MergeRequest(object, js)
}
