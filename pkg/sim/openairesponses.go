package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/pa-tools/pa/pkg/sim/plan"
)

// A responsesRequest is the body of a request to v1/responses.
type responsesRequest struct {
	requestFields
	Model           string          `json:"model"`
	Instructions    string          `json:"instructions"`
	Input           json.RawMessage `json:"input"` // a text, or messages
	Stream          bool            `json:"stream"`
	MaxOutputTokens *number         `json:"max_output_tokens"`
}

// inputTokens counts the tokens of the input.
func (q *responsesRequest) inputTokens(s *Server) (int, error) {
	var text string
	var messages []openAIMessage
	switch {
	case json.Unmarshal(q.Input, &text) == nil:
		return s.countTokens(q.Instructions) + s.countTokens(text), nil
	case json.Unmarshal(q.Input, &messages) == nil && len(messages) > 0:
	default:
		return 0, errors.New("input: expected a text or a list of messages")
	}
	n := s.countTokens(q.Instructions)
	for i, m := range messages {
		tokens, err := s.contentTokens(m.Content)
		if err != nil {
			return 0, fmt.Errorf("input[%d].content: %w", i, err)
		}
		n += tokens
	}
	return n, nil
}

// serveResponses answers v1/responses.
func serveResponses(x *exchange) {
	s := x.s
	var q responsesRequest
	if !x.parse(&q) {
		return
	}
	id, ok := x.resolveModel(&q.Model, "resp")
	if !ok {
		return
	}
	if q.MaxOutputTokens != nil {
		q.MaxTokens = q.MaxOutputTokens
	}
	words, err := q.inputTokens(s)
	var a plan.Request
	if err == nil {
		a, err = s.planRequest(x.index, &q.requestFields, []int{words}, []string{""}, 1)
	}
	p, ok := x.planned(a, err, plan.New)
	if !ok {
		return
	}
	defer s.release()
	t := responsesRenderer{id: id, model: q.Model, created: x.rec.Start.Unix(), newline: newline(p.Fault), usage: !s.config.OmitUsage}
	if q.Stream {
		w := plan.Framing{SSE: true, Newline: t.newline, Garbage: []byte(garbage), Failure: func() []byte {
			return t.event("error", appendString([]byte(`{"type":"error","code":"server_error","message":`), errorEventMessage))
		}}
		x.answer(sseType, -1, p, plan.Script(t.events(p), p.Fault, p.FaultAfter, w))
		return
	}
	texts, end := p.Whole()
	x.answerWhole(p, append(t.response(p, t.status(p), texts[0], true), '}'), end)
}

// A responsesRenderer renders answers of v1/responses: the event response.created, a
// response.output_text.delta per step, and response.completed or response.incomplete with
// the counts.
type responsesRenderer struct {
	id, model string
	created   int64 // Unix seconds
	newline   string
	usage     bool
}

func (t *responsesRenderer) status(p *plan.Plan) string {
	if p.FinishReason(0) == "length" {
		return "incomplete"
	}
	return "completed"
}

// event returns an SSE event. data lacks its last brace.
func (t *responsesRenderer) event(name string, data []byte) []byte {
	b := append([]byte("event: "+name+t.newline+"data: "), data...)
	return append(b, "}"+t.newline+t.newline...)
}

// response returns the state of an answer, without the last brace.
func (t *responsesRenderer) response(p *plan.Plan, status, text string, ended bool) []byte {
	b := appendString([]byte(`{"id":`), t.id)
	b = append(b, `,"object":"response","created_at":`...)
	b = strconv.AppendInt(b, t.created, 10)
	b = appendString(append(b, `,"model":`...), t.model)
	b = appendString(append(b, `,"status":`...), status)
	b = append(b, `,"output":[`...)
	if !ended {
		return append(b, `],"usage":null`...)
	}
	b = append(b, `{"type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","annotations":[],"text":`...)
	b = append(appendString(b, text), `}]}]`...)
	if !t.usage {
		return append(b, `,"usage":null`...)
	}
	return fmt.Appendf(b, `,"usage":{"input_tokens":%d,"input_tokens_details":{"cached_tokens":0},"output_tokens":%d,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":%d}`,
		p.InputTokens, p.OutputTokens(), p.InputTokens+p.OutputTokens())
}

// events returns the stream.
func (t *responsesRenderer) events(p *plan.Plan) iter.Seq[plan.Event] {
	return func(yield func(plan.Event) bool) {
		var text strings.Builder
		begun := false
		var last time.Duration
		for s := range p.Steps() {
			if !begun {
				begun = true
				b := append(t.response(p, "in_progress", "", false), '}')
				if !yield(plan.Event{At: s.At, Data: t.event("response.created", append([]byte(`{"type":"response.created","response":`), b...)), Kind: plan.EventOutput}) {
					return
				}
			}
			text.WriteString(s.Text)
			last = s.At
			b := appendString([]byte(`{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":`), s.Text)
			if !yield(plan.Event{At: s.At, Data: t.event("response.output_text.delta", b), Tokens: s.Tokens, Kind: plan.EventOutput}) {
				return
			}
		}
		name := "response." + t.status(p)
		b := append(t.response(p, t.status(p), text.String(), true), '}')
		yield(plan.Event{At: last, Data: t.event(name, append([]byte(`{"type":"`+name+`","response":`), b...)), Kind: plan.EventDone})
	}
}
