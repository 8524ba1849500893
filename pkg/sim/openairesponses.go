package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
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
	Input           json.RawMessage `json:"input"` // a text, or items
	Tools           json.RawMessage `json:"tools"`
	Stream          bool            `json:"stream"`
	MaxOutputTokens *number         `json:"max_output_tokens"`
	Store           *bool           `json:"store"` // true if it is not given
	Previous        string          `json:"previous_response_id"`
	// Reasoning makes the first half of the tokens a thought.
	Reasoning json.RawMessage `json:"reasoning"`
	// ToolChoice "required", or of the type "function", makes the rest of the tokens a call of the first tool, or of the function.
	ToolChoice json.RawMessage `json:"tool_choice"`
	// Unknown puts an event that no client knows before each delta.
	Unknown bool `json:"sim_unknown_events"`
}

// items returns the input as messages of a chat, whose tokens are counted and cached.
func (q *responsesRequest) items() ([]openAIMessage, error) {
	var text string
	if json.Unmarshal(q.Input, &text) == nil {
		return []openAIMessage{{Role: json.RawMessage(`"user"`), Content: q.Input}}, nil
	}
	var all []json.RawMessage
	if json.Unmarshal(q.Input, &all) != nil || len(all) == 0 {
		return nil, errors.New("input: expected a text or a list of messages")
	}
	messages := make([]openAIMessage, 0, len(all))
	for i, raw := range all {
		var item struct {
			openAIMessage
			Type    string          `json:"type"`
			Output  json.RawMessage `json:"output"`
			Summary json.RawMessage `json:"summary"`
		}
		if err := json.Unmarshal(raw, &item); err != nil {
			return nil, fmt.Errorf("input[%d]: %w", i, err)
		}
		m := item.openAIMessage
		switch item.Type {
		case "function_call":
			m = openAIMessage{Role: json.RawMessage(`"assistant"`), ToolCalls: raw}
		case "function_call_output":
			m = openAIMessage{Role: json.RawMessage(`"tool"`), Content: item.Output}
		case "reasoning":
			if m.Role = json.RawMessage(`"assistant"`); len(m.Content) == 0 || string(m.Content) == "null" {
				m.Content = item.Summary
			}
		}
		messages = append(messages, m)
	}
	return messages, nil
}

// tool returns the name of the function that the answer must call; "" for none.
func (q *responsesRequest) tool() string {
	var choice struct {
		Type string `json:"type"`
		Name string `json:"name"`
	}
	var how string
	if json.Unmarshal(q.ToolChoice, &choice) == nil && choice.Type == "function" {
		return choice.Name
	}
	var tools []struct {
		Name string `json:"name"`
	}
	if json.Unmarshal(q.ToolChoice, &how) == nil && how == "required" && json.Unmarshal(q.Tools, &tools) == nil && len(tools) > 0 {
		return tools[0].Name
	}
	return ""
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
	var before []openAIMessage
	if q.Previous != "" {
		if before, ok = s.stored.get(q.Previous); !ok {
			x.fail(http.StatusNotFound, fmt.Sprintf("there is no stored response with the id %q", clip(q.Previous)))
			return
		}
	}
	items, err := q.items()
	history := slices.Concat(before, items)
	chat := &openAIRequest{requestFields: q.requestFields, Model: q.Model, Tools: q.Tools, Messages: history}
	if q.Instructions != "" {
		chat.Messages = append([]openAIMessage{{Role: json.RawMessage(`"system"`), Content: appendString(nil, q.Instructions)}}, history...)
	}
	p, ok := x.plannedChat(chat, err)
	if !ok {
		return
	}
	defer s.release()
	t := responsesRenderer{
		id: id, model: q.Model, created: x.rec.Start.Unix(), newline: newline(p.Fault), usage: !s.config.OmitUsage,
		thinks: len(q.Reasoning) > 0 && string(q.Reasoning) != "null", tool: q.tool(), unknown: q.Unknown,
	}
	texts, end := p.Whole()
	if q.Store == nil || *q.Store {
		switch p.Fault {
		case plan.FaultErrorEvent, plan.FaultReset, plan.FaultTruncate, plan.FaultStall: // no whole answer
		default:
			s.stored.add(id, append(history, openAIMessage{Role: json.RawMessage(`"assistant"`), Content: appendString(nil, texts[0])}))
		}
	}
	if q.Stream {
		w := plan.Framing{SSE: true, Newline: t.newline, Garbage: []byte(garbage), Failure: func() []byte {
			return t.event("error", appendString([]byte(`{"type":"error","code":"server_error","message":`), errorEventMessage))
		}}
		x.answer(sseType, -1, p, plan.Script(t.events(p), p.Fault, p.FaultAfter, w))
		return
	}
	x.answerWhole(p, append(t.response(p, t.status(p), slices.Collect(t.collect(p)), true), '}'), end)
}

