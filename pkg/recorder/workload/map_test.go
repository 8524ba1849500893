package workload

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestAdapt(t *testing.T) {
	src := List{
		{Prompt: &Prompt{Text: "a", IDs: []uint32{1}}, Delay: time.Second},
		{Prompt: &Prompt{Text: "b", System: "s", MaxTokens: 7}},
		{Prompt: &Prompt{Messages: []byte("[]")}, Step: 2},
		{Prompt: &Prompt{Body: []byte("{}")}, Step: 3},
		{Step: 4},
	}
	number := func(k int) int { return 100 + k }
	words := func(k int, _ *Entry) (string, error) { return fmt.Sprint("w", k), nil }
	for _, tt := range []struct {
		name   string
		change func(int, *Entry) error
		want   []string // each changed prompt, or the error
	}{
		{"answers", WithOutputLength(number, true), []string{
			`"" "a" 100 true [1] 1s`, `"s" "b" 7 true [] 0s`, `"" "" 102 true [] 0s`,
			"input data, row 4: the length of its answer cannot be set: it is a whole request", "input data, stream 0, step 4: the length",
		}},
		{"prefix", WithPrefix(words), []string{
			`"" "w0 a" 0 false [] 1s`, `"w1 s" "b" 7 false [] 0s`,
			"input data, row 3: it cannot get a prefix: it is not a conversation", "input data, row 4: it cannot get a prefix", "input data, stream 0, step 4: it cannot get a prefix",
		}},
		{"slower", (&Delays{Ratio: new(1.5)}).changeEntry, []string{`"" "a" 0 false [1] 1.5s`, `"s" "b" 7 false [] 0s`, `"" "" 0 false [] 0s`, `"" "" 0 false [] 0s`, "0s"}},
	} {
		changed := Map(src, tt.change)
		for range 2 { // At gives the same entry again
			for k, want := range tt.want {
				e, err := changed.At(k)
				got := e.Delay.String()
				switch p := e.Prompt; {
				case err != nil:
					got = err.Error()
				case p != nil:
					got = fmt.Sprintf("%q %q %d %v %v %v", p.System, p.Text, p.MaxTokens, p.Exact, p.IDs, e.Delay)
				}
				if !strings.HasPrefix(got, want) {
					t.Errorf("%s: entry %d is %s, want %s", tt.name, k, got, want)
				}
			}
		}
	}
	if src[0].Prompt.Text != "a" || src[0].Prompt.MaxTokens != 0 || src[0].Delay != time.Second {
		t.Errorf("the source was changed: %+v", src[0].Prompt)
	}
	torn := errors.New("torn")
	if _, err := Map(List{{}}, func(int, *Entry) error { return torn }).At(0); !errors.Is(err, torn) {
		t.Errorf("error %v, want the change's", err)
	}
}

// TestWithPrefix checks that words come before every text of a batch, and before the first
// message of a conversation, whose other members do not change.
func TestWithPrefix(t *testing.T) {
	torn := errors.New("torn")
	for _, tt := range []struct {
		name string
		p    Prompt
		want string // texts or messages, or the error
	}{
		{"a text", Prompt{Text: "a"}, `["w a"]`},
		{"several", Prompt{Text: "a", More: []string{"b"}}, `["w a" "w b"]`},
		{"a conversation", Prompt{Messages: []byte(`[{"role":"system","content":"s <b>","x":1},{"role":"user","content":"u"}]`)}, `[{"role":"system","content":"w s <b>","x":1},{"role":"user","content":"u"}]`},
		{"parts", Prompt{Messages: []byte(`[{"role":"user","content":[{"type":"image_url"},{"type":"text","text":"u"},{"type":"text","text":"v"}]}]`)}, `[{"role":"user","content":[{"type":"image_url"},{"type":"text","text":"w u"},{"type":"text","text":"v"}]}]`},
		{"parts without a text", Prompt{Messages: []byte(`[{"role":"user","content":[{"type":"image_url"}]}]`)}, `[{"role":"user","content":[{"text":"w","type":"text"},{"type":"image_url"}]}]`},
		{"no content", Prompt{Messages: []byte(`[{"role":"assistant","content":null}]`)}, "input data, row 1: it cannot get a prefix: its first message has no text"},
		{"no words", Prompt{Text: "none"}, `["none"]`},
		{"no words to be had", Prompt{Text: "torn"}, "input data, row 1: torn"},
	} {
		src := List{{Prompt: &tt.p}}
		before := fmt.Sprint(tt.p)
		e, err := Map(src, WithPrefix(func(_ int, e *Entry) (string, error) {
			switch e.Prompt.Text {
			case "none":
				return "", nil
			case "torn":
				return "", torn
			}
			return "w", nil
		})).At(0)
		got := string(e.Prompt.Messages)
		switch {
		case err != nil:
			got = err.Error()
		case e.Prompt.Messages == nil:
			got = fmt.Sprintf("%q", append([]string{e.Prompt.Text}, e.Prompt.More...))
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
		if after := fmt.Sprint(tt.p); after != before {
			t.Errorf("%s: the source was changed to %s", tt.name, after)
		}
	}
}
