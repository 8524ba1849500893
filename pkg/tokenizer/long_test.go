package tokenizer

import (
	"strings"
	"testing"
	"time"
)

// TestLongRuns encodes 128 KB of one character, and of a few, with every
// kind of tokenizer: what a quadratic step anywhere would take hours for.
func TestLongRuns(t *testing.T) {
	const size = 1 << 17 / thin
	chosen := map[string]bool{
		"gpt2": true, "llama 3": true, "o200k": true, "deepseek v3": true, "llama 2": true, "marks inside tokens": true, "bert": true, "t5": true,
		"unigram, one piece": true, "bytes, no words": true, "added tokens, bytes": true, "clip": true, "words": true, "qwen 2": true, "llama 3, ignore_merges": true,
	}
	for _, v := range readConformance(t).Tokenizers {
		if !chosen[v.Name] {
			continue
		}
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			tok, err := Parse("tokenizer.json", v.Tokenizer)
			if err != nil {
				t.Fatal(err)
			}
			for _, unit := range []string{"a", " ", "\n", "-", "1", "東", "\u0301", "▁", "<", "ab", " \n", "'"} {
				text := strings.Repeat(unit, size/len(unit))
				start := time.Now()
				ids := tok.Encode(text)
				t.Logf("%q: %d tokens in %v", unit, len(ids), time.Since(start).Round(time.Millisecond))
				if _, lossless := tok.decoder.(byteLevelDecoder); lossless && tok.normalizer == nil && tok.Decode(ids, false) != text {
					t.Errorf("%d times %q is decoded to something else", size/len(unit), unit)
				}
			}
		})
	}
}

// TestLongMatch has matches of the general engine that are longer than it would
// follow by default.
func TestLongMatch(t *testing.T) {
	for _, pattern := range []string{`(?:a|b)+c?`, `(?:\w|!)*?c`, `(?=(?:a|b)+c)[ab]*c`} {
		x, err := compileExpression(pattern)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Repeat("ab", 100_000) + "c"
		n := 0
		for m := x.matches(text); m.next(); n++ {
			if m.start != 0 || m.end != len(text) {
				t.Errorf("%s matches [%d:%d] of %d bytes", pattern, m.start, m.end, len(text))
			}
		}
		if n != 1 {
			t.Errorf("%s has %d matches", pattern, n)
		}
	}
}
