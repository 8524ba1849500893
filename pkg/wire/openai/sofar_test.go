package openai

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// sglang is an event of SGLang's generate; finish is a JSON value.
func sglang(text, ids string, tokens int, finish string) string {
	return fmt.Sprintf(`{"text":%q,"output_ids":[%s],"meta_info":{"id":"r","prompt_tokens":6,"completion_tokens":%d,"cached_tokens":4,"finish_reason":%s}}`, text, ids, tokens, finish)
}

// Each event of SGLang's generate becomes what it adds: "text/ids" of each choice.
func TestSoFar(t *testing.T) {
	const end = `{"type":"length","length":3}`
	for _, tt := range []struct {
		name  string
		in    []string
		want  string
		usage Usage
		err   string
	}{
		{
			"all so far",
			[]string{sglang("a", "1", 1, "null"), sglang("a b", "1,2", 2, "null"), sglang("a b c", "1,2,3", 3, end), "[DONE]"},
			"a/1  b/1  c/1",
			Usage{PromptTokens: 6, CompletionTokens: 3, CachedTokens: 4},
			"",
		},
		{
			"incremental output",
			[]string{sglang("a", "1", 1, "null"), sglang(" b", "2", 2, "null"), sglang(" c d", "3,4", 4, end)},
			"a/1  b/1  c d/2",
			Usage{PromptTokens: 6, CompletionTokens: 4, CachedTokens: 4},
			"",
		},
		{
			"text so far, ids of the event",
			[]string{sglang("a", "1", 1, "null"), sglang("a b", "2", 2, "null"), sglang("a b c", "3", 3, end)},
			"a/1  b/1  c/1",
			Usage{PromptTokens: 6, CompletionTokens: 3, CachedTokens: 4},
			"",
		},
		{
			"the end of the text changes",
			[]string{sglang("a", "1", 1, "null"), sglang("a ?", "1,2", 2, "null"), sglang("a é", "1,2,3", 3, end)},
			"a/1  ?/1 é/1",
			Usage{PromptTokens: 6, CompletionTokens: 3, CachedTokens: 4},
			"",
		},
		{
			"the end again",
			[]string{sglang("a", "1", 1, "null"), sglang("a", "1", 1, end)},
			"a/1 /0",
			Usage{PromptTokens: 6, CompletionTokens: 1, CachedTokens: 4},
			"",
		},
		{
			"text alone",
			[]string{`{"text":"a","meta_info":{"completion_tokens":1,"finish_reason":null}}`, `{"text":"a b","meta_info":{"completion_tokens":3,"finish_reason":{"type":"stop","matched":2}}}`},
			"a/0  b/0",
			Usage{CompletionTokens: 3},
			"",
		},
		{
			"ids alone",
			[]string{`{"output_ids":[1],"meta_info":{"prompt_tokens":2,"completion_tokens":1,"finish_reason":null}}`, `{"output_ids":[1,2,3],"meta_info":{"prompt_tokens":2,"completion_tokens":3,"finish_reason":{"type":"length"}}}`},
			"/1 /2",
			Usage{PromptTokens: 2, CompletionTokens: 3},
			"",
		},
		{
			"two choices",
			[]string{
				sglang("a", "1", 1, "null"), strings.Replace(sglang("x", "9", 1, "null"), "{", `{"index":1,`, 1), sglang("a b", "1,2", 2, end), strings.Replace(sglang("x y", "9,8", 2, end), "{", `{"index":1,`, 1),
			},
			"a/1 x/1  b/1  y/1",
			Usage{PromptTokens: 6, CompletionTokens: 4, CachedTokens: 4},
			"",
		},
		{
			"aborted",
			[]string{sglang("a", "1", 1, "null"), sglang("a", "1", 1, `{"type":"abort","message":"out of memory","status_code":500,"err_type":"InternalServerError"}`)},
			"a/1 /0",
			Usage{PromptTokens: 6, CompletionTokens: 1, CachedTokens: 4},
			"out of memory",
		},
		{
			"a count that falls",
			[]string{sglang("a b", "1,2", 2, "null"), sglang("a", "1", 1, end)},
			"a b/2 /0",
			Usage{PromptTokens: 6, CompletionTokens: 1, CachedTokens: 4},
			"",
		},
	} {
		var st Stream
		for range 2 { // Reset must leave nothing behind
			var c Chunk
			var got []string
			for _, in := range tt.in {
				if err := ParseFrame([]byte("data: "+in+"\n\n"), &c); err != nil {
					t.Fatalf("%s: %v", tt.name, err)
				}
				st.Add(&c)
				for _, ch := range c.Choices {
					got = append(got, fmt.Sprintf("%s/%d", ch.Content, ch.TokenIDs))
				}
			}
			if got := strings.Join(got, " "); got != tt.want {
				t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
			}
			if st.Usage != tt.usage || !st.Complete() {
				t.Errorf("%s: %+v, complete %v; want %+v", tt.name, st.Usage, st.Complete(), tt.usage)
			}
			if got := ""; st.Err != nil && st.Err.Error() != tt.err || st.Err == nil && got != tt.err {
				t.Errorf("%s: error %v, want %q", tt.name, st.Err, tt.err)
			}
			st.Reset()
		}
	}
}

func TestPromptIDs(t *testing.T) {
	for _, tt := range []struct {
		body string
		n    int64
		ok   bool
	}{
		{`{"prompt":[1,2,3]}`, 3, true},
		{`{"prompt":[[1,2],[3]],"n":2}`, 3, true},
		{`{"model":"m","input_ids":[7]}`, 1, true},
		{`{"token_ids":[7,8]}`, 2, true},
		{`{"prompt":"a"}`, 0, false},
		{`{"prompt":["a"]}`, 0, false},
		{`{"prompt":[1,"a"]}`, 0, false},
		{`{"prompt":[]}`, 0, false},
		{`{"prompt":[1`, 1, false},
		{`[]`, 0, false},
		{``, 0, false},
	} {
		if n, ok := PromptIDs([]byte(tt.body)); ok != tt.ok || ok && n != tt.n {
			t.Errorf("%s: %d, %v", tt.body, n, ok)
		}
	}
}

// What an event adds is never more than it holds, and one Chunk reads all events.
func FuzzSoFar(f *testing.F) {
	f.Add("a|a b|a b c", 2)
	f.Add("|é|\xff", 1)
	f.Fuzz(func(t *testing.T, texts string, step int) {
		var c Chunk
		var st Stream
		for i, text := range strings.Split(texts, "|") {
			quoted, _ := json.Marshal(text)
			in := fmt.Sprintf(`{"text":%s,"output_ids":[1,2],"index":%d,"meta_info":{"completion_tokens":%d,"finish_reason":{"type":"stop"}}}`, quoted, i%3, step*i)
			if err := Parse([]byte(in), &c); err != nil {
				t.Fatal(err)
			}
			before := len(c.Choices[0].Content)
			st.Add(&c)
			if ch := &c.Choices[0]; len(ch.Content) > before || ch.TokenIDs < 0 || ch.TokenIDs > 2 {
				t.Errorf("%+v of %s", ch, in)
			}
		}
	})
}
