package tokenizer

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// small returns a tokenizer.json with the given members.
func small(parts string) string {
	return "{\n\"version\": \"1.0\",\n" + parts + "\n}"
}

const tinyModel = `"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "Ġ": 3}, "merges": ["a b"]}`

// TestErrors checks the messages for files that cannot be read.
func TestErrors(t *testing.T) {
	tests := []struct {
		name, file, want string
	}{
		{"empty", "", "t.json: line 1: the JSON ends early"},
		{"not JSON", "PK\x03\x04", `t.json: line 1: invalid character 'P' at start of value`},
		{"not an object", "[1]", "t.json: line 1: expected the object of a tokenizer.json, found an array"},
		{"cut short", "{\n\"version\": \"1.0\",\n\"mod", "t.json: line 3: the JSON ends early"},
		{"cut short in the vocabulary", "{\n\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0,\n", "t.json: line 3: model.vocab: the JSON ends early"},
		{"cut short in the merges", "{\n\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0}, \"merges\": [\n\"a ", "t.json: line 3: model.merges[0]: the JSON ends early"},
		{"not UTF-8", "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"\xff\": 0}}}", "t.json: line 1: model.vocab: invalid UTF-8"},
		{"no model", small(`"decoder": null`), `t.json: line 1: "model" is missing`},
		{"version", "{\"version\": \"2.0\",\n" + tinyModel + "}", `t.json: line 1: version: expected version 1.0, found "2.0"`},
		{"no vocabulary", small(`"model": {"type": "BPE", "merges": []}`), `t.json: line 3: model: "vocab" is missing`},
		{"no merges", small(`"model": {"type": "BPE", "vocab": {}}`), `t.json: line 3: model: "merges" is missing`},
		{"no type", small(`"model": {"vocab": 3}`), `t.json: line 3: model: "type" is missing`},
		{"type of model", small(`"model": {"type": "Transducer"}`), `t.json: line 3: model.type: model "Transducer" is not supported`},
		{"model is null", small(`"model": null`), `t.json: line 3: model: expected an object, found null`},
		{"id is no number", small(`"model": {"type": "BPE", "vocab": {"a": "x"}, "merges": []}`), `t.json: line 3: model.vocab["a"]: expected an id, found "\"x\""`},
		{"id is negative", small(`"model": {"type": "BPE", "vocab": {"a": -1}, "merges": []}`), `t.json: line 3: model.vocab["a"]: expected an id, found "-1"`},
		{"id is huge", small(`"model": {"type": "BPE", "vocab": {"a": 4294967295}, "merges": []}`), `t.json: line 3: model.vocab["a"]: id 4294967295 is larger than any that is supported (65888)`},
		{"merge of one", small(`"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [` + "\n" + `"a"]}`), `t.json: line 4: model.merges[0]: expected two tokens with a blank between them, found "a"`},
		{"merge of three", small(`"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [["a", "a", "a"]]}`), `t.json: line 3: model.merges[0]: more than two tokens`},
		{"merge of numbers", small(`"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [[1, 2]]}`), `t.json: line 3: model.merges[0]: expected a string, found a number`},
		{"merge of what is not there", small(`"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a c"]}`), `t.json: line 3: model.merges[0]: token "c" is not in the vocabulary`},
		{"merge into what is not there", small(`"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a a"]}`), `t.json: line 3: model.merges[0]: token "aa" is not in the vocabulary`},
		{"dropout", small(`"model": {"type": "BPE", "dropout": 0.1, "vocab": {}, "merges": []}`), `t.json: line 3: model.dropout: dropout 0.1 is not supported; it makes counts random`},
		{"unknown token of BPE", small(`"model": {"type": "BPE", "unk_token": "<unk>", "vocab": {"a": 0}, "merges": []}`), `t.json: line 3: model.unk_token: token "<unk>" is not in the vocabulary, so text that it stands for cannot be counted`},
		{"unknown token of WordPiece", small(`"model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": {"a": 0}}`), `t.json: line 3: model.unk_token: token "[UNK]" is not in the vocabulary, so text that it stands for cannot be counted`},
		{"no limit of WordPiece", small(`"model": {"type": "WordPiece", "unk_token": "a", "continuing_subword_prefix": "##", "vocab": {"a": 0}}`), `t.json: line 3: model: "max_input_chars_per_word" is missing`},
		{"no unknown token of WordLevel", small(`"model": {"type": "WordLevel", "vocab": {"a": 0}}`), `t.json: line 3: model: "unk_token" is missing`},
		{"no unk_id", small(`"model": {"type": "Unigram", "vocab": [["a", 0.5]]}`), `t.json: line 3: model: "unk_id" is missing, so text with unknown characters cannot be counted`},
		{"unk_id", small(`"model": {"type": "Unigram", "unk_id": 7, "vocab": [["a", 0.5]]}`), `t.json: line 3: model.unk_id: 7 is not in the vocabulary, which has 1 tokens`},
		{"score", small(`"model": {"type": "Unigram", "unk_id": 0, "vocab": [["a", "0.5"]]}`), `t.json: line 3: model.vocab[0]: expected a score, found "\"0.5\""`},
		{"score is missing", small(`"model": {"type": "Unigram", "unk_id": 0, "vocab": [["a", 1], ["b"]]}`), `t.json: line 3: model.vocab[1]: the score is missing`},
		{"scores of another model", small(`"model": {"type": "Unigram", "unk_id": 0, "vocab": {"a": 1}}`), `t.json: line 3: model: "vocab" is missing, or no array of tokens and scores`},
		{"vocabulary of strings", small(`"model": {"type": "Unigram", "unk_id": 0, "vocab": ["a"]}`), `t.json: line 3: model.vocab[0]: expected [token, score], found a string`},
		{"normalizer", small(`"normalizer": {"type": "Rot13"},` + tinyModel), `t.json: line 3: normalizer: normalizer "Rot13" is not supported`},
		{"normalizer in a sequence", small(`"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"},` + "\n" + `{"type": "Rot13"}]},` + tinyModel), `t.json: line 4: normalizer.normalizers[1]: normalizer "Rot13" is not supported`},
		{"normalizer without a type", small(`"normalizer": {},` + tinyModel), `t.json: line 3: normalizer: "type" is missing`},
		{"normalizer is a string", small(`"normalizer": "NFC",` + tinyModel), `t.json: line 3: normalizer: expected an object, found a string`},
		{"option of a normalizer", small(`"normalizer": {"type": "Strip", "strip_left": 1, "strip_right": true},` + tinyModel), `t.json: line 3: normalizer.strip_left: expected a boolean, found a number`},
		{"charsmap", small(`"normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAA"},` + tinyModel), `t.json: line 3: normalizer.precompiled_charsmap: shorter than the size of its trie`},
		{"charsmap in base64", small(`"normalizer": {"type": "Precompiled", "precompiled_charsmap": "A!"},` + tinyModel), `t.json: line 3: normalizer.precompiled_charsmap: base64: illegal base64 data at input byte 1`},
		{"pre-tokenizer", small(`"pre_tokenizer": {"type": "Jieba"},` + tinyModel), `t.json: line 3: pre_tokenizer: pre-tokenizer "Jieba" is not supported`},
		{"behavior", small(`"pre_tokenizer": {"type": "Split", "pattern": {"String": "a"}, "behavior": "Glue", "invert": false},` + tinyModel), `t.json: line 3: pre_tokenizer.behavior: behavior "Glue" is not supported`},
		{"pattern", small(`"pre_tokenizer": {"type": "Split", "pattern": {"Glob": "*"}, "behavior": "Isolated", "invert": false},` + tinyModel), `t.json: line 3: pre_tokenizer.pattern: "String" or "Regex" is missing`},
		{"regular expression", small(`"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(a"}, "behavior": "Isolated", "invert": false},` + tinyModel), `t.json: line 3: pre_tokenizer.pattern.Regex: regular expression "(a": it cannot be parsed`},
		{"regular expression of the other engine", small(`"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "[[:alpha:]]+"}, "behavior": "Isolated", "invert": false},` + tinyModel), `t.json: line 3: pre_tokenizer.pattern.Regex: regular expression "[[:alpha:]]+": a class in a class is not supported`},
		{"possessive", small(`"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "a++"}, "behavior": "Isolated", "invert": false},` + tinyModel), `t.json: line 3: pre_tokenizer.pattern.Regex: regular expression "a++": the possessive ++ is not supported`},
		{"prepend scheme", small(`"pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "sometimes"},` + tinyModel), `t.json: line 3: pre_tokenizer.prepend_scheme: expected always, first or never, found "sometimes"`},
		{"replacement", small(`"pre_tokenizer": {"type": "Metaspace", "replacement": "ab"},` + tinyModel), `t.json: line 3: pre_tokenizer.replacement: expected one character, found "ab"`},
		{"post-processor", small(`"post_processor": {"type": "Magic"},` + tinyModel), `t.json: line 3: post_processor: post-processor "Magic" is not supported`},
		{"template", small(`"post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>"}}], "special_tokens": {}},` + tinyModel), `t.json: line 3: post_processor.single[0].SpecialToken: special token "<s>" is not among special_tokens`},
		{"template of two texts", small(`"post_processor": {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "B"}}]},` + tinyModel), `t.json: line 3: post_processor.single[0].Sequence: sequence "B" in the template of a single text`},
		{"added token", small(`"added_tokens": [{"id": 1}],` + tinyModel), `t.json: line 3: added_tokens[0]: "content" is missing`},
		{"id of an added token", small(`"added_tokens": [{"id": 1.5, "content": "x"}],` + tinyModel), `t.json: line 3: added_tokens[0].id: expected a number from 0 to 4294967295, found 1.5`},
		{"added tokens", small(`"added_tokens": {},` + tinyModel), `t.json: line 3: added_tokens: expected an array, found an object`},
		{"deep", small(`"normalizer": ` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `,` + tinyModel), `t.json: line 3: normalizer` + strings.Repeat("[0]", 64) + `: more than 64 levels of JSON`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse("t.json", []byte(test.file))
			if err == nil {
				t.Fatal("no error")
			}
			if !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("got  %v\nwant %v", err, test.want)
			}
			var format *FormatError
			if !errors.As(err, &format) {
				t.Errorf("%T where a *FormatError is expected", err)
			}
		})
	}
}

