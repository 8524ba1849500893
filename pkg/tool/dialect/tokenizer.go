package dialect

import (
	"fmt"
	"strings"
	"sync"

	"github.com/pa-tools/pa/pkg/answer"
)

// checked returns a Tokenizer that counts with t and keeps the first error after a
// count of its own; nil for a nil t. t fails if it has a method Err() error that
// returns one, as [github.com/pa-tools/pa/pkg/tokenizer.Tokenizer] does for a text that
// it cannot count. A report that was made with a checkedTokenizer whose Err is not nil holds
// wrong counts.
func checked(t Tokenizer) *checkedTokenizer {
	if t == nil {
		return nil
	}
	return &checkedTokenizer{t: t}
}

// A checkedTokenizer is what checked returns. It may be used by several goroutines at
// once if the Tokenizer below may.
type checkedTokenizer struct {
	t   Tokenizer
	mu  sync.Mutex
	err error
}

// Count implements Tokenizer.
func (c *checkedTokenizer) Count(text string) int {
	n := c.t.Count(text)
	if err := refusal(c.t); err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.err == nil {
			c.err = fmt.Errorf("%w: %w", ErrNotCounted, err)
		}
	}
	return n
}

// AddSpecial implements Tokenizer.
func (c *checkedTokenizer) AddSpecial(ids []uint32) []uint32 { return c.t.AddSpecial(ids) }

// counter returns c for pa-analyze's own definitions; nil for a nil c.
func (c *checkedTokenizer) counter() answer.TokenCounter {
	if c == nil {
		return nil
	}
	return tokenCounter{c}
}

// Err returns an error that wraps ErrNotCounted if a text was not counted. It returns
// nil for a nil c.
func (c *checkedTokenizer) Err() error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// refusal returns why t could not count a text.
func refusal(t Tokenizer) error {
	if f, ok := t.(interface{ Err() error }); ok {
		return f.Err()
	}
	return nil
}

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

// Count implements Tokenizer. It counts each text once.
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

// Uncounted returns a Tokenizer that counts 0 tokens in every text. Analyze uses it if
// Config.Explain is set and Config.Tokenizer is nil. Reports must show figures made from
// its counts as missing. Uncounted always returns the same value.
func Uncounted() Tokenizer { return uncounted{} }

type uncounted struct{}

func (uncounted) Count(string) int                 { return 0 }
func (uncounted) AddSpecial(ids []uint32) []uint32 { return ids }
