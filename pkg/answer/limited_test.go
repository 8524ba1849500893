package answer

import (
	"errors"
	"testing"

	"github.com/pa-tools/pa/pkg/tokenizer"
)

// TestLimitedCounterGivesUp has the counter refuse every text after it has spent
// maxRefusing on texts that the tokenizer could not count.
func TestLimitedCounterGivesUp(t *testing.T) {
	tok, err := tokenizer.Parse("t.json", []byte(`{"pre_tokenizer":{"type":"Whitespace"},"model":{"type":"WordLevel","vocab":{"a":0},"unk_token":"a"}}`))
	if err != nil {
		t.Fatal(err)
	}
	hopeless := errors.New("the regular expression takes too long")
	counter := LimitedCounter{Tokenizer: tok, refused: maxRefusing, last: hopeless}
	if n, err := counter.CountTokens([]byte("a a")); n != 2 || err != nil {
		t.Errorf("CountTokens = %d, %v after exactly %v, want 2", n, err, maxRefusing)
	}
	counter.refused++
	if n, err := counter.CountTokens([]byte("a a")); !errors.Is(err, hopeless) {
		t.Errorf("CountTokens = %d, %v after more than %v, want %v", n, err, maxRefusing, hopeless)
	}
}