// TestTiktokenErrors checks the messages for .tiktoken files.
func TestTiktokenErrors(t *testing.T) {
	tests := []struct {
		name, file, data, want string
	}{
		{"name", "mine.tiktoken", "", "mine.tiktoken: the file's name does not say how text is cut; it must be one of cl100k_base, o200k_base, p50k_base, r50k_base, with .tiktoken"},
		{"empty", "cl100k_base.tiktoken", "", "cl100k_base.tiktoken: there are no tokens"},
		{"no rank", "cl100k_base.tiktoken", "IQ== 0\nIg==\n", `cl100k_base.tiktoken: line 2: expected a token in base64, a blank and a rank, found "Ig=="`},
		{"not base64", "cl100k_base.tiktoken", "I! 0\n", `cl100k_base.tiktoken: line 1: "I!" is not base64`},
		{"rank", "cl100k_base.tiktoken", "IQ== x\n", `cl100k_base.tiktoken: line 1: expected a rank, found "x"`},
		{"empty token", "cl100k_base.tiktoken", " 0\n", `cl100k_base.tiktoken: line 1: the token is empty`},
		{"bytes missing", "cl100k_base.tiktoken", "IQ== 0\n", "cl100k_base.tiktoken: byte 0 is missing"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := parseTiktoken(test.file, []byte(test.data))
			if err == nil || err.Error() != test.want {
				t.Errorf("got  %v\nwant %v", err, test.want)
			}
		})
	}
}

