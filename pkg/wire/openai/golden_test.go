package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/pkg/wire/sse"
)

// An answer is what a whole recorded answer comes to.
type answer struct {
	Outputs                   int // chunks with output
	Content, Reasoning, Tools map[int]string
	Finish                    map[int]string
	Usage                     map[string]float64
	Done, Complete            bool
}

func newAnswer() answer {
	return answer{Content: map[int]string{}, Reasoning: map[int]string{}, Tools: map[int]string{}, Finish: map[int]string{}, Usage: map[string]float64{}}
}

// Recorded answers of real servers read as encoding/json reads them.
func TestGolden(t *testing.T) {
	// Counted with grep in the recordings. vLLM and transformers hold a
	// character back until both its tokens are there; vLLM's tool call has 64
	// tokens in two events.
	counted := map[string]struct {
		outputs    int
		finish     string
		completion float64
		complete   bool
	}{
		"llamacpp/chat_stream.http":                        {16, "length", 0, true},
		"llamacpp/chat_stream_usage.http":                  {16, "length", 16, true},
		"llamacpp/chat_stream_n2.http":                     {32, "length", 32, true},
		"llamacpp/native_completion_stream.http":           {5, "", 0, true},
		"llamacpp/chat_nonstream.http":                     {1, "length", 16, true},
		"vllm/chat_stream.http":                            {15, "length", 0, true},
		"vllm/chat_stream_tool_call.http":                  {2, "tool_calls", 0, true},
		"transformers/chat_stream.http":                    {15, "length", 16, true},
		"llamacpp_ping/truncated_server_killed.http":       {27, "", 0, false},
		"transformers/completions_stream_usage.http":       {15, "length", 16, true},
		"vllm_reasoning_interval4/completions_stream.http": {9, "length", 0, true},
	}
	files := goldenAnswers(t)
	for name, f := range files {
		t.Run(name, func(t *testing.T) {
			frames := [][]byte{f.body}
			if f.streamed {
				frames = splitAll(f.body)
			}
			got := read(t, frames)
			native := strings.Contains(name, "native") // has no choices, which is all that the reference knows
			if diff := cmp.Diff(reference(t, frames), got, cmpopts.IgnoreFields(answer{}, "Complete")); !native && diff != "" {
				t.Errorf("(-encoding/json +got):\n%s", diff)
			}
			want, ok := counted[name]
			if !ok {
				return
			}
			if got.Outputs != want.outputs || got.Complete != want.complete {
				t.Errorf("outputs, complete = %d, %v, want %d, %v", got.Outputs, got.Complete, want.outputs, want.complete)
			}
			if want.finish != "" && got.Finish[0] != want.finish {
				t.Errorf("finish reason = %q, want %q", got.Finish[0], want.finish)
			}
			if want.completion > 0 && got.Usage["completion_tokens"] != want.completion {
				t.Errorf("usage = %v, want %v completion tokens", got.Usage, want.completion)
			}
		})
	}
	for name := range counted {
		if _, ok := files[name]; !ok {
			t.Errorf("%s is not among the recorded answers", name)
		}
	}
}

// Recorded error bodies give the server's message.
func TestGoldenErrors(t *testing.T) {
	fsys := golden.FS(t, "openai_streams")
	for name, want := range map[string]string{
		"llamacpp/err_404.http":                     "File Not Found",
		"llamacpp/err_bad_json.http":                "parse error at line 1, column 80",
		"llamacpp/err_context_overflow_stream.http": "request (6021 tokens) exceeds the available context size (4096 tokens)",
		"transformers/err_404.http":                 "Not Found",
		"transformers/err_bad_json.http":            "body.76: JSON decode error",
		"transformers/err_bad_model.http":           "Internal Server Error",
		"transformers/err_unknown_field.http":       "Unexpected fields in the request: {'ignore_eos'}",
		"vllm/err_404.http":                         "Not Found",
		"vllm/err_bad_json.http":                    "JSON",
		"vllm/err_bad_model.http":                   "does not exist",
		"vllm/err_context_overflow_stream.http":     "context length",
	} {
		b, err := fs.ReadFile(fsys, name)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(b)), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := ParseError(resp.StatusCode, resp.Header.Get("Content-Type"), body)
		if !strings.Contains(got, want) || strings.HasPrefix(got, "{") {
			t.Errorf("%s: ParseError = %q, want it to say %q", name, got, want)
		}
	}
}

// read gives all frames to ParseFrame and a Stream.
func read(t *testing.T, frames [][]byte) answer {
	t.Helper()
	a := newAnswer()
	var c Chunk
	var st Stream
	for _, f := range frames {
		if err := ParseFrame(f, &c); err != nil {
			t.Fatalf("ParseFrame(%q): %v", f, err)
		}
		st.Add(&c)
		for _, ch := range c.Choices {
			join(a.Content, ch.Index, string(ch.Content))
			join(a.Reasoning, ch.Index, string(ch.Reasoning))
			join(a.Tools, ch.Index, string(ch.ToolCalls))
			join(a.Finish, ch.Index, string(ch.FinishReason))
		}
	}
	a.Outputs, a.Done, a.Complete = st.OutputChunks, st.Done, st.Complete()
	if st.HasUsage {
		u := st.Usage
		a.Usage = map[string]float64{
			"prompt_tokens": float64(u.PromptTokens), "completion_tokens": float64(u.CompletionTokens), "total_tokens": float64(u.TotalTokens),
			"cached_tokens": float64(u.CachedTokens), "reasoning_tokens": float64(u.ReasoningTokens),
		}
	}
	return a
}

