package tokenizer

// A Counter counts the tokens of a text that arrives in chunks, such as a streamed answer.
// After each chunk, its total equals Count of all chunks joined. It is not safe for
// concurrent use.
//
// It recounts only the part that a further chunk can change: with most tokenizers the last
// word. With some tokenizers, and in text without blanks, that is the whole text.
type Counter struct {
	t       *Tokenizer
	settled int    // tokens before tail, which are final
	begun   bool   // there is text before tail
	tail    []byte // text whose tokens a further chunk can change
	total   int
}

// NewCounter returns a Counter for an empty text.
func (t *Tokenizer) NewCounter() *Counter { return &Counter{t: t} }

// Add appends a chunk to the text and returns the change of the token count. It is 0 if
// the chunk completes a token, and negative if two tokens become one.
func (c *Counter) Add(chunk string) int {
	e := c.t.encoder()
	defer c.t.release(e)
	old := len(c.tail)
	c.tail = append(c.tail, chunk...)
	if cut := c.t.settler.settledPart(c.tail); cut > 0 {
		if cut == old { // the usual case: the chunk starts a word, and the tail is already counted
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

// Total returns the number of tokens so far.
func (c *Counter) Total() int { return c.total }

// Reset starts an empty text.
func (c *Counter) Reset() {
	*c = Counter{t: c.t, tail: c.tail[:0]}
}
