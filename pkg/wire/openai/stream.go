package openai

import "github.com/pa-tools/pa/internal/stat"

// A Stream follows the chunks of one answer to its end. The zero value is
// ready for use.
type Stream struct {
	// Done is set once [DONE] or message_stop came.
	Done bool
	// Err is the first error that the server reported.
	Err *Error
	// OutputChunks counts the chunks that had output.
	OutputChunks int
	// Usage is the last count that the server gave. Counts that are all zero
	// are ignored unless the chunk ends the answer: Ollama sends them with
	// every chunk of a text completion before it knows.
	//
	// llama.cpp sends for n > 1 a chunk with a count and no choice for each choice.
	// When there are as many such chunks as choices, the tokens of the completions
	// are summed; the tokens of the prompt, which all share, are not.
	Usage    Usage
	HasUsage bool
	// HasCached and HasReasoning say that Usage states CachedTokens and ReasoningTokens, be they 0.
	HasCached, HasReasoning bool
	// Timings are the last times that the server gave; HasTimings is false if it gave none.
	Timings    Timings
	HasTimings bool

	messages bool // the answer is a stream of Messages
	// pieces are the texts of an answer of v1/responses that came.
	pieces map[pieceKey]bool

	finals int   // chunks with a count and no choice
	sum    Usage // of their completions

	unmarked bool         // choices have no mark of their end
	open     map[int]bool // choices seen, by index: not yet finished?
	openN    int
	finished int
}

// Add takes the next chunk. It keeps nothing of c but c.Error. An event of v1/responses that repeats the text of earlier
// events loses its choice.
func (st *Stream) Add(c *Chunk) {
	if len(c.piece.kind) > 0 {
		st.unrepeated(c)
	}
	st.Done = st.Done || c.Done
	if st.Err == nil {
		st.Err = c.Error
	}
	if c.HasOutput() {
		st.OutputChunks++
	}
	ends := true
	for i := range c.Choices {
		ch := &c.Choices[i]
		ended := len(ch.FinishReason) > 0
		st.unmarked = st.unmarked || ch.Unmarked
		ends = ends && ended
		st.choice(ch.Index, ended)
	}
	if c.HasTimings {
		st.Timings, st.HasTimings = c.Timings, true
	}
	if c.Messages > MessageWhole {
		st.messages = true
		if c.HasUsage {
			st.countMessages(c)
		}
		return
	}
	if c.HasUsage && (c.Usage != Usage{} || ends) {
		st.count(c)
	}
}

// AddAgain takes a chunk that differs from an earlier chunk of the stream only in its text.
// It must be the chunk of a [Pattern].
func (st *Stream) AddAgain() { st.OutputChunks++ }

// Messages reports whether the answer is a stream of Anthropic Messages.
func (st *Stream) Messages() bool { return st.messages }

// Choices returns the number of choices of the answer so far.
func (st *Stream) Choices() int { return len(st.open) }

// count takes the usage of a chunk.
func (st *Stream) count(c *Chunk) {
	st.Usage, st.HasUsage, st.HasCached, st.HasReasoning = c.Usage, true, c.HasCached, c.HasReasoning
	if len(c.Choices) > 0 {
		return
	}
	st.finals++
	st.sum.CompletionTokens = stat.SaturatingAdd(st.sum.CompletionTokens, c.Usage.CompletionTokens)
	st.sum.ReasoningTokens = stat.SaturatingAdd(st.sum.ReasoningTokens, c.Usage.ReasoningTokens)
	if st.finals > 1 && st.finals == len(st.open) {
		st.Usage.CompletionTokens = st.sum.CompletionTokens
		st.Usage.ReasoningTokens = st.sum.ReasoningTokens
		st.Usage.TotalTokens = stat.SaturatingAdd(st.Usage.PromptTokens, st.sum.CompletionTokens)
	}
}

// choice records that a choice with this index came, and whether it is finished.
func (st *Stream) choice(index int, ended bool) {
	open, seen := st.open[index]
	switch {
	case !seen:
		if st.open == nil {
			st.open = map[int]bool{}
		}
		st.open[index] = !ended
		if ended {
			st.finished++
		} else {
			st.openN++
		}
	case open && ended:
		st.open[index] = false
		st.openN--
		st.finished++
	}
}

// Complete reports whether the answer is complete: [DONE] came, or at least one choice and a
// finish reason for each choice. Any other answer was truncated. transformers sends no
// [DONE]. A stream of Messages is complete with message_stop alone. An answer of a kind without a mark of its end always counts
// as complete.
func (st *Stream) Complete() bool {
	if st.messages {
		return st.Done
	}
	return st.Done || st.unmarked || st.finished > 0 && st.openN == 0
}

// Reset makes st ready for another answer.
func (st *Stream) Reset() {
	clear(st.open)
	*st = Stream{open: st.open}
}