// reference reads the same through maps.
func reference(t *testing.T, frames [][]byte) answer {
	t.Helper()
	a := newAnswer()
	var alone []map[string]float64 // usages without a choice beside them
	str := func(v any) string { s, _ := v.(string); return s }
	for _, f := range frames {
		text := strings.TrimSpace(string(f))
		if strings.HasPrefix(text, ":") {
			continue
		}
		text = strings.TrimSpace(strings.TrimPrefix(text, "data:"))
		if text == "[DONE]" {
			a.Done = true
			continue
		}
		var v map[string]any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatalf("encoding/json: %q: %v", text, err)
		}
		if u, ok := v["usage"].(map[string]any); ok {
			a.Usage = map[string]float64{"cached_tokens": 0, "reasoning_tokens": 0}
			for _, k := range []string{"prompt_tokens", "completion_tokens", "total_tokens"} {
				a.Usage[k], _ = u[k].(float64)
			}
			if d, ok := u["prompt_tokens_details"].(map[string]any); ok {
				a.Usage["cached_tokens"], _ = d["cached_tokens"].(float64)
			}
			if d, ok := u["completion_tokens_details"].(map[string]any); ok {
				a.Usage["reasoning_tokens"], _ = d["reasoning_tokens"].(float64)
			}
			if c, _ := v["choices"].([]any); len(c) == 0 {
				alone = append(alone, a.Usage)
			}
		}
		output := false
		choices, _ := v["choices"].([]any)
		for _, ch := range choices {
			m := ch.(map[string]any)
			i := int(m["index"].(float64))
			d, _ := m["delta"].(map[string]any)
			if d == nil {
				d, _ = m["message"].(map[string]any)
			}
			reasoning := str(d["reasoning"]) + str(d["reasoning_content"])
			content := str(d["content"]) + str(m["text"])
			tools := ""
			calls, _ := d["tool_calls"].([]any)
			for _, c := range calls {
				fn, _ := c.(map[string]any)["function"].(map[string]any)
				tools += str(fn["name"]) + str(fn["arguments"])
			}
			join(a.Content, i, content)
			join(a.Reasoning, i, reasoning)
			join(a.Tools, i, tools)
			join(a.Finish, i, str(m["finish_reason"]))
			output = output || content+reasoning+tools != ""
		}
		if output {
			a.Outputs++
		}
	}
	if len(alone) > 1 && len(alone) == len(a.Finish) { // one for each choice
		for _, u := range alone[:len(alone)-1] {
			for _, k := range []string{"completion_tokens", "total_tokens", "reasoning_tokens"} {
				a.Usage[k] += u[k]
			}
			a.Usage["total_tokens"] -= u["prompt_tokens"]
		}
	}
	return a
}

func join(m map[int]string, i int, s string) {
	if s != "" {
		m[i] += s
	}
}

// splitAll returns the frames of a stream, an unfinished one at its end left
// out.
func splitAll(body []byte) [][]byte {
	var frames [][]byte
	var s sse.Splitter
	s.Feed(body)
	for s.Next() {
		frames = append(frames, s.Frame())
	}
	return frames
}

type goldenAnswer struct {
	body     []byte
	streamed bool
}

// goldenAnswers returns the bodies of all recorded answers with status 200.
func goldenAnswers(tb testing.TB) map[string]goldenAnswer {
	tb.Helper()
	answers := map[string]goldenAnswer{}
	golden.Each(tb, "openai_streams", "*.http", 30, func(name string, b []byte) {
		if path.Base(name) == "models.http" {
			return
		}
		resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(b)), nil)
		if err != nil {
			tb.Fatalf("%s: %v", name, err)
		}
		if resp.StatusCode != http.StatusOK {
			return
		}
		var body bytes.Buffer
		// A recording that was cut short ends in an error here, after the
		// bytes that came.
		_, _ = io.Copy(&body, resp.Body)
		answers[name] = goldenAnswer{body.Bytes(), strings.Contains(resp.Header.Get("Content-Type"), "event-stream")}
	})
	if len(answers) < 30 {
		tb.Fatalf("%d recorded answers, want at least 30", len(answers))
	}
	return answers
}

func BenchmarkGolden(b *testing.B) {
	var frames [][]byte
	size := 0
	answers := goldenAnswers(b)
	var names []string
	for name := range answers {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if answers[name].streamed {
			frames = append(frames, splitAll(answers[name].body)...)
		}
	}
	for _, f := range frames {
		size += len(f)
	}
	var c Chunk
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		var st Stream
		for _, f := range frames {
			if err := ParseFrame(f, &c); err != nil {
				b.Fatal(err)
			}
			st.Add(&c)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(frames)), "ns/chunk")
}
