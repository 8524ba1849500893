package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/workload"
	"github.com/pa-tools/pa/pkg/wire/openai"
)

// defaultMaxTokens is the length of the answer that a request to v1/messages asks for if nothing else says one, because
// it must ask for one.
const defaultMaxTokens = 1024

const anthropicForm = "Anthropic Messages"

// messages writes a request to v1/messages, Anthropic Messages:
//
//	{"model": M, "system": "…", "messages": […], "stream": true, "max_tokens": N, "min_tokens": N, "ignore_eos": true}
//
// The last two request an exact length from vLLM. Its streams always end with token counts. Messages in the form of a chat
// are translated: see anthropicMessages.
func (b *object) messages(p *workload.Prompt, o Options) error {
	b.model(o)
	if p.Messages != nil {
		system, messages, err := anthropicMessages(p.Messages)
		if err != nil {
			return err
		}
		if system != nil {
			b.raw("system", system)
		}
		b.raw("messages", messages)
	} else {
		if p.System != "" {
			b.text("system", p.System)
		}
		messages, err := userMessage(p)
		if err != nil {
			return err
		}
		b.raw("messages", messages)
	}
	if o.Stream {
		b.flag("stream")
	}
	b.length(lengthField(p, o, Messages), p)
	return nil
}

// userMessage returns a list of one message, the prompt.
func userMessage(p *workload.Prompt) ([]byte, error) {
	if p.Text == "" && p.IDs != nil {
		return nil, errors.New("a message cannot hold token ids; use the completions endpoint")
	}
	out := []byte(`[{"role":"user","content":`)
	if len(p.More) == 0 && len(p.Media) == 0 {
		return append(append(out, quote(p.Text)...), "}]"...), nil
	}
	out = append(out, '[')
	for _, t := range append([]string{p.Text}, p.More...) {
		if t != "" || len(p.Media) == 0 {
			out = appendPart(out, textBlock(t))
		}
	}
	urls, err := pictureURLs(p, "messages")
	if err != nil {
		return nil, err
	}
	for _, url := range urls {
		block, err := imageBlock(url)
		if err != nil {
			return nil, err
		}
		out = appendPart(out, block)
	}
	return append(out, "]}]"...), nil
}

func textBlock(text string) []byte {
	return append(append([]byte(`{"type":"text","text":`), quote(text)...), '}')
}

// imageBlock returns an image by its URL: the content of a data: URL, the URL itself of others.
func imageBlock(url string) ([]byte, error) {
	rest, inline := strings.CutPrefix(url, "data:")
	if !inline {
		return append(append([]byte(`{"type":"image","source":{"type":"url","url":`), quote(url)...), "}}"...), nil
	}
	kind, content, ok := strings.Cut(rest, ";base64,")
	if !ok {
		return nil, errors.New("an image in a data: URL must be in base64")
	}
	return fmt.Appendf(nil, `{"type":"image","source":{"type":"base64","media_type":%s,"data":%s}}`, quote(kind), quote(content)), nil
}

// A chatMessage holds the members of a message that differ between a chat and Anthropic Messages.
type chatMessage struct {
	Role       string            `json:"role"`
	Content    json.RawMessage   `json:"content"`
	ToolCalls  []json.RawMessage `json:"tool_calls"`
	ToolCallID string            `json:"tool_call_id"`
}

// chatOnly are members of a message that only chats have.
var chatOnly = []string{"tool_calls", "tool_call_id", "function_call", "refusal", "reasoning", "reasoning_content", "audio"}

// chatParts are the types of parts that only chats have.
var chatParts = []string{"image_url", "input_audio", "audio_url", "video_url", "file", "refusal"}

// anthropicMessages returns a list of messages in the form of Anthropic, with the system instructions before them; nil
// for none. Messages in that form stay as they are. Of messages in the form of a chat it translates the plain ones: instructions
// in front, texts, images, calls of functions, and the results of tools. Results that follow each other become one
// message. The error names what has no other form.
func anthropicMessages(js []byte) (system, messages []byte, err error) {
	var all []json.RawMessage
	if err := json.Unmarshal(js, &all); err != nil {
		return nil, nil, fmt.Errorf("messages: %w", err)
	}
	if !slices.ContainsFunc(all, isChat) {
		return nil, js, nil
	}
	out := []byte{'['}
	results := false // the last message of out is open, and holds results of tools
	var instructions []string
	for i, raw := range all {
		var m chatMessage
		if err := json.Unmarshal(raw, &m); err != nil {
			return nil, nil, fmt.Errorf("messages[%d]: %w", i, err)
		}
		if results && m.Role != "tool" {
			out, results = append(out, "]}"...), false
		}
		var block []byte
		switch {
		case m.Role == "system" || m.Role == "developer":
			if len(out) > 1 {
				return nil, nil, fmt.Errorf("messages[%d]: role %s after other messages cannot be expressed in Anthropic Messages", i, m.Role)
			}
			var text string
			text, err = plainContent(m.Content)
			instructions = append(instructions, text)
		case m.Role == "tool":
			if block, err = toolResult(raw, &m); err == nil {
				if !results {
					out, results = appendPart(out, []byte(`{"role":"user","content":[`)), true
				}
				out = appendPart(out, block)
			}
		case !isChat(raw):
			out = appendPart(out, raw)
		default:
			if block, err = translated(raw, &m); err == nil {
				out = appendPart(out, block)
			}
		}
		if err != nil {
			return nil, nil, fmt.Errorf("messages[%d]%w", i, err)
		}
	}
	if results {
		out = append(out, "]}"...)
	}
	if len(instructions) > 0 {
		system = quote(strings.Join(instructions, "\n\n"))
	}
	return system, append(out, ']'), nil
}

