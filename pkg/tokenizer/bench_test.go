package tokenizer

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/golden"
)

// english is the text that speed is measured on.
func english(b *testing.B) string {
	b.Helper()
	data, err := os.ReadFile("builtin/corpus.txt")
	if err != nil {
		b.Fatal(err)
	}
	return string(data)
}

// benchTokenizers returns a tokenizer of each kind of model. The byte-level ones have
// vocabularies of real models.
func benchTokenizers(b *testing.B) map[string]*Tokenizer {
	b.Helper()
	all := map[string]*Tokenizer{}
	for _, encoding := range []string{"r50k_base", "cl100k_base", "o200k_base"} {
		tok, err := parseTiktoken(encoding+".tiktoken", tiktokenFile(readTokens(b, encoding)))
		if err != nil {
			b.Fatal(err)
		}
		all[encoding] = tok
	}
	for _, f := range readVocabularies(b).Files {
		all[f.Name] = parsed(b, f.Tokenizer)
	}
	var c conformance
	if err := json.Unmarshal(golden.Unpack(b, "testdata/conformance.json.zst"), &c); err != nil {
		b.Fatal(err)
	}
	for _, v := range c.Tokenizers {
		switch v.Name {
		case "bert", "xlm-roberta", "t5", "deepseek v3", "bloom":
			all[v.Name] = parsed(b, v.Tokenizer)
		}
	}
	return all
}

func parsed(tb testing.TB, data []byte) *Tokenizer {
	tb.Helper()
	tok, err := Parse("tokenizer.json", data)
	if err != nil {
		tb.Fatal(err)
	}
	return tok
}

// BenchmarkEncode encodes English with an empty cache (cold), and with a cache that the
// previous run filled (warm).
func BenchmarkEncode(b *testing.B) {
	text := english(b)
	for name, tok := range benchTokenizers(b) {
		var ids []uint32
		b.Run(name+"/cold", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				tok.idle = nil
				ids = tok.AppendEncode(ids[:0], text)
			}
		})
		b.Run(name+"/warm", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				ids = tok.AppendEncode(ids[:0], text)
			}
		})
	}
}

// BenchmarkChunk counts the chunks of a streamed answer one by one. A chunk is a word with
// the blank before it, like most tokens.
func BenchmarkChunk(b *testing.B) {
	chunks := strings.Split(english(b)[:4000], " ")
	for i := range chunks[1:] {
		chunks[i+1] = " " + chunks[i+1]
	}
	for name, tok := range benchTokenizers(b) {
		b.Run(name+"/count", func(b *testing.B) {
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				tok.Count(chunks[i%len(chunks)])
				i++
			}
		})
	}
}

// BenchmarkLoad reads vocabularies of 50 000 to 200 000 tokens.
func BenchmarkLoad(b *testing.B) {
	for _, encoding := range []string{"r50k_base", "cl100k_base", "o200k_base"} {
		tokens := readTokens(b, encoding)
		files := map[string][]byte{
			".tiktoken": tiktokenFile(tokens),
			".json":     convert(b, tokens, encodingPreTokenizer(encoding), true),
		}
		for suffix, data := range files {
			b.Run(encoding+suffix, func(b *testing.B) {
				b.SetBytes(int64(len(data)))
				b.ReportAllocs()
				for b.Loop() {
					var err error
					if suffix == ".tiktoken" {
						_, err = parseTiktoken(encoding+suffix, data)
					} else {
						_, err = Parse(encoding+suffix, data)
					}
					if err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkLongRun encodes a megabyte of one character.
func BenchmarkLongRun(b *testing.B) {
	for name, tok := range benchTokenizers(b) {
		for _, unit := range []string{"a", " ", "-", "東"} {
			text := strings.Repeat(unit, (1<<20)/len(unit))
			b.Run(name+"/"+unit, func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					tok.Count(text)
				}
			})
		}
	}
}
