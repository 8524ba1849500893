package tokenizer

import (
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/testenv"
)

// FuzzParse checks that damaged tokenizers cause no panic, and that a tokenizer that
// Parse accepts can encode.
func FuzzParse(f *testing.F) {
	f.Add(small(tinyModel))
	f.Add(small(`"added_tokens": [{"id": 4, "content": "<x>", "lstrip": true}], "normalizer": {"type": "NFKC"}, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": true},` + tinyModel))
	f.Add(small(`"pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first"}, "model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0], ["▁a", -1.5e0]], "byte_fallback": true}`))
	f.Add(small(`"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "\\p{L}+|[^\\s&&[^a]]"}, "behavior": "Contiguous", "invert": true}, "model": {"type": "WordPiece", "unk_token": "a", "continuing_subword_prefix": "##", "max_input_chars_per_word": 9, "vocab": {"a": 0, "##b": 1}}`))
	f.Add(small(`"post_processor": {"type": "BertProcessing", "sep": ["b", 1], "cls": ["a", 0]}, "decoder": {"type": "CTC", "pad_token": "a", "word_delimiter_token": "b", "cleanup": true},` + tinyModel))
	f.Add(small(`"model": {"type": "BPE", "vocab": {"a": 4194304}, "merges": []}`))
	f.Fuzz(func(t *testing.T, file string) {
		testenv.BoundMemory(t, len(file), 16<<20, 2000, func() { _, _ = Parse("t.json", []byte(file)) })
		tok, err := Parse("t.json", []byte(file))
		if err != nil {
			return
		}
		tok.AddSpecial(tok.Encode("ab <x> a\u0301\xff é東 ab"))
	})
}

// FuzzParseTiktoken reads damaged .tiktoken files.
func FuzzParseTiktoken(f *testing.F) {
	var bytes []string
	for b := range 256 {
		bytes = append(bytes, string([]byte{byte(b)}))
	}
	f.Add(string(tiktokenFile(append(bytes, "ab", " a"))))
	f.Add("AA== 0\nAQ== 1\nAg== 2\nAw== 999993")
	f.Fuzz(func(t *testing.T, file string) {
		testenv.BoundMemory(t, len(file), 16<<20, 2000, func() { _, _ = parseTiktoken("cl100k_base.tiktoken", []byte(file)) })
		tok, err := parseTiktoken("cl100k_base.tiktoken", []byte(file))
		if err != nil {
			return
		}
		const text = "ab ab 12 <|endoftext|> é"
		if got := decoded(tok, tok.Encode(text)); got != text {
			t.Errorf("decoded to %q", got)
		}
	})
}

// FuzzEncode checks with any text that the tokens of byte-level tokenizers are the text unchanged, that
// Count agrees with Encode, and that mergeByScan agrees with mergeByHeap.
func FuzzEncode(f *testing.F) {
	for _, text := range []string{"", "Hello, world!", " \n\n x'S 1234", "naïve 東京 😀 ſ", "\xff\xe6\x97", "<|endoftext|>", strings.Repeat("ab", 40), "<s> [MASK] <B>"} {
		f.Add(text)
	}
	var toks []*Tokenizer
	for _, v := range readFuzzTokenizers(f) {
		toks = append(toks, parsed(f, v))
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4096 {
			return
		}
		for _, tok := range toks {
			ids := tok.Encode(text)
			if ofBytes(tok) {
				if got, want := decoded(tok, ids), validUTF8(text); got != want {
					t.Errorf("the ids of %q are of %q, want %q", text, got, want)
				}
			}
			if got := tok.Count(text); got != len(ids) {
				t.Errorf("Count(%q) = %d, want %d", text, got, len(ids))
			}
			b, ok := tok.model.(*bpe)
			if !ok || !b.raw || len(text) < 2 {
				continue
			}
			var symbols []uint32
			for i := range len(text) {
				symbols = append(symbols, b.byteID[text[i]])
			}
			byScan := b.pairs.mergeByScan(slices.Clone(symbols), &scratch{})
			byHeap := b.pairs.mergeByHeap(slices.Clone(symbols), &scratch{})
			if !slices.Equal(byScan, byHeap) {
				t.Errorf("merges of %q: %v by scan, %v by heap", text, byScan, byHeap)
			}
		}
	})
}

// readFuzzTokenizers are a few of the small tokenizers, lossless ones first.
func readFuzzTokenizers(f *testing.F) [][]byte {
	f.Helper()
	names := []string{"gpt2", "llama 3", "o200k", "deepseek v3", "llama 2", "metaspace first True", "bert", "unigram with bytes"}
	found := make([][]byte, len(names))
	for _, v := range readConformance(f).Tokenizers {
		if i := slices.Index(names, v.Name); i >= 0 {
			found[i] = v.Tokenizer
		}
	}
	return found
}
