package openai

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/wire/sse"
)

// A Chunk is one event of a streamed answer, or a whole answer; both have the same layout.
// Its slices are valid until the next parse into the Chunk, and may alias the parsed bytes.
type Chunk struct {
	// Comment, Null and Done are the events without JSON object: a frame
	// without data (a keep-alive, say), "null" or nothing as data, [DONE].
	// The events message_stop and speech.audio.done also have Done.
	Comment bool
	Null    bool
	Done    bool

	// Error is the error that the server reported instead of an answer; nil for none.
	Error *Error

	ID     []byte
	Object []byte // "chat.completion.chunk", "text_completion", …
	Model  []byte

	// Choices in the order of the body; several may have one index.
	Choices []Choice

	// Usage holds the body's token counts. HasUsage is false when the body has none,
	// or null. Ollama sends zeros before it knows; see Stream.
	Usage    Usage
	HasUsage bool
	// HasCached and HasReasoning say that the body's usage states CachedTokens and ReasoningTokens, be
	// they 0.
	HasCached, HasReasoning bool
	// Server holds what the body states about the work of the server; nil when it states nothing.
	Server *export.ServerDetails

	// Audio is the audio of the body, which has no choice then; HasAudio is false when it has none. RawAudio
	// says that the body describes raw audio, whose end HTTP marks.
	Audio    AudioPiece
	HasAudio bool
	RawAudio bool
	// Repeats says that the text of the body repeats texts that earlier bodies may have had: see [Stream].
	Repeats Repetition

	// Messages is the kind of a body of Anthropic Messages; NotMessages for all others.
	Messages MessagesEvent

	block messagesBlock  // for Reply
	part  replyPart      // for Reply
	piece responsesPiece // for Stream
	// What usage states, for Messages: the tokens of the input that were written to the cache and read from it.
	cacheCreated, cacheRead           int64
	hasInput, hasOutput, hasCacheRead bool

	// unfinished says that a line of Ollama has "done": false.
	unfinished bool

	details  *export.ServerDetails // memory of Server
	native   *native               // memory of body
	walker   jsonscan.Walker
	template *template // nil before the second frame
	framed   bool      // the Chunk held a frame before
}

// A Choice is the part that one chunk adds to one answer; in a whole body it is the
// answer.
type Choice struct {
	Index int
	Role  []byte
	// Content is delta.content, message.content or text. Of a content that
	// is a list of parts it is the text of the parts, joined.
	Content []byte
	// Reasoning is the first of these that is not empty: reasoning, reasoning_content, the texts of reasoning_details, the
	// parts of the type thinking in content.
	Reasoning []byte
	Refusal   []byte
	// ToolCalls are the names and arguments of the calls, joined in the
	// order of the body.
	ToolCalls []byte
	// TokenIDs is the length of token_ids. In answers of SGLang's generate it and Content can be of the whole answer so far:
	// Stream.Add makes them the numbers of the event alone.
	TokenIDs int
	// FinishReason is empty until the choice is finished.
	FinishReason []byte
	// Unmarked reports that answers of this kind have neither a finish reason nor
	// another mark of their end: Triton's generate_stream.
	Unmarked bool

	// JSON text, for Reply: message of a whole body, or reasoning_details of a delta that has its reasoning there; tool_calls of a
	// delta.
	message, calls []byte
	// inReasoningContent and inParts say, for Reply, that the reasoning is in reasoning_content, or in parts of content.
	inReasoningContent, inParts bool
	// soFar marks an answer of SGLang's generate, which has generated tokens so far.
	soFar     bool
	generated int64
}

// HasOutput reports whether the choice adds anything that a model generated.
func (c *Choice) HasOutput() bool {
	return len(c.Content) > 0 || len(c.Reasoning) > 0 || len(c.Refusal) > 0 || len(c.ToolCalls) > 0 || c.TokenIDs > 0
}

// HasOutput reports whether some choice has output.
func (c *Chunk) HasOutput() bool {
	for i := range c.Choices {
		if c.Choices[i].HasOutput() {
			return true
		}
	}
	return false
}

// IsPart reports whether the body is a part of a stream, even if nothing came before it and after it: a chunk by its object, or
// a line of Ollama that is not the last one.
func (c *Chunk) IsPart() bool { return c.unfinished || bytes.HasSuffix(c.Object, []byte(".chunk")) }

// maxChoices bounds the memory of one body. Real bodies have one choice or a few: the number
// of prompts times n.
const maxChoices = 1 << 16

