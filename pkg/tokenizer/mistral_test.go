package tokenizer

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// smallVocabulary holds all bytes, and tokens that merge in this order.
func smallVocabulary(more ...string) []string {
	var tokens []string
	for b := range 256 {
		tokens = append(tokens, string([]byte{byte(b)}))
	}
	return append(tokens, more...)
}

// folderOf writes files by name into a new folder and returns it.
func folderOf(t *testing.T, folder string, all map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), folder)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range all {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestTiktokenModel(t *testing.T) {
	t.Parallel()
	// "12" is one token only where digits are cut in threes from the left; "中国" and "国a" tell whether
	// Chinese is cut from Latin letters.
	file := string(tiktokenFile(smallVocabulary("he", "ll", "llo", "hello", " hello", "12", "123", "中"[:2], "中", "a中", "中a")))
	config := func(class string) string {
		return `{"tokenizer_class":"` + class + `","added_tokens_decoder":{"300":{"content":"<|im_end|>","special":true},"301":{"content":"[EOS]","special":true}}}`
	}
	id := func(s string) uint32 { return uint32(s[0]) }
	for _, tt := range []struct {
		name, folder string
		config       string
		text         string
		want         []uint32
		note         string
	}{
		{"Kimi", "x", config("TikTokenTokenizer"), "hello hello<|im_end|>1234", []uint32{259, 260, 300, 262, id("4")}, ""},
		{"Kimi cuts Chinese from letters", "x", config("TikTokenTokenizer"), "a中a", []uint32{id("a"), 264, id("a")}, ""},
		{"by the folder", "kimi-k2", "", "a中a<|im_end|>", slices.Concat([]uint32{id("a"), 264, id("a")}, bytesOf("<|im_end|>")), "so special tokens within a text count as text"},
		{"Llama 3", "Llama-3", "", "a中a<|eot_id|>", []uint32{265, id("a"), 267 + 9}, ""},
		{"Llama 3 by its configuration", "x", `{"tokenizer_class":"PreTrainedTokenizerFast","bos_token":"<|begin_of_text|>"}`, "<|begin_of_text|>hello", []uint32{267, 259}, ""},
		{"unknown", "x", "", "hello", []uint32{259}, "cut as Llama 3 cuts it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"tiktoken.model": file}
			if tt.config != "" {
				files["tokenizer_config.json"] = tt.config
			}
			dir := folderOf(t, tt.folder, files)
			for _, path := range []string{dir, filepath.Join(dir, "tiktoken.model")} {
				tok, err := Load(path)
				if err != nil {
					t.Fatal(err)
				}
				if got := tok.Encode(tt.text); !slices.Equal(got, tt.want) {
					t.Errorf("%q: %d, want %d", tt.text, got, tt.want)
				}
				if got := decoded(tok, tok.Encode(tt.text)); got != tt.text {
					t.Errorf("%q decoded to %q", tt.text, got)
				}
				if notes := strings.Join(tok.Notes(), "\n"); !strings.Contains(notes, tt.note) || tt.note == "" && notes != "" {
					t.Errorf("notes %q, want %q", notes, tt.note)
				}
			}
		})
	}
	dir := folderOf(t, "x", map[string]string{"tokenizer.model": "\x0a\x0e\x0a\x05<unk>"})
	if _, err := Load(filepath.Join(dir, "tokenizer.model")); err == nil || !strings.Contains(err.Error(), "a SentencePiece model is not read: give the model's tokenizer.json") {
		t.Errorf("SentencePiece: %v", err)
	}
}

// bytesOf returns the tokens of text that nothing merges.
func bytesOf(text string) (ids []uint32) {
	for i := range len(text) {
		ids = append(ids, uint32(text[i]))
	}
	return ids
}

// tekkenOf returns a tekken.json.
func tekkenOf(pattern string, config map[string]any, tokens []string) string {
	type token struct {
		Rank  int     `json:"rank"`
		Bytes string  `json:"token_bytes"`
		Text  *string `json:"token_str"`
	}
	var vocab []token
	for i, s := range tokens {
		vocab = append(vocab, token{i, base64.StdEncoding.EncodeToString([]byte(s)), nil})
	}
	all := map[string]any{"pattern": pattern}
	for k, v := range config {
		all[k] = v
	}
	text, err := json.Marshal(map[string]any{"config": all, "vocab": vocab, "special_tokens": []any{map[string]any{"rank": 0, "token_str": "<unk>", "is_control": true}}})
	if err != nil {
		panic(err) // plain data
	}
	return string(text)
}

