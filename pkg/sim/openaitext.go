package sim

import (
	"iter"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pa-tools/pa/pkg/sim/plan"
)

// An openAIRenderer renders answers of the OpenAI API, with the keys and the order of events of
// vLLM: a role event per choice, one event per step with finish_reason in the last one,
// an event with usage, and [DONE].
type openAIRenderer struct {
	chat       bool
	id, model  string
	created    int64 // Unix seconds
	newline    string
	usage      bool // an event with token counts
	continuous bool // token counts in every event
	wholeUsage bool // token counts in an answer that does not stream

	details func(b []byte, d *requestDetails) []byte // appends what the server states about the request; nil for nothing
	queue   time.Duration                            // from the arrival to started
	started time.Time
}

// framing describes these streams to faults.
func (t *openAIRenderer) framing() plan.Framing {
	return plan.Framing{
		SSE: true, Newline: t.newline, Garbage: []byte(garbage),
		Failure: func() []byte {
			return t.sse(openAIErrorBody(http.StatusInternalServerError, errorEventMessage))
		},
	}
}

// events returns the stream. The data of an event is valid until the next one.
func (t *openAIRenderer) events(p *plan.Plan) iter.Seq[plan.Event] {
	return func(yield func(plan.Event) bool) {
		head := t.eventHead()
		buf := make([]byte, 0, len(head)+eventRoom)
		sent := make([]int, p.Choices) // output tokens of each choice so far
		roles := t.chat
		total, all := 0, p.OutputTokens()
		for s := range p.Steps() {
			if roles {
				roles = false
				for c := range p.Choices {
					b := append(append(buf[:0], head...), `{"index":`...)
					b = strconv.AppendInt(b, int64(c), 10)
					b = append(b, `,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]`...)
					buf = t.close(b, p, 0)
					if !yield(plan.Event{At: s.At, Data: buf, Kind: plan.EventOutput}) {
						return
					}
				}
			}
			sent[s.Choice] += s.Tokens
			total += s.Tokens
			b := append(append(buf[:0], head...), `{"index":`...)
			b = strconv.AppendInt(b, int64(s.Choice), 10)
			if t.chat {
				b = append(b, `,"delta":{"content":`...)
				b = appendString(b, s.Text)
				b = append(b, '}')
			} else {
				b = append(b, `,"text":`...)
				b = appendString(b, s.Text)
			}
			b = append(b, `,"logprobs":null,"finish_reason":`...)
			if s.Finish == "" {
				b = append(b, "null"...)
			} else {
				b = appendString(b, s.Finish)
			}
			if s.Finish != "" || !t.chat {
				b = append(b, `,"stop_reason":null`...)
			}
			buf = t.close(append(b, "}]"...), p, sent[s.Choice])
			if !yield(plan.Event{At: s.At, Data: buf, Tokens: s.Tokens, Kind: plan.EventOutput}) {
				return
			}
			if total == all {
				t.finish(p, s.At, head, yield)
				return
			}
		}
	}
}

// finish yields the events after the last token.
func (t *openAIRenderer) finish(p *plan.Plan, at time.Duration, head []byte, yield func(plan.Event) bool) {
	if t.usage {
		b := append(slices.Clone(head), `],"usage":`...)
		b = t.appendDetails(appendUsage(b, p.InputTokens, p.OutputTokens(), p.CachedTokens), p, at)
		if !yield(plan.Event{At: at, Data: t.endEvent(append(b, '}')), Kind: plan.EventUsage}) {
			return
		}
	}
	yield(plan.Event{At: at, Data: t.sse([]byte("[DONE]")), Kind: plan.EventDone})
}

