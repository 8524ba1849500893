package builtin

import (
	"cmp"
	"encoding/json"
	"flag"
	"regexp"
	"slices"
	"testing"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/internal/test/testenv"
)

var update = flag.Bool("update", false, "write tokenizer.json")

// Training on corpus.txt gives tokenizer.json, by byte-level BPE. It merges the most frequent pair
// first; among equally frequent pairs, the lesser string comes first.
func TestTrain(t *testing.T) {
	testenv.NoRace(t)
	got, err := tokenizerJSON(corpus)
	if err != nil {
		t.Fatal(err)
	}
	golden.File(t, "tokenizer.json", string(got), *update)
}

const (
	// size is the number of ids, including the bytes and the special token.
	size = 4096
	// special is the token for the end of a text. It has the last id.
	special = "<|endoftext|>"
	// pattern cuts text as GPT-4's tokenizer does.
	pattern = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
)

// tokenizerJSON trains on corpus and writes the result.
func tokenizerJSON(corpus string) ([]byte, error) {
	tokens, merges := train(words(corpus), size-1)
	vocab := make(map[string]int, len(tokens))
	for id, token := range tokens {
		vocab[written(token)] = id
	}
	pairs := make([][2]string, 0, len(merges))
	for _, m := range merges {
		pairs = append(pairs, [2]string{written(tokens[m.left]), written(tokens[m.right])})
	}
	byteLevel := func(useRegex bool) map[string]any {
		return map[string]any{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": useRegex}
	}
	return json.MarshalIndent(map[string]any{
		"version":    "1.0",
		"truncation": nil, "padding": nil, "normalizer": nil, "post_processor": nil,
		"added_tokens": []any{map[string]any{
			"id": len(tokens), "content": special, "special": true, "normalized": false, "single_word": false, "lstrip": false, "rstrip": false,
		}},
		"pre_tokenizer": map[string]any{"type": "Sequence", "pretokenizers": []any{
			map[string]any{"type": "Split", "pattern": map[string]any{"Regex": pattern}, "behavior": "Isolated", "invert": false},
			byteLevel(false),
		}},
		"decoder": byteLevel(true),
		"model": map[string]any{
			"type": "BPE", "dropout": nil, "unk_token": nil, "continuing_subword_prefix": nil, "end_of_word_suffix": nil,
			"fuse_unk": false, "byte_fallback": false, "ignore_merges": false, "vocab": vocab, "merges": pairs,
		},
	}, "", "")
}

// wordPattern is pattern without the look-ahead, which package regexp lacks. It only differs
// in the last blank of a run, which does not matter for training.
var wordPattern = regexp.MustCompile(`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+`)

// A word is a distinct piece of the corpus, with its symbols and its frequency.
type word struct {
	symbols []int
	count   int
}

// words cuts the corpus into words, in the order of first appearance.
func words(corpus string) []*word {
	var all []*word
	seen := map[string]*word{}
	for _, text := range wordPattern.FindAllString(corpus, -1) {
		w := seen[text]
		if w == nil {
			w = &word{}
			for i := range len(text) {
				w.symbols = append(w.symbols, int(text[i])) // ids 0 to 255 are the bytes
			}
			seen[text] = w
			all = append(all, w)
		}
		w.count++
	}
	return all
}

// A pair is two adjacent symbols.
type pair struct{ left, right int }

// A candidate is a pair that may be merged.
type candidate struct {
	pair  pair
	count int     // in all words
	words []*word // words that hold the pair or once did
}

// train merges the most frequent pair until there are n tokens.
func train(all []*word, n int) (tokens []string, merges []pair) {
	for b := range 256 {
		tokens = append(tokens, string([]byte{byte(b)}))
	}
	var candidates []candidate
	at := map[pair]int{} // places in candidates
	add := func(w *word, sign int) {
		for i := range len(w.symbols) - 1 {
			p := pair{w.symbols[i], w.symbols[i+1]}
			k, ok := at[p]
			if !ok {
				k = len(candidates)
				at[p] = k
				candidates = append(candidates, candidate{pair: p})
			}
			c := &candidates[k]
			c.count += sign * w.count
			if sign > 0 {
				c.words = append(c.words, w)
			}
		}
	}
	for _, w := range all {
		add(w, 1)
	}
	for len(tokens) < n {
		best, most := pair{}, 0
		for i := range candidates { // a loop over a map would take longer
			if c := &candidates[i]; c.count > most || c.count == most && lesser(tokens, c.pair, best) {
				best, most = c.pair, c.count
			}
		}
		if most < 2 {
			break // a single occurrence is no pattern
		}
		id := len(tokens)
		tokens = append(tokens, tokens[best.left]+tokens[best.right])
		merges = append(merges, best)
		for _, w := range candidates[at[best]].words {
			if i := find(w.symbols, best, 0); i >= 0 {
				add(w, -1)
				for ; i >= 0; i = find(w.symbols, best, i) {
					w.symbols = slices.Replace(w.symbols, i, i+2, id)
				}
				add(w, 1)
			}
		}
		k, last := at[best], len(candidates)-1
		candidates[k] = candidates[last]
		at[candidates[k].pair] = k
		delete(at, best)
		candidates = candidates[:last]
	}
	return tokens, merges
}

func lesser(tokens []string, a, b pair) bool {
	return cmp.Or(cmp.Compare(tokens[a.left], tokens[b.left]), cmp.Compare(tokens[a.right], tokens[b.right])) < 0
}

// find returns the index of p in symbols from i on, or -1.
func find(symbols []int, p pair, i int) int {
	for ; i+1 < len(symbols); i++ {
		if symbols[i] == p.left && symbols[i+1] == p.right {
			return i
		}
	}
	return -1
}

// alphabet has the character of each byte in GPT-2's alphabet of bytes. A printable byte of Latin-1
// is its own character; the other bytes, in order, are the characters from U+0100 on.
var alphabet = func() (chars [256]rune) {
	next := rune(0x100)
	for b := range chars {
		chars[b] = rune(b)
		if b < '!' || b > '~' && b < 0xA1 || b == 0xAD {
			chars[b] = next
			next++
		}
	}
	return chars
}()

// written returns a token in that alphabet.
func written(token string) string {
	var out []rune
	for i := range len(token) {
		out = append(out, alphabet[token[i]])
	}
	return string(out)
}
