package openai

import (
	"fmt"
	"testing"
)

func TestStream(t *testing.T) {
	role := `{"choices":[{"index":%d,"delta":{"role":"assistant","content":""}}]}`
	tok := `{"choices":[{"index":%d,"delta":{"content":"a"},"finish_reason":null}]}`
	fin := `{"choices":[{"index":%d,"delta":{},"finish_reason":"stop"}]}`
	usage := `{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}}`
	at := func(format string, index int) string { return fmt.Sprintf(format, index) }
	for _, tt := range []struct {
		name     string
		in       []string
		complete bool
		outputs  int
		usage    Usage
		err      string
	}{
		{name: "nothing came"},
		{name: "usual", in: []string{at(role, 0), at(tok, 0), at(tok, 0), at(fin, 0), usage, "[DONE]"}, complete: true, outputs: 2, usage: Usage{PromptTokens: 5, CompletionTokens: 2, TotalTokens: 7}},
		{name: "transformers: no [DONE]", in: []string{at(role, 0), at(tok, 0), at(fin, 0)}, complete: true, outputs: 1},
		{name: "cut before the finish reason", in: []string{at(role, 0), at(tok, 0)}, outputs: 1},
		{name: "cut, only a role came", in: []string{at(role, 0)}},
		{name: "[DONE] without finish reason", in: []string{at(tok, 0), "[DONE]"}, complete: true, outputs: 1},
		{name: "[DONE] alone", in: []string{"[DONE]"}, complete: true},
		{name: "n=2: one of two finished", in: []string{at(tok, 0), at(tok, 1), at(fin, 1)}, outputs: 2},
		{name: "n=2: both finished", in: []string{at(tok, 1), at(tok, 0), at(fin, 1), at(fin, 0)}, complete: true, outputs: 2},
		{name: "finish reason twice", in: []string{at(tok, 0), at(tok, 1), at(fin, 1), at(fin, 1)}, outputs: 2},
		{name: "Ollama: zeros, then counts", in: []string{
			`{"choices":[{"text":"a"}],"usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}}`, usage,
		}, outputs: 1, usage: Usage{PromptTokens: 5, CompletionTokens: 2, TotalTokens: 7}},
		{name: "zeros after counts do not count", in: []string{
			usage,
			`{"choices":[{"text":"a"}],"usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}}`,
		}, outputs: 1, usage: Usage{PromptTokens: 5, CompletionTokens: 2, TotalTokens: 7}},
		{name: "continuous usage: the last", in: []string{
			`{"choices":[{"text":"a"}],"usage":{"prompt_tokens":5,"completion_tokens":1,"total_tokens":6}}`,
			`{"choices":[{"text":"a"}],"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}}`,
			`{"choices":[{"text":""}],"usage":null}`,
		}, outputs: 2, usage: Usage{PromptTokens: 5, CompletionTokens: 2, TotalTokens: 7}},
		{name: "llama.cpp, n=2: a count for each choice", in: []string{
			at(role, 0), at(role, 1), at(tok, 0), at(tok, 1), at(tok, 1), at(fin, 0),
			`{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":1}}}`,
			at(fin, 1),
			`{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":3,"total_tokens":8,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":2}}}`, "[DONE]",
		}, complete: true, outputs: 3, usage: Usage{PromptTokens: 5, CompletionTokens: 5, TotalTokens: 10, CachedTokens: 4, ReasoningTokens: 3}},
		{name: "n=2, one after the other", in: []string{
			at(tok, 0), at(fin, 0), `{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":1}}`,
			at(tok, 1), at(fin, 1), `{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":1}}`,
		}, complete: true, outputs: 2, usage: Usage{PromptTokens: 5, CompletionTokens: 2, TotalTokens: 7}},
		{name: "n=3, two counts: the last", in: []string{
			at(tok, 0), at(tok, 1), at(tok, 2), `{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":1}}`, usage,
		}, outputs: 3, usage: Usage{PromptTokens: 5, CompletionTokens: 2, TotalTokens: 7}},
		{name: "n=1, the count twice: the last", in: []string{at(tok, 0), usage, usage}, outputs: 1, usage: Usage{PromptTokens: 5, CompletionTokens: 2, TotalTokens: 7}},
		{name: "n=2, counts with choices, then the total", in: []string{
			`{"choices":[{"index":0,"text":"a"}],"usage":{"prompt_tokens":5,"completion_tokens":1}}`,
			`{"choices":[{"index":1,"text":"a"}],"usage":{"prompt_tokens":5,"completion_tokens":1}}`, usage,
		}, outputs: 2, usage: Usage{PromptTokens: 5, CompletionTokens: 2, TotalTokens: 7}},
		{name: "the first error counts", in: []string{at(tok, 0), `{"error":"one"}`, `{"error":"two"}`, "[DONE]"}, complete: true, outputs: 1, err: "one"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var st Stream
			for round := range 2 { // Reset must leave nothing behind
				var c Chunk
				for _, in := range tt.in {
					if err := Parse([]byte(in), &c); err != nil {
						t.Fatalf("Parse(%s): %v", in, err)
					}
					st.Add(&c)
				}
				gotErr := ""
				if st.Err != nil {
					gotErr = st.Err.Error()
				}
				if got := st.Complete(); got != tt.complete || st.OutputChunks != tt.outputs || st.Usage != tt.usage || gotErr != tt.err {
					t.Errorf("round %d: Complete() = %v, OutputChunks = %d, Usage = %+v, Err = %q; want %v, %d, %+v, %q",
						round, got, st.OutputChunks, st.Usage, gotErr, tt.complete, tt.outputs, tt.usage, tt.err)
				}
				if st.HasUsage != (tt.usage != Usage{}) {
					t.Errorf("HasUsage = %v for %+v", st.HasUsage, tt.usage)
				}
				st.Reset()
			}
		})
	}
}

func TestStreamZeroUsage(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want bool
	}{
		{`{"choices":[{"text":"a"}],"usage":{"prompt_tokens":0}}`, false},
		{`{"choices":[{"text":"","finish_reason":"stop"}],"usage":{"prompt_tokens":0}}`, true},
		{`{"choices":[],"usage":{"prompt_tokens":0}}`, true},
	} {
		var c Chunk
		var st Stream
		if err := Parse([]byte(tt.in), &c); err != nil {
			t.Fatal(err)
		}
		if st.Add(&c); st.HasUsage != tt.want {
			t.Errorf("HasUsage after %s = %v, want %v", tt.in, st.HasUsage, tt.want)
		}
	}
}
