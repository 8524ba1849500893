package dataset

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// spanOf returns a span from one second to another of a minute, with attributes: names and values as JSON.
func spanOf(t *testing.T, from, to float64, attributes ...string) string {
	t.Helper()
	at := func(s float64) string {
		return time.Date(2026, 1, 5, 10, 0, 0, 0, time.UTC).Add(time.Duration(s * 1e9)).Format("2006-01-02T15:04:05.000000")
	}
	var all []string
	for i := 0; i < len(attributes); i += 2 {
		all = append(all, fmt.Sprintf("%q:%s", attributes[i], attributes[i+1]))
	}
	return fmt.Sprintf(`{"trace_id":"t","name":"chat m","start_time":%q,"end_time":%q,"status":{"code":1},"attributes":{%s}}`, at(from), at(to), strings.Join(all, ","))
}

// text returns JSON as a JSON string.
func text(t *testing.T, js string) string {
	t.Helper()
	out, err := json.Marshal(js)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// said returns messages, of the user and of the assistant in turn.
func said(texts ...string) string {
	var all []string
	for i, text := range texts {
		all = append(all, fmt.Sprintf(`{"role":%q,"content":%q}`, [...]string{"user", "assistant"}[i%2], text))
	}
	return "[" + strings.Join(all, ",") + "]"
}

func TestSpans(t *testing.T) {
	in := func(messages string) []string { return []string{"gen_ai.input.messages", text(t, messages)} }
	out := func(s string) []string { return []string{"gen_ai.output.text", text(t, s)} }
	file := func(spans ...string) []string {
		return []string{`{"trace_id":"f","spans":[` + strings.Join(spans, ",\n") + `]}`}
	}
	one := func(attributes ...string) []string { return file(spanOf(t, 0, 1, attributes...)) }
	call := func(from, to float64, parts ...[]string) string {
		var all []string
		for _, p := range parts {
			all = append(all, p...)
		}
		return spanOf(t, from, to, all...)
	}
	whole := func(messages string) string { return " = messages:" + messages + " whole" }
	testSessionFiles(t, "otel_spans", []sessionTest{
		{
			name: "a request waits for the answers that it holds, and for the latest before it",
			in: file(
				call(0, 2, in(said("q")), out("a")), call(2.5, 5, in(said("l")), out("b")), call(3, 4, in(said("r")), out("c")),
				call(4.5, 6, in(said("q", "a", "x", "c", "y"))), call(6.25, 7, in(said("q", "b", "z")))),
			want: []string{
				"f recorded",
				"root:0" + whole(said("q")),
				"root:1 after root:0+500ms" + whole(said("l")),
				"root:2 after root:0+1s" + whole(said("r")),
				"root:3 after root:2+500ms" + whole(said("q", "a", "x", "c", "y")),
				"root:4 after root:1+250ms root:3+250ms" + whole(said("q", "b", "z")),
			},
		},
		{
			name: "an answer that several gave comes from as many of the latest",
			in:   file(call(0, 1, in(said("q")), out("same")), call(0, 2, in(said("q")), out("same")), call(0, 9, in(said("q")), out("same")), call(3, 4, in(said("q", "same", "q", "same")))),
			want: []string{"f recorded", "root:0" + whole(said("q")), "root:1" + whole(said("q")), "root:2" + whole(said("q")), "root:3 after root:0+1s root:1+1s" + whole(said("q", "same", "q", "same"))},
		},
		{
			name: "spans out of order, and a long wait",
			in:   file(call(31, 32, in(said("second"))), call(0, 1, in(said("first")))),
			want: []string{"f recorded", "root:0" + whole(said("first")), "root:1 after root:0+15s" + whole(said("second"))},
			notes: []string{
				"assumed: a wait of more than 15s between requests is 15s (1)",
			},
		},
		{
			name: "what a request has beside its messages",
			in: one("gen_ai.input.messages", said("q"), "gen_ai.request.max_tokens", "500", "gen_ai.request.temperature", "0.7", "gen_ai.request.stop_sequences", `["x"]`,
				"gen_ai.system_instructions", text(t, `[{"type":"text","content":"Be brief."}]`),
				"gen_ai.tool.definitions", text(t, `[{"type":"function","name":"ls","description":null,"parameters":{"type":"object"}},{"type":"function","function":{"name":"cd"}}]`)),
			want: []string{"f recorded", `root:0 = messages:[{"role":"system","content":"Be brief."},{"role":"user","content":"q"}] max:500 +temperature=0.7 +stop=["x"]` +
				` +tools=[{"type":"function","function":{"name":"ls","parameters":{"type":"object"}}},{"type":"function","function":{"name":"cd"}}] whole`},
		},
		{
			name: "the length of the answer, by its present name", in: one("gen_ai.input.messages", said("q"), "gen_ai.usage.output_tokens", "30", "gen_ai.request.max_tokens", "500"),
			want: []string{"f recorded", "root:0 = messages:" + said("q") + " max:30 whole"},
		},
		{
			name: "the length of the answer, by its former name", in: one("gen_ai.input.messages", said("q"), "gen_ai.usage.completion_tokens", "31"),
			want: []string{"f recorded", "root:0 = messages:" + said("q") + " max:31 whole"},
		},
		{
			name: "messages in parts, whose tool calls have causes",
			in: file(
				spanOf(t, 0, 1, "gen_ai.input.messages", text(t, `[{"role":"user","parts":[{"type":"text","content":"hi"},{"type":"uri","modality":"image","uri":"http://x/y"}]}]`),
					"gen_ai.output.messages", text(t, `[{"role":"assistant","parts":[{"type":"tool_call","id":"c1","name":"ls","arguments":{"a":1}},{"type":"tool_call","id":"c2","name":"cd","arguments":"{}"}],"finish_reason":"tool_calls"}]`)),
				spanOf(t, 0.5, 2, "gen_ai.input.messages", said("beside")),
				spanOf(t, 3, 4, "gen_ai.input.messages", text(t, `[{"role":"assistant","parts":[{"type":"reasoning","content":"hm"},{"type":"text","content":"so"},{"type":"tool_call","id":"c1","name":"ls","arguments":{"a":1}},{"type":"tool_call","id":"c2","name":"cd","arguments":"{}"}]},`+
					`{"role":"tool","parts":[{"type":"tool_call_response","id":"c1","response":"r1"},{"type":"tool_call_response","id":"c2","result":{"x":[2]}}]},{"role":"developer","parts":[]}]`))),
			want: []string{
				"f recorded",
				`root:0 = messages:[{"role":"user","content":[{"text":"hi","type":"text"},{"image_url":{"url":"http://x/y"},"type":"image_url"}]}] whole`,
				"root:1" + whole(said("beside")),
				`root:2 after root:0+1s root:1+1s = messages:[{"role":"assistant","content":"so","reasoning_content":"hm","tool_calls":[{"id":"c1","type":"function","function":{"name":"ls","arguments":"{\"a\":1}"}},{"id":"c2","type":"function","function":{"name":"cd","arguments":"{}"}}]},` +
					`{"role":"tool","tool_call_id":"c1","content":"r1"},{"role":"tool","tool_call_id":"c2","content":"{\"x\":[2]}"},{"role":"system","content":""}] whole`,
			},
		},
		{
			name: "rows of Exgentic, with spans that are no requests or failed",
			in: []string{
				`{"harness":"h","session_id":"e","models":["m"],"spans":[{"type":"llm_call","start_time":"2026-01-05T10:00:00Z","end_time":"2026-01-05T12:00:02+02:00","status":{"code":1},"attributes":{"gen_ai.usage.input_tokens":12,"gen_ai.usage.output_tokens":3,"gen_ai.input.messages":"[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"content\":\"hi\"}]}]"}},` +
					`{"type":"tool","name":"ls"},{"type":"llm_call","status":{"code":2}},{"type":"llm_call","status":{"code":"STATUS_CODE_ERROR"}},` +
					`{"type":"llm_call","attributes":{"gen_ai.usage.output_tokens":0,"gen_ai.input.messages":"x"}}]}`,
				`{"harness":"h","session_id":"none","models":[],"spans":[]}`,
				`{"harness":"h","session_id":"g","models":["m"],"spans":[` + call(5, 6, in(said("q"))) + "]}",
			},
			want: []string{"e recorded", `root:0 = messages:[{"role":"user","content":"hi"}] max:3 whole`, "g recorded", "root:0" + whole(said("q"))},
			notes: []string{
				"left out: a request that failed (2)", "left out: a request without an answer (1)",
				"left out: a row without a request that succeeded (1)", "left out: a span that is not a request to a model (1)",
			},
		},
		{
			name: "several traces",
			in:   []string{`{"spans":[` + call(0, 1, in(said("q"))) + "," + strings.Replace(call(2, 3, in(said("r"))), `"t"`, `"u"`, 1) + `]}`},
			want: []string{"t recorded", "root:0" + whole(said("q")), "root:1 after root:0+1s" + whole(said("r"))}, notes: []string{"assumed: the traces of a row are one session (1)"},
		},
	})
}

func TestSpanErrors(t *testing.T) {
	row := func(span string) []string {
		return []string{`{"spans":[]}`, `{"spans":[{"attributes":{}},` + span + `]}`}
	}
	timed := `"start_time":"2026-01-05 10:00:00","end_time":"2026-01-05 10:00:01"`
	asked := func(messages string) []string {
		return row(`{` + timed + `,"attributes":{"gen_ai.input.messages":` + text(t, messages) + `}}`)
	}
	testSessionErrors(t, []errorTest{
		{"no messages", row(`{"name":"chat m",` + timed + `,"attributes":{"gen_ai.request.model":"m"}}`), Options{}, `in: line 2: "spans": span 1: no "gen_ai.input.messages": it has "gen_ai.request.model"; record the content`},
		{"messages that are no array", asked("hello"), Options{}, `in: line 2: "spans": span 1: "gen_ai.input.messages": expected an array, or a string that holds one, found hello`},
		{"no message", asked("[]"), Options{}, `in: line 2: "spans": span 1: "gen_ai.input.messages" holds no message`},
		{"a message without a role", asked(`[{"role":"user"},{"content":"x"}]`), Options{}, `"gen_ai.input.messages": message 1: "role": a required field is empty`},
		{"a part of an unknown type", asked(`[{"role":"user","parts":[{"type":"text"},{"type":"smell"}]}]`), Options{}, `"gen_ai.input.messages": message 0: part 1: has the type "smell"; expected text,`},
		{"a tool call without a name", asked(`[{"role":"assistant","parts":[{"type":"tool_call","id":"x"}]}]`), Options{}, `message 0: part 0: "name": a required field is empty`},
		{"no start", row(`{"attributes":{"gen_ai.input.messages":[{"role":"user"}]}}`), Options{}, `in: line 2: "spans": span 1: "start_time": a required field is empty`},
		{"a time that is none", row(`{"start_time":"noon","attributes":{"gen_ai.input.messages":[{"role":"user"}]}}`), Options{}, `"start_time": "noon" is not a time such as`},
		{"an end before the start", row(`{"start_time":"2026-01-05 10:00:01","end_time":"2026-01-05 10:00:00","attributes":{"gen_ai.input.messages":[{"role":"user"}]}}`), Options{}, `"end_time" is 1s before "start_time"`},
		{"a span that is none", row(`7`), Options{}, `in: line 2: "spans": span 1: expected a JSON object, found 7`},
		{"tools without a name", row(`{` + timed + `,"attributes":{"gen_ai.input.messages":[{"role":"user"}],"gen_ai.tool.definitions":[{}]}}`), Options{}, `in: line 2: "spans": span 1: "gen_ai.tool.definitions": element 0: "name"`},
		{"only what failed", []string{`{"spans":[{"name":"chat m","status":{"code":2}}]}`}, Options{}, `no request in it (`},
	})
}