func TestTekken(t *testing.T) {
	t.Parallel()
	mistral := capitalWords + `|` + capitals + `|\p{N}|` + slashSymbols + `|` + blanks
	tokens := smallVocabulary("he", "ll", "llo", "hello", " hello", "12", "Hi")
	ids := func(special int, ids ...int) (all []uint32) {
		for _, id := range ids {
			all = append(all, uint32(id+special))
		}
		return all
	}
	for _, tt := range []struct {
		name, file string
		content    string
		text       string
		want       []uint32
	}{
		{"Mistral", "tekken.json", tekkenOf(mistral, map[string]any{"default_vocab_size": 1000 + len(tokens), "default_num_special_tokens": 1000}, tokens), "hello hello12", ids(1000, 259, 260, '1', '2')},
		{"another pattern", "tekken.json", tekkenOf(`\p{L}+|\p{N}{1,2}|\s+`, nil, tokens), "hello12", ids(1000, 259, 261)},
		{"fewer tokens than the file has", "tekken.json", tekkenOf(mistral, map[string]any{"default_vocab_size": 10 + 260, "default_num_special_tokens": 10}, tokens), "hello hello", ids(10, 259, ' ', 259)},
		{"special tokens are text", "tekken.json", tekkenOf(mistral, nil, tokens), "<s>", ids(1000, '<', 's', '>')},
		{"another name", "mistral.json", tekkenOf(mistral, nil, tokens), "Hi", ids(1000, 262)},
		{"a release", "tekken_240911.json", tekkenOf(mistral, nil, tokens), "Hi", ids(1000, 262)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := folderOf(t, "x", map[string]string{tt.file: tt.content})
			paths := []string{filepath.Join(dir, tt.file)}
			if tt.file == "tekken.json" {
				paths = append(paths, dir)
			}
			for _, path := range paths {
				tok, err := Load(path)
				if err != nil {
					t.Fatal(err)
				}
				if got := tok.Encode(tt.text); !slices.Equal(got, tt.want) {
					t.Errorf("%q: %d, want %d", tt.text, got, tt.want)
				}
				if got := decoded(tok, tok.Encode(tt.text)); got != tt.text {
					t.Errorf("%q decoded to %q", tt.text, got)
				}
			}
		})
	}
	for want, content := range map[string]string{
		"config.pattern, which says how text is cut, is missing": tekkenOf("", nil, tokens),
		"vocab has no tokens": `{"config":{"pattern":"x"}}`,
		"byte 4 is missing":   tekkenOf("x", nil, tokens[:4]),
		"the regular expression \"(\", which cuts the text: ":                                  tekkenOf("(", nil, tokens),
		"vocab[0]: rank is missing":                                                            `{"config":{"pattern":"x"},"vocab":[{"token_bytes":"AA=="}]}`,
		"vocab[0]: expected a rank below 1, found 7":                                           `{"config":{"pattern":"x"},"vocab":[{"rank":7,"token_bytes":"AA=="}]}`,
		"vocab[0]: token_bytes is missing":                                                     `{"config":{"pattern":"x"},"vocab":[{"rank":0}]}`,
		"config: default_vocab_size 5 and default_num_special_tokens 10 leave no token of 263": tekkenOf("x", map[string]any{"default_vocab_size": 5, "default_num_special_tokens": 10}, tokens),
		"config: default_num_special_tokens 900000: too many for 263 tokens":                   tekkenOf("x", map[string]any{"default_num_special_tokens": 900000}, tokens),
		"config: default_vocab_size 0 and default_num_special_tokens -1 leave no token of 263": tekkenOf("x", map[string]any{"default_num_special_tokens": -1}, tokens),
	} {
		_, err := parseTekken("tekken.json", []byte(content))
		if format := new(FormatError); !errors.As(err, &format) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// FuzzParseTekken reads damaged files.
func FuzzParseTekken(f *testing.F) {
	f.Add(tekkenOf(`\p{L}+`, map[string]any{"default_num_special_tokens": 2}, smallVocabulary("ab")))
	f.Add(`{"config":{"pattern":"x","default_num_special_tokens":99999999},"vocab":[{"rank":0,"token_bytes":"AA=="}]}`)
	f.Fuzz(func(t *testing.T, file string) {
		tok, err := parseTekken("tekken.json", []byte(file))
		if err != nil {
			return
		}
		const text = "ab ab 12 é"
		if got := decoded(tok, tok.Encode(text)); got != text && tok.Err() == nil {
			t.Errorf("decoded to %q", got)
		}
	})
}
