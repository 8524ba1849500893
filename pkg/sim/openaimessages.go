package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/pa-tools/pa/pkg/sim/plan"
)

// A messagesRequest is the body of a request to v1/messages, Anthropic Messages.
type messagesRequest struct {
	requestFields
	Model    string          `json:"model"`
	System   json.RawMessage `json:"system"` // a text, or blocks
	Messages []openAIMessage `json:"messages"`
	Tools    json.RawMessage `json:"tools"`
	Stream   bool            `json:"stream"`
	// Thinking of the type "enabled" or "adaptive" makes the first half of the tokens a thought.
	Thinking struct {
		Type string `json:"type"`
	} `json:"thinking"`
	// ToolChoice of the type "any" or "tool" makes the rest of the tokens a call of the first tool, or of the tool with the name.
	ToolChoice struct {
		Type string `json:"type"`
		Name string `json:"name"`
	} `json:"tool_choice"`
	// Unknown puts an event that no client knows before each event of the content.
	Unknown bool `json:"sim_unknown_events"`
}

// chat returns the request as a chat, whose tokens are counted and cached. The texts of a message are the texts of its blocks.
func (q *messagesRequest) chat() (*openAIRequest, error) {
	c := &openAIRequest{Model: q.Model, Tools: q.Tools}
	if len(q.System) > 0 && string(q.System) != "null" {
		content, err := blockTexts(q.System)
		if err != nil {
			return nil, fmt.Errorf("system: %w", err)
		}
		c.Messages = append(c.Messages, openAIMessage{Role: json.RawMessage(`"system"`), Content: content})
	}
	if len(q.Messages) == 0 {
		return nil, errors.New("messages: expected at least one")
	}
	for i, m := range q.Messages {
		var role string
		if _ = json.Unmarshal(m.Role, &role); role != "user" && role != "assistant" {
			return nil, fmt.Errorf("messages[%d].role: expected user or assistant", i)
		}
		var err error
		m.ToolCalls = blockCalls(m.Content)
		if m.Content, err = blockTexts(m.Content); err != nil {
			return nil, fmt.Errorf("messages[%d].content: %w", i, err)
		}
		c.Messages = append(c.Messages, m)
	}
	return c, nil
}

// blockTexts returns a content, a text or blocks, as a text or parts with a text.
func blockTexts(content json.RawMessage) (json.RawMessage, error) {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return content, nil
	}
	var blocks []struct {
		Type     string          `json:"type"`
		Text     string          `json:"text"`
		Thinking string          `json:"thinking"`
		Content  json.RawMessage `json:"content"`
	}
	if json.Unmarshal(content, &blocks) != nil {
		return nil, errors.New("expected a text or a list of blocks")
	}
	type part struct {
		Text string `json:"text"`
	}
	parts := []part{}
	for _, b := range blocks {
		switch b.Type {
		case "thinking":
			parts = append(parts, part{b.Thinking})
		case "tool_result":
			var inner []part
			if json.Unmarshal(b.Content, &text) == nil {
				inner = []part{{text}}
			} else {
				_ = json.Unmarshal(b.Content, &inner) // images have no tokens
			}
			parts = append(parts, inner...)
		default:
			parts = append(parts, part{b.Text})
		}
	}
	return json.Marshal(parts)
}

// blockCalls returns the calls among the blocks of a content, as tool_calls of a chat; nil for none.
func blockCalls(content json.RawMessage) (calls json.RawMessage) {
	var blocks []json.RawMessage
	if json.Unmarshal(content, &blocks) != nil {
		return nil
	}
	for _, raw := range blocks {
		var b struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(raw, &b) == nil && b.Type == "tool_use" {
			calls = append(calls, raw...)
		}
	}
	return calls
}

// tool returns the name of the tool that the answer must call; "" for none.
func (q *messagesRequest) tool() string {
	switch q.ToolChoice.Type {
	case "tool":
		return q.ToolChoice.Name
	case "any":
		var tools []struct {
			Name string `json:"name"`
		}
		if json.Unmarshal(q.Tools, &tools) == nil && len(tools) > 0 {
			return tools[0].Name
		}
	}
	return ""
}

