package openai

import (
	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/export"
)

// A Repetition says which earlier texts of a stream a text repeats.
type Repetition uint8

// The repetitions.
const (
	RepeatsNothing Repetition = iota
	RepeatsDeltas             // a segment of a transcription: the deltas of the segment, if the server sends deltas
	RepeatsAll                // the whole text at the end of a transcription
)

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
	// Server holds what the server stated about its work; of several statements of a number, the last.
	Server export.ServerDetails

	messages bool // the answer is a stream of Messages
	speech   bool // of events with audio
	// newTexts says that a text came that repeats no other; segments that a text came that may repeat only deltas.
	newTexts, segments bool

	// Of SGLang's generate: what came of each choice, by its index, and the tokens of all.
	soFar     map[int]*soFar
	generated int64
	// pieces are the texts of an answer of v1/responses that came.
	pieces map[pieceKey]bool

	finals int   // chunks with a count and no choice
	sum    Usage // of their completions

	unmarked bool         // choices have no mark of their end
	open     map[int]bool // choices seen, by index: not yet finished?
	openN    int
	finished int
}

// Add takes the next chunk. It keeps nothing of c but c.Error. It changes the texts of c so that c has what it adds to the answer
// alone: a text that repeats earlier chunks is removed, or shortened to its new part, and is no output.
func (st *Stream) Add(c *Chunk) {
	if len(c.Choices) > 0 && c.Choices[0].soFar {
		st.addSoFar(c)
	}
	if c.Repeats != RepeatsNothing || c.HasAudio {
		st.addAudio(c)
	}
	if len(c.piece.kind) > 0 {
		st.unrepeated(c)
	}
	st.Done = st.Done || c.Done
	if st.Err == nil {
		st.Err = c.Error
	}
	if c.HasOutput() {
		st.OutputChunks++
		st.newTexts = st.newTexts || c.Repeats == RepeatsNothing
	}
	ends := true
	for i := range c.Choices {
		ch := &c.Choices[i]
		ended := len(ch.FinishReason) > 0
		st.unmarked = st.unmarked || ch.Unmarked
		ends = ends && ended
		st.choice(ch.Index, ended)
	}
	if c.Server != nil {
		st.Server.Add(c.Server)
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
		if len(st.soFar) > 1 {
			st.Usage.CompletionTokens = st.generated
		}
	}
}

// addAudio takes what only chunks of the audio endpoints have.
func (st *Stream) addAudio(c *Chunk) {
	st.unmarked = st.unmarked || c.RawAudio
	st.speech = st.speech || c.HasAudio && !c.RawAudio
	if c.Repeats == RepeatsNothing {
		return
	}
	if st.newTexts || c.Repeats == RepeatsAll && st.segments {
		for i := range c.Choices {
			c.Choices[i].Content = nil
		}
	}
	st.segments = st.segments || c.Repeats == RepeatsDeltas && c.HasOutput()
}

// Speech reports whether the answer is a stream of events with audio.
func (st *Stream) Speech() bool { return st.speech }

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
	if st.messages || st.speech {
		return st.Done
	}
	return st.Done || st.unmarked || st.finished > 0 && st.openN == 0
}

// Reset makes st ready for another answer.
func (st *Stream) Reset() {
	clear(st.open)
	clear(st.soFar)
	*st = Stream{open: st.open, soFar: st.soFar}
}
