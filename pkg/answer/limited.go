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
	}

	// alone is held for writing to count one text at a time, and for reading else.
	alone   sync.RWMutex
	refused time.Duration // spent on texts that could not be counted
	last    error
}

// maxRefusing is the time for texts that cannot be counted, of all files together.
const maxRefusing = 30 * time.Second

// CountTokens implements TokenCounter.
func (c *LimitedCounter) CountTokens(text []byte) (int, error) {
	s := string(text)
	if n, ok := c.together(s); ok {
		return n, nil
	}
	c.alone.Lock()
	defer c.alone.Unlock()
	if c.refused > maxRefusing {
		return 0, c.last
	}
	start := time.Now()
	n, err := c.Tokenizer.TryCount(s)
	if err != nil {
		c.refused += time.Since(start)
		c.last = err
	}
	return n, err
}

// together counts while other goroutines count, too. ok is false if a text of any of them
// failed, or one failed before: the text must be counted alone.
func (c *LimitedCounter) together(text string) (n int, ok bool) {
	c.alone.RLock()
	defer c.alone.RUnlock()
	if c.last != nil {
		return 0, false
	}
	n, err := c.Tokenizer.TryCount(text)
	return n, err == nil
}

// Err returns the error of the last text that could not be counted; nil if all were.
func (c *LimitedCounter) Err() error {
	c.alone.RLock()
	defer c.alone.RUnlock()
	return c.last
}
