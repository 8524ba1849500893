package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pa-tools/pa/pkg/wire/sse"
)

// recordedMessages returns the body of a recorded answer of Anthropic Messages.
func recordedMessages(tb testing.TB, name string) (status int, body []byte) {
	tb.Helper()
	return recordedAnswer(tb, "messages", name)
}

// recordedAnswer returns the body of a recorded answer in a folder.
func recordedAnswer(tb testing.TB, folder, name string) (status int, body []byte) {
	tb.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", folder, name))
	if err != nil {
		tb.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(raw)), nil)
	if err != nil {
		tb.Fatal(err)
	}
	if body, err = io.ReadAll(resp.Body); err != nil {
		tb.Fatal(err)
	}
	return resp.StatusCode, body
}

// Recorded answers of llama.cpp and vLLM, event by event as encoding/json reads them.
func TestRecordedMessages(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		file                  string
		outputs               int
		input, output, cached int64
		hasCached             bool
		stop                  string
	}{
		{"llamacpp_stream.http", 16, 29, 16, 28, true, "max_tokens"},
		{"llamacpp_stream_again_cached.http", 16, 679, 16, 678, true, "max_tokens"},
		{"llamacpp_whole.http", 1, 29, 10, 28, true, "end_turn"},
		{"vllm_stream.http", 12, 29, 15, 0, true, "end_turn"}, // 15 tokens in 12 events
		{"vllm_stream_again_cached.http", 16, 679, 16, 640, true, "max_tokens"},
		{"vllm_stream_one_token.http", 1, 29, 1, 0, true, "max_tokens"},
		{"vllm_whole.http", 1, 29, 8, 0, true, "end_turn"},
	} {
		_, body := recordedMessages(t, tt.file)
		frames := [][]byte{body}
		if strings.Contains(tt.file, "stream") {
			frames = splitAll(body)
		}
		var c Chunk
		var st Stream
		stop := ""
		for _, frame := range frames {
			if err := ParseFrame(frame, &c); err != nil {
				t.Fatalf("%s: %q: %v", tt.file, frame, err)
			}
			st.Add(&c)
			var content, reasoning string
			for i := range c.Choices {
				content, reasoning = content+string(c.Choices[i].Content), reasoning+string(c.Choices[i].Reasoning)
				stop += string(c.Choices[i].FinishReason)
			}
			if wantContent, wantReasoning := messageTexts(t, frame); content != wantContent || reasoning != wantReasoning {
				t.Errorf("%s: %q: %q, %q", tt.file, frame, content, reasoning)
			}
		}
		u := st.Usage
		if st.OutputChunks != tt.outputs || u.PromptTokens != tt.input || u.CompletionTokens != tt.output || u.CachedTokens != tt.cached || st.HasCached != tt.hasCached || stop != tt.stop || !st.Complete() {
			t.Errorf("%s: %d outputs, usage %+v, stop %q, complete %v", tt.file, st.OutputChunks, u, stop, st.Complete())
		}
	}
	status, body := recordedMessages(t, "vllm_err_context.http")
	if !IsContextOverflow(status, body) || !strings.HasPrefix(ParseError(status, "application/json", body), "This model's maximum context length is 4096 tokens.") {
		t.Errorf("the error is %q", ParseError(status, "application/json", body))
	}
}

// messageTexts reads the texts of an event or of a whole answer through maps.
func messageTexts(t *testing.T, frame []byte) (content, reasoning string) {
	t.Helper()
	data := frame
	if e := sse.Parse(frame); e.HasData {
		data = e.Data
	}
	var v map[string]any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	blocks, _ := v["content"].([]any)
	for _, name := range []string{"delta", "content_block"} {
		if v[name] != nil {
			blocks = append(blocks, v[name])
		}
	}
	for _, b := range blocks {
		m := b.(map[string]any)
		text, _ := m["text"].(string)
		thinking, _ := m["thinking"].(string)
		content, reasoning = content+text, reasoning+thinking
	}
	return content, reasoning
}

// show describes the output of a chunk.
func show(c *Chunk) string {
	if c.Error != nil {
		return "error " + c.Error.Code + " " + c.Error.Error()
	}
	s := ""
	for i := range c.Choices {
		ch := &c.Choices[i]
		for _, part := range []struct {
			name string
			text []byte
		}{{"text", ch.Content}, {"reasoning", ch.Reasoning}, {"call", ch.ToolCalls}, {"stop", ch.FinishReason}} {
			if len(part.text) > 0 {
				s += part.name + " " + string(part.text)
			}
		}
	}
	if c.Done {
		s += "done"
	}
	return s
}