// A responsesRenderer renders answers of v1/responses with the events of OpenAI: response.created and response.in_progress, items
// for the thought and for the text or the call, and response.completed or response.incomplete with the counts. Each token is one
// event: the name of a function, with which its item begins, or a delta.
type responsesRenderer struct {
	id, model string
	created   int64 // Unix seconds
	newline   string
	usage     bool
	thinks    bool
	tool      string // called; "" for none
	unknown   bool
}

func (t *responsesRenderer) status(p *plan.Plan) string {
	if p.FinishReason(0) == "length" {
		return "incomplete"
	}
	return "completed"
}

// kind returns the type of the item that follows the thought.
func (t *responsesRenderer) kind() string {
	if t.tool != "" {
		return "function_call"
	}
	return "message"
}

// item returns an item with a text, whole or at its beginning.
func (t *responsesRenderer) item(kind, text string, ended bool) string {
	status := "in_progress"
	if ended {
		status = "completed"
	}
	quoted := string(appendString(nil, text))
	switch kind {
	case "reasoning":
		content := ""
		if ended {
			content = `{"type":"reasoning_text","text":` + quoted + `}`
		}
		return `{"type":"reasoning","status":"` + status + `","summary":[],"content":[` + content + `]}`
	case "function_call":
		if ended {
			quoted = string(appendString(nil, `{"text":`+quoted+`}`))
		}
		return `{"type":"function_call","status":"` + status + `","call_id":"` + strings.Replace(t.id, "resp", "call", 1) + `","name":` + string(appendString(nil, t.tool)) + `,"arguments":` + quoted + `}`
	}
	content := ""
	if ended {
		content = `{"type":"output_text","annotations":[],"text":` + quoted + `}`
	}
	return `{"type":"message","role":"assistant","status":"` + status + `","content":[` + content + `]}`
}

// event returns an SSE event. data lacks its last brace.
func (t *responsesRenderer) event(name string, data []byte) []byte {
	return namedEvent(t.newline, name, append(data, '}'))
}

// response returns the state of an answer with its items, without the last brace.
func (t *responsesRenderer) response(p *plan.Plan, status string, items []string, ended bool) []byte {
	b := appendString([]byte(`{"id":`), t.id)
	b = append(b, `,"object":"response","created_at":`...)
	b = strconv.AppendInt(b, t.created, 10)
	b = appendString(append(b, `,"model":`...), t.model)
	b = appendString(append(b, `,"status":`...), status)
	b = append(append(append(b, `,"output":[`...), strings.Join(items, ",")...), ']')
	if !ended || !t.usage {
		return append(b, `,"usage":null`...)
	}
	return fmt.Appendf(b, `,"usage":{"input_tokens":%d,"input_tokens_details":{"cached_tokens":%d},"output_tokens":%d,"output_tokens_details":{"reasoning_tokens":%d},"total_tokens":%d}`,
		p.InputTokens, max(p.CachedTokens, 0), p.OutputTokens(), thoughtTokens(p, t.thinks), p.InputTokens+p.OutputTokens())
}

