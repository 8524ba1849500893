package openai

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pa-tools/pa/internal/jsonscan"
)

// parseAll parses frames into one Chunk, and each into a Chunk of its own, which has no
// template. It fails on any difference, and returns how many frames followed a template.
func parseAll(t *testing.T, frames [][]byte) (hits int) {
	t.Helper()
	var shared Chunk
	for i, frame := range frames {
		var alone, probe Chunk
		if shared.template != nil && shared.template.apply(frame, &probe) {
			hits++
		}
		err, want := ParseFrame(frame, &shared), ParseFrame(frame, &alone)
		if fmt.Sprint(err) != fmt.Sprint(want) {
			t.Fatalf("frame %d: error %v, want %v\n%s", i, err, want, frame)
		}
		if diff := difference(&alone, &shared); diff != "" {
			t.Fatalf("frame %d (-alone +shared):\n%s\n%s", i, diff, frame)
		}
	}
	return hits
}

// difference returns how two chunks differ in what callers see, "" if they do not.
func difference(a, b *Chunk) string {
	x, y := *a, *b
	for _, c := range []*Chunk{&x, &y} {
		c.walker, c.template, c.native, c.framed = jsonscan.Walker{}, nil, nil, false
	}
	if reflect.DeepEqual(x, y) { // many times as fast as package cmp
		return ""
	}
	return cmp.Diff(x, y, cmp.AllowUnexported(Choice{}, Chunk{}, messagesBlock{}, replyPart{}, responsesPiece{}), cmpopts.IgnoreFields(Chunk{}, "walker", "template", "framed"), cmpopts.EquateEmpty())
}