// Parse reads the data of one event, or a whole body, into c. It ignores white space
// around the data. It fails on data that is not a JSON object; c then holds the members
// before the error.
func Parse(data []byte, c *Chunk) error {
	c.reset()
	data = bytes.TrimSpace(data)
	switch string(data) {
	case "[DONE]":
		c.Done = true
		return nil
	case "", "null":
		c.Null = true
		return nil
	}
	c.walker.Reset(data)
	c.walker.PythonNumbers = true // in logprobs and metrics of servers in Python
	c.body(&c.walker)
	c.walker.End()
	if c.walker.Err != nil {
		return c.walker.Err
	}
	if c.Error == nil && c.mayBeError() {
		c.Error = findError(data)
	}
	return nil
}

// ParseFrame reads one frame of an event stream, as package sse splits it, or a whole body,
// into c. An event named "error" sets Error even if its data is plain text. ParseFrame reads
// a JSON object without framing, as Ollama writes errors into the stream, like data. It
// returns an error for any other bytes. Frames of one stream are parsed fastest into one
// Chunk, which remembers what they share.
func ParseFrame(frame []byte, c *Chunk) error {
	if c.template != nil && c.template.apply(frame, c) {
		return nil
	}
	again := c.framed
	c.framed = true
	if err := parseFrame(frame, c); err != nil || !again {
		return err
	}
	if c.template == nil {
		c.template = &template{}
	}
	c.template.learn(frame, c)
	return nil
}

// IsBareDone reports whether a line of a stream is [DONE] without framing, as streams of JSON lines may end.
func IsBareDone(line []byte) bool {
	return len(line) > 0 && line[0] == '[' && string(bytes.TrimSpace(line)) == "[DONE]"
}

func parseFrame(frame []byte, c *Chunk) error {
	bare := bytes.TrimLeft(frame, " \t\r\n")
	if len(bare) > 0 && bare[0] == '{' {
		return parseBare(bare, c)
	}
	if IsBareDone(bare) {
		return Parse(bare, c)
	}
	e := sse.Parse(frame)
	if !e.HasData {
		c.reset()
		if string(e.Name) == "error" {
			c.Error = &Error{}
		}
		c.Comment = c.Error == nil
		if len(bare) > 0 && !e.Comment && e.Name == nil && e.ID == nil && e.Retry == 0 {
			return fmt.Errorf("neither an event nor JSON: %q", sanitize.Cut(bare, 40))
		}
		return nil
	}
	err := Parse(e.Data, c)
	if string(e.Name) == "error" && c.Error == nil && !c.Done {
		if c.Error = findAnyError(e.Data); c.Error == nil {
			c.Error = &Error{Message: OneLine(e.Data)}
		}
		return nil
	}
	return err
}

// parseBare reads a JSON object without framing. Events that follow without a blank line
// between count too, unless the object is an error.
func parseBare(bare []byte, c *Chunk) error {
	e := sse.Parse(bare)
	if !e.HasData {
		return Parse(bare, c)
	}
	line, _, _ := bytes.Cut(bare, []byte("\n"))
	if err := Parse(line, c); err != nil || c.Error != nil {
		return err
	}
	return Parse(e.Data, c)
}

func (c *Chunk) reset() {
	*c = Chunk{Choices: c.Choices[:0], details: c.details, native: c.native, walker: c.walker, template: c.template, framed: c.framed}
}

// mayBeError reports whether a body without "error" may still be one: {"object":"error", …},
// or a body without known members, such as FastAPI's {"detail": …}.
func (c *Chunk) mayBeError() bool {
	return string(c.Object) == "error" ||
		len(c.Choices) == 0 && c.Messages == NotMessages && !c.HasUsage && !c.HasAudio && len(c.ID) == 0 && len(c.Object) == 0 && len(c.Model) == 0
}

