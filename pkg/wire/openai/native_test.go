package openai

import (
	"strings"
	"testing"
)

// event returns an event of v1/responses.
func event(kind, members string) string {
	return "event: response." + kind + "\ndata: {\"type\":\"response." + kind + `"` + members + "}\n\n"
}

const responseDone = `{"type":"response.completed","response":{"id":"r","status":"completed","output":[]}}`

// An event with a whole text counts if no delta of this text came.
func TestResponsesDone(t *testing.T) {
	t.Parallel()
	const item, other = `,"output_index":0,"content_index":0`, `,"output_index":1,"content_index":0`
	for _, tt := range []struct {
		name   string
		events []string
		want   int
	}{
		{"deltas", []string{event("output_text.delta", item+`,"delta":"a"`), event("output_text.delta", item+`,"delta":"b"`), event("output_text.done", item+`,"text":"ab"`)}, 2},
		{"no delta", []string{event("output_text.done", item+`,"text":"ab"`)}, 1},
		{"no delta, twice", []string{event("output_text.done", item+`,"text":"ab"`), event("output_text.done", item+`,"text":"ab"`)}, 1},
		{"deltas of another item", []string{event("output_text.delta", item+`,"delta":"a"`), event("output_text.done", other+`,"text":"b"`), event("output_text.done", item+`,"text":"a"`)}, 2},
		{"deltas of another kind", []string{event("reasoning_text.delta", item+`,"delta":"a"`), event("output_text.done", item+`,"text":"b"`)}, 2},
		{"items by name", []string{event("refusal.delta", `,"item_id":"i","delta":"a"`), event("refusal.done", `,"item_id":"i","refusal":"a"`), event("refusal.done", `,"item_id":"j","refusal":"b"`)}, 2},
		{"calls at the same time", []string{
			event("function_call_arguments.delta", `,"output_index":0,"delta":"{"`), event("function_call_arguments.delta", `,"output_index":1,"delta":"{"`),
			event("function_call_arguments.done", `,"output_index":0,"arguments":"{}"`), event("function_call_arguments.done", `,"output_index":1,"arguments":"{}"`),
		}, 2},
		{"a call whose input is text", []string{
			event("custom_tool_call_input.delta", `,"output_index":0,"delta":"l"`), event("custom_tool_call_input.delta", `,"output_index":0,"delta":"s"`),
			event("custom_tool_call_input.done", `,"output_index":0,"input":"ls"`), event("custom_tool_call_input.done", `,"output_index":1,"input":"pwd"`),
		}, 3},
		{"code for an interpreter", []string{
			event("code_interpreter_call_code.delta", `,"output_index":0,"delta":"1+"`), event("code_interpreter_call_code.done", `,"output_index":0,"code":"1+1"`),
			event("code_interpreter_call.interpreting", `,"output_index":0`), event("code_interpreter_call_code.done", `,"output_index":1,"code":"2"`),
		}, 2},
		{"parts and items repeat the text", []string{
			event("reasoning_summary_text.delta", `,"output_index":0,"summary_index":0,"delta":"a"`), event("reasoning_summary_text.done", `,"output_index":0,"summary_index":0,"text":"a"`),
			event("reasoning_summary_part.done", `,"output_index":0,"summary_index":0,"part":{"type":"summary_text","text":"a"}`),
			event("output_item.done", `,"output_index":0,"item":{"type":"reasoning","summary":[{"type":"summary_text","text":"a"}]}`),
		}, 1},
		{"unknown", []string{event("new_thing.delta", `,"delta":"a"`), event("new_thing.done", `,"text":"a"`), event("queued", ``)}, 0},
	} {
		var c Chunk
		var st Stream
		for _, e := range append(tt.events, "data: "+responseDone+"\n\n") {
			if err := ParseFrame([]byte(e), &c); err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			st.Add(&c)
		}
		if st.OutputChunks != tt.want || !st.Complete() {
			t.Errorf("%s: %d events with output, want %d; complete: %v", tt.name, st.OutputChunks, tt.want, st.Complete())
		}
	}
}

