package tokenizer

// A Counter counts the tokens of a text that comes in chunks, as of the chunks
// of a streamed answer. What it says after each chunk is what Count says of all
// of them joined. It is not for concurrent use.
//
// It counts again only what a further chunk may still change: with most
// tokenizers the last word. With some, and with most in text without blanks, that
// is the whole text, each time.
type Counter struct {
	t       *Tokenizer
	settled int    // tokens of what stands before tail
	begun   bool   // something stands before tail
	tail    []byte // what may be tokenized otherwise with more behind it
	total   int
}

// NewCounter returns a Counter of an empty text.
func (t *Tokenizer) NewCounter() *Counter { return &Counter{t: t} }

// Add puts a chunk at the end of the text and returns how many tokens the text
// has gained. That is 0 when the chunk completes a token, and can be negative:
// two tokens may become one.
func (c *Counter) Add(chunk string) int {
	e := c.t.encoder()
	defer c.t.release(e)
	old := len(c.tail)
	c.tail = append(c.tail, chunk...)
	if cut := c.t.settler.settledPart(c.tail); cut > 0 {
		if cut == old { // as is usual: the chunk begins a word, and the last one was counted before
			c.settled = c.total
		} else {
			e.out = e.encode(e.out[:0], string(c.tail[:cut]), !c.begun)
			c.settled += len(e.out)
		}
		c.begun = true
		c.tail = append(c.tail[:0], c.tail[cut:]...)
	}
	e.out = e.encode(e.out[:0], string(c.tail), !c.begun)
	before := c.total
	c.total = c.settled + len(e.out)
	return c.total - before
}

// Total is the number of tokens of the text so far.
func (c *Counter) Total() int { return c.total }

// Reset makes the text empty.
func (c *Counter) Reset() {
	*c = Counter{t: c.t, tail: c.tail[:0]}
}
