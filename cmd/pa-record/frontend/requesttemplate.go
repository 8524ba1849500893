package frontend

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Placeholders of --request-template.
const (
	placeholderModel       = "{{model}}"
	placeholderPrompt      = "{{prompt}}"
	placeholderTexts       = "{{texts}}"
	placeholderMessages    = "{{messages}}"
	placeholderContent     = "{{content}}"
	placeholderInputs      = "{{inputs}}"
	placeholderPictures    = "{{pictures}}"
	placeholderMarkdown    = "{{markdown}}"
	placeholderQuery       = "{{query}}"
	placeholderPassages    = "{{passages}}"
	placeholderDocuments   = "{{documents}}"
	placeholderMaxTokens   = "{{max_tokens}}"
	placeholderInputIDs    = "{{input_ids}}"
	placeholderInputLength = "{{input_length}}"
)

// A requestTemplate builds the JSON object of --request-template, whose placeholders
// differ from request to request. Members keep the order in which they were first
// set, as in a Python dictionary.
type requestTemplate struct {
	names  []string
	values map[string]json.RawMessage
}

// set sets a member. Text from the user must go through literal first, which
// escapes what looks like a placeholder.
func (t *requestTemplate) set(name string, value any) {
	raw, ok := value.(json.RawMessage)
	if !ok {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(value); err != nil {
			panic(err) // values of this package
		}
		raw = bytes.TrimSpace(b.Bytes())
	}
	if t.values == nil {
		t.values = map[string]json.RawMessage{}
	}
	if !slices.Contains(t.names, name) {
		t.names = append(t.names, name)
	}
	t.values[name] = raw
}

// has reports whether the member is set.
func (t *requestTemplate) has(name string) bool { return slices.Contains(t.names, name) }

// String returns the JSON object.
func (t *requestTemplate) String() string {
	var b strings.Builder
	for i, name := range t.names {
		b.WriteByte("{,"[min(i, 1)])
		key, err := json.Marshal(name)
		if err != nil {
			panic(err) // a string
		}
		fmt.Fprintf(&b, "%s:%s", key, t.values[name])
	}
	return b.String() + "}"
}

// literal escapes a JSON value so that no part of it reads as a placeholder.
func literal(raw []byte) json.RawMessage {
	return bytes.ReplaceAll(raw, []byte("{{"), []byte("{{{{"))
}

// literalText returns s as a JSON string, escaped by literal.
func literalText(s string) json.RawMessage {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string
	}
	return literal(raw)
}

// array returns a JSON array that holds one value.
func array(raw json.RawMessage) json.RawMessage {
	return slices.Concat(json.RawMessage{'['}, raw, json.RawMessage{']'})
}