// serveMessages answers v1/messages.
func serveMessages(x *exchange) {
	s := x.s
	var q messagesRequest
	if !x.parse(&q) {
		return
	}
	id, ok := x.resolveModel(&q.Model, "msg")
	if !ok {
		return
	}
	var a plan.Request
	chat, err := q.chat()
	if err == nil && q.MaxTokens == nil {
		err = errors.New("max_tokens: field required")
	}
	if err == nil {
		chat.requestFields = q.requestFields
		a, err = s.openAIPlanRequest(x.index, chat, true)
	}
	if err == nil && s.cache != nil {
		x.prompts = s.cache.prompts(chat, true)
	}
	p, ok := x.planned(a, err, plan.New)
	if !ok {
		return
	}
	defer s.release()
	t := messagesRenderer{
		id: id, model: q.Model, newline: newline(p.Fault), usage: !s.config.OmitUsage,
		thinks: q.Thinking.Type == "enabled" || q.Thinking.Type == "adaptive", tool: q.tool(), unknown: q.Unknown,
	}
	if q.Stream {
		w := plan.Framing{SSE: true, Newline: t.newline, Garbage: []byte(garbage), ErrorEnds: true, Failure: func() []byte {
			return namedEvent(t.newline, "error", messagesErrorBody(http.StatusInternalServerError, errorEventMessage))
		}}
		x.answer(sseType, -1, p, plan.Script(t.events(p), p.Fault, p.FaultAfter, w))
		return
	}
	body, end := t.body(p)
	x.answerWhole(p, body, end)
}

// A messagesRenderer renders answers of v1/messages with the events of Anthropic: message_start and ping, a block for the
// thought, and one for the text or the call, message_delta and message_stop. Each token is one event: the name of a
// tool, with which its block begins, or a delta.
type messagesRenderer struct {
	id, model string
	newline   string
	usage     bool
	thinks    bool
	tool      string // called; "" for none
	unknown   bool
}

// signature ends the thoughts.
const signature = "c2lnbmF0dXJl"

// stopReason returns why the answer ended.
func (t *messagesRenderer) stopReason(p *plan.Plan) string {
	switch {
	case p.FinishReason(0) == "length":
		return "max_tokens"
	case t.tool != "":
		return "tool_use"
	}
	return "end_turn"
}

// appendInput appends the tokens of the input to a usage, without braces.
func (t *messagesRenderer) appendInput(b []byte, p *plan.Plan) []byte {
	b = fmt.Appendf(b, `"input_tokens":%d`, p.InputTokens-max(p.CachedTokens, 0))
	if p.CachedTokens >= 0 {
		b = fmt.Appendf(b, `,"cache_creation_input_tokens":0,"cache_read_input_tokens":%d`, p.CachedTokens)
	}
	return b
}

// head returns the beginning of a message, up to its content.
func (t *messagesRenderer) head() []byte {
	b := appendString([]byte(`{"id":`), t.id)
	b = appendString(append(b, `,"type":"message","role":"assistant","model":`...), t.model)
	return append(b, `,"content":[`...)
}

// begin returns the events before the first block.
func (t *messagesRenderer) begin(p *plan.Plan) []byte {
	b := append([]byte(`{"type":"message_start","message":`), t.head()...)
	b = append(b, `],"stop_reason":null,"stop_sequence":null`...)
	if t.usage {
		b = append(t.appendInput(append(b, `,"usage":{`...), p), `,"output_tokens":0}`...)
	}
	return namedEvent(t.newline, "message_start", append(b, "}}"...))
}

// inner returns text as the inside of a JSON string.
func inner(text string) string {
	b := appendString(nil, text)
	return string(b[1 : len(b)-1])
}

