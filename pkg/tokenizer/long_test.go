package tokenizer

import (
	"strings"
	"testing"
	"time"
)

// TestLongRuns encodes 128 KB of one character, and of a few, with every
// kind of tokenizer: what a quadratic step anywhere would take hours for.
func TestLongRuns(t *testing.T) {
	size := 1 << 17
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
