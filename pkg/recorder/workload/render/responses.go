package render

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

const responsesForm = "v1/responses"

// responses writes a request to v1/responses:
//
//	{"model": M, "instructions": "…", "input": "…", "stream": true, "max_output_tokens": N}
//
// Its streams always end with token counts. Messages in the form of a chat become items: see responsesItems.
func (b *object) responses(p *workload.Prompt, o Options) error {
	b.model(o)
	if p.Messages != nil {
		items, err := responsesItems(p.Messages)
		if err != nil {
			return err
		}
		b.raw("input", items)
	} else {
		if p.System != "" {
			b.text("instructions", p.System)
		}
		t, err := promptTurn(p, "responses")
		if err != nil {
			return err
		}
		if len(p.Media) > 0 {
			b.raw("input", append(appendPart([]byte{'['}, t.responsesMessage()), ']'))
		} else {
			b.text("input", strings.Join(append([]string{p.Text}, p.More...), " "))
		}
	}
	if o.Stream {
		b.flag("stream")
	}
	if p.MaxTokens > 0 {
		b.number(lengthField(p, o, Responses), p.MaxTokens)
	}
	return nil
}

// responsesItems returns messages as items of v1/responses. Items, and messages of texts, stay as they are. Texts, images, calls
// of functions and results of tools of a chat are translated.
func responsesItems(js []byte) ([]byte, error) {
	turns, err := chatTurns(js, responsesForm, isItem)
	if err != nil {
		return nil, err
	}
	out := []byte{'['}
	for i := range turns {
		switch t := &turns[i]; {
		case t.raw != nil:
			out = appendPart(out, t.raw)
		case t.role == "tool":
			text, err := t.text(responsesForm)
			if err != nil {
				return nil, fmt.Errorf("messages[%d]%w", i, err)
			}
			out = appendPart(out, fmt.Appendf(nil, `{"type":"function_call_output","call_id":%s,"output":%s}`, quote(t.callID), quote(text)))
		default:
			if len(t.parts) > 0 {
				out = appendPart(out, t.responsesMessage())
			}
			for _, c := range t.calls {
				out = appendPart(out, fmt.Appendf(nil, `{"type":"function_call","call_id":%s,"name":%s,"arguments":%s}`, quote(c.id), quote(c.name), quote(string(c.args))))
			}
		}
	}
	return append(out, ']'), nil
}

// isItem reports whether a message is an item of v1/responses, or has the same form in chats.
func isItem(message json.RawMessage) bool {
	var m struct {
		Type    string          `json:"type"`
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(message, &m) != nil || json.Unmarshal(message, &members) != nil {
		return false
	}
	if m.Type != "" && m.Type != "message" {
		return true
	}
	if m.Role == "tool" || isNull(m.Content) && !isNull(members["tool_calls"]) {
		return false
	}
	for _, name := range chatOnly {
		if !isNull(members[name]) {
			return false
		}
	}
	var parts []struct {
		Type string `json:"type"`
	}
	_ = json.Unmarshal(m.Content, &parts)
	for _, p := range parts {
		if !strings.HasPrefix(p.Type, "input_") && !strings.HasPrefix(p.Type, "output_") || p.Type == "input_audio" {
			return false
		}
	}
	return true
}

// responsesMessage returns a message with its texts and images as parts.
func (t *chatTurn) responsesMessage() []byte {
	kind := "input_text"
	if t.role == "assistant" {
		kind = "output_text"
	}
	out := fmt.Appendf(nil, `{"role":%s,"content":`, quote(t.role))
	if len(t.parts) == 1 && t.parts[0].image == "" {
		return append(append(out, quote(t.parts[0].text)...), '}')
	}
	out = append(out, '[')
	for _, p := range t.parts {
		if p.image != "" {
			out = appendPart(out, fmt.Appendf(nil, `{"type":"input_image","image_url":%s}`, quote(p.image)))
		} else {
			out = appendPart(out, fmt.Appendf(nil, `{"type":"%s","text":%s}`, kind, quote(p.text)))
		}
	}
	return append(out, "]}"...)
}

// responsesExtra returns the further members of a request, with the tools and the tool_choice of a chat in the form of v1/responses.
func responsesExtra(extra export.Fields) export.Fields {
	out := append(export.Fields{}, extra...)
	for i := range out {
		f := &out[i]
		switch f.Name {
		case "tools":
			all, ok := chatFunctions(f.Value.Data)
			if !ok {
				continue
			}
			list := []byte{'['}
			for _, t := range all {
				var tool object
				tool.text("type", "function")
				tool.function(t)
				if t.Strict != nil {
					tool.raw("strict", fmt.Append(nil, *t.Strict))
				}
				list = appendPart(list, tool.close())
			}
			f.Value = export.Value{Data: append(list, ']')}
		case "tool_choice":
			if name := chosenFunction(f.Value.Data); name != "" {
				f.Value = export.Value{Data: fmt.Appendf(nil, `{"type":"function","name":%s}`, quote(name))}
			}
		}
	}
	return out
}

// function writes name, description and parameters of a function.
func (b *object) function(f chatFunction) {
	b.text("name", f.Name)
	if f.Description != "" {
		b.text("description", f.Description)
	}
	if !isNull(f.Parameters) {
		b.raw("parameters", f.Parameters)
	}
}
