package render

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

const ollamaForm = "Ollama's /api/chat"

// ollamaSettings are the settings that Ollama reads from "options" only.
var ollamaSettings = serviceSettings{"options", map[string]string{
	"temperature": "temperature", "top_p": "top_p", "top_k": "top_k", "min_p": "min_p", "seed": "seed", "stop": "stop",
	"frequency_penalty": "frequency_penalty", "presence_penalty": "presence_penalty", "repeat_penalty": "repeat_penalty",
}}

// ollama writes a request to Ollama's /api/chat or /api/generate:
//
//	{"model": M, "messages": […], "stream": true, "options": {"num_predict": N}}
//	{"model": M, "system": "…", "prompt": "…", "images": […], "stream": true, "options": {"num_predict": N}}
//
// "stream" is always there, because Ollama streams without it. Messages in the form of a chat are translated.
func (b *object) ollama(api API, p *workload.Prompt, o Options) error {
	b.model(o)
	var err error
	if api == OllamaChat {
		err = b.ollamaMessages(p)
	} else {
		err = b.ollamaPrompt(p)
	}
	if err != nil {
		return err
	}
	b.raw("stream", fmt.Append(nil, o.Stream))
	within, _ := ollamaSettings.move(p.Extra)
	b.settings(ollamaSettings.member, lengthField(p, o, api), p.MaxTokens, within)
	return nil
}

// settings writes an object of settings with the length of the answer, whose name may begin with the name of the object; nothing
// if there are none.
func (b *object) settings(name, length string, tokens int, others export.Fields) {
	var s object
	if tokens > 0 {
		s.number(strings.TrimPrefix(length, name+"."), tokens)
	}
	for _, f := range others {
		s.raw(f.Name, f.Value.Data)
	}
	if s.b != nil {
		b.raw(name, s.close())
	}
}

func (b *object) ollamaMessages(p *workload.Prompt) error {
	turns, err := promptTurns(p, ollamaForm, "Ollama's messages")
	if err != nil {
		return err
	}
	out := []byte{'['}
	for i := range turns {
		m, err := turns[i].ollama()
		if err != nil {
			return fmt.Errorf("messages[%d]%w", i, err)
		}
		out = appendPart(out, m)
	}
	b.raw("messages", append(out, ']'))
	return nil
}

// ollama returns the message of a turn.
func (t *chatTurn) ollama() ([]byte, error) {
	var m object
	m.text("role", t.role)
	images, err := m.ollamaContent("content", t.parts)
	if err != nil {
		return nil, fmt.Errorf(".content: %w", err)
	}
	if images != nil {
		m.raw("images", images)
	}
	if len(t.calls) > 0 {
		calls := []byte{'['}
		for _, c := range t.calls {
			calls = appendPart(calls, fmt.Appendf(nil, `{"function":{"name":%s,"arguments":%s}}`, quote(c.name), c.args))
		}
		m.raw("tool_calls", append(calls, ']'))
	}
	if t.role == "tool" && t.name != "" {
		m.text("tool_name", t.name)
	}
	return m.close(), nil
}

// ollamaContent writes the texts of parts as a member, and returns the images; nil for none.
func (b *object) ollamaContent(member string, parts []chatPart) (images []byte, err error) {
	var texts []string
	for _, p := range parts {
		if p.image == "" {
			texts = append(texts, p.text)
			continue
		}
		_, content, ok := inlineData(p.image)
		if !ok {
			return nil, errors.New("images for Ollama: it takes them by their content only; give a file or a data: URL in base64")
		}
		if images == nil {
			images = []byte{'['}
		}
		images = appendPart(images, quote(content))
	}
	b.text(member, strings.Join(texts, "\n\n"))
	if images != nil {
		images = append(images, ']')
	}
	return images, nil
}

func (b *object) ollamaPrompt(p *workload.Prompt) error {
	if p.Messages != nil {
		text, err := plainMessages(p.Messages)
		b.text("prompt", text)
		return err
	}
	if p.System != "" {
		b.text("system", p.System)
	}
	t, err := promptTurn(p, "Ollama's prompts")
	if err != nil {
		return err
	}
	images, err := b.ollamaContent("prompt", t.parts)
	if images != nil {
		b.raw("images", images)
	}
	return err
}