// What goes back to the server.
func TestNativeReply(t *testing.T) {
	t.Parallel()
	const thought, message = `{"type":"reasoning","id":"rs","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]}`, `{"type":"message","id":"m","role":"assistant","content":[{"type":"output_text","text":"b"}]}`
	const call = `{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}`
	for _, tt := range []struct {
		name        string
		frames      []string
		history     HistoryReasoning
		want, id    string
		contentless bool
	}{
		{"responses, streamed", []string{event("output_item.done", `,"item":`+thought), event("output_text.delta", `,"delta":"b"`), event("output_item.done", `,"item":`+message), "data: " + responseDone + "\n\n"}, ReasoningAuto, thought + "," + message, "r", false},
		{"responses, with the output at the end", []string{event("output_item.done", `,"item":`+message), event("completed", `,"response":{"id":"r","output":[`+thought+`,`+call+`]}`)}, ReasoningDrop, call, "r", false},
		{"responses, whole", []string{`{"id":"r","object":"response","status":"completed","output":[` + thought + `, ` + message + `]}`}, ReasoningAuto, thought + "," + message, "r", false},
		{"responses, thoughts only", []string{`{"id":"r","object":"response","status":"completed","output":[` + thought + `]}`}, ReasoningDrop, ``, "r", true},
		{"responses, without items", []string{event("output_text.delta", `,"delta":"b"`), "data: " + responseDone + "\n\n"}, ReasoningAuto, `{"role":"assistant","content":"b"}`, "r", false},
		{"responses, without the end", []string{event("created", `,"response":{"id":"r"}`), event("output_text.delta", `,"delta":"b"`)}, ReasoningAuto, `{"role":"assistant","content":"b"}`, "", false},
		{"Ollama, streamed", []string{`{"message":{"role":"assistant","content":"","thinking":"hm"},"done":false}`, `{"message":{"role":"assistant","content":"a "},"done":false}`, `{"message":{"role":"assistant","content":"b"},"done":true}`}, ReasoningAuto, `{"role":"assistant","content":"a b"}`, "", false},
		{"Ollama, a call", []string{`{"message":{"role":"assistant","content":"","thinking":"hm","tool_calls":[{"function":{"name":"f","arguments":{"a": 1}}}]},"done":true}`}, ReasoningAuto, `{"role":"assistant","content":"","thinking":"hm","tool_calls":[{"function":{"name":"f","arguments":{"a":1}}}]}`, "", false},
		{"Ollama, thoughts only", []string{`{"message":{"role":"assistant","content":"","thinking":"hm"},"done":true}`}, ReasoningAuto, `{"role":"assistant","content":"hm"}`, "", true},
		{"Gemini", []string{`data: {"candidates":[{"content":{"parts":[{"text":"hm","thought":true},{"text":"a "}]}}]}`, `data: {"candidates":[{"content":{"parts":[{"text":"b"},{"functionCall":{"name":"f","args":{}},"thoughtSignature":"s"}]},"finishReason":"STOP"}]}`}, ReasoningDrop, `{"role":"model","parts":[{"text":"a b"},{"functionCall":{"name":"f","args":{}},"thoughtSignature":"s"}]}`, "", false},
		{"Gemini, thoughts kept", []string{`data: {"candidates":[{"content":{"parts":[{"text":"hm","thought":true},{"text":"a"}]},"finishReason":"STOP"}]}`}, ReasoningKeep, `{"role":"model","parts":[{"text":"hm","thought":true},{"text":"a"}]}`, "", false},
		{"Gemini, nothing", []string{`data: {"candidates":[{"content":{"role":"model"},"finishReason":"MAX_TOKENS"}]}`}, ReasoningAuto, ``, "", true},
	} {
		r := Reply{History: tt.history}
		for _, f := range tt.frames {
			if err := r.Add([]byte(f)); err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
		}
		got, err := r.AppendMessage(nil)
		if err != nil || string(got) != tt.want || r.Contentless() != tt.contentless {
			t.Errorf("%s: %s, %v, contentless %v; want\n%s", tt.name, got, err, r.Contentless(), tt.want)
		}
		if strings.HasPrefix(tt.name, "responses") && r.ID() != tt.id {
			t.Errorf("%s: id %q, want %q", tt.name, r.ID(), tt.id)
		}
	}
}

// No body panics, and the number of events with output stays the same if the frames are parsed one by one.
func FuzzNative(f *testing.F) {
	for _, s := range []string{
		event("output_text.delta", `,"item_id":"i","delta":"a"`), event("output_text.done", `,"output_index":1e9,"text":"ab"`), event("output_item.added", `,"item":{"type":"function_call","name":"f"}`), "data: " + responseDone + "\n\n",
		`{"message":{"content":"a","tool_calls":[{"function":{"name":"f","arguments":{}}}]},"done":true,"eval_count":-4}` + "\n", `{"response":"a","done":false}` + "\n",
		`data: {"candidates":[{"content":{"parts":[{"text":"a","thought":true},{"functionCall":{"args":{}}}]},"index":3}],"usageMetadata":{"promptTokenCount":1e300}}` + "\n\n", `{"promptFeedback":{"blockReason":"X"}}`,
	} {
		f.Add([]byte(s), []byte(s))
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		var shared Chunk
		var r Reply
		var with, without Stream
		for _, frame := range [][]byte{first, second, first} {
			var alone Chunk
			err := ParseFrame(frame, &shared)
			if alone := parseFrame(frame, &alone); (err == nil) != (alone == nil) {
				t.Fatalf("%q: %v and %v", frame, err, alone)
			}
			if err != nil {
				continue
			}
			with.Add(&shared)
			without.Add(&alone)
			_ = r.Add(frame)
		}
		if with.OutputChunks != without.OutputChunks {
			t.Errorf("%q, %q: %d and %d events with output", first, second, with.OutputChunks, without.OutputChunks)
		}
		_, _ = r.AppendMessage(nil)
	})
}