// events returns the stream.
func (t *messagesRenderer) events(p *plan.Plan) iter.Seq[plan.Event] {
	return func(yield func(plan.Event) bool) {
		more := true
		var at time.Duration
		send := func(name string, data []byte, tokens int, kind plan.EventKind) {
			more = more && yield(plan.Event{At: at, Data: namedEvent(t.newline, name, data), Tokens: tokens, Kind: kind})
		}
		block, open := -1, ""
		stop := func() {
			if open == "thinking" {
				send("content_block_delta", fmt.Appendf(nil, `{"type":"content_block_delta","index":%d,"delta":{"type":"signature_delta","signature":"%s"}}`, block, signature), 0, plan.EventOutput)
			}
			if open != "" {
				send("content_block_stop", fmt.Appendf(nil, `{"type":"content_block_stop","index":%d}`, block), 0, plan.EventOutput)
			}
		}
		start := func(kind, rest string, tokens int) {
			stop()
			block, open = block+1, kind
			send("content_block_start", fmt.Appendf(nil, `{"type":"content_block_start","index":%d,"content_block":{"type":"%s"%s}}`, block, kind, rest), tokens, plan.EventOutput)
		}
		delta := func(kind, member, text string, tokens int) {
			if t.unknown {
				send("sim_unknown", []byte(`{"type":"sim_unknown","text":"not known","delta":{"type":"sim_delta","text":"not known"}}`), 0, plan.EventOutput)
			}
			b := fmt.Appendf(nil, `{"type":"content_block_delta","index":%d,"delta":{"type":"%s","%s":`, block, kind, member)
			send("content_block_delta", append(appendString(b, text), "}}"...), tokens, plan.EventOutput)
		}
		sent, thoughts, all := 0, thoughtTokens(p, t.thinks), p.OutputTokens()
		arguments := false // the input of the call began
		for s := range p.Steps() {
			at = s.At
			if sent == 0 {
				more = more && yield(plan.Event{At: at, Data: t.begin(p), Kind: plan.EventOutput})
				send("ping", []byte(`{"type":"ping"}`), 0, plan.EventOutput)
			}
			switch {
			case sent < thoughts:
				if open == "" {
					start("thinking", `,"thinking":"","signature":""`, 0)
				}
				delta("thinking_delta", "thinking", s.Text, s.Tokens)
			case t.tool == "":
				if open != "text" {
					start("text", `,"text":""`, 0)
				}
				delta("text_delta", "text", s.Text, s.Tokens)
			case open != "tool_use": // the name is the token
				start("tool_use", `,"id":"`+t.callID()+`","name":`+string(appendString(nil, t.tool))+`,"input":{}`, s.Tokens)
			default:
				text := inner(s.Text)
				if !arguments {
					arguments, text = true, `{"text":"`+text
				}
				if sent+s.Tokens == all {
					text += `"}`
				}
				delta("input_json_delta", "partial_json", text, s.Tokens)
			}
			sent += s.Tokens
			if !more {
				return
			}
		}
		stop()
		b := fmt.Appendf(nil, `{"type":"message_delta","delta":{"stop_reason":"%s","stop_sequence":null}`, t.stopReason(p))
		if t.usage {
			b = fmt.Appendf(b, `,"usage":{"output_tokens":%d}`, all)
		}
		send("message_delta", append(b, '}'), 0, plan.EventUsage)
		send("message_stop", []byte(`{"type":"message_stop"}`), 0, plan.EventDone)
	}
}

func (t *messagesRenderer) callID() string { return strings.Replace(t.id, "msg", "toolu", 1) }

// body returns a whole answer and its due time.
func (t *messagesRenderer) body(p *plan.Plan) ([]byte, time.Duration) {
	var thought, text strings.Builder
	var end time.Duration
	sent, thoughts, named := 0, thoughtTokens(p, t.thinks), false
	for s := range p.Steps() {
		end = s.At
		switch {
		case sent < thoughts:
			thought.WriteString(s.Text)
		case t.tool != "" && !named: // the name is the token
			named = true
		default:
			text.WriteString(s.Text)
		}
		sent += s.Tokens
	}
	b := t.head()
	if thoughts > 0 {
		b = appendString(append(b, `{"type":"thinking","thinking":`...), thought.String())
		b = append(b, `,"signature":"`+signature+`"},`...)
	}
	if t.tool == "" {
		b = appendString(append(b, `{"type":"text","text":`...), text.String())
	} else {
		b = appendString(append(b, `{"type":"tool_use","id":"`+t.callID()+`","name":`...), t.tool)
		b = append(b, `,"input":{`...)
		if text.Len() > 0 {
			b = appendString(append(b, `"text":`...), text.String())
		}
		b = append(b, '}')
	}
	b = append(b, `}],"stop_reason":"`+t.stopReason(p)+`","stop_sequence":null`...)
	if t.usage {
		b = append(t.appendInput(append(b, `,"usage":{`...), p), `,"output_tokens":`...)
		b = append(strconv.AppendInt(b, int64(p.OutputTokens()), 10), '}')
	}
	return append(b, '}'), end
}

// messagesErrorBody returns the body of an error of Anthropic Messages.
func messagesErrorBody(code int, message string) []byte {
	kind := map[int]string{
		http.StatusBadRequest:            "invalid_request_error",
		http.StatusUnauthorized:          "authentication_error",
		http.StatusNotFound:              "not_found_error",
		http.StatusRequestEntityTooLarge: "request_too_large",
		http.StatusTooManyRequests:       "rate_limit_error",
	}[code]
	if kind == "" {
		kind = "api_error"
	}
	b := []byte(`{"type":"error","error":{"type":"` + kind + `","message":`)
	return append(appendString(b, message), "}}"...)
}