func TestTemplate(t *testing.T) {
	chat := `data: {"id":"c-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"%s"},"logprobs":null,"finish_reason":null}]}` + "\n\n"
	for _, tt := range []struct{ name, form string }{
		{"chat", chat},
		{"a choice of several", strings.Replace(chat, `"index":0`, `"index":3`, 1)},
		{"reasoning", strings.Replace(chat, "content", "reasoning", 1)},
		{"reasoning_content", strings.Replace(chat, "content", "reasoning_content", 1)},
		{"reasoning beside an empty content", strings.Replace(chat, `"content"`, `"content":"","reasoning"`, 1)},
		{"parts", strings.Replace(chat, `"content":"%s"`, `"content":[{"type":"text","text":"%s"}]`, 1)},
		{"two parts", strings.Replace(chat, `"content":"%s"`, `"content":[{"text":"a"},{"text":"%s"}]`, 1)},
		{"content twice", strings.Replace(chat, `"content":"%s"`, `"content":"%s","content":"again"`, 1)},
		{"content after text", strings.Replace(chat, `"delta"`, `"text":"before","delta"`, 1)},
		{"completions", `data: {"object":"text_completion","choices":[{"index":0,"text":"%s"}]}` + "\n\n"},
		{"token ids", strings.Replace(chat, `"logprobs":null`, `"token_ids":[1,2]`, 1)},
		{"with a role", strings.Replace(chat, `"content"`, `"role":"assistant","content"`, 1)},
		{"a refusal", strings.Replace(chat, "content", "refusal", 1)},
		{"tool calls", strings.Replace(chat, `"content":"%s"`, `"content":"x","tool_calls":[{"function":{"arguments":"%s"}}]`, 1)},
		{"a whole body", strings.Replace(chat, "delta", "message", 1)},
		{"finished", strings.Replace(chat, `"finish_reason":null`, `"finish_reason":"stop"`, 1)},
		{"usage in each", strings.Replace(chat, `}]}`, `}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`, 1)},
		{"an event's name", "event: message\n" + chat},
		{"an error", "event: error\n" + chat},
		{"object error", strings.Replace(chat, "chat.completion.chunk", "error", 1)},
		{"without framing", strings.TrimPrefix(chat, "data: ")},
		{"over two lines", strings.Replace(chat, `"choices"`, "\ndata: \"choices\"", 1)},
		{"generate_stream", `data: {"model_name":"m","text_output":"%s"}` + "\n\n"},
		{"TGI", `data: {"index":1,"token":{"id":5,"text":"%s","special":false},"generated_text":null}` + "\n\n"},
		{"TGI, special", `data: {"index":1,"token":{"id":5,"text":"%s","special":true},"generated_text":null}` + "\n\n"},
		{"llama.cpp", `data: {"content":"%s","tokens":[5],"stop":false}` + "\n\n"},
		{"responses", "event: response.output_text.delta\ndata: " + `{"type":"response.output_text.delta","delta":"%s"}` + "\n\n"},
		{"messages", "event: content_block_delta\ndata: " + `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"%s"}}` + "\n\n"},
		{"messages of vLLM", "event: content_block_delta\ndata: " + `{"type":"content_block_delta","delta":{"type":"thinking_delta","thinking":"%s"},"index":0}` + "\n\n"},
		{"messages, arguments", `data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"%s"}}` + "\n\n"},
		{"messages, signature", `data: {"type":"content_block_delta","index":1,"delta":{"type":"signature_delta","signature":"%s"}}` + "\n\n"},
		{"messages, start", `data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":"%s"}}` + "\n\n"},
		{"message", `{"type":"message","content":[{"type":"text","text":"%s"}],"stop_reason":null}` + "\n\n"},
		{"text as id", strings.Replace(chat, `"c-1"`, `"%[1]s"`, 1)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var frames [][]byte
			for _, text := range []string{" a", "b", " c", "", `\n`, `\"`, "é", `\u00e9`, "\x01", "d\xff", " e", `","finish_reason":"stop`, "f", `x"}],"error":{"message":"y`, "g"} {
				frames = append(frames, []byte(strings.ReplaceAll(strings.ReplaceAll(tt.form, "%[1]s", text), "%s", text)))
			}
			frames = append(frames, []byte("data: [DONE]\n\n"), []byte(": alive\n\n"))
			frames = append(frames, frames...)
			parseAll(t, frames)
			if tt.name == "chat" || tt.name == "reasoning" || tt.name == "completions" || tt.name == "messages" || tt.name == "messages of vLLM" {
				if hits := parseAll(t, frames); hits < 10 {
					t.Errorf("%d of %d frames followed the template", hits, len(frames))
				}
			}
		})
	}
}

// Templates of several answers come one after the other.
func TestTemplateOfEachAnswer(t *testing.T) {
	var frames [][]byte
	for answer := range 5 {
		for token := range 20 {
			frames = append(frames, fmt.Appendf(nil, `data: {"id":"c-%d","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":" t%d"}}]}`+"\n\n", answer, token))
		}
	}
	if hits := parseAll(t, frames); hits < len(frames)/2 {
		t.Errorf("%d of %d frames followed a template", hits, len(frames))
	}
}

// checkPattern holds the pattern of front and back around an example to the parser, with other
// texts. It returns the pattern; nil if there is none.
func checkPattern(t *testing.T, front, example, back string, texts ...string) *Pattern {
	t.Helper()
	p := FindPattern([]byte(front), []byte(example), []byte(back))
	if p == nil {
		return nil
	}
	for _, text := range texts {
		if text == "" || !jsonscan.IsPlain([]byte(text)) {
			continue
		}
		var want Chunk
		if err := ParseFrame([]byte(front+text+back), &want); err != nil {
			t.Fatalf("%s%s%s: %v", front, text, back, err)
		}
		got := p.Chunk
		got.Choices = slices.Clone(got.Choices)
		if p.Reasoning {
			got.Choices[0].Reasoning = []byte(text)
		} else {
			got.Choices[0].Content = []byte(text)
		}
		if diff := difference(&want, &got); diff != "" {
			t.Fatalf("%s%s%s (-parsed +pattern):\n%s", front, text, back, diff)
		}
		var twice, again Stream
		twice.Add(&want)
		twice.Add(&want)
		again.Add(&p.Chunk)
		again.AddAgain()
		if !reflect.DeepEqual(twice, again) { // many times as fast as package cmp
			t.Fatalf("%s%s%s (-Add twice +AddAgain):\n%s", front, text, back, cmp.Diff(twice, again, cmp.AllowUnexported(Stream{})))
		}
	}
	return p
}

