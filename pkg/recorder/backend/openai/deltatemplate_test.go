package openai

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pa-tools/pa/pkg/wire/openai"
)

func TestDeltaTemplate(t *testing.T) {
	const first = `data: {"id":"a","choices":[{"index":0,"delta":{"content":"one"},"finish_reason":null}]}` + "\n\n"
	for _, tt := range []struct {
		name, first, next string
		want              string
		ok                bool
	}{
		{"another text", first, `data: {"id":"a","choices":[{"index":0,"delta":{"content":" two"},"finish_reason":null}]}` + "\n\n", " two", true},
		{"the same", first, first, "one", true},
		{"completions", `data: {"choices":[{"text":"x","index":0}]}` + "\n\n", `data: {"choices":[{"text":"yz","index":0}]}` + "\n\n", "yz", true},
		{"reasoning is not learnt", `data: {"choices":[{"delta":{"reasoning":"x"}}]}` + "\n\n", `data: {"choices":[{"delta":{"reasoning":"y"}}]}` + "\n\n", "", false},
		{"no text: parsed", first, `data: {"id":"a","choices":[{"index":0,"delta":{"content":""},"finish_reason":null}]}` + "\n\n", "", false},
		{"another id", first, `data: {"id":"b","choices":[{"index":0,"delta":{"content":"two"},"finish_reason":null}]}` + "\n\n", "", false},
		{"finished", first, `data: {"id":"a","choices":[{"index":0,"delta":{"content":"two"},"finish_reason":"stop"}]}` + "\n\n", "", false},
		{"something escaped", first, `data: {"id":"a","choices":[{"index":0,"delta":{"content":"a\n"},"finish_reason":null}]}` + "\n\n", "", false},
		{"a text that ends the string", first, `data: {"id":"a","choices":[{"index":0,"delta":{"content":"x","role":"y"},"finish_reason":null}]}` + "\n\n", "", false},
		{"not ASCII", first, `data: {"id":"a","choices":[{"index":0,"delta":{"content":"é"},"finish_reason":null}]}` + "\n\n", "", false},
		{"a control character", first, "data: {\"id\":\"a\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\x01\"},\"finish_reason\":null}]}\n\n", "", false},
		{"shorter than what is around", first, "data: {}\n\n", "", false},
		{"escaped before: not learnt", `data: {"choices":[{"delta":{"content":"a\n"}}]}` + "\n\n", `data: {"choices":[{"delta":{"content":"b"}}]}` + "\n\n", "", false},
		{"with usage: not learnt", `data: {"choices":[{"delta":{"content":"a"}}],"usage":{"completion_tokens":1}}` + "\n\n", `data: {"choices":[{"delta":{"content":"b"}}],"usage":{"completion_tokens":1}}` + "\n\n", "", false},
		{"two choices: not learnt", `data: {"choices":[{"text":"a"},{"text":"a"}]}` + "\n\n", `data: {"choices":[{"text":"b"},{"text":"a"}]}` + "\n\n", "", false},
		{"[DONE]", first, "data: [DONE]\n\n", "", false},
		{"empty", first, "", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var c openai.Chunk
			if err := openai.ParseFrame([]byte(tt.first), &c); err != nil {
				t.Fatal(err)
			}
			var a deltaTemplate
			a.learn([]byte(tt.first), &c) // of other memory: nothing to learn
			if text, ok := a.text([]byte(tt.next)); ok {
				t.Errorf("learnt %q from a frame that was not parsed", text)
			}
			frame := []byte(tt.first)
			if err := openai.ParseFrame(frame, &c); err != nil {
				t.Fatal(err)
			}
			a.learn(frame, &c)
			if text, ok := a.text([]byte(tt.next)); ok != tt.ok || ok && string(text) != tt.want {
				t.Errorf("text = %q, %v, want %q, %v", text, ok, tt.want, tt.ok)
			}
		})
	}
}

// A frame that fits the template parses to the same chunk with its text.
func FuzzDeltaTemplate(f *testing.F) {
	const first = `data: {"id":"a","choices":[{"index":0,"delta":{"content":"one"}}]}` + "\n\n"
	f.Add([]byte(first), []byte(`data: {"id":"a","choices":[{"index":0,"delta":{"content":"two"}}]}`+"\n\n"))
	f.Add([]byte(first), []byte(`data: {"id":"a","choices":[{"index":0,"delta":{"content":"\u0041"}}]}`+"\n\n"))
	f.Add([]byte(`{"choices":[{"text":"a","text":"b"}]}`), []byte(`{"choices":[{"text":"a","text":"c"}]}`))
	f.Add([]byte("data: {\"choices\":[{\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}}]}\n\n"), []byte("data: {\"choices\":[{\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"yy\"}]}}]}\n\n"))
	f.Fuzz(func(t *testing.T, first, next []byte) {
		var c, want openai.Chunk
		if openai.ParseFrame(first, &c) != nil {
			return
		}
		var a deltaTemplate
		a.learn(first, &c)
		check := func(next []byte) {
			text, ok := a.text(next)
			if !ok {
				return
			}
			c.Choices[0].Content = text
			if err := openai.ParseFrame(next, &want); err != nil {
				t.Fatalf("%q is like %q, but: %v", next, first, err)
			}
			if diff := cmp.Diff(&want, &c, cmpopts.IgnoreUnexported(openai.Chunk{}, openai.Choice{})); diff != "" {
				t.Fatalf("%q after %q (-parsed +taken):\n%s", next, first, diff)
			}
		}
		check(next)
		if a.before != nil { // and a frame that surely fits
			check(append(append(append([]byte(nil), a.before...), next...), a.after...))
		}
	})
}
