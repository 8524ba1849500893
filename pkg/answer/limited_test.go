package answer

import (
	"errors"
	"runtime"
	"strings"
	"sync"
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

// sharedFailure counts bytes and fails texts with an exclamation mark. As with a Tokenizer, an
// error may come to a text that another goroutine counts at the same time.
type sharedFailure struct {
	mu     sync.Mutex
	failed int
}

func (s *sharedFailure) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

func (s *sharedFailure) TryEncode(dst []uint32, text string) ([]uint32, error) {
	n, err := s.TryCount(text)
	return append(dst, make([]uint32, n)...), err
}

func (s *sharedFailure) TryCount(text string) (int, error) {
	before := s.count()
	runtime.Gosched()
	if strings.Contains(text, "!") {
		s.mu.Lock()
		s.failed++
		s.mu.Unlock()
	}
	runtime.Gosched()
	if s.count() != before {
		return 0, errors.New("a text has an exclamation mark")
	}
	return len(text), nil
}

// Texts that are counted at the same time do not fail because another one does.
func TestLimitedCounterTogether(t *testing.T) {
	for range 200 {
		counter := LimitedCounter{Tokenizer: &sharedFailure{}}
		var counting sync.WaitGroup
		for i := range 8 {
			counting.Go(func() {
				for range 5 {
					text := strings.Repeat("x", i)
					if i == 3 {
						text = "x!x"
					}
					if n, err := counter.CountTokens([]byte(text)); (err != nil) != (i == 3) || err == nil && n != i {
						t.Errorf("%q: %d, %v", text, n, err)
					}
				}
			})
		}
		counting.Wait()
		if counter.Err() == nil {
			t.Error("no error is kept")
		}
	}
}