func TestFindPattern(t *testing.T) {
	for _, tt := range []struct {
		name, front, back string
		want              bool
	}{
		{"chat", `data: {"id":"a","choices":[{"index":2,"delta":{"content":"`, `"}}]}` + "\n\n", true},
		{"reasoning", `data: {"choices":[{"delta":{"reasoning":"`, `"}}]}` + "\n\n", true},
		{"completions", `data: {"choices":[{"text":"`, `"}]}` + "\n\n", true},
		{"the front holds a part of the text", `data: {"choices":[{"text":"a`, `"}]}` + "\n\n", false},
		{"the back holds a part of the text", `data: {"choices":[{"text":"`, `a"}]}` + "\n\n", false},
		{"an id", `data: {"id":"`, `","choices":[{"text":"a"}]}` + "\n\n", false},
		{"a number", `data: {"choices":[{"text":"a","index":`, `}]}` + "\n\n", false},
		{"finished", `data: {"choices":[{"text":"`, `","finish_reason":"stop"}]}` + "\n\n", false},
		{"with usage", `data: {"choices":[{"text":"`, `"}],"usage":{"completion_tokens":1}}` + "\n\n", false},
		{"two choices", `data: {"choices":[{"text":"`, `"},{"text":"b"}]}` + "\n\n", false},
		{"broken", `data: {"choices":[{"text":"`, `"}]` + "\n\n", false},
		{"no JSON", "data: ", "\n\n", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := checkPattern(t, tt.front, "1", tt.back, words...); (got != nil) != tt.want {
				t.Errorf("a pattern: %v, want %v", got != nil, tt.want)
			}
		})
	}
	if FindPattern([]byte(`{"choices":[{"text":"`), nil, []byte(`"}]}`)) != nil {
		t.Error("a pattern without a text")
	}
}

// words are texts of frames.
var words = []string{" a", "bc", "", "é", "d\xff", " [DONE]", "null", "data: x", strings.Repeat("long ", 1000)}

func FuzzFindPattern(f *testing.F) {
	f.Add(`data: {"choices":[{"text":"`, "a", `"}]}`+"\n\n", "b")
	f.Add(`{"object":"x","choices":[{"delta":{"content":"`, "a", `"}}],"model":"m"}`, "error")
	f.Add("event: error\ndata: {\"choices\":[{\"text\":\"", "a", "\"}]}\n\n", "b")
	f.Fuzz(func(t *testing.T, front, example, back, text string) {
		checkPattern(t, front, example, back, append(words, text)...)
	})
}

func FuzzTemplate(f *testing.F) {
	f.Add([]byte(`data: {"object":"x","choices":[{"delta":{"content":"a"}}]}` + "\n\n" + `data: {"object":"x","choices":[{"delta":{"content":"b"}}]}` + "\n\n"))
	f.Add([]byte(`{"id":"1","choices":[{"text":"a"}]}` + "\n\n" + `{"id":"1","choices":[{"text":""}]}` + "\n\n" + `{"id":"1","choices":[{"text":"a\nb"}]}`))
	f.Add([]byte(`{"type":"content_block_delta","delta":{"type":"text_delta","text":"a"}}` + "\n\n" + `{"type":"content_block_delta","delta":{"type":"text_delta","text":"b"}}` + "\n\n"))
	f.Fuzz(func(t *testing.T, stream []byte) { parseAll(t, bytes.SplitAfter(stream, []byte("\n\n"))) })
}
