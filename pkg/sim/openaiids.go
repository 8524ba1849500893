package sim

import (
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/pa-tools/pa/pkg/sim/plan"
)

// An idsRequest is the body of a request to SGLang's generate or vLLM's inference/v1/generate. The settings of the simulator are
// beside sampling_params.
type idsRequest struct {
	openAIRequest
	Text       json.RawMessage `json:"text"`      // SGLang
	InputIDs   json.RawMessage `json:"input_ids"` // SGLang
	TokenIDs   json.RawMessage `json:"token_ids"` // vLLM
	OutputMode string          `json:"output_mode"`
	Sampling   struct {
		MaxTokens    *number `json:"max_tokens"`
		MinTokens    *number `json:"min_tokens"`
		MaxNewTokens *number `json:"max_new_tokens"`
		MinNewTokens *number `json:"min_new_tokens"`
		IgnoreEOS    bool    `json:"ignore_eos"`
		N            *number `json:"n"`
	} `json:"sampling_params"`
	// Incremental makes the events of SGLang's generate hold only what is new, as its incremental output.
	Incremental bool `json:"sim_incremental_output"`
}

// prepare makes the request one of a completion. It returns an error if it has no prompt.
func (q *idsRequest) prepare(sglang bool) error {
	p := &q.Sampling
	if sglang {
		if q.Prompt = q.InputIDs; len(q.Prompt) == 0 {
			q.Prompt = q.Text
		}
		if len(q.Prompt) == 0 {
			return errors.New("text or input_ids: expected one of them")
		}
		q.MaxTokens, q.MinTokens = p.MaxNewTokens, p.MinNewTokens
	} else {
		q.Prompt, q.MaxTokens, q.MinTokens = q.TokenIDs, p.MaxTokens, p.MinTokens
		var ids []uint32
		if json.Unmarshal(q.Prompt, &ids) != nil || len(ids) == 0 {
			return errors.New("token_ids: expected a list of token ids")
		}
	}
	q.N, q.IgnoreEOS, q.Echo = p.N, p.IgnoreEOS, false
	return nil
}

// serveIDs answers SGLang's generate and vLLM's inference/v1/generate.
func serveIDs(x *exchange) {
	s := x.s
	sglang := x.r.URL.Path == "/generate"
	var q idsRequest
	if !x.parse(&q) {
		return
	}
	id, ok := x.resolveModel(&q.Model, "generate")
	if !ok {
		return
	}
	var a plan.Request
	err := q.prepare(sglang)
	if err == nil {
		a, err = s.openAIPlanRequest(x.index, &q.openAIRequest, false)
	}
	if err == nil && s.cache != nil {
		x.prompts = s.cache.prompts(&q.openAIRequest, false)
	}
	p, ok := x.planned(a, err, plan.New)
	if !ok {
		return
	}
	defer s.release()
	t := idsRenderer{
		sglang: sglang, id: id, model: q.Model, newline: newline(p.Fault), counts: !s.config.OmitUsage, incremental: q.Incremental || !sglang,
		text: sglang || q.OutputMode == "text", usage: !sglang && q.StreamOptions.IncludeUsage && !s.config.OmitUsage,
	}
	if q.Stream {
		w := plan.Framing{SSE: true, Newline: t.newline, Garbage: []byte(garbage), Failure: func() []byte {
			return frame(openAIErrorBody(http.StatusInternalServerError, errorEventMessage), t.newline)
		}}
		x.answer(sseType, -1, p, plan.Script(t.events(p), p.Fault, p.FaultAfter, w))
		return
	}
	body, end := t.body(p)
	x.answerWhole(p, body, end)
}

// An idsRenderer renders answers of ids. The n-th token of an answer, from 0, has the id firstID + n.
type idsRenderer struct {
	sglang      bool
	id, model   string
	newline     string
	counts      bool // the answer holds token counts
	usage       bool // an event with the counts, of vLLM
	incremental bool // events hold what is new
	text        bool // with a text
}

// firstID is the id of the first token of each answer.
const firstID = 1000

// appendIDs appends the ids of the tokens from up to to.
func appendIDs(b []byte, from, to int) []byte {
	b = append(b, '[')
	for n := from; n < to; n++ {
		if n > from {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(firstID+n), 10)
	}
	return append(b, ']')
}