func TestMessagesEvents(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ data, want string }{
		{`{"type":"message_start","message":{"id":"m","model":"x","content":[],"usage":{"input_tokens":3,"output_tokens":1}}}`, ""},
		{`{"type":"ping"}`, ""},
		{`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`, ""},
		{`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a"}}`, "text a"},
		{`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`, ""},
		{`{"type":"content_block_start","index":0,"content_block":{"type":"redacted_thinking","data":"xyz"}}`, ""},
		{`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"t","name":"ls","input":{}}}`, "call ls"},
		{`{"content_block":{"input":{"a":1},"name":"ls","type":"server_tool_use"},"index":2,"type":"content_block_start"}`, `call ls{"a":1}`},
		{`{"type":"content_block_start","index":2,"content_block":{"type":"web_search_tool_result","tool_use_id":"t","content":[{"type":"web_search_result","text":"no"}]}}`, ""},
		{`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\n"}}`, "text a\n"},
		{`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":""}}`, ""},
		{`{"delta":{"thinking":"hm","type":"thinking_delta"},"index":1,"type":"content_block_delta"}`, "reasoning hm"},
		{`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"d\":"}}`, `call {"d":`},
		{`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"xyz"}}`, ""},
		{`{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{"cited_text":"no"}}}`, ""},
		{`{"type":"content_block_delta","index":0,"delta":{"type":"new_delta","text":"no"}}`, ""},
		{`{"type":"content_block_stop","index":0}`, ""},
		{`{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":31}}`, "stop tool_use"},
		{`{"type":"message_stop"}`, "done"},
		{`{"type":"new_event","text":"no","delta":{"text":"no"}}`, ""},
		{`{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`, "error 529 overloaded_error: busy"},
		{`{"type":"error","error":{"type":"rate_limit_error","message":"slow"},"request_id":"r"}`, "error 429 rate_limit_error: slow"},
		{`{"type":"error","code":"server_error","message":"not of Messages"}`, "error server_error not of Messages"},
		{
			`{"id":"m","type":"message","role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"a"},{"type":"tool_use","id":"t","name":"ls","input":{"d":1}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":2}}`,
			`text areasoning hmcall ls{"d":1}stop tool_use`,
		},
		{`{"type":"message","content":[],"stop_reason":"end_turn"}`, "stop end_turn"},
	} {
		var c Chunk
		if err := ParseFrame([]byte("data: "+tt.data+"\n\n"), &c); err != nil || show(&c) != tt.want {
			t.Errorf("%s: %q, %v, want %q", tt.data, show(&c), err, tt.want)
		}
	}
}

// The three numbers of the input are of one event.
func TestMessagesUsage(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, start, delta    string
		input, output, cached int64
		hasCached             bool
	}{
		{"Anthropic", `"input_tokens":12,"cache_creation_input_tokens":5,"cache_read_input_tokens":640,"output_tokens":1`, `"output_tokens":31`, 657, 31, 640, true},
		{"the cache at the end only", `"input_tokens":652,"output_tokens":0`, `"input_tokens":12,"output_tokens":9,"cache_read_input_tokens":640`, 652, 9, 640, true},
		{"the cache is not known", `"input_tokens":652,"output_tokens":0`, `"output_tokens":9`, 652, 9, 0, false},
		{"the end does not know the cache", `"input_tokens":12,"cache_read_input_tokens":640`, `"input_tokens":652,"output_tokens":9`, 652, 9, 0, false},
		{"the end states the cache alone", `"input_tokens":12,"cache_read_input_tokens":640`, `"cache_read_input_tokens":7,"output_tokens":9`, 652, 9, 640, true},
		{"0 at the start", `"input_tokens":0,"output_tokens":0`, `"input_tokens":12,"output_tokens":9`, 12, 9, 0, false},
		{"null at the end", `"input_tokens":3`, `"input_tokens":null,"output_tokens":9`, 3, 9, 0, false},
		{"no output yet", `"input_tokens":3,"output_tokens":1`, ``, 3, 0, 0, false},
	} {
		var c Chunk
		var st Stream
		for _, data := range []string{
			`{"type":"message_start","message":{"usage":{` + tt.start + `}}}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{` + tt.delta + `}}`,
			`{"type":"message_delta","delta":{},"usage":{"server_tool_use":null}}`,
		} {
			if err := Parse([]byte(data), &c); err != nil {
				t.Fatalf("%s: %s: %v", tt.name, data, err)
			}
			st.Add(&c)
		}
		u := st.Usage
		if u.PromptTokens != tt.input || u.CompletionTokens != tt.output || u.CachedTokens != tt.cached || st.HasCached != tt.hasCached || u.TotalTokens != tt.input+tt.output {
			t.Errorf("%s: %+v, cached stated: %v", tt.name, u, st.HasCached)
		}
		if st.Complete() {
			t.Errorf("%s: complete without message_stop", tt.name)
		}
	}
}

