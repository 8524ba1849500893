package roundrobin

import (
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// talking is a spread over talkers. The turns of a conversation go to the servers
// in turn, like all requests.
type talking struct{ *spread }

var _ backend.Conversational = (*talking)(nil)

// NewConversation implements backend.Conversational.
func (b *talking) NewConversation() backend.Conversation {
	c := &conversation{b: b.spread}
	for _, t := range b.targets {
		c.all = append(c.all, t.Backend.(backend.Conversational).NewConversation())
	}
	return c
}

// A conversation is one with each target: they are all told the same.
type conversation struct {
	b   *spread
	all []backend.Conversation
}

// Turn implements backend.Conversation.
func (c *conversation) Turn(e *workload.Entry) (backend.Payload, error) {
	return c.b.prepare(func(i int) (backend.Payload, error) { return c.all[i].Turn(e) })
}

// AddReply implements backend.Conversation.
func (c *conversation) AddReply(x *backend.Exchange) error {
	for _, one := range c.all {
		if err := one.AddReply(x); err != nil {
			return err
		}
	}
	return nil
}
