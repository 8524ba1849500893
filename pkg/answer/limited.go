package answer

import "time"

// A LimitedCounter is a TokenCounter that gives up on a tokenizer that fails slowly:
// once it has spent maxRefusing on texts that the tokenizer could not count, it refuses
// every text. A hostile tokenizer file can have a regular expression that takes 20 s for
// each text.
type LimitedCounter struct {
	// Tokenizer counts the tokens of a text, or says why it cannot.
	Tokenizer interface {
		TryCount(text string) (int, error)
	}

	refused time.Duration // spent on texts that could not be counted
	last    error
}

// maxRefusing is the time for texts that cannot be counted, of all files together.
const maxRefusing = 30 * time.Second

// CountTokens implements TokenCounter.
func (c *LimitedCounter) CountTokens(text []byte) (int, error) {
	if c.refused > maxRefusing {
		return 0, c.last
	}
	start := time.Now()
	n, err := c.Tokenizer.TryCount(string(text))
	if err != nil {
		c.refused += time.Since(start)
		c.last = err
	}
	return n, err
}

// Err returns the error of the last text that could not be counted; nil if all were.
func (c *LimitedCounter) Err() error { return c.last }
