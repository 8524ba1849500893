package dialect

import (
	"fmt"
	"sync"

	"github.com/pa-tools/pa/pkg/answer"
)

// Checked returns a Tokenizer that counts with t and keeps the first error after a
// count of its own; nil for a nil t. t fails if it has a method Err() error that
// returns one, as [github.com/pa-tools/pa/pkg/tokenizer.Tokenizer] does for a text that
// it cannot count. A report that was made with a Checked whose Err is not nil holds
// wrong counts.
func Checked(t Tokenizer) *CheckedTokenizer {
	if t == nil {
		return nil
	}
	return &CheckedTokenizer{t: t}
}

// A CheckedTokenizer is what Checked returns. It may be used by several goroutines at
// once if the Tokenizer below may.
type CheckedTokenizer struct {
	t   Tokenizer
	mu  sync.Mutex
	err error
}

// Count implements Tokenizer.
func (c *CheckedTokenizer) Count(text string) int {
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
func (c *CheckedTokenizer) AddSpecial(ids []uint32) []uint32 { return c.t.AddSpecial(ids) }

// counter returns c for the strict definitions; nil for a nil c.
func (c *CheckedTokenizer) counter() answer.TokenCounter {
	if c == nil {
		return nil
	}
	return tokenCounter{c}
}

// Err returns an error that wraps ErrNotCounted if a text was not counted. It returns
// nil for a nil c.
func (c *CheckedTokenizer) Err() error {
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
