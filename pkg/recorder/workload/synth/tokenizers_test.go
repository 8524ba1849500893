package synth

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/pkg/tokenizer"
	"github.com/pa-tools/pa/pkg/tokenizer/builtin"
)

// TestEveryTokenizer checks every kind of tokenizer in the tests of package tokenizer: texts
// are exact, or NewVocabulary rejects the tokenizer because it has too few words of one token.
func TestEveryTokenizer(t *testing.T) {
	var c struct {
		Tokenizers []struct {
			Name      string
			Tokenizer json.RawMessage
		}
	}
	if err := json.Unmarshal(golden.Unpack(t, "../../../tokenizer/testdata/conformance.json.zst"), &c); err != nil {
		t.Fatal(err)
	}
	exact := 0
	for _, v := range c.Tokenizers {
		tok, err := tokenizer.Parse(v.Name, v.Tokenizer)
		if err != nil {
			t.Fatalf("%s: %v", v.Name, err)
		}
		words, err := NewVocabulary(tok, builtin.Corpus()[:40_000])
		if err != nil {
			if !strings.Contains(err.Error(), "knows too few words") {
				t.Errorf("%s: %v", v.Name, err)
			}
			t.Logf("%s: %v", v.Name, err)
			continue
		}
		texts := words.Texts(1, "")
		for i, n := range []int{1, 2, 5, 17, 100, 400} {
			text, _, err := texts.Text(uint64(i), n)
			if err != nil || tok.Count(text) != n {
				t.Errorf("%s: %d tokens of %d wanted: %v", v.Name, tok.Count(text), n, err)
			}
		}
		exact++
	}
	if exact < len(c.Tokenizers)/2 {
		t.Errorf("only %d of %d tokenizers give texts", exact, len(c.Tokenizers))
	}
}