// body returns a whole answer and its due time.
func (t *openAIRenderer) body(p *plan.Plan) ([]byte, time.Duration) {
	texts, end := p.Whole()
	b := t.head("")
	for c, text := range texts {
		if c > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"index":`...)
		b = strconv.AppendInt(b, int64(c), 10)
		if t.chat {
			b = append(b, `,"message":{"role":"assistant","content":`...)
			b = append(appendString(b, text), '}')
		} else {
			b = append(b, `,"text":`...)
			b = appendString(b, text)
		}
		b = append(b, `,"logprobs":null,"finish_reason":`...)
		b = appendString(b, p.FinishReason(c))
		b = append(b, `,"stop_reason":null}`...)
	}
	b = append(b, ']')
	if t.wholeUsage {
		b = append(b, `,"usage":`...)
		b = t.appendDetails(appendUsage(b, p.InputTokens, p.OutputTokens(), p.CachedTokens), p, end)
	}
	return append(b, '}'), end
}

// head returns the start of every object, up to the bracket of choices.
func (t *openAIRenderer) head(suffix string) []byte {
	object := "text_completion"
	if t.chat {
		object = "chat.completion" + suffix
	}
	b := appendString([]byte(`{"id":`), t.id)
	b = append(b, `,"object":"`+object+`","created":`...)
	b = strconv.AppendInt(b, t.created, 10)
	b = append(b, `,"model":`...)
	b = appendString(b, t.model)
	return append(b, `,"choices":[`...)
}

// eventRoom is the approximate size of an event with one token after its head.
const eventRoom = 256

// eventHead returns the start of every event.
func (t *openAIRenderer) eventHead() []byte { return append([]byte("data: "), t.head(".chunk")...) }

// close ends an event after its choices. output is the number of tokens of its choice so
// far.
func (t *openAIRenderer) close(b []byte, p *plan.Plan, output int) []byte {
	if t.continuous {
		b = append(b, `,"usage":`...)
		b = appendUsage(b, p.InputTokens, output, p.CachedTokens)
	}
	return t.endEvent(append(b, '}'))
}

// endEvent appends the end of an event.
func (t *openAIRenderer) endEvent(b []byte) []byte {
	return append(append(b, t.newline...), t.newline...)
}

// sse returns data as an SSE event.
func (t *openAIRenderer) sse(data []byte) []byte { return frame(data, t.newline) }

// newline returns the line end of SSE for an answer with this fault.
func newline(f plan.Fault) string {
	if f == plan.FaultCRLF {
		return "\r\n"
	}
	return "\n"
}

// frame returns data, which holds no line end, as an SSE event.
func frame(data []byte, newline string) []byte {
	b := make([]byte, 0, len("data: ")+len(data)+2*len(newline))
	b = append(b, "data: "...)
	b = append(b, data...)
	b = append(b, newline...)
	return append(b, newline...)
}

// namedEvent returns data, which holds no line end, as an SSE event of that name.
func namedEvent(newline, name string, data []byte) []byte {
	return append([]byte("event: "+name+newline), frame(data, newline)...)
}

// appendUsage appends a usage. cached < 0 states no cached tokens.
func appendUsage(b []byte, input, output, cached int) []byte {
	b = append(b, `{"prompt_tokens":`...)
	b = strconv.AppendInt(b, int64(input), 10)
	b = append(b, `,"total_tokens":`...)
	b = strconv.AppendInt(b, int64(input+output), 10)
	b = append(b, `,"completion_tokens":`...)
	b = strconv.AppendInt(b, int64(output), 10)
	if cached >= 0 {
		b = append(b, `,"prompt_tokens_details":{"cached_tokens":`...)
		b = append(strconv.AppendInt(b, int64(cached), 10), '}')
	}
	return append(b, '}')
}

// appendString appends s as a JSON string with the necessary escapes only, as real servers
// do.
func appendString(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s) // an error means invalid UTF-8, which is replaced
	return b
}

// openAIErrorBody returns the body of an error of the OpenAI API.
func openAIErrorBody(code int, message string) []byte {
	b := []byte(`{"error":{"message":`)
	b = appendString(b, message)
	b = append(b, `,"type":`...)
	b = appendString(b, map[int]string{
		http.StatusBadRequest:            "BadRequestError",
		http.StatusUnauthorized:          "AuthenticationError",
		http.StatusNotFound:              "NotFoundError",
		http.StatusRequestEntityTooLarge: "BadRequestError",
		http.StatusTooManyRequests:       "RateLimitError",
		http.StatusInternalServerError:   "InternalServerError",
	}[code])
	b = append(b, `,"param":null,"code":`...)
	b = strconv.AppendInt(b, int64(code), 10)
	return append(b, "}}"...)
}
