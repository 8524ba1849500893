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
)

const geminiForm = "Gemini"

// geminiSettings are the settings that Gemini reads from "generationConfig" only.
var geminiSettings = serviceSettings{"generationConfig", map[string]string{
	"temperature": "temperature", "top_p": "topP", "top_k": "topK", "seed": "seed", "stop": "stopSequences",
	"frequency_penalty": "frequencyPenalty", "presence_penalty": "presencePenalty",
}}

// gemini writes a request to Gemini's generateContent or streamGenerateContent:
//
//	{"systemInstruction": {"parts": […]}, "contents": […], "generationConfig": {"maxOutputTokens": N}}
//
// The path names the model and asks for a stream. Messages in the form of a chat are translated.
func (b *object) gemini(p *workload.Prompt, o Options) error {
	turns, err := promptTurns(p, geminiForm, "Gemini's contents")
	if err != nil {
		return err
	}
	contents := []byte{'['}
	var instructions []string
	for i := range turns {
		t := &turns[i]
		if t.role != "system" && t.role != "developer" {
			content, err := t.gemini()
			if err != nil {
				return fmt.Errorf("messages[%d]%w", i, err)
			}
			contents = appendPart(contents, content)
			continue
		}
		if len(contents) > 1 {
			return fmt.Errorf("messages[%d]: role %s after other messages cannot be expressed in Gemini", i, t.role)
		}
		text, err := t.text(geminiForm)
		if err != nil {
			return fmt.Errorf("messages[%d]%w", i, err)
		}
		instructions = append(instructions, text)
	}
	if len(instructions) > 0 {
		b.raw("systemInstruction", fmt.Appendf(nil, `{"parts":[{"text":%s}]}`, quote(strings.Join(instructions, "\n\n"))))
	}
	b.raw("contents", append(contents, ']'))
	within, _ := geminiSettings.move(p.Extra)
	for i := range within {
		if f := &within[i]; f.Name == "stopSequences" && bytes.HasPrefix(bytes.TrimSpace(f.Value.Data), []byte(`"`)) {
			f.Value = export.Value{Data: slices.Concat([]byte{'['}, f.Value.Data, []byte{']'})}
		}
	}
	b.settings(geminiSettings.member, lengthField(p, o, Gemini), p.MaxTokens, within)
	return nil
}

// gemini returns the content of a turn.
func (t *chatTurn) gemini() ([]byte, error) {
	role := "user"
	if t.role == "assistant" {
		role = "model"
	}
	out := fmt.Appendf(nil, `{"role":"%s","parts":[`, role)
	if t.role == "tool" {
		text, err := t.text(geminiForm)
		if err != nil {
			return nil, err
		}
		if t.name == "" {
			return nil, errors.New(`: Gemini needs the name of the tool beside its result; give "name"`)
		}
		return fmt.Appendf(out, `{"functionResponse":{"name":%s,"response":{"output":%s}}}]}`, quote(t.name), quote(text)), nil
	}
	for _, p := range t.parts {
		switch mediaType, content, inline := inlineData(p.image); {
		case p.image == "":
			out = appendPart(out, fmt.Appendf(nil, `{"text":%s}`, quote(p.text)))
		case inline:
			out = appendPart(out, fmt.Appendf(nil, `{"inlineData":{"mimeType":%s,"data":%s}}`, quote(mediaType), quote(content)))
		default:
			out = appendPart(out, fmt.Appendf(nil, `{"fileData":{"fileUri":%s}}`, quote(p.image)))
		}
	}
	for _, c := range t.calls {
		out = appendPart(out, fmt.Appendf(nil, `{"functionCall":{"name":%s,"args":%s}}`, quote(c.name), c.args))
	}
	return append(out, "]}"...), nil
}

// geminiExtra returns the further members of a request that are not in generationConfig, with the tools and the tool_choice of a
// chat in the form of Gemini.
func geminiExtra(extra export.Fields) (export.Fields, error) {
	_, out := geminiSettings.move(extra)
	for i := range out {
		f := &out[i]
		switch f.Name {
		case "tools":
			all, ok := chatFunctions(f.Value.Data)
			if !ok {
				continue
			}
			list := []byte(`[{"functionDeclarations":[`)
			for _, t := range all {
				var tool object
				tool.function(t)
				list = appendPart(list, tool.close())
			}
			f.Value = export.Value{Data: append(list, "]}]"...)}
		case "tool_choice":
			var how string
			_ = json.Unmarshal(f.Value.Data, &how)
			var config object
			switch name, mode := chosenFunction(f.Value.Data), map[string]string{"auto": "AUTO", "none": "NONE", "required": "ANY"}[how]; {
			case name != "":
				config.text("mode", "ANY")
				config.texts("allowedFunctionNames", []string{name}, true)
			case mode != "":
				config.text("mode", mode)
			default:
				return nil, errors.New("tool_choice: Gemini knows only auto, none, required and a function")
			}
			f.Name, f.Value = "toolConfig", export.Value{Data: fmt.Appendf(nil, `{"functionCallingConfig":%s}`, config.close())}
		}
	}
	return out, nil
}
