package openai

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/testenv"
)

func TestReply(t *testing.T) {
	for _, tt := range []struct {
		name   string
		frames []string
		want   string
	}{
		{"a stream", []string{
			`data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}`,
			`data: {"choices":[{"index":0,"delta":{"content":" the"}}]}`,
			": keep-alive",
			`data: {"choices":[{"index":0,"delta":{"content":" \"quick\"\n\u00e9"}}]}`,
			`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`,
			`data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}`,
			"data: [DONE]",
		}, `{"role":"assistant","content":" the \"quick\"\né"}`},
		{"a whole body goes back as it came", []string{
			`{ "id": "1", "choices": [ {"index": 0, "message": {"content": " the quick", "role": "assistant", "x": [1, 2.50]} } ] }`,
		}, `{"content":" the quick","role":"assistant","x":[1,2.50]}`},
		{"of several choices the first", []string{
			`data: {"choices":[{"index":1,"delta":{"content":"no"}},{"index":0,"delta":{"content":"yes"}}]}`,
			`data: {"choices":[{"index":0,"delta":{"content":"!"}},{"index":1,"delta":{"content":"!!"}}]}`,
		}, `{"role":"assistant","content":"yes!"}`},
		{"thoughts are not sent back", []string{
			`data: {"choices":[{"index":0,"delta":{"reasoning_content":"hm"}}]}`,
			`data: {"choices":[{"index":0,"delta":{"content":"yes"}}]}`,
		}, `{"role":"assistant","content":"yes"}`},
		{"a refusal", []string{
			`data: {"choices":[{"index":0,"delta":{"role":"assistant","refusal":"I "}}]}`,
			`data: {"choices":[{"index":0,"delta":{"refusal":"can't"}}]}`,
		}, `{"role":"assistant","refusal":"I can't"}`},
		{"tool calls in pieces", []string{
			`data: {"choices":[{"index":0,"delta":{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"add","arguments":""}}]}}]}`,
			`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":"}}]}}]}`,
			`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1}"}},{"index":1,"id":"c2","function":{"name":"sub","arguments":"{}"}}]}}]}`,
		}, `{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"add","arguments":"{\"a\":1}"}},{"id":"c2","type":"function","function":{"name":"sub","arguments":"{}"}}]}`},
		{"bytes that are not UTF-8", []string{"data: {\"choices\":[{\"delta\":{\"content\":\"a\xffb\"}}]}"}, "{\"role\":\"assistant\",\"content\":\"a\uFFFDb\"}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var r Reply
			for _, f := range tt.frames {
				if err := r.Add([]byte(f + "\n\n")); err != nil {
					t.Fatal(err)
				}
			}
			got, err := r.AppendMessage([]byte("x"))
			if err != nil || string(got) != "x"+tt.want {
				t.Errorf("%s, %v\nwant x%s", got, err, tt.want)
			}
			if !json.Valid(got[1:]) {
				t.Error("it is not JSON")
			}
		})
	}
}

