package answer

import (
	"sync"
	"time"
)

// A LimitedCounter is a TokenCounter that gives up on a tokenizer that fails slowly:
// once it has spent maxRefusing on texts that the tokenizer could not count, it refuses
// every text. A hostile tokenizer file can have a regular expression that takes 20 s for
// each text.
type LimitedCounter struct {
	// Tokenizer counts the tokens of a text, or says why it cannot. It is safe for
	// concurrent use, but an error may then belong to a text of another goroutine.
	Tokenizer interface {
		TryCount(text string) (int, error)
		TryEncode(dst []uint32, text string) ([]uint32, error)
	}

	// alone is held for writing to count one text at a time, and for reading else.
	alone   sync.RWMutex
	refused time.Duration // spent on texts that could not be counted
	last    error
}

// maxRefusing is the time for texts that cannot be counted, of all files together.
const maxRefusing = 30 * time.Second

// CountTokens implements TokenCounter.
func (c *LimitedCounter) CountTokens(text []byte) (n int, err error) {
	s := string(text)
	err = c.limited(func() error {
		n, err = c.Tokenizer.TryCount(s)
		return err
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// AppendTokens appends the ids of the tokens of a text to dst. It gives up like CountTokens.
func (c *LimitedCounter) AppendTokens(dst []uint32, text []byte) ([]uint32, error) {
	s := string(text)
	all := dst
	err := c.limited(func() (err error) {
		all, err = c.Tokenizer.TryEncode(dst, s)
		return err
	})
	if err != nil {
		return dst, err
	}
	return all, nil
}

// limited calls do, which uses the tokenizer, or refuses to. It may call do twice.
func (c *LimitedCounter) limited(do func() error) error {
	if c.together(do) {
		return nil
	}
	c.alone.Lock()
	defer c.alone.Unlock()
	if c.refused > maxRefusing {
		return c.last
	}
	start := time.Now()
	err := do()
	if err != nil {
		c.refused += time.Since(start)
		c.last = err
	}
	return err
}

// together calls do while other goroutines use the tokenizer, too. ok is false if a text of any of them
// failed, or one failed before: the tokenizer must be used alone.
func (c *LimitedCounter) together(do func() error) (ok bool) {
	c.alone.RLock()
	defer c.alone.RUnlock()
	return c.last == nil && do() == nil
}

// Err returns the error of the last text that could not be counted; nil if all were.
func (c *LimitedCounter) Err() error {
	c.alone.RLock()
	defer c.alone.RUnlock()
	return c.last
}
