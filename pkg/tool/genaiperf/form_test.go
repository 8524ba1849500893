package genaiperf

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pa-tools/pa/internal/test/testenv"
)

// Responses of one form give every release what each of them gives by itself.
func TestForms(t *testing.T) {
	const chat = `data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"%s"},"finish_reason":null}]}` + "\n\n"
	forms := map[string]string{
		"chat":                chat,
		"each another":        strings.Replace(chat, `"id":"c","object":"chat.completion.chunk"`, `"id":"%id","object":"chat.completion.chunk","created":%created`, 1),
		"without blank lines": strings.TrimSpace(chat),
		"white space before":  " " + chat,
		"an event field":      "event: message\n" + chat,
		"no space":            strings.Replace(chat, "data: ", "data:", 1),
		"two events":          chat + chat,
		"completions":         `data: {"object":"text_completion","choices":[{"text":"%s"}]}` + "\n\n",
		"no object":           `data: {"choices":[{"text":"%s","delta":{"content":"%[1]s"}}]}` + "\n\n",
		"another object":      `data: {"object":"x","choices":[{"text":"%s"}]}`,
		"generate":            `data: {"model_name":"m","text_output":"%s"}` + "\n\n",
		"Hugging Face":        `[{"generated_text":"%s"}]`,
		"whole":               `{"object":"chat.completion","choices":[{"message":{"content":"%s"}}]}`,
		"the object's name":   `data: {"object":"%s","choices":[{"text":"%[1]s","delta":{"content":"%[1]s"}}]}`,
	}
	texts := []string{"a", " b", "", "text_completion", "chat.completion.chunk", `\n`, `\"`, "é", "\x01", `","x":"`, "error", "data: ", "c"}
	ids, times := []string{"a", "bc", `\"`, "é", `\u0061`, ""}, []string{"1", "23", "01", "1e3", "-1"}
	matched, drawn := 0, 0
	for i := range releases {
		release := &releases[i]
		for name, form := range forms {
			for _, f := range []format{formatChat, formatCompletions, formatGenerate, formatHuggingFace} {
				var raised []string
				raise := func(e *exception) { raised = append(raised, e.Error()) }
				shared := cleaner{rules: &release.rules, format: f, raise: raise}
				clean := func(c *cleaner, raw string) (left []response, all []string) {
					raised = nil
					left = c.clean([]response{{recvNS: 1, raw: raw}})
					for i := range left {
						c.textOf(&left[i])
					}
					return left, raised
				}
				for range 2 {
					for j, text := range texts {
						if (i+j)%testenv.Stride(3) > 0 { // a third of the texts for each release
							continue
						}
						raw := strings.ReplaceAll(strings.ReplaceAll(form, "%[1]s", text), "%s", text)
						raw = strings.NewReplacer("%id", ids[drawn%len(ids)], "%created", times[drawn%len(times)]).Replace(raw)
						drawn++
						if _, ok := shared.form.Match(raw); ok {
							matched++
						}
						alone := cleaner{rules: &release.rules, format: f, raise: raise}
						want, wantRaised := clean(&alone, raw)
						failed := shared.failed
						got, gotRaised := clean(&shared, raw)
						if !reflect.DeepEqual(want, got) { // many times as fast as package cmp
							if diff := cmp.Diff(want, got, cmp.AllowUnexported(response{}, pyText{}), cmpopts.EquateEmpty()); diff != "" {
								t.Fatalf("%s, %s, %v, %q (-alone +shared):\n%s", release.Name, name, f, text, diff)
							}
						}
						if fmt.Sprint(gotRaised) != fmt.Sprint(wantRaised) || shared.failed-failed != alone.failed {
							t.Fatalf("%s, %s, %v, %q: raised %q, %d failed, want %q, %d", release.Name, name, f, text, gotRaised, shared.failed-failed, wantRaised, alone.failed)
						}
					}
				}
			}
		}
	}
	if matched < 1000/testenv.Stride(3) {
		t.Errorf("%d responses matched a form", matched)
	}
}