func TestMessagesReply(t *testing.T) {
	t.Parallel()
	start := func(block string) string {
		return `{"type":"content_block_start","index":0,"content_block":` + block + `}`
	}
	delta := func(delta string) string { return `{"type":"content_block_delta","index":0,"delta":` + delta + `}` }
	thought := []string{
		start(`{"type":"thinking","thinking":"","signature":""}`), delta(`{"type":"thinking_delta","thinking":"h"}`), delta(`{"type":"thinking_delta","thinking":"m"}`),
		delta(`{"type":"signature_delta","signature":"c2ln"}`),
	}
	text := []string{start(`{"type":"text","text":"","citations":null}`), delta(`{"type":"text_delta","text":"a"}`), `{"type":"ping"}`, delta(`{"type":"text_delta","text":"\"b"}`)}
	for _, tt := range []struct {
		name        string
		events      []string
		history     HistoryReasoning
		want        string
		contentless bool
	}{
		{"text", text, ReasoningAuto, `[{"type":"text","text":"a\"b","citations":null}]`, false},
		{"citations", append(text, delta(`{"type":"citations_delta","citation":{"n":1}}`)), ReasoningAuto, `[{"type":"text","text":"a\"b","citations":[{"n":1}]}]`, false},
		{"a thought", append(thought, text...), ReasoningAuto, `[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"text","text":"a\"b","citations":null}]`, false},
		{"a thought, dropped", append(thought, text...), ReasoningDrop, `[{"type":"text","text":"a\"b","citations":null}]`, false},
		{"a thought alone", thought, ReasoningAuto, `[{"type":"thinking","thinking":"hm","signature":"c2ln"}]`, true},
		{"a thought alone, dropped", thought, ReasoningDrop, "", true},
		{"an empty text", append(thought, start(`{"type":"text","text":""}`)), ReasoningAuto, `[{"type":"thinking","thinking":"hm","signature":"c2ln"}]`, true},
		{
			"a call",
			[]string{start(`{"type":"tool_use","id":"t","name":"ls","input":{}}`), delta(`{"type":"input_json_delta","partial_json":"{\"d\":"}`), delta(`{"type":"input_json_delta","partial_json":" 1}"}`)},
			ReasoningAuto, `[{"type":"tool_use","id":"t","name":"ls","input":{"d":1}}]`, false,
		},
		{"a call without arguments", []string{start(`{"type":"tool_use","id":"t","name":"ls","input":{}}`)}, ReasoningAuto, `[{"type":"tool_use","id":"t","name":"ls","input":{}}]`, false},
		{
			"a call that was cut",
			[]string{start(`{"type":"tool_use","id":"t","name":"ls","input":{}}`), delta(`{"type":"input_json_delta","partial_json":"{\"d"}`)},
			ReasoningAuto, `[{"type":"tool_use","id":"t","name":"ls","input":{"INVALID_JSON":"{\"d"}}]`, false,
		},
		{"a block that is not known", []string{start(`{"type":"redacted_thinking","data":"x"}`), start(`{"type":"new","n":[1]}`)}, ReasoningAuto, `[{"type":"redacted_thinking","data":"x"},{"type":"new","n":[1]}]`, true},
		{"whole", []string{`{"type":"message","role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"}, {"type":"tool_use","id":"t","name":"ls","input":{"d":1}}],"stop_reason":"tool_use"}`}, ReasoningAuto, `[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"tool_use","id":"t","name":"ls","input":{"d":1}}]`, false},
	} {
		r := Reply{History: tt.history}
		for _, data := range tt.events {
			if err := r.Add([]byte("event: x\ndata: " + data + "\n\n")); err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
		}
		got, err := r.AppendMessage(nil)
		want := ""
		if tt.want != "" {
			want = `{"role":"assistant","content":` + tt.want + `}`
		}
		if err != nil || string(got) != want || r.Contentless() != tt.contentless {
			t.Errorf("%s:\n%s, %v, contentless %v, want\n%s", tt.name, got, err, r.Contentless(), want)
		}
	}
}

