package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/workload"
	"github.com/pa-tools/pa/pkg/wire/openai"
	"github.com/pa-tools/pa/pkg/wire/sse"
)

// A conversation is held with an endpoint that converses. Each request holds all messages so far, or with Config.ServerHistory
// those behind the last answer.
type conversation struct {
	b *Backend
	// history holds the messages so far, as compact JSON without the brackets of the list. If the server keeps the history, it
	// holds the messages behind the answer with the id previous.
	history []byte
	// beforeReply is the length of history before the last reply.
	beforeReply int
	// previous is the id of the last answer that the server keeps; "" for none. replaced is the conversation before that answer.
	previous string
	replaced struct {
		previous string
		history  []byte
	}
	reply []byte // the last one, as compact JSON without the brackets of a list
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
	fork.replaced.history = bytes.Clone(c.replaced.history)
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
	api := c.b.target.api
	if e.Whole {
		c.history, c.system, c.previous = c.history[:0], nil, ""
	}
	if body, err = c.withInstructions(body); err != nil {
		return nil, err
	}
	member := "messages"
	if api.Converses() {
		member = api.PromptMember()
	}
	asked, err := openai.Messages(body, member)
	if err != nil {
		if e.Whole && !api.Converses() { // such as a prompt for completions, which has its history in its text
			return c.b.payloadOf(body)
		}
		return nil, err
	}
	if !e.Whole && beginsWithAssistant(asked) {
		c.withoutReply()
	}
	c.say(asked)
	c.beforeReply, c.replaced.history = len(c.history), nil // until AddReply there is no answer to take back
	var set []byte
	if len(c.history) > len(asked) {
		set = slices.Concat([]byte(`"`+member+`":[`), c.history, []byte{']'})
	}
	if c.b.cfg.ServerHistory {
		set = slices.Concat(set, c.link(len(set) > 0))
	}
	if len(set) > 0 {
		if body, err = openai.MergeRequest(body, slices.Concat([]byte{'{'}, set, []byte{'}'})); err != nil {
			return nil, err
		}
	}
	return c.b.payloadOf(body)
}

// link returns the members that ask a server to keep the answer, and that name the one before.
func (c *conversation) link(follows bool) []byte {
	link := []byte(`"store":true`)
	if follows {
		link = []byte(`,"store":true`)
	}
	if c.previous != "" {
		id, _ := json.Marshal(c.previous) // a string is always JSON
		link = append(append(link, `,"previous_response_id":`...), id...)
	}
	return link
}

// withoutReply takes back the last answer, which the next turn brings in another form.
func (c *conversation) withoutReply() {
	if c.b.cfg.ServerHistory && c.replaced.history != nil {
		c.previous, c.history = c.replaced.previous, c.replaced.history
		c.replaced.history = nil
		return
	}
	c.history = c.history[:min(c.beforeReply, len(c.history))]
}

// withInstructions returns the body of a turn with the instructions of the turns before it, if the API has them beside the messages
// and the turn has none of its own.
func (c *conversation) withInstructions(body []byte) ([]byte, error) {
	name := c.b.target.api.InstructionsMember()
	if name == "" {
		return body, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		return nil, jsonscan.InWords(err)
	}
	switch own := members[name]; {
	case own != nil:
		c.system = own
	case c.system != nil:
		return openai.MergeRequest(body, slices.Concat([]byte(`{"`+name+`":`), c.system, []byte{'}'}))
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
	return err == nil && (first.Role == "assistant" || first.Role == "model")
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
	c.beforeReply, c.reply = len(c.history), message
	switch id := r.ID(); {
	case !c.b.cfg.ServerHistory:
		c.say(message)
	case id == "":
		return false, errors.New("the answer has no id, or it broke off, so no turn can follow it")
	default:
		c.replaced.previous, c.replaced.history = c.previous, c.history
		c.previous, c.history = id, nil
	}
	return r.Contentless(), nil
}

// ReplyText implements backend.Quoter.
func (c *conversation) ReplyText() string {
	var all []struct {
		Type           string
		Content, Parts json.RawMessage
	}
	if json.Unmarshal(slices.Concat([]byte{'['}, c.reply, []byte{']'}), &all) != nil {
		return ""
	}
	var text string // nothing for a call of tools
	for _, m := range all {
		if m.Type == "reasoning" { // of v1/responses
			continue
		}
		var whole string
		var blocks []struct {
			Text    string
			Thought bool
		}
		if json.Unmarshal(m.Content, &whole) != nil && json.Unmarshal(m.Content, &blocks) != nil {
			_ = json.Unmarshal(m.Parts, &blocks)
		}
		text += whole
		for _, block := range blocks {
			if !block.Thought {
				text += block.Text
			}
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