func (c *Chunk) body(w *jsonscan.Walker) {
	if w.Peek() != '{' {
		w.Expected("an object")
		return
	}
	var n *native // nil until a member comes that chats do not have, because most bodies are of chats
	for ok := w.OpenObject(); ok; ok = w.NextMember() {
		switch string(w.Key) {
		case "choices":
			c.choices(w)
		case "usage":
			c.parseUsage(w)
		case "id":
			c.ID = w.String()
		case "created", "system_fingerprint": // of each chunk of a chat
			w.Skip()
		case "object":
			c.Object = w.String()
		case "model":
			c.Model = w.String()
		case "error":
			c.parseError(w)
		case "timings":
			c.addServer(w, readTimings)
		case "metrics":
			c.addServer(w, readMetrics)
		case "sglext":
			c.addServer(w, readSGLang)
		case "nvext":
			c.addServer(w, readDynamo)
		case "meta_info":
			from := w.Pos
			c.addServer(w, readSGLang)
			w.Pos, n = from, c.nativeFor(n)
			n.metaInfo(w, c)
		case "x_groq":
			c.readGroq(w)
		case "total_duration", "load_duration", "prompt_eval_duration", "eval_duration":
			c.addServer(w, readDuration)
		default:
			n = c.nativeFor(n)
			n.member(w, c)
		}
	}
	if n != nil {
		n.end(c)
	}
}

// nativeFor returns n, or the memory of c for the members of a body if n is nil.
func (c *Chunk) nativeFor(n *native) *native {
	switch {
	case n != nil:
		return n
	case c.native == nil:
		c.native = new(native)
	default:
		*c.native = native{}
	}
	return c.native
}

// parseError reads the "error" member.
func (c *Chunk) parseError(w *jsonscan.Walker) {
	if e := errorValue(w.Value()); e != nil {
		c.Error = e
	}
}

func (c *Chunk) choices(w *jsonscan.Walker) {
	if w.Peek() != '[' {
		w.Skip()
		return
	}
	c.Choices = c.Choices[:0]
	for ok := w.OpenArray(); ok; ok = w.NextElement() {
		if w.Peek() != '{' {
			w.Skip()
			continue
		}
		if len(c.Choices) == maxChoices {
			w.Fail("more than %d choices", maxChoices)
			return
		}
		c.Choices = append(c.Choices, Choice{Index: len(c.Choices)})
		c.Choices[len(c.Choices)-1].parse(w, c)
	}
}

func (c *Choice) parse(w *jsonscan.Walker, body *Chunk) {
	for ok := w.OpenObject(); ok; ok = w.NextMember() {
		switch string(w.Key) {
		case "index":
			if n, ok := count(w); ok {
				c.Index = int(n)
			}
		case "delta":
			c.parseMessage(w)
		case "message":
			c.message = w.Value()
			w.Pos -= len(c.message)
			c.parseMessage(w)
		case "text":
			if t := w.String(); len(t) > 0 {
				c.Content = t
			}
		case "finish_reason":
			c.FinishReason = w.String()
		case "error": // OpenRouter
			body.parseError(w)
		case "token_ids":
			c.TokenIDs = max(c.TokenIDs, length(w))
		case "meta_info":
			body.addServer(w, readSGLang)
		default:
			w.Skip()
		}
	}
	if body.Error == nil && (string(c.FinishReason) == "abort" || string(c.FinishReason) == "error") {
		body.Error = &Error{Message: `the server ended the answer with the finish reason "` + string(c.FinishReason) + `"`}
	}
}

func (c *Choice) parseMessage(w *jsonscan.Walker) {
	var reasoningContent, details, thoughts []byte
	for ok := w.TryObject(); ok; ok = w.NextMember() {
		switch string(w.Key) {
		case "content":
			if w.Peek() == '[' {
				var t []byte
				if t, thoughts = contentParts(w); len(t) > 0 {
					c.Content = t
				}
			} else if t := w.String(); len(t) > 0 {
				c.Content = t
			}
		case "role":
			c.Role = w.String()
		case "reasoning":
			c.Reasoning = w.String()
		case "reasoning_content":
			reasoningContent = w.String()
		case "reasoning_details": // OpenRouter, beside reasoning; MiniMax, alone
			details = w.Value()
		case "thinking": // Ollama
			c.Reasoning = w.String()
		case "refusal":
			c.Refusal = w.String()
		case "tool_calls":
			start := w.Pos
			c.ToolCalls = toolCalls(w)
			c.calls = w.Text[start:w.Pos]
		case "function_call": // what tool_calls replaced
			var j joiner
			function(w, &j)
			if len(j.b) > 0 {
				c.ToolCalls = j.b
			}
		case "token_ids":
			c.TokenIDs = max(c.TokenIDs, length(w))
		default:
			w.Skip()
		}
	}
	c.inReasoningContent = len(reasoningContent) > 0
	if len(c.Reasoning) > 0 {
		return
	}
	if c.Reasoning = reasoningContent; len(reasoningContent) == 0 && len(details)+len(thoughts) > 0 {
		c.reasoningElsewhere(details, thoughts)
	}
}