// choice appends a choice with the tokens from up to to; finish is "" before its end.
func (t *idsRenderer) choice(b []byte, p *plan.Plan, index, from, to int, text, finish string) []byte {
	if !t.sglang {
		b = strconv.AppendInt(append(b, `{"index":`...), int64(index), 10)
		b = append(b, `,"logprobs":null,"finish_reason":`...)
		if finish == "" {
			b = append(b, "null"...)
		} else {
			b = appendString(b, finish)
		}
		b = appendIDs(append(b, `,"stop_reason":null,"token_ids":`...), from, to)
		if t.text {
			b = appendString(append(b, `,"text":`...), text)
		}
		return append(b, '}')
	}
	b = appendString(append(b, `{"text":`...), text)
	b = appendIDs(append(b, `,"output_ids":`...), from, to)
	b = appendString(append(b, `,"meta_info":{"id":`...), t.id)
	b = append(b, `,"finish_reason":`...)
	if finish == "" {
		b = append(b, "null"...)
	} else {
		b = appendString(append(b, `{"type":`...), finish)
		if finish == "length" {
			b = strconv.AppendInt(append(b, `,"length":`...), int64(to), 10)
		}
		b = append(b, '}')
	}
	if t.counts {
		b = strconv.AppendInt(append(b, `,"prompt_tokens":`...), int64(p.InputTokens), 10)
		b = strconv.AppendInt(append(b, `,"completion_tokens":`...), int64(to), 10)
		b = strconv.AppendInt(append(b, `,"cached_tokens":`...), int64(max(p.CachedTokens, 0)), 10)
	}
	b = append(b, '}')
	if p.Choices > 1 {
		b = strconv.AppendInt(append(b, `,"index":`...), int64(index), 10)
	}
	return append(b, '}')
}

// head returns the beginning of an object of vLLM, up to its choices.
func (t *idsRenderer) head() []byte {
	return append(appendString([]byte(`{"request_id":`), t.id), `,"choices":[`...)
}

// events returns the stream.
func (t *idsRenderer) events(p *plan.Plan) iter.Seq[plan.Event] {
	return func(yield func(plan.Event) bool) {
		sent, texts := make([]int, p.Choices), make([]strings.Builder, p.Choices)
		var at time.Duration
		for s := range p.Steps() {
			at = s.At
			from, text := sent[s.Choice], s.Text
			if sent[s.Choice] += s.Tokens; !t.incremental {
				texts[s.Choice].WriteString(s.Text)
				from, text = 0, texts[s.Choice].String()
			}
			var b []byte
			if !t.sglang {
				b = t.head()
			}
			if b = t.choice(b, p, s.Choice, from, sent[s.Choice], text, s.Finish); !t.sglang {
				b = append(b, `],"usage":null}`...)
			}
			if !yield(plan.Event{At: at, Data: frame(b, t.newline), Tokens: s.Tokens, Kind: plan.EventOutput}) {
				return
			}
		}
		if t.usage {
			b := append(appendUsage(append(t.head(), `],"usage":`...), p.InputTokens, p.OutputTokens(), p.CachedTokens), '}')
			if !yield(plan.Event{At: at, Data: frame(b, t.newline), Kind: plan.EventUsage}) {
				return
			}
		}
		yield(plan.Event{At: at, Data: frame([]byte("[DONE]"), t.newline), Kind: plan.EventDone})
	}
}

// body returns a whole answer and its due time.
func (t *idsRenderer) body(p *plan.Plan) ([]byte, time.Duration) {
	sent := make([]int, p.Choices)
	for s := range p.Steps() {
		sent[s.Choice] += s.Tokens
	}
	texts, end := p.Whole()
	var b []byte
	if !t.sglang {
		b = t.head()
	} else if p.Choices > 1 {
		b = append(b, '[')
	}
	for c, text := range texts {
		if c > 0 {
			b = append(b, ',')
		}
		b = t.choice(b, p, c, 0, sent[c], text, p.FinishReason(c))
	}
	if t.sglang {
		if p.Choices > 1 {
			b = append(b, ']')
		}
		return b, end
	}
	b = appendString(append(b, `],"model":`...), t.model)
	if t.counts {
		b = appendUsage(append(b, `,"usage":`...), p.InputTokens, p.OutputTokens(), p.CachedTokens)
	}
	return append(b, '}'), end
}
