package builtin

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pa-tools/pa/pkg/tokenizer"
)

func TestLoad(t *testing.T) {
	tok, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	if tok.Name() != Name {
		t.Errorf("Name = %q", tok.Name())
	}
	if _, ok := tok.Token(4095); !ok {
		t.Error("there is no token 4095")
	}
	if token, ok := tok.Token(4096); ok {
		t.Errorf("Token(4096) = %q, want none", token)
	}
	if notes := tok.Notes(); len(notes) > 0 {
		t.Errorf("Notes = %q", notes)
	}
	for _, text := range []string{Corpus(), "", "Ünïcödé 東京 😀\x00\n\n  x", strings.Repeat("a", 1000)} {
		ids := tok.Encode(text)
		if got := textOf(tok, ids); got != text {
			t.Errorf("the ids of %.40q are of %.40q", text, got)
		}
	}
	// In the corpus, a token has about four characters.
	n := tok.Count(Corpus())
	if perToken := float64(len(Corpus())) / float64(n); perToken < 3.5 || perToken > 5 {
		t.Errorf("%.2f bytes a token", perToken)
	}
	if ids := tok.Encode("a<|endoftext|>"); len(ids) != 2 || textOf(tok, ids) != "a<|endoftext|>" {
		t.Errorf("Encode with the special token = %v", ids)
	}
}

func TestCorpus(t *testing.T) {
	if !utf8.ValidString(Corpus()) || strings.Contains(Corpus(), "\r") {
		t.Error("the corpus has carriage returns or is not UTF-8")
	}
}

// textOf returns the text of tokens.
func textOf(tok *tokenizer.Tokenizer, ids []uint32) string {
	var text []byte
	for _, id := range ids {
		token, _ := tok.Token(id)
		for _, r := range token {
			text = append(text, byte(slices.Index(alphabet[:], r)))
		}
	}
	return string(text)
}
