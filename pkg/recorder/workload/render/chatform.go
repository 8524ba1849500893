package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// A chatTurn is a message in the form of a chat, taken apart for a service with another form.
type chatTurn struct {
	raw    json.RawMessage // the message, if it needs no translation; the other fields are then empty
	role   string
	parts  []chatPart
	calls  []chatCall
	callID string // of the result of a tool
	name   string // of the tool
}

// A chatPart is a text, or an image by its URL.
type chatPart struct{ text, image string }

// A chatCall is the call of a function; args is a JSON object.
type chatCall struct {
	id, name string
	args     []byte
}

// chatTurns takes messages apart for a service, whose name is form. Messages that are native stay as they are; a nil native
// means none. A result without the name of its tool gets the name from the call. The error names what has no form there.
func chatTurns(js []byte, form string, native func(json.RawMessage) bool) ([]chatTurn, error) {
	var all []json.RawMessage
	if err := json.Unmarshal(js, &all); err != nil {
		return nil, fmt.Errorf("messages: %w", jsonscan.InWords(err))
	}
	names := map[string]string{} // of the functions, by the id of their call
	turns := make([]chatTurn, 0, len(all))
	for i, raw := range all {
		if native != nil && native(raw) {
			turns = append(turns, chatTurn{raw: raw})
			continue
		}
		t, err := chatTurnOf(raw, form)
		if err != nil {
			return nil, fmt.Errorf("messages[%d]%w", i, err)
		}
		for _, c := range t.calls {
			names[c.id] = c.name
		}
		if t.role == "tool" && t.name == "" {
			t.name = names[t.callID]
		}
		turns = append(turns, t)
	}
	return turns, nil
}

func chatTurnOf(raw json.RawMessage, form string) (t chatTurn, err error) {
	if err := noOther(form, raw, "role", "content", "tool_calls", "tool_call_id", "name"); err != nil {
		return t, err
	}
	var m struct {
		chatMessage
		Name string `json:"name"`
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return t, fmt.Errorf(": %w", jsonscan.InWords(err))
	}
	t = chatTurn{role: m.Role, callID: m.ToolCallID, name: m.Name}
	switch m.Role {
	case "system", "developer", "user", "assistant", "tool":
	default:
		return t, fmt.Errorf(".role: %q cannot be expressed in %s; give system, user, assistant or tool", m.Role, form)
	}
	var text string
	var parts []struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		ImageURL struct {
			URL string `json:"url"`
		} `json:"image_url"`
	}
	switch {
	case isNull(m.Content):
	case json.Unmarshal(m.Content, &text) == nil:
		t.parts = []chatPart{{text: text}}
	case json.Unmarshal(m.Content, &parts) == nil:
		for i, p := range parts {
			switch p.Type {
			case "text":
				t.parts = append(t.parts, chatPart{text: p.Text})
			case "image_url":
				if p.ImageURL.URL == "" {
					return t, fmt.Errorf(".content[%d].image_url: the url is missing", i)
				}
				t.parts = append(t.parts, chatPart{image: p.ImageURL.URL})
			default:
				return t, fmt.Errorf(".content[%d]: type %s cannot be expressed in %s", i, p.Type, form)
			}
		}
	default:
		return t, errors.New(".content: expected a text or a list of parts")
	}
	for i, call := range m.ToolCalls {
		c, err := callOf(form, call)
		if err != nil {
			return t, fmt.Errorf(".tool_calls[%d]: %w", i, err)
		}
		t.calls = append(t.calls, c)
	}
	return t, nil
}

