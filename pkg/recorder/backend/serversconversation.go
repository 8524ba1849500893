package backend

import (
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// conversationalServers are servers that are all Conversational. The turns of a
// conversation go to the servers in turn, like all requests.
type conversationalServers struct{ *servers }

var _ Conversational = (*conversationalServers)(nil)

// NewConversation implements Conversational.
func (b *conversationalServers) NewConversation() Conversation {
	c := &conversation{b: b.servers}
	for _, t := range b.targets {
		c.all = append(c.all, t.Backend.(Conversational).NewConversation())
	}
	return c
}

// A conversation holds one conversation with each target; all get the same turns and
// replies.
type conversation struct {
	b   *servers
	all []Conversation
}

// Turn implements Conversation.
func (c *conversation) Turn(e *workload.Entry) (Payload, error) {
	return c.b.prepare(func(i int) (Payload, error) { return c.all[i].Turn(e) })
}

// Fork implements Conversation.
func (c *conversation) Fork() Conversation {
	fork := &conversation{b: c.b}
	for _, one := range c.all {
		fork.all = append(fork.all, one.Fork())
	}
	return fork
}

// AddReply implements Conversation.
func (c *conversation) AddReply(x *Exchange) (contentless bool, err error) {
	for _, one := range c.all {
		if contentless, err = one.AddReply(x); err != nil {
			return false, err
		}
	}
	return contentless, nil
}

// ReplyText implements Quoter.
func (c *conversation) ReplyText() string {
	if q, ok := c.all[0].(Quoter); ok {
		return q.ReplyText()
	}
	return ""
}