// For any bytes of a server: a chunk that is used again holds what a new one holds, texts are what encoding/json reads, and
// the reply is JSON.
func FuzzMessages(f *testing.F) {
	recorded, err := filepath.Glob(filepath.Join("testdata", "messages", "*.http"))
	if err != nil || len(recorded) == 0 {
		f.Fatal(recorded, err)
	}
	for _, path := range recorded {
		_, body := recordedMessages(f, filepath.Base(path))
		f.Add(body)
	}
	f.Add([]byte(`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","name":"ls","input":{}}}` + "\n\n" + `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{}"}}`))
	f.Add([]byte(`data: {"type":"message_delta","delta":{"stop_reason":"x"},"usage":{"input_tokens":9007199254740992,"cache_read_input_tokens":9007199254740992,"output_tokens":-1}}` + "\n\n"))
	f.Fuzz(func(t *testing.T, body []byte) {
		var c Chunk
		var st Stream
		var r Reply
		valid := true
		for _, frame := range append(splitAll(body), body) {
			var fresh Chunk
			err, errFresh := ParseFrame(frame, &c), ParseFrame(frame, &fresh)
			if (err == nil) != (errFresh == nil) || err == nil && (show(&c) != show(&fresh) || c.Messages != fresh.Messages || c.Usage != fresh.Usage) {
				t.Fatalf("%q: %s, %v, but in a new chunk %s, %v", frame, show(&c), err, show(&fresh), errFresh)
			}
			st.Add(&c)
			_ = r.Add(frame)
			data := frame
			if e := sse.Parse(frame); e.HasData {
				data = e.Data
			}
			isJSON := json.Valid(data)
			valid = valid && isJSON
			if err == nil && isJSON && c.Messages == BlockDelta && utf8.Valid(data) && !beyondReference(data) {
				checkBlockDelta(t, data, &c)
			}
		}
		if got, err := r.AppendMessage(nil); valid && err == nil && len(got) > 0 && !json.Valid(got) {
			t.Fatalf("%q: the reply %q is not JSON", body, got)
		}
	})
}

// checkBlockDelta compares the output of a content_block_delta with what encoding/json reads.
func checkBlockDelta(t *testing.T, data []byte, c *Chunk) {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(data, &v); err != nil || v["delta"] == nil {
		return
	}
	delta, _ := v["delta"].(map[string]any)
	kind, _ := delta["type"].(string)
	want := ""
	for _, k := range []struct{ kind, member, shown string }{{"text_delta", "text", "text "}, {"thinking_delta", "thinking", "reasoning "}, {"input_json_delta", "partial_json", "call "}} {
		if text, _ := delta[k.member].(string); kind == k.kind && text != "" {
			want = k.shown + text
		}
	}
	got := show(c)
	if stop, _ := v["stop_reason"].(string); stop != "" {
		want += "stop " + stop
	}
	if c.Error == nil && got != want {
		t.Fatalf("%q: %q, encoding/json reads %q", data, got, want)
	}
}

// A delta of a block that never began, and blocks without an end, take time in proportion to their number.
func TestMessagesManyBlocks(t *testing.T) {
	t.Parallel()
	var r Reply
	start := []byte(`data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a"}}` + "\n\n")
	lost := []byte(`data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"b"}}` + "\n\n")
	const n = 200_000
	for i := range 2 * n {
		frame := start
		if i >= n {
			frame = lost
		}
		if err := r.Add(frame); err != nil {
			t.Fatal(err)
		}
	}
	if len(r.blocks) != n || len(r.content) != n {
		t.Errorf("%d blocks, %d bytes of text", len(r.blocks), len(r.content))
	}
}

// BenchmarkMessages reads events of Messages, and of a chat beside them.
func BenchmarkMessages(b *testing.B) {
	for _, bb := range []struct{ name, event string }{
		{"chat", `data: {"id":"c-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"%s"},"logprobs":null,"finish_reason":null}]}` + "\n\n"},
		{"messages", "event: content_block_delta\ndata: " + `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"%s"}}` + "\n\n"},
		{"chat escaped", `data: {"id":"c-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"\n%s"},"logprobs":null,"finish_reason":null}]}` + "\n\n"},
		{"messages escaped", "event: content_block_delta\ndata: " + `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\n%s"}}` + "\n\n"},
	} {
		b.Run(bb.name, func(b *testing.B) {
			frames := [][]byte{[]byte(strings.Replace(bb.event, "%s", " quick", 1)), []byte(strings.Replace(bb.event, "%s", " fox", 1))}
			var c Chunk
			var st Stream
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if err := ParseFrame(frames[i&1], &c); err != nil {
					b.Fatal(err)
				}
				st.Add(&c)
			}
		})
	}
}
