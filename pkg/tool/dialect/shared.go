package dialect

import (
	"strings"
	"sync"
)

// Shared returns a Tokenizer that counts a text once for all goroutines that ask for
// it at about the same time.
func Shared(t Tokenizer) Tokenizer { return &sharedTokenizer{Tokenizer: t, counts: map[string]int{}} }

// sharedTokenizer remembers the counts of the latest texts.
type sharedTokenizer struct {
	Tokenizer
	mu     sync.Mutex
	counts map[string]int
	bytes  int
}

// Err returns why the Tokenizer below could not count a text.
func (s *sharedTokenizer) Err() error { return refusal(s.Tokenizer) }

// maxSharedBytes bounds the memory of a shared Tokenizer.
const maxSharedBytes = 1 << 20

func (s *sharedTokenizer) Count(text string) int {
	s.mu.Lock()
	n, ok := s.counts[text]
	s.mu.Unlock()
	if ok {
		return n
	}
	n = s.Tokenizer.Count(text)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bytes += len(text) + 64; s.bytes > maxSharedBytes {
		clear(s.counts)
		s.bytes = len(text) + 64
	}
	s.counts[strings.Clone(text)] = n // text may be part of a long one
	return n
}
