package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/workload"
	"github.com/pa-tools/pa/pkg/recorder/workload/render"
	"github.com/pa-tools/pa/pkg/wire/openai"
	"github.com/pa-tools/pa/pkg/wire/sse"
)

// A conversation is held with a chat endpoint or with v1/messages. Each request holds all messages so far in
// "messages".
type conversation struct {
	b *Backend
	// history holds the messages so far, as compact JSON without the brackets of the list.
	history []byte
	// beforeReply is the length of history before the last reply.
	beforeReply int
	// system are the instructions of the conversation, as JSON, where they are not among the messages.
	system []byte
}

var (
	_ backend.Conversational = (*Backend)(nil)
	_ backend.Previewer      = (*conversation)(nil)
)

// NewConversation implements backend.Conversational.
func (b *Backend) NewConversation() backend.Conversation { return &conversation{b: b} }

// Fork implements backend.Conversation.
func (c *conversation) Fork() backend.Conversation {
	fork := *c
	fork.history = bytes.Clone(c.history)
	return &fork
}

// Turn prepares a turn: the entry's request with the earlier messages of the conversation
// before its own, unless the entry holds them itself. The export shows the session's id
// and the delay beside the payload, as perf_analyzer does.
func (c *conversation) Turn(e *workload.Entry) (backend.Payload, error) {
	p, err := c.turn(e)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.Place(), err)
	}
	var beside export.Fields
	if e.Delay > 0 {
		ms := strconv.FormatInt(e.Delay.Round(time.Millisecond).Milliseconds(), 10)
		beside = append(beside, export.Field{Name: "delay", Value: export.JSON(ms)})
	}
	if e.Session != "" {
		beside = append(beside, export.Field{Name: "session_id", Value: export.Text(e.Session)})
	}
	p.inputs = append(beside, p.inputs...)
	return p, nil
}

func (c *conversation) turn(e *workload.Entry) (*payload, error) {
	body, err := c.b.bodyOf(e)
	if err != nil {
		return nil, err
	}
	if e.Whole {
		c.history, c.system = c.history[:0], nil
	}
	if c.b.target.api == render.Messages {
		if body, err = c.withSystem(body); err != nil {
			return nil, err
		}
	}
	asked, err := openai.Messages(body)
	if err != nil {
		if e.Whole && !c.b.target.api.Converses() { // such as a prompt for completions, which has its history in its text
			return c.b.payloadOf(body)
		}
		return nil, err
	}
	if !e.Whole && beginsWithAssistant(asked) {
		c.history = c.history[:min(c.beforeReply, len(c.history))]
	}
	c.say(asked)
	if len(c.history) > len(asked) {
		set := append(append([]byte(`{"messages":[`), c.history...), "]}"...)
		if body, err = openai.MergeRequest(body, set); err != nil {
			return nil, err
		}
	}
	return c.b.payloadOf(body)
}

// withSystem returns the body of a turn with the instructions of the turns before it, if it has none of its own.
func (c *conversation) withSystem(body []byte) ([]byte, error) {
	var own struct {
		System json.RawMessage `json:"system"`
	}
	switch err := json.Unmarshal(body, &own); {
	case err != nil:
		return nil, err
	case own.System != nil:
		c.system = own.System
	case c.system != nil:
		return openai.MergeRequest(body, slices.Concat([]byte(`{"system":`), c.system, []byte{'}'}))
	}
	return body, nil
}

// say appends messages.
func (c *conversation) say(messages []byte) {
	if len(c.history) > 0 && len(messages) > 0 {
		c.history = append(c.history, ',')
	}
	c.history = append(c.history, messages...)
}

// beginsWithAssistant reports whether the first of messages is of the assistant. A turn that brings the
// recorded answer to the turn before it replaces the live answer.
func beginsWithAssistant(messages []byte) bool {
	var first struct {
		Role string `json:"role"`
	}
	err := json.NewDecoder(bytes.NewReader(messages)).Decode(&first) // the others follow after a comma
	return err == nil && first.Role == "assistant"
}

// AddReply implements backend.Conversation.
func (c *conversation) AddReply(x *backend.Exchange) (contentless bool, err error) {
	if x.Request.Status != export.StatusOK {
		return false, errors.New("the request failed")
	}
	r := openai.Reply{History: c.b.cfg.HistoryReasoning}
	all := slices.Collect(x.EachRaw())
	for _, raw := range all {
		if err := addReply(&r, raw, len(all) == 1); err != nil {
			return false, err
		}
	}
	message, err := r.AppendMessage(nil)
	if err != nil {
		return false, err
	}
	c.beforeReply = len(c.history)
	if len(message) > 0 {
		c.say(message)
	}
	return r.Contentless(), nil
}

// ReplyText implements backend.Quoter.
func (c *conversation) ReplyText() string {
	reply := bytes.TrimPrefix(c.history[min(c.beforeReply, len(c.history)):], []byte{','})
	var message struct{ Content json.RawMessage }
	if json.Unmarshal(reply, &message) != nil {
		return ""
	}
	var text string // nothing for a call of tools
	var blocks []struct{ Text string }
	if json.Unmarshal(message.Content, &text) != nil && json.Unmarshal(message.Content, &blocks) == nil {
		for _, block := range blocks {
			text += block.Text
		}
	}
	return text
}

// Preview implements backend.Previewer. An error is the last event of a stream, or [DONE] follows it.
func (c *conversation) Preview(x *backend.Exchange) export.Status {
	before, last := x.Tail()
	for _, raw := range [...][]byte{before, last} {
		if !bytes.Contains(raw, []byte("error")) {
			continue
		}
		var chunk openai.Chunk
		switch err := openai.ParseFrame(raw, &chunk); {
		case err != nil || chunk.Error == nil:
		case chunk.Error.ContextOverflow():
			return export.StatusContextOverflow
		default:
			return export.StatusRPCError
		}
	}
	return export.StatusOK
}

// addReply adds a response to r. The only response of an answer may be a stream without
// the content type of a stream.
func addReply(r *openai.Reply, raw []byte, only bool) error {
	if body := bytes.TrimSpace(raw); !only || len(body) > 0 && body[0] == '{' {
		return r.Add(raw)
	}
	split := sse.Splitter{MaxFrameBytes: len(raw) + 1}
	for split.Feed(raw); split.Next(); {
		if err := r.Add(split.Frame()); err != nil {
			return err
		}
	}
	if rest := split.Rest(); len(bytes.TrimSpace(rest)) > 0 {
		return r.Add(rest)
	}
	return nil
}
