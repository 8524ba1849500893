package tokenizer

import (
	"strings"
	"testing"
	"time"

	"github.com/dlclark/regexp2/v2"

	"github.com/pa-tools/pa/internal/test/testenv"
)

// TestLongRuns encodes 16 KB of one character, and of a few, with every kind of
// tokenizer; make test-long encodes 128 KB, for which a quadratic step takes hours.
// TestLongRunsGrowLinearly finds such a step with shorter texts.
func TestLongRuns(t *testing.T) {
	size := 1 << 17 / max(thin, testenv.Stride(16))
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
				if ofBytes(tok) && decoded(tok, ids) != text {
					t.Errorf("%d times %q is decoded to something else", size/len(unit), unit)
				}
			}
		})
	}
}

// TestLongMatch checks that the general engine finds matches that exceed its default
// backtracking stack.
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

func init() {
	regexp2.SetTimeoutCheckPeriod(5 * time.Millisecond) // by default the limit of 20 ms in TestHopelessMatch takes effect after 150 ms
}

// TestHopelessMatch matches an expression that would take years. The tokenizer gives up
// and returns an error.
func TestHopelessMatch(t *testing.T) {
	for name, pre := range map[string]string{
		"split":   `"pre_tokenizer":{"type":"Split","pattern":{"Regex":"(?:a|aa|aaa)+c"},"behavior":"Isolated","invert":false}`,
		"replace": `"normalizer":{"type":"Replace","pattern":{"Regex":"(?:a|aa|aaa)+c"},"content":"b"}`,
	} {
		tok, err := Parse("t.json", []byte(`{`+pre+`,"model":{"type":"WordLevel","vocab":{"x":0},"unk_token":"x"}}`))
		if err != nil {
			t.Fatal(err)
		}
		var x *expression
		switch name {
		case "split":
			x = tok.preTokenizer.(split).find.(*expression)
		case "replace":
			x = tok.normalizer.(*replace).find.(*expression)
		}
		x.limit(20 * time.Millisecond)
		tok.Count("aaac aab")
		if err := tok.Err(); err != nil {
			t.Fatalf("%s: an easy text: %v", name, err)
		}
		tok.Count(strings.Repeat("a", 10_000))
		want := `the regular expression "(?:a|aa|aaa)+c" takes more than 20ms to cut a text of 10000 bytes, which begins "aaaa`
		if err := tok.Err(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}
