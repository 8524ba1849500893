package tokenizer

import (
	"math/bits"
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/testenv"
)

func TestJoinTable(t *testing.T) {
	j := newJoinTable([][2]string{{"a", "b"}, {"ab", "c"}, {"▁", "a"}, {"▁", "▁"}, {"é", "t"}})
	for _, test := range []struct {
		a, b rune
		want bool
	}{
		{'a', 'b', true},
		{'b', 'c', true},
		{'b', 'a', false},
		{'a', 'c', false},
		{'▁', 'a', true},
		{' ', 'a', true}, // a text may have a blank instead of the mark
		{' ', ' ', true},
		{'a', ' ', false},
		{'a', '▁', false},
		{'é', 't', true},
		{'t', 'é', false},
		{'c', '\n', false},
	} {
		if got := j.has(test.a, test.b); got != test.want {
			t.Errorf("has(%q, %q) = %v", test.a, test.b, got)
		}
	}
	for text, want := range map[string][]int{
		"": nil, "a": nil, "abc": nil, "ab!": {2}, "abab": {2}, "  ab": nil, "ab ab": {2}, "été": {3}, "t東": {1}, "東京": {3},
		"ab!a": {2, 3}, "\x00a": {1},
	} {
		// Starts at every place in and across the blocks of 64 bytes.
		for before := range 130 {
			var got []int
			whole := strings.Repeat("\x00", before) + text
			for from := 0; from < len(whole); from += 64 {
				for cuts := j.cuts(whole, from); cuts != 0; cuts &= cuts - 1 {
					if at := from + bits.TrailingZeros64(cuts) - before; at > 0 {
						got = append(got, at)
					}
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%q behind %d bytes is cut at %v, want %v", text, before, got, want)
			}
		}
	}
}

// TestCutsChangeNothing checks that cutting pieces does not change their ids.
func TestCutsChangeNothing(t *testing.T) {
	c := readConformance(t)
	anywhere := 0
	for _, v := range c.Tokenizers {
		tok, err := Parse("tokenizer.json", v.Tokenizer)
		if err != nil {
			t.Fatal(err)
		}
		if tok.cutter == nil {
			continue
		}
		if tok.cutter.anywhere {
			anywhere++
		}
		whole, err := Parse("tokenizer.json", v.Tokenizer)
		if err != nil {
			t.Fatal(err)
		}
		whole.cutter = nil
		for i := 0; i+2 < len(c.Texts); i += 2 * thin * testenv.Stride(3) {
			text := c.Texts[i] + c.Texts[i+1] + "\n\n" + c.Texts[i+2]
			if got, want := tok.Encode(text), whole.Encode(text); !slices.Equal(got, want) {
				t.Fatalf("%s: %q\ncut   %v\nwhole %v", v.Name, text, got, want)
			}
		}
	}
	if anywhere < 3 {
		t.Errorf("only %d tokenizers are cut anywhere", anywhere)
	}
}