// reasoningElsewhere sets Reasoning to the texts of reasoning_details, or else to the thoughts of a content.
func (c *Choice) reasoningElsewhere(details, thoughts []byte) {
	if c.Reasoning = reasoningDetails(details); len(c.Reasoning) == 0 {
		c.Reasoning, c.inParts = thoughts, len(thoughts) > 0
	} else if len(c.message) == 0 {
		c.message = details
	}
}

// reasoningDetails returns the texts and summaries of the parts of reasoning_details. Encrypted parts have none.
func reasoningDetails(list []byte) []byte {
	var j joiner
	var w jsonscan.Walker
	w.Reset(list)
	for ok := w.TryArray(); ok; ok = w.NextElement() {
		for ok := w.TryObject(); ok; ok = w.NextMember() {
			switch string(w.Key) {
			case "text", "summary":
				j.add(w.String())
			default:
				w.Skip()
			}
		}
	}
	return j.b
}

// content reads a string, or the text of a list of parts.
func content(w *jsonscan.Walker) []byte {
	if w.Peek() != '[' {
		return w.String()
	}
	text, _ := contentParts(w)
	return text
}

// contentParts reads a list of parts that have a "text". thoughts are the texts of parts that have a "thinking", as
// Mistral's models send their reasoning.
func contentParts(w *jsonscan.Walker) (text, thoughts []byte) {
	var j, thinking joiner
	for ok := w.OpenArray(); ok; ok = w.NextElement() {
		if w.Peek() != '{' {
			j.add(w.String())
			continue
		}
		for ok := w.OpenObject(); ok; ok = w.NextMember() {
			switch string(w.Key) {
			case "text":
				j.add(w.String())
			case "thinking":
				thinking.add(content(w))
			default:
				w.Skip()
			}
		}
	}
	return j.b, thinking.b
}

func toolCalls(w *jsonscan.Walker) []byte {
	var j joiner
	for ok := w.TryArray(); ok; ok = w.NextElement() {
		for ok := w.TryObject(); ok; ok = w.NextMember() {
			if string(w.Key) == "function" {
				function(w, &j)
			} else {
				w.Skip()
			}
		}
	}
	return j.b
}

// function reads the name and the arguments of a call. Arguments that are not a string count
// as their JSON text.
func function(w *jsonscan.Walker, j *joiner) {
	for ok := w.TryObject(); ok; ok = w.NextMember() {
		switch string(w.Key) {
		case "name":
			j.add(w.String())
		case "arguments":
			if c := w.Peek(); c == '{' || c == '[' {
				j.add(w.Value())
			} else {
				j.add(w.String())
			}
		default:
			w.Skip()
		}
	}
}

// length returns the length of an array, 0 for any other value.
func length(w *jsonscan.Walker) int {
	n := 0
	for ok := w.TryArray(); ok; ok = w.NextElement() {
		w.Skip()
		n++
	}
	return n
}

// A joiner joins pieces. It does not copy a single piece.
type joiner struct {
	b     []byte
	owned bool
}

func (j *joiner) add(piece []byte) {
	switch {
	case len(piece) == 0:
	case len(j.b) == 0:
		j.b = piece
	case !j.owned:
		j.b, j.owned = append(make([]byte, 0, 4*(len(j.b)+len(piece))), j.b...), true
		fallthrough
	default:
		j.b = append(j.b, piece...)
	}
}

// count reads a number as a count. ok is false for a value that is not a
// number from 0 to 2^53.
func count(w *jsonscan.Walker) (n int64, ok bool) {
	c := w.Peek()
	if c != '-' && (c < '0' || c > '9') {
		w.Skip()
		return 0, false
	}
	return parseCount(w.Value())
}

// parseCount reads the text of a number as a count.
func parseCount(text []byte) (n int64, ok bool) {
	const most = 1 << 53
	n, ok = parseWhole(text)
	return n, ok && n >= 0 && n <= most
}

// parseWhole reads the text of a number as a whole number: the nearest int64 to one that does not fit. A number with a
// fraction is the least int64, which no count is.
func parseWhole(text []byte) (n int64, ok bool) {
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err == nil || errors.Is(err, strconv.ErrRange) {
		return n, true
	}
	f, err := strconv.ParseFloat(string(text), 64)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange) || math.IsNaN(f):
		return 0, false
	case f >= 1<<63:
		return math.MaxInt64, true
	case f < -1<<63:
		return math.MinInt64, true
	case f != math.Trunc(f):
		return math.MinInt64, true
	}
	return int64(f), true
}
