package synth

import (
	"testing"

	"github.com/pa-tools/pa/pkg/tokenizer/builtin"
)

// BenchmarkTexts measures the generation of one prompt of 1024±128 tokens.
func BenchmarkTexts(b *testing.B) {
	tok, err := builtin.Load()
	if err != nil {
		b.Fatal(err)
	}
	t := newTexts(b, tok, 1, "")
	dist := Normal{1024, 128}
	bytes, n := 0, uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		text, _, err := t.Text(n, dist.Draw(source(1, forInput, n)))
		if err != nil {
			b.Fatal(err)
		}
		bytes += len(text)
		n++
	}
	b.SetBytes(int64(bytes / int(n)))
}

func BenchmarkNewVocabulary(b *testing.B) {
	tok, err := builtin.Load()
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(builtin.Corpus())))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := NewVocabulary(tok, builtin.Corpus()); err != nil {
			b.Fatal(err)
		}
	}
}
