package tokenizer

import (
	"math/rand/v2"
	"testing"

	"github.com/pa-tools/pa/internal/testenv"
)

// TestCounter holds a Counter to Count after each chunk, with every kind of
// tokenizer and chunks of any size, cut in the middle of characters too.
func TestCounter(t *testing.T) {
	c := readConformance(t)
	for _, v := range c.Tokenizers {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			tok, err := Parse("tokenizer.json", v.Tokenizer)
			if err != nil {
				t.Fatal(err)
			}
			random := rand.New(rand.NewPCG(1, 2))
			counter := tok.NewCounter()
			for i := 0; i+4 < len(c.Texts); i += 8 * thin * testenv.Stride(4) {
				text := c.Texts[i] + " " + c.Texts[i+1] + c.Texts[i+2] + "\n" + c.Texts[i+3]
				counter.Reset()
				sum := 0
				for at := 0; at < len(text); {
					n := min(1+random.IntN(9), len(text)-at)
					sum += counter.Add(text[at : at+n])
					at += n
					if got, want := counter.Total(), tok.Count(text[:at]); got != want || sum != want {
						t.Fatalf("after %q, total %d and sum of gains %d, Count %d", text[:at], got, sum, want)
					}
				}
			}
		})
	}
}

// TestSettles says which tokenizers are counted in a time that does not grow
// with the text.
func TestSettles(t *testing.T) {
	want := map[string]bool{
		"gpt2": true, "llama 3": true, "qwen 2": true, "o200k": true, "tekken": true, "deepseek v3": true,
		"llama 2": true, "gemma": true, "metaspace first True": true, "xlm-roberta": true, "bert": true, "unigram with bytes": true, "t5": true,
	}
	for _, v := range readConformance(t).Tokenizers {
		settles, ok := want[v.Name]
		if !ok {
			continue
		}
		tok, err := Parse("tokenizer.json", v.Tokenizer)
		if err != nil {
			t.Fatal(err)
		}
		if (tok.settler != nil) != settles {
			t.Errorf("%s settles: %v, want %v", v.Name, tok.settler != nil, settles)
		}
		delete(want, v.Name)
	}
	if len(want) > 0 {
		t.Errorf("no such tokenizers: %v", want)
	}
}