// The reply to reasoning and to answers without content, by HistoryReasoning.
func TestReplyReasoning(t *testing.T) {
	const (
		thought  = `data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning_content":"hm "}}]}`
		thought2 = `data: {"choices":[{"index":0,"delta":{"reasoning":"hm"}}]}`
		content  = `data: {"choices":[{"index":0,"delta":{"content":"yes"}}]}`
		call     = `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}}]}`
		calls    = `"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]`
		end      = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}`
	)
	for _, tt := range []struct {
		name             string
		frames           []string
		auto, keep, drop string
		contentless      bool
	}{
		{"an answer", []string{thought, content, end}, `{"role":"assistant","content":"yes"}`, `{"role":"assistant","content":"yes","reasoning_content":"hm "}`, `{"role":"assistant","content":"yes"}`, false},
		{"under its other name", []string{thought2, content, end}, `{"role":"assistant","content":"yes"}`, `{"role":"assistant","content":"yes","reasoning":"hm"}`, `{"role":"assistant","content":"yes"}`, false},
		{"a tool call", []string{thought, call, end}, `{"role":"assistant","reasoning_content":"hm ",` + calls + `}`, `{"role":"assistant","reasoning_content":"hm ",` + calls + `}`, `{"role":"assistant",` + calls + `}`, false},
		{"thoughts only", []string{thought, thought, end}, `{"role":"assistant","content":"hm hm "}`, `{"role":"assistant","content":"hm hm "}`, "", true},
		{"nothing", []string{end}, "", "", "", true},
		{
			"a whole answer",
			[]string{`{"choices":[{"message":{"role":"assistant","reasoning_content":"hm","content":"a\"b","x":[1, 2.50]}}]}`},
			`{"role":"assistant","content":"a\"b","x":[1,2.50]}`, `{"role":"assistant","reasoning_content":"hm","content":"a\"b","x":[1,2.50]}`, `{"role":"assistant","content":"a\"b","x":[1,2.50]}`, false,
		},
		{
			"a whole tool call",
			[]string{`{"choices":[{"message":{"role":"assistant","content":null,"reasoning":"hm",` + calls + `}}]}`},
			`{"role":"assistant","content":null,"reasoning":"hm",` + calls + `}`, `{"role":"assistant","content":null,"reasoning":"hm",` + calls + `}`, `{"role":"assistant","content":null,` + calls + `}`, false,
		},
		{"a whole answer of thoughts", []string{`{"choices":[{"message":{"role":"assistant","content":"","reasoning":"hm"}}]}`}, `{"role":"assistant","content":"hm"}`, `{"role":"assistant","content":"hm"}`, "", true},
		{"a whole answer of nothing", []string{`{"choices":[{"message":{"role":"assistant","content":null}}]}`}, "", "", "", true},
		{
			"reasoning_details",
			[]string{
				`data: {"choices":[{"delta":{"content":"","reasoning_details":[{"type":"reasoning.text", "text":"h"}]}}]}`,
				`data: {"choices":[{"delta":{"content":"","reasoning_details":[{"type":"reasoning.text","text":"m"}]}}]}`, call, end,
			},
			`{"role":"assistant","reasoning_details":[{"type":"reasoning.text","text":"h"},{"type":"reasoning.text","text":"m"}],` + calls + `}`,
			`{"role":"assistant","reasoning_details":[{"type":"reasoning.text","text":"h"},{"type":"reasoning.text","text":"m"}],` + calls + `}`,
			`{"role":"assistant",` + calls + `}`, false,
		},
		{
			"parts of thinking",
			[]string{
				`data: {"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"h"}]}]}}]}`,
				`data: {"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"m"}]}]}}]}`, content, end,
			},
			`{"role":"assistant","content":"yes"}`,
			`{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"yes"}]}`,
			`{"role":"assistant","content":"yes"}`, false,
		},
		{
			"a whole answer with a part of thinking",
			[]string{`{"choices":[{"message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"a"},{"type":"text","text":"b"}]}}]}`},
			`{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`,
			`{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"a"},{"type":"text","text":"b"}]}`,
			`{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`, false,
		},
		{"a refusal", []string{thought, `data: {"choices":[{"index":0,"delta":{"refusal":"no"}}]}`}, `{"role":"assistant","refusal":"no"}`, `{"role":"assistant","reasoning_content":"hm ","refusal":"no"}`, `{"role":"assistant","refusal":"no"}`, false},
	} {
		for history, want := range map[HistoryReasoning]string{ReasoningAuto: tt.auto, ReasoningKeep: tt.keep, ReasoningDrop: tt.drop} {
			r := Reply{History: history}
			for _, f := range tt.frames {
				if err := r.Add([]byte(f + "\n\n")); err != nil {
					t.Fatal(err)
				}
			}
			got, err := r.AppendMessage(nil)
			if err != nil || string(got) != want || r.Contentless() != tt.contentless {
				t.Errorf("%s, %v: %s, %v, contentless %v\nwant %s", tt.name, history, got, err, r.Contentless(), want)
			}
		}
	}
}

func TestReplyErrors(t *testing.T) {
	var r Reply
	if _, err := r.AppendMessage(nil); err == nil || !strings.Contains(err.Error(), "no choice") {
		t.Errorf("of nothing: %v", err)
	}
	var e *Error
	if err := r.Add([]byte(`data: {"error":{"message":"out of memory"}}`)); !errors.As(err, &e) || e.Message != "out of memory" {
		t.Errorf("the server's error: %v", err)
	}
	if err := r.Add([]byte("data: {torn")); err == nil {
		t.Error("no error of a torn frame")
	}
}

// For any stream of a server, the reply is JSON, and its content is all pieces of the first choice.
func FuzzReply(f *testing.F) {
	f.Add(`{"choices":[{"index":0,"delta":{"content":" the"}}]}`, `{"choices":[{"delta":{"content":"\ud83d\ude00"}}]}`)
	f.Add(`{"choices":[{"message":{"role":"a","content":"b"}}]}`, `[DONE]`)
	f.Add(`{"choices":[{"message":{"content":[{"type":"thinking","thinking":"a"},{"text":"b"}]}}]}`, `[DONE]`)
	f.Add(`{"choices":[{"delta":{"reasoning_details":[{"text":"a"}]}}]}`, `{"choices":[{"delta":{"tool_calls":[{"function":{"name":"x"}}]}}]}`)
	f.Add(`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"x","arguments":"{}"}}]}}]}`, `{}`)
	f.Add(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","name":"x","input":{}}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}`)
	f.Add(`{"type":"message","content":[{"type":"text","text":"a"}]}`, `{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{}}}`)
	f.Fuzz(func(t *testing.T, a, b string) {
		testenv.BoundMemory(t, len(a), 1<<20, 200, func() { _ = new(Reply).Add([]byte("data: " + a + "\n\n")) })
		var r Reply
		for _, frame := range []string{a, b} {
			_ = r.Add([]byte("data: " + frame + "\n\n"))
		}
		got, err := r.AppendMessage(nil)
		if err == nil && len(got) > 0 && !json.Valid(got) && json.Valid([]byte(a)) && json.Valid([]byte(b)) {
			t.Fatalf("%q, %q: %q is not JSON", a, b, got)
		}
	})
}