// isChat reports whether a message has the form of a chat, and not of Anthropic.
func isChat(message json.RawMessage) bool {
	var m struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(message, &m) != nil || json.Unmarshal(message, &members) != nil {
		return false // refused by the server
	}
	if m.Role != "user" && m.Role != "assistant" || isNull(m.Content) {
		return true
	}
	for _, name := range chatOnly {
		if !isNull(members[name]) {
			return true
		}
	}
	var parts []struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(m.Content, &parts) != nil {
		return false
	}
	for _, p := range parts {
		if slices.Contains(chatParts, p.Type) {
			return true
		}
	}
	return false
}

// isNull reports whether a member is missing, null, or empty.
func isNull(js json.RawMessage) bool {
	switch string(bytes.TrimSpace(js)) {
	case "", "null", `""`, "[]":
		return true
	}
	return false
}

// noOther returns an error if a message has other members than these. Its text begins with the place in the message.
func noOther(form string, message json.RawMessage, names ...string) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(message, &members); err != nil {
		return fmt.Errorf(": %w", err)
	}
	var others []string
	for name, value := range members {
		if !isNull(value) && !slices.Contains(names, name) {
			others = append(others, name)
		}
	}
	if len(others) > 0 {
		slices.Sort(others)
		return fmt.Errorf(".%s cannot be expressed in %s; drop it", others[0], form)
	}
	return nil
}

// translated returns a message of a user or an assistant.
func translated(raw json.RawMessage, m *chatMessage) ([]byte, error) {
	if m.Role != "user" && m.Role != "assistant" {
		return nil, fmt.Errorf(": role %q cannot be expressed in Anthropic Messages", m.Role)
	}
	if err := noOther(anthropicForm, raw, "role", "content", "tool_calls"); err != nil {
		return nil, err
	}
	out := append(append([]byte(`{"role":`), quote(m.Role)...), `,"content":[`...)
	var text string
	var parts []json.RawMessage
	switch {
	case isNull(m.Content):
	case json.Unmarshal(m.Content, &text) == nil:
		out = appendPart(out, textBlock(text))
	case json.Unmarshal(m.Content, &parts) == nil:
		for i, part := range parts {
			block, err := translatedPart(part)
			if err != nil {
				return nil, fmt.Errorf(".content[%d]: %w", i, err)
			}
			out = appendPart(out, block)
		}
	default:
		return nil, errors.New(".content: expected a text or a list of parts")
	}
	for i, call := range m.ToolCalls {
		block, err := toolUse(call)
		if err != nil {
			return nil, fmt.Errorf(".tool_calls[%d]: %w", i, err)
		}
		out = appendPart(out, block)
	}
	return append(out, "]}"...), nil
}

// translatedPart returns a part of a content as a block.
func translatedPart(part json.RawMessage) ([]byte, error) {
	var p struct {
		Type     string `json:"type"`
		ImageURL struct {
			URL string `json:"url"`
		} `json:"image_url"`
	}
	switch err := json.Unmarshal(part, &p); {
	case err != nil:
		return nil, err
	case p.Type == "image_url":
		return imageBlock(p.ImageURL.URL)
	case slices.Contains(chatParts, p.Type):
		return nil, fmt.Errorf("type %s cannot be expressed in Anthropic Messages", p.Type)
	}
	return part, nil
}

// toolUse returns the call of a function.
func toolUse(call json.RawMessage) ([]byte, error) {
	c, err := callOf(anthropicForm, call)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, `{"type":"tool_use","id":%s,"name":%s,"input":%s}`, quote(c.id), quote(c.name), c.args), nil
}

// toolResult returns the result of a tool.
func toolResult(raw json.RawMessage, m *chatMessage) ([]byte, error) {
	if err := noOther(anthropicForm, raw, "role", "content", "tool_call_id", "name"); err != nil {
		return nil, err
	}
	if m.ToolCallID == "" {
		return nil, errors.New(".tool_call_id: missing, and Anthropic Messages need it")
	}
	text, err := plainContent(m.Content)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, `{"type":"tool_result","tool_use_id":%s,"content":%s}`, quote(m.ToolCallID), quote(text)), nil
}