// TestLoad checks that Load finds the file in a directory, and the configuration beside it.
func TestLoad(t *testing.T) {
	write := func(dir, name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "there is no tokenizer.json and no .tiktoken file") {
		t.Errorf("an empty directory: %v", err)
	}
	write(dir, "a.tiktoken", "")
	write(dir, "b.tiktoken", "")
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "there are 2 .tiktoken files; name one of them") {
		t.Errorf("two .tiktoken files: %v", err)
	}
	write(dir, "tokenizer.json", small(tinyModel))
	tok, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := tok.Encode("abba<x>"), []uint32{2, 1, 0}; !slices.Equal(got, want) {
		t.Errorf("Encode = %v, want %v", got, want)
	}
	if got, want := tok.Name(), filepath.Join(dir, "tokenizer.json"); got != want {
		t.Errorf("Name = %q, want %q", got, want)
	}
	if len(tok.Hash()) != 64 {
		t.Errorf("Hash = %q", tok.Hash())
	}

	// A token that only tokenizer_config.json has.
	write(dir, "tokenizer_config.json", `{"added_tokens_decoder": {"4": {"content": "<x>", "special": true}, "0": {"content": "a"}}}`)
	tok, err = Load(filepath.Join(dir, "tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := tok.Encode("abba<x>"), []uint32{0, 1, 1, 0, 4}; !slices.Equal(got, want) {
		t.Errorf("Encode = %v, want %v", got, want)
	}
	if len(tok.Notes()) == 0 {
		t.Error("no note of the tokens that were added")
	}
	write(dir, "tokenizer_config.json", "{\n\"added_tokens_decoder\": []}")
	if _, err := Load(dir); err == nil || !strings.HasSuffix(err.Error(), "tokenizer_config.json: line 2: added_tokens_decoder: expected an object, found an array") {
		t.Errorf("a wrong tokenizer_config.json: %v", err)
	}
}

// TestNotes checks the remarks about a file.
func TestNotes(t *testing.T) {
	tok, err := Parse("t.json", []byte(small(`
		"truncation": {"max_length": 2},
		"added_tokens": [{"id": 99, "content": "<x>"}],
		"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "ab?"}, "behavior": "Isolated", "invert": false},`+tinyModel)))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`pre_tokenizer.pattern.Regex: the regular expression "ab?" has no scanner of its own and is matched by a general engine, which is slower`,
		`added_tokens[0]: token "<x>" has id 99 in the file, but its place gives it 4, as in the library`,
		`truncation: not applied, texts are counted whole`,
	}
	if got := tok.Notes(); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestHoles reads a vocabulary with ids without tokens, and with tokens of the same id.
func TestHoles(t *testing.T) {
	tok, err := Parse("t.json", []byte(small(`"model": {"type": "BPE", "vocab": {"a": 5, "b": 1, "ab": 900, "c": 5, "a": 7}, "merges": ["a b"]}`)))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := tok.Encode("abcax"), []uint32{900, 5, 7}; !slices.Equal(got, want) {
		t.Errorf("Encode = %v, want %v", got, want)
	}
	if token, ok := tok.Token(900); token != "ab" || !ok {
		t.Errorf("Token(900) = %q, %v", token, ok)
	}
	for _, hole := range []uint32{0, 899, 901} {
		if token, ok := tok.Token(hole); ok {
			t.Errorf("Token(%d) = %q, want none", hole, token)
		}
	}
}
