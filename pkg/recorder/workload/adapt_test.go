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
	words := func(k int) string { return fmt.Sprint("w", k) }
	for _, tt := range []struct {
		name   string
		change func(int, *Entry) error
		want   []string // what the prompt is then, or the error
	}{
		{"answers", Answers(number, true), []string{
			`"" "a" 100 true [1] 1s`, `"s" "b" 7 true [] 0s`, `"" "" 102 true [] 0s`,
			"input data, row 4: the length of its answer cannot be set: it is a whole request", "input data, stream 0, step 4: the length",
		}},
		{"opened", Opened(words), []string{
			`"" "w0 a" 0 false [] 1s`, `"w1 s" "b" 7 false [] 0s`,
			"input data, row 3: nothing can be put in front of it: it is a whole request", "input data, row 4: nothing", "input data, stream 0, step 4: nothing",
		}},
		{"slower", Slower(1.5), []string{`"" "a" 0 false [1] 1.5s`, `"s" "b" 7 false [] 0s`, `"" "" 0 false [] 0s`, `"" "" 0 false [] 0s`, "0s"}},
	} {
		changed := Each(src, tt.change)
		for range 2 { // the same again
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
	if _, err := Each(List{{}}, func(int, *Entry) error { return torn }).At(0); !errors.Is(err, torn) {
		t.Errorf("error %v, want the change's", err)
	}
}
