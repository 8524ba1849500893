package answer

import (
	"fmt"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
)

// idsOnly is an event of vLLM's generate.
func idsOnly(choice int, ids, rest string) string {
	return fmt.Sprintf(`data: {"request_id":"r","choices":[{"index":%d,"logprobs":null,"finish_reason":null,"token_ids":%s}]%s}`+"\n\n", choice, ids, rest)
}

// soFar is an event of SGLang's generate.
func soFar(text, ids string, tokens int, finish string) string {
	return fmt.Sprintf(`data: {"text":%q,"output_ids":[%s],"meta_info":{"id":"r","prompt_tokens":6,"completion_tokens":%d,"cached_tokens":4,"finish_reason":%s}}`+"\n\n", text, ids, tokens, finish)
}

// The tokens of an event are its ids, or what SGLang's completion_tokens grew by; without usage the ids are also the output tokens,
// and the ids of the request the input tokens.
func TestIDs(t *testing.T) {
	const (
		prompt = `{"token_ids":[3,4,5],"stream":true}`
		end    = `{"type":"length","length":3}`
		usage  = `data: {"request_id":"r","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4,"total_tokens":13}}` + "\n\n"
	)
	for _, tt := range []struct {
		name   string
		body   string
		pieces []string
		want   string // tokens of the events, input, output, source, output without the first event
	}{
		{"ids without usage", prompt, []string{idsOnly(0, "[1]", ""), idsOnly(0, "[2,3]", ""), done}, "[1 2] 3 3 ids 2"},
		{"several ids first", prompt, []string{idsOnly(0, "[1,2,3]", ""), idsOnly(0, "[4]", ""), done}, "[3 1] 3 4 ids 1"},
		{"ids and usage", prompt, []string{idsOnly(0, "[1]", ""), idsOnly(0, "[2,3,4]", ""), usage, done}, "[1 3] 9 4 usage 3"},
		{"two choices", prompt, []string{idsOnly(0, "[1]", ""), idsOnly(1, "[2]", ""), idsOnly(0, "[3]", ""), done}, "[1 1 1] 3 3 ids 2"},
		{"no ids at the end", prompt, []string{idsOnly(0, "[1]", ""), idsOnly(0, "[]", ""), done}, "[1] 3 1 ids 0"},
		{"text in an event without ids", prompt, []string{idsOnly(0, "[1]", ""), delta("a"), done}, "[] 3 2 responses 1"},
		{"whole", `{"input_ids":[3,4]}`, []string{`{"request_id":"r","choices":[{"index":0,"token_ids":[1,2,3],"finish_reason":"stop"}]}`}, "[] 2 3 ids 2"},
		{"SGLang", `{"text":"a"}`, []string{soFar("a", "1", 1, "null"), soFar("a b c", "1,2,3", 3, end), done}, "[1 2] 6 3 usage 2"},
		{"SGLang, incremental output", `{"text":"a"}`, []string{soFar("a", "1", 1, "null"), soFar(" b c", "2,3", 3, end), done}, "[1 2] 6 3 usage 2"},
		{"SGLang, whole", `{"text":"a"}`, []string{`{"text":"a b","output_ids":[1,2],"meta_info":{"prompt_tokens":1,"completion_tokens":2,"finish_reason":{"type":"stop","matched":2}}}`}, "[] 1 2 usage 1"},
		{"a text as the prompt", `{"prompt":"a"}`, []string{idsOnly(0, "[1]", ""), done}, "[1] none 1 ids 0"},
	} {
		r := openaiRequest(tt.pieces...)
		r.Inputs = export.Fields{{Name: "payload", Value: export.Text(tt.body)}}
		run := &export.Run{Meta: &export.RunMeta{}}
		derived := NewDeriver(run).Derive(&r)
		for from, m := range map[string]*Measured{"answer": NewMeter(run, Config{}).Measure(&r), "columns": NewMeter(run, Config{}).MeasureDerived(&r, derived)} {
			events := []int32{}
			for _, e := range m.Answer.Events {
				if m.Answer.EventTokens {
					events = append(events, e.Tokens)
				}
			}
			input := "none"
			if m.InputTokens.OK {
				input = fmt.Sprint(m.InputTokens.V)
			}
			if got := fmt.Sprint(events, " ", input, " ", m.OutputTokens.V, " ", m.TokenSource, " ", m.Timed().V); got != tt.want {
				t.Errorf("%s, %s: %s, want %s", tt.name, from, got, tt.want)
			}
		}
	}
}