// callOf reads the call of a function.
func callOf(form string, js json.RawMessage) (chatCall, error) {
	var c struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"function"`
	}
	if err := json.Unmarshal(js, &c); err != nil {
		return chatCall{}, jsonscan.InWords(err)
	}
	if c.Type != "" && c.Type != "function" || c.Function.Name == "" {
		return chatCall{}, fmt.Errorf("only calls of functions can be expressed in %s", form)
	}
	arguments := bytes.TrimSpace(c.Function.Arguments)
	var text string
	if json.Unmarshal(arguments, &text) == nil {
		arguments = bytes.TrimSpace([]byte(text))
	}
	if len(arguments) == 0 {
		arguments = []byte("{}")
	}
	if arguments[0] != '{' || !json.Valid(arguments) {
		return chatCall{}, fmt.Errorf("function.arguments: expected a JSON object, found %.40q", arguments)
	}
	return chatCall{c.ID, c.Function.Name, arguments}, nil
}

// text returns the texts of a turn, joined; an image is an error.
func (t *chatTurn) text(form string) (string, error) {
	var texts []string
	for i, p := range t.parts {
		if p.image != "" {
			return "", fmt.Errorf(".content[%d]: an image cannot be expressed in %s here", i, form)
		}
		texts = append(texts, p.text)
	}
	return strings.Join(texts, "\n\n"), nil
}

// promptTurns returns the messages of a conversation or a prompt for a service that has the form of no other; see chatTurns and
// promptTurn.
func promptTurns(p *workload.Prompt, form, service string) ([]chatTurn, error) {
	if p.Messages != nil {
		return chatTurns(p.Messages, form, nil)
	}
	t, err := promptTurn(p, service)
	if p.System == "" {
		return []chatTurn{t}, err
	}
	return []chatTurn{{role: "system", parts: []chatPart{{text: p.System}}}, t}, err
}

// promptTurn returns the user's message of a prompt without messages.
func promptTurn(p *workload.Prompt, service string) (chatTurn, error) {
	t := chatTurn{role: "user"}
	if p.Text == "" && p.IDs != nil {
		return t, errors.New("a message cannot hold token ids; use the completions endpoint")
	}
	urls, err := pictureURLs(p, service)
	if err != nil {
		return t, err
	}
	for _, text := range append([]string{p.Text}, p.More...) {
		if text != "" || len(urls) == 0 {
			t.parts = append(t.parts, chatPart{text: text})
		}
	}
	for _, url := range urls {
		t.parts = append(t.parts, chatPart{image: url})
	}
	return t, nil
}

// inlineData returns the type and the base64 content of a data: URL.
func inlineData(url string) (mediaType, content string, ok bool) {
	rest, inline := strings.CutPrefix(url, "data:")
	mediaType, content, ok = strings.Cut(rest, ";base64,")
	return mediaType, content, inline && ok
}

// A chatFunction is a tool in the form of a chat.
type chatFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      *bool           `json:"strict"`
}

// chatFunctions returns the functions of a list of tools; ok is false if some tool is not in the form of a chat.
func chatFunctions(js []byte) (all []chatFunction, ok bool) {
	var tools []struct {
		Type     string        `json:"type"`
		Function *chatFunction `json:"function"`
	}
	if json.Unmarshal(js, &tools) != nil {
		return nil, false
	}
	for _, t := range tools {
		if t.Function == nil {
			return nil, false
		}
		all = append(all, *t.Function)
	}
	return all, true
}

// chosenFunction returns the name of the function that the tool_choice of a chat asks for; "" for none.
func chosenFunction(js []byte) string {
	var c struct {
		Type     string       `json:"type"`
		Function chatFunction `json:"function"`
	}
	if json.Unmarshal(js, &c) != nil || c.Type != "function" {
		return ""
	}
	return c.Function.Name
}

// serviceSettings are members of a chat request that a service has within another member, by their names there.
type serviceSettings struct {
	member string
	names  map[string]string
}

// move returns the fields of a request with the settings in their member, and the members beside them.
func (s serviceSettings) move(all export.Fields) (within, beside export.Fields) {
	for _, f := range all {
		if name, ok := s.names[f.Name]; ok {
			f.Name = name
			within = append(within, f)
		} else {
			beside = append(beside, f)
		}
	}
	return within, slices.Clip(beside)
}
