package tokenizer

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/internal/test/testenv"
)

// vocabularies holds testdata/vocabularies/vectors.json.zst, the results of the Hugging Face
// library for the texts with OpenAI's vocabularies and with some files.
type vocabularies struct {
	Texts     []string
	Digits    int
	Encodings []struct {
		Name         string
		IgnoreMerges bool `json:"ignore_merges"`
		IDs, Blocks  string
	}
	Files []struct {
		Name                          string
		Tokenizer                     json.RawMessage
		IDs, Blocks, Special, Decoded string
	}
}

func readVocabularies(t testing.TB) *vocabularies {
	t.Helper()
	var v vocabularies
	if err := json.Unmarshal(golden.Unpack(t, "testdata/vocabularies/vectors.json.zst"), &v); err != nil {
		t.Fatal(err)
	}
	return &v
}

// readTokens reads the tokens of one of OpenAI's encodings, in the order of
// their ranks.
func readTokens(t testing.TB, encoding string) []string {
	t.Helper()
	data := golden.Unpack(t, "testdata/vocabularies/"+encoding+".ranks.zst")
	var tokens []string
	for len(data) > 0 {
		size, n := binary.Uvarint(data)
		tokens = append(tokens, string(data[n:n+int(size)]))
		data = data[n+int(size):]
	}
	return tokens
}

// tiktokenFile writes tokens as OpenAI does.
func tiktokenFile(tokens []string) []byte {
	var out []byte
	for rank, token := range tokens {
		out = append(base64.StdEncoding.AppendEncode(out, []byte(token)), ' ')
		out = append(strconv.AppendInt(out, int64(rank), 10), '\n')
	}
	return out
}

// convert returns the tokenizer.json into which the transformers library converts tokens.
// The merge of a token joins the two parts that BPE leaves of it with only the tokens of
// lower ranks.
func convert(t testing.TB, tokens []string, preTokenizer string, ignoreMerges bool) []byte {
	t.Helper()
	ranks := make(map[string]int, len(tokens))
	vocab := make(map[string]int, len(tokens))
	for rank, token := range tokens {
		ranks[token] = rank
		vocab[toByteChars(token)] = rank
	}
	var merges [][2]string
	for rank, token := range tokens {
		if parts := slowMerge(ranks, token, rank); len(parts) == 2 {
			merges = append(merges, [2]string{toByteChars(parts[0]), toByteChars(parts[1])})
		}
	}
	data, err := json.Marshal(map[string]any{
		"version":       "1.0",
		"added_tokens":  []any{map[string]any{"id": len(tokens), "content": "<|endoftext|>", "special": true}},
		"pre_tokenizer": json.RawMessage(preTokenizer),
		"decoder":       map[string]any{"type": "ByteLevel"},
		"model":         map[string]any{"type": "BPE", "vocab": vocab, "merges": merges, "ignore_merges": ignoreMerges},
	})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// slowMerge is a simple BPE on strings. It merges the pair of the lowest rank until no pair
// has a rank below limit.
func slowMerge(ranks map[string]int, token string, limit int) []string {
	var parts []string
	for i := range len(token) {
		parts = append(parts, token[i:i+1])
	}
	for {
		best, at := limit, -1
		for i := range len(parts) - 1 {
			if rank, ok := ranks[parts[i]+parts[i+1]]; ok && rank < best {
				best, at = rank, i
			}
		}
		if at < 0 {
			return parts
		}
		parts[at] += parts[at+1]
		parts = append(parts[:at+1], parts[at+2:]...)
	}
}

// encodingPreTokenizer cuts text as one of OpenAI's encodings does.
func encodingPreTokenizer(encoding string) string {
	split := func(pattern string) string {
		text, err := json.Marshal(pattern)
		if err != nil {
			panic(err)
		}
		return `{"type": "Sequence", "pretokenizers": [
			{"type": "Split", "pattern": {"Regex": ` + string(text) + `}, "behavior": "Isolated", "invert": false},
			{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}]}`
	}
	switch encoding {
	case "cl100k_base":
		return split(cl100kPattern)
	case "o200k_base":
		return split(o200kPattern)
	}
	return `{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}`
}

// TestEncodings compares the ids of OpenAI's vocabularies, read as .tiktoken and as
// tokenizer.json, with the library's. The two files differ in the special tokens alone.
func TestEncodings(t *testing.T) {
	v, blocks := readVocabularies(t), unicodeBlocks()
	for i, e := range v.Encodings {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			tokens := readTokens(t, e.Name)
			path := filepath.Join(t.TempDir(), e.Name+".tiktoken")
			if err := os.WriteFile(path, tiktokenFile(tokens), 0o600); err != nil {
				t.Fatal(err)
			}
			fromRanks, err := Load(path)
			if err != nil {
				t.Fatal(err)
			}
			// In the vectors, the id of the special token follows the vocabulary.
			end, ok := fromRanks.ID("<|endoftext|>")
			if !ok {
				t.Fatal("there is no <|endoftext|>")
			}
			check(t, v.Texts, e.IDs, v.Digits, func(text string) string {
				ids := fromRanks.Encode(text)
				if got := decoded(fromRanks, ids); got != text {
					t.Errorf("the ids of %q are of %q", text, got)
				}
				for i := range ids {
					if ids[i] == end {
						ids[i] = uint32(len(tokens))
					}
				}
				return idList(ids)
			})
			checkBlocks(t, blocks, e.Blocks, v.Digits, i, func(text string) string { return idList(fromRanks.Encode(text)) })
			if e.Name == "o200k_base" || e.Name != "r50k_base" && !testenv.IsLong() {
				return // the conversion is slow, and further vocabularies test nothing new
			}
			fromMerges, err := Parse(e.Name+".json", convert(t, tokens, encodingPreTokenizer(e.Name), e.IgnoreMerges))
			if err != nil {
				t.Fatal(err)
			}
			check(t, v.Texts, e.IDs, v.Digits, func(text string) string { return idList(fromMerges.Encode(text)) })
		})
	}
}

// TestFiles compares the ids of tokenizers that the library trained with the library's ids.
func TestFiles(t *testing.T) {
	v, blocks := readVocabularies(t), unicodeBlocks()
	for i, f := range v.Files {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			tok, err := Parse("tokenizer.json", f.Tokenizer)
			if err != nil {
				t.Fatal(err)
			}
			check(t, v.Texts, f.IDs, v.Digits, func(text string) string { return idList(tok.Encode(text)) })
			checkBlocks(t, blocks, f.Blocks, v.Digits, i, func(text string) string { return idList(tok.Encode(text)) })
			check(t, v.Texts, f.Special, v.Digits, func(text string) string { return idList(tok.AddSpecial(tok.Encode(text))) })
		})
	}
}
