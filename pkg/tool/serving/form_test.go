package serving

import (
	"fmt"
	"strings"
	"testing"
)

// Events of one form give a tool what each of them gives by itself.
func TestForms(t *testing.T) {
	const chat = `{"id":"c","choices":[{"index":0,"delta":{"content":"%s"},"finish_reason":null}]}`
	forms := map[string]string{
		"chat":              chat,
		"each another":      strings.Replace(chat, `"id":"c"`, `"id":"%id","object":"chat.completion.chunk","created":%created`, 1),
		"reasoning":         strings.Replace(chat, "content", "reasoning_content", 1),
		"both":              strings.Replace(chat, `"content"`, `"reasoning":"why","content"`, 1),
		"completions":       `{"choices":[{"text":"%s"}]}`,
		"usage":             strings.Replace(chat, `}]}`, `}],"usage":{"prompt_tokens":3,"completion_tokens":4}}`, 1),
		"usage null":        strings.Replace(chat, `}]}`, `}],"usage":null}`, 1),
		"usage of no kind":  strings.Replace(chat, `}]}`, `}],"usage":[1]}`, 1),
		"decoded":           strings.Replace(chat, `"index":0`, `"avg_decoded_tokens_per_iter":1.5`, 1),
		"with a role":       strings.Replace(chat, `"content"`, `"role":"assistant","content"`, 1),
		"the text as usage": `{"choices":[{"text":"%s","delta":{"content":"%[1]s"}}],"usage":"%[1]s"}`,
	}
	texts := []string{"a", " b", "", `\n`, `\"`, "é", "\x01", "d\xff", `","x":"`, "c"}
	ids, times := []string{"a", "bc", `\"`, "é", "\xff", `\u0061`, ""}, []string{"1", "23", "01", "1e3", "-1"}
	matched, drawn := 0, 0
	for i, c := range []*client{&trtllmCompletions, &trtllmChat, &vllmCompletions, &vllmChat, &sglangCompletions, &sglangChat} {
		for name, form := range forms {
			shared := &level{client: c}
			read := func(l *level, text string) string {
				w := &answerReader{level: l, o: &outcome{}, usagePrompt: -1, usageOutput: -1}
				isToken, content, e := w.event(text)
				return fmt.Sprintf("%v %q %v, usage %d %d, decoded %v %v", isToken, content, e, w.usagePrompt, w.usageOutput, w.o.decoded, w.o.noDecoded)
			}
			for range 2 {
				for _, text := range texts {
					event := strings.ReplaceAll(strings.ReplaceAll(form, "%[1]s", text), "%s", text)
					event = strings.NewReplacer("%id", ids[drawn%len(ids)], "%created", times[drawn%len(times)]).Replace(event)
					drawn++
					if _, ok := shared.form.Match(event); ok {
						matched++
					}
					if got, want := read(shared, event), read(&level{client: c}, event); got != want {
						t.Errorf("client %d, %s, %q: %s, want %s", i, name, text, got, want)
					}
				}
			}
		}
	}
	if matched < 100 {
		t.Errorf("%d events matched a form", matched)
	}
}
