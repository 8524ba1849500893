package answer

import (
	"testing"

	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/pkg/export"
)

func TestCountPrompt(t *testing.T) {
	payload := func(body string) export.Fields {
		return export.Fields{{Name: "payload", Value: export.Value{Text: true, Data: []byte(body)}}}
	}
	tensor := func(v export.Value) export.Fields { return export.Fields{{Name: "text_input", Value: v}} }
	for _, tt := range []struct {
		name    string
		inputs  export.Fields
		want    export.Int
		refused bool
	}{
		{"messages, each by itself", payload(`{"messages":[{"role":"system","content":"be kind"},{"role":"user","content":"a b c"}]}`), export.IntOf(5), false},
		{"parts of a message; an image has no text", payload(`{"messages":[{"content":[{"type":"text","text":"a b"},{"type":"image_url","image_url":{"url":"x y z"}}]}]}`), export.IntOf(2), false},
		{"Anthropic Messages", payload(`{"system":"be kind","messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"thinking","thinking":"b c","signature":"x"},{"type":"tool_use","name":"n","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"d e f"}]}]}`), export.IntOf(8), false},
		{"a prompt", payload(`{"prompt":"a b"}`), export.IntOf(2), false},
		{"several prompts", payload(`{"prompt":["a b","c"]}`), export.IntOf(3), false},
		{"token ids", payload(`{"prompt":[1,2,3]}`), export.IntOf(3), false},
		{"inputs of an embedding", payload(`{"input":["a","b c"]}`), export.IntOf(3), false},
		{"items of a response", payload(`{"input":[{"role":"user","content":[{"type":"input_text","text":"a b"}]}]}`), export.IntOf(2), false},
		{"a tensor of text", tensor(export.Value{Text: true, Data: []byte("a b")}), export.IntOf(2), false},
		{"a tensor of JSON", tensor(export.Value{Data: []byte(`["a b"]`)}), export.IntOf(2), false},
		{"a text that the tokenizer refuses", payload(`{"prompt":["a","!"]}`), export.Int{}, true},
		{"no prompt", payload(`{"model":"m"}`), export.Int{}, false},
		{"no JSON", payload(`{"prompt":`), export.Int{}, false},
		{"no inputs", nil, export.Int{}, false},
	} {
		got, err := countPrompt(memrun.Words{}, &export.Request{Inputs: tt.inputs})
		if got != tt.want || (err != nil) != tt.refused {
			t.Errorf("%s: %v, %v, want %v, refused %v", tt.name, got, err, tt.want, tt.refused)
		}
	}
}

// The tokenizer counts the inputs and outputs that the server does not state.
func TestTokenDeriver(t *testing.T) {
	prompt := export.Fields{{Name: "payload", Value: export.Value{Text: true, Data: []byte(`{"model":"m","prompt":"x y z"}`)}}}
	plain, counted, refused := openaiRequest(delta("a b "), delta("c d e")), openaiRequest(delta("a b "), delta("c d"), usage5), openaiRequest(delta("a"), delta("!"))
	plain.Inputs, counted.Inputs, refused.Inputs = prompt, prompt, prompt
	type row struct {
		output, input export.Int
		source        string
		byTokenizer   bool
		tpot          float64
	}
	words := TokenCounting{Counter: memrun.Words{}, Tokenizer: "abc"}
	always := words
	always.TokenSource = TokenTokenizer
	for _, tt := range []struct {
		name   string
		tokens TokenCounting
		want   [3]row // of plain, counted, refused
		refuse int64
		source string
	}{
		{"no tokenizer", TokenCounting{}, [3]row{
			{export.IntOf(2), export.Int{}, "responses", false, 10}, {export.IntOf(5), export.IntOf(9), "usage", false, 5}, {export.IntOf(2), export.Int{}, "responses", false, 10},
		}, 0, "auto"},
		{"where the server states nothing", words, [3]row{
			{export.IntOf(5), export.IntOf(3), "tokenizer", true, 2.5}, {export.IntOf(5), export.IntOf(9), "usage", false, 5}, {export.Int{}, export.IntOf(3), "", true, 0},
		}, 1, "auto"},
		{"all outputs", always, [3]row{
			{export.IntOf(5), export.IntOf(3), "tokenizer", true, 2.5}, {export.IntOf(4), export.IntOf(9), "tokenizer", false, 10.0 / 3}, {export.Int{}, export.IntOf(3), "", true, 0},
		}, 1, "tokenizer"},
	} {
		d := NewTokenDeriver(&export.Run{}, tt.tokens)
		fork := d.Fork()
		for i, r := range []*export.Request{&plain, &counted, &refused} {
			x := d.Derive(r)
			if i == 2 {
				x = fork.Derive(r) // its refusal counts in the original
			}
			got := row{x.OutputTokens, x.InputTokens, x.TokenSource, x.InputCounted, x.TPOT}
			if got != tt.want[i] {
				t.Errorf("%s, request %d: %+v, want %+v", tt.name, i, got, tt.want[i])
			}
		}
		how := d.Derivation()
		if want := (export.Derivation{Definitions: Definitions, TokenSource: tt.source, Tokenizer: tt.tokens.Tokenizer, NotCounted: 2 * tt.refuse, Model: "m"}); how != want {
			t.Errorf("%s: %+v, want %+v", tt.name, how, want)
		}
	}
}

func TestMatches(t *testing.T) {
	stored := func(source, tokenizer string) export.Derivation {
		return export.Derivation{Definitions: Definitions, TokenSource: source, Tokenizer: tokenizer}
	}
	older, refused := stored("auto", ""), stored("auto", "abc")
	older.Definitions--
	refused.NotCounted = 1
	files := []export.Derivation{
		stored("auto", ""), stored("auto", "abc"), stored("usage", ""), stored("responses", ""), stored("tokenizer", "abc"),
		older, refused, stored("none", ""), stored("", ""),
	}
	for _, tt := range []struct {
		name string
		cfg  Config
		want string // a letter for each file
	}{
		{"the best source", Config{}, "yynnn----"},
		{"usage", Config{TokenSource: TokenUsage}, "yyynn----"},
		{"token events", Config{TokenSource: TokenResponses}, "yyyyy----"},
		{"the best source with the tokenizer", Config{Counter: memrun.Words{}, Tokenizer: "abc"}, "nynnn----"},
		{"the tokenizer", Config{TokenSource: TokenTokenizer, Counter: memrun.Words{}, Tokenizer: "abc"}, "nnnny----"},
		{"another tokenizer", Config{TokenSource: TokenTokenizer, Counter: memrun.Words{}, Tokenizer: "def"}, "nnnnn----"},
		{"another one with the best source", Config{Counter: memrun.Words{}, Tokenizer: "def"}, "nnnnn----"},
		{"a tokenizer without a hash", Config{Counter: memrun.Words{}}, "nnnnn----"},
		{"a tokenizer that is missing", Config{TokenSource: TokenTokenizer}, "nnnnn----"},
	} {
		for i, d := range files {
			if got := tt.cfg.Matches(d); got != (tt.want[i] == 'y') {
				t.Errorf("%s of a file with %+v: %v", tt.name, d, got)
			}
		}
	}
}