// plainContent returns the text of a content without other parts.
func plainContent(content json.RawMessage) (string, error) {
	var text string
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if isNull(content) || json.Unmarshal(content, &text) == nil {
		return text, nil
	}
	if json.Unmarshal(content, &parts) != nil {
		return "", errors.New(".content: expected a text or a list of parts")
	}
	var texts []string
	for i, p := range parts {
		if p.Type != "text" {
			return "", fmt.Errorf(".content[%d]: type %q cannot be expressed in Anthropic Messages here", i, p.Type)
		}
		texts = append(texts, p.Text)
	}
	return strings.Join(texts, "\n\n"), nil
}

// anthropicExtra returns the further members of a request, with tools, tool_choice and stop in the form of Anthropic. Members in
// that form, and all others, stay as they are.
func anthropicExtra(extra export.Fields) (export.Fields, error) {
	out := slices.Clone(extra)
	for i := range out {
		f := &out[i]
		var js []byte
		var err error
		switch f.Name {
		case "tools":
			js, err = anthropicTools(f.Value.Data)
		case "tool_choice":
			js, err = toolChoice(f.Value.Data)
		case "stop":
			f.Name = "stop_sequences"
			if js = f.Value.Data; len(bytes.TrimSpace(js)) > 0 && bytes.TrimSpace(js)[0] == '"' {
				js = slices.Concat([]byte{'['}, js, []byte{']'})
			}
		default:
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s%w", f.Name, err)
		}
		f.Value = export.Value{Data: js}
	}
	return out, nil
}

// anthropicTools returns a list of tools.
func anthropicTools(js []byte) ([]byte, error) {
	var all []json.RawMessage
	if json.Unmarshal(js, &all) != nil {
		return js, nil // the server says what it thinks of it
	}
	out := []byte{'['}
	for i, raw := range all {
		var t struct {
			Function json.RawMessage `json:"function"`
		}
		if json.Unmarshal(raw, &t) != nil || isNull(t.Function) {
			out = appendPart(out, raw)
			continue
		}
		if err := noOther(anthropicForm, raw, "type", "function"); err != nil {
			return nil, fmt.Errorf("[%d]%w", i, err)
		}
		if err := noOther(anthropicForm, t.Function, "name", "description", "parameters", "strict"); err != nil {
			return nil, fmt.Errorf("[%d].function%w", i, err)
		}
		var f struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
			Strict      bool            `json:"strict"`
		}
		if err := json.Unmarshal(t.Function, &f); err != nil {
			return nil, fmt.Errorf("[%d].function: %w", i, err)
		}
		var tool object
		tool.text("name", f.Name)
		if f.Description != "" {
			tool.text("description", f.Description)
		}
		if isNull(f.Parameters) {
			f.Parameters = []byte(`{"type":"object","properties":{}}`)
		}
		tool.raw("input_schema", f.Parameters)
		if f.Strict {
			tool.flag("strict")
		}
		out = appendPart(out, tool.close())
	}
	return append(out, ']'), nil
}

// toolChoice returns which tool must be called.
func toolChoice(js []byte) ([]byte, error) {
	var name string
	if json.Unmarshal(js, &name) == nil {
		switch name {
		case "auto", "none":
			return []byte(`{"type":"` + name + `"}`), nil
		case "required":
			return []byte(`{"type":"any"}`), nil
		}
		return nil, fmt.Errorf(": %q cannot be expressed in Anthropic Messages; give auto, none, required, or an object", name)
	}
	var choice struct {
		Type     string `json:"type"`
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	if json.Unmarshal(js, &choice) == nil && choice.Type == "function" {
		return fmt.Appendf(nil, `{"type":"tool","name":%s}`, quote(choice.Function.Name)), nil
	}
	return js, nil
}

// WithLength returns the body of a request with defaultMaxTokens if it asks for no length of the answer.
func WithLength(body []byte) ([]byte, error) {
	var b struct {
		MaxTokens json.RawMessage `json:"max_tokens"`
	}
	if err := json.Unmarshal(body, &b); err != nil || b.MaxTokens != nil {
		return body, nil //nolint:nilerr // the merge of the other members says what is wrong
	}
	return openai.MergeRequest(body, fmt.Appendf(nil, `{"max_tokens":%d}`, defaultMaxTokens))
}

// LengthNote returns the note that requests ask for defaultMaxTokens; "" if the API needs no length, or the first entries of src
// say one.
func LengthNote(api API, src workload.Source) string {
	const most = 1000
	if api != Messages {
		return ""
	}
	for k := range min(src.Len(), most) {
		e, err := src.At(k)
		if err != nil {
			return "" // the recorder reports it
		}
		if e.Prompt == nil || e.Prompt.Body != nil || e.Prompt.MaxTokens > 0 { // few whole requests have no length, and a server may say so
			continue
		}
		if _, own := e.Prompt.Extra.Get("max_tokens"); !own {
			return fmt.Sprintf("requests without a length of the answer ask for max_tokens %d, because the endpoint needs one; --output-tokens N sets another", defaultMaxTokens)
		}
	}
	return ""
}
