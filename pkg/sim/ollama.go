package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"time"

	"github.com/pa-tools/pa/pkg/sim/plan"
)

// An ollamaRequest is the body of a request to Ollama's /api/chat or /api/generate.
type ollamaRequest struct {
	requestFields
	Model    string          `json:"model"`
	Messages []openAIMessage `json:"messages"`
	System   string          `json:"system"`
	Prompt   *string         `json:"prompt"`
	Tools    json.RawMessage `json:"tools"`
	Stream   *bool           `json:"stream"` // true if it is not given
	Options  struct {
		NumPredict *number `json:"num_predict"`
		Seed       *number `json:"seed"`
	} `json:"options"`
	// Think makes the first half of the tokens a thought.
	Think bool `json:"think"`
	// Unknown puts a line that no client knows before each line with a token.
	Unknown bool `json:"sim_unknown_events"`
}

// serveOllama answers /api/chat and /api/generate.
func serveOllama(x *exchange) {
	var q ollamaRequest
	if !x.parse(&q) {
		return
	}
	if _, ok := x.resolveModel(&q.Model, "ollama"); !ok {
		return
	}
	t := ollamaRenderer{model: q.Model, created: x.rec.Start.UTC().Format(time.RFC3339Nano), generates: strings.HasSuffix(x.r.URL.Path, "/generate"), usage: !x.s.config.OmitUsage, thinks: q.Think, unknown: q.Unknown}
	q.MaxTokens = q.Options.NumPredict
	if q.MaxTokens != nil && *q.MaxTokens < 0 { // no limit
		q.MaxTokens = nil
	}
	if q.Options.Seed != nil {
		q.Seed = q.Options.Seed
	}
	chat := &openAIRequest{requestFields: q.requestFields, Model: q.Model, Tools: q.Tools, Messages: q.Messages}
	var err error
	if t.generates {
		chat.Messages = nil
		if q.Prompt == nil {
			err = errors.New("prompt: expected a text")
		} else {
			chat.Messages = []openAIMessage{{Content: appendString(nil, q.System)}, {Content: appendString(nil, *q.Prompt)}}
		}
	}
	p, ok := x.plannedChat(chat, err)
	if !ok {
		return
	}
	defer x.s.release()
	if q.Stream == nil || *q.Stream {
		w := plan.Framing{SSE: p.Fault != plan.FaultComments, Newline: "\n", Garbage: []byte("{\"model\":\xff\n"), ErrorEnds: true, Failure: func() []byte {
			return append(plainErrorBody(http.StatusInternalServerError, errorEventMessage), '\n')
		}}
		x.answer("application/x-ndjson", -1, p, plan.Script(t.events(p), p.Fault, p.FaultAfter, w))
		return
	}
	thought, text, end := thoughtAndText(p, thoughtTokens(p, t.thinks))
	x.answerWhole(p, t.line(p, text, thought, end, true), end)
}

// thoughtTokens returns how many tokens of an answer are a thought, if the model thinks.
func thoughtTokens(p *plan.Plan, thinks bool) int {
	if !thinks {
		return 0
	}
	return p.OutputTokens() / 2
}

// thoughtAndText returns the thought and the text of a whole answer, and when it ends. The thought is the first tokens.
func thoughtAndText(p *plan.Plan, thoughts int) (thought, text string, end time.Duration) {
	var parts [2]strings.Builder
	sent, at := 0, 0
	for s := range p.Steps() {
		if end = s.At; sent >= thoughts {
			at = 1
		}
		parts[at].WriteString(s.Text)
		sent += s.Tokens
	}
	return parts[0].String(), parts[1].String(), end
}

// An ollamaRenderer renders answers of Ollama: a line for each token, and one with the counts and times.
type ollamaRenderer struct {
	model, created string
	generates      bool // /api/generate
	usage          bool
	thinks         bool
	unknown        bool
}

// line returns a line. end is the time of the last one.
func (t *ollamaRenderer) line(p *plan.Plan, text, thought string, end time.Duration, done bool) []byte {
	b := appendString([]byte(`{"model":`), t.model)
	b = append(b, `,"created_at":"`+t.created+`",`...)
	if !t.generates {
		b = append(b, `"message":{"role":"assistant","content":`...)
	} else {
		b = append(b, `"response":`...)
	}
	b = appendString(b, text)
	if thought != "" {
		b = appendString(append(b, `,"thinking":`...), thought)
	}
	if !t.generates {
		b = append(b, '}')
	}
	if !done {
		return append(b, ",\"done\":false}\n"...)
	}
	b = appendString(append(b, `,"done_reason":`...), p.FinishReason(0))
	b = append(b, `,"done":true`...)
	if t.usage {
		first := p.FirstTokenAt()
		b = fmt.Appendf(b, `,"total_duration":%d,"load_duration":0,"prompt_eval_count":%d,"prompt_eval_duration":%d,"eval_count":%d,"eval_duration":%d`,
			end.Nanoseconds(), p.InputTokens, first.Nanoseconds(), p.OutputTokens(), (end - first).Nanoseconds())
		if p.CachedTokens >= 0 {
			b = fmt.Appendf(b, `,"prompt_eval_cached_count":%d`, p.CachedTokens)
		}
	}
	return append(b, "}\n"...)
}

// events returns the stream.
func (t *ollamaRenderer) events(p *plan.Plan) iter.Seq[plan.Event] {
	return func(yield func(plan.Event) bool) {
		var at time.Duration
		sent, thoughts := 0, thoughtTokens(p, t.thinks)
		for s := range p.Steps() {
			at = s.At
			text, thought := s.Text, ""
			if sent < thoughts {
				text, thought = "", s.Text
			}
			sent += s.Tokens
			if t.unknown && !yield(plan.Event{At: at, Data: append(appendString([]byte(`{"model":`), t.model), ",\"sim_unknown\":{\"text\":\"not known\"},\"done\":false}\n"...), Kind: plan.EventOutput}) {
				return
			}
			if !yield(plan.Event{At: at, Data: t.line(p, text, thought, 0, false), Tokens: s.Tokens, Kind: plan.EventOutput}) {
				return
			}
		}
		yield(plan.Event{At: at, Data: t.line(p, "", "", at, true), Kind: plan.EventDone})
	}
}