// collect yields the whole items of an answer.
func (t *responsesRenderer) collect(p *plan.Plan) iter.Seq[string] {
	return func(yield func(string) bool) {
		var thought, text strings.Builder
		sent, thoughts := 0, thoughtTokens(p, t.thinks)
		for s := range p.Steps() {
			switch {
			case sent < thoughts:
				thought.WriteString(s.Text)
			case t.tool == "" || sent > thoughts: // the first token of a call is its name
				text.WriteString(s.Text)
			}
			sent += s.Tokens
		}
		if thoughts == 0 || yield(t.item("reasoning", thought.String(), true)) {
			yield(t.item(t.kind(), text.String(), true))
		}
	}
}

// events returns the stream.
func (t *responsesRenderer) events(p *plan.Plan) iter.Seq[plan.Event] {
	return func(yield func(plan.Event) bool) {
		more := true
		var at time.Duration
		// data lacks its last brace.
		send := func(name string, data []byte, tokens int, kind plan.EventKind) {
			more = more && yield(plan.Event{At: at, Data: t.event(name, data), Tokens: tokens, Kind: kind})
		}
		state := func(name string, status string, items []string, kind plan.EventKind) {
			b := append(t.response(p, status, items, kind == plan.EventDone), '}')
			send(name, append([]byte(`{"type":"`+name+`","response":`), b...), 0, kind)
		}
		var items []string
		var text strings.Builder
		open, delta := "", "" // the type of the item, and the beginning of the names of its events
		begin := func(kind string, tokens int) {
			open = kind
			delta = "response." + map[string]string{"reasoning": "reasoning_text", "message": "output_text", "function_call": "function_call_arguments"}[kind]
			send("response.output_item.added", fmt.Appendf(nil, `{"type":"response.output_item.added","output_index":%d,"item":%s`, len(items), t.item(kind, "", false)), tokens, plan.EventOutput)
		}
		piece := func(s string, tokens int) {
			if t.unknown {
				send("response.sim_unknown", []byte(`{"type":"response.sim_unknown","text":"not known"`), 0, plan.EventOutput)
			}
			send(delta+".delta", appendString(fmt.Appendf(nil, `{"type":"%s.delta","output_index":%d,"content_index":0,"delta":`, delta, len(items)), s), tokens, plan.EventOutput)
		}
		finish := func() {
			if open == "" {
				return
			}
			item, member, whole := t.item(open, text.String(), true), "text", text.String()
			if open == "function_call" {
				if member = "arguments"; whole != "" { // a client counts a whole text without deltas
					whole = `{"text":` + string(appendString(nil, whole)) + `}`
				}
			}
			send(delta+".done", appendString(fmt.Appendf(nil, `{"type":"%s.done","output_index":%d,"content_index":0,"%s":`, delta, len(items), member), whole), 0, plan.EventOutput)
			send("response.output_item.done", fmt.Appendf(nil, `{"type":"response.output_item.done","output_index":%d,"item":%s`, len(items), item), 0, plan.EventOutput)
			items, open = append(items, item), ""
			text.Reset()
		}
		sent, thoughts, all := 0, thoughtTokens(p, t.thinks), p.OutputTokens()
		for s := range p.Steps() {
			if at = s.At; sent == 0 {
				state("response.created", "in_progress", nil, plan.EventOutput)
				state("response.in_progress", "in_progress", nil, plan.EventOutput)
			}
			switch {
			case sent < thoughts:
				if open == "" {
					begin("reasoning", 0)
				}
				text.WriteString(s.Text)
				piece(s.Text, s.Tokens)
			case t.tool != "" && open != "function_call": // the name is the token
				finish()
				begin("function_call", s.Tokens)
			case t.tool != "":
				arguments := inner(s.Text)
				if text.Len() == 0 {
					arguments = `{"text":"` + arguments
				}
				if sent+s.Tokens == all {
					arguments += `"}`
				}
				text.WriteString(s.Text)
				piece(arguments, s.Tokens)
			default:
				if open != "message" {
					finish()
					begin("message", 0)
				}
				text.WriteString(s.Text)
				piece(s.Text, s.Tokens)
			}
			if sent += s.Tokens; !more {
				return
			}
		}
		finish()
		state("response."+t.status(p), t.status(p), items, plan.EventDone)
	}
}
