package roundrobin

import (
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// talking is a spread over talkers. The turns of a conversation go to the servers
// in turn, like all requests.
type talking struct{ *spread }

var _ backend.Talker = (*talking)(nil)

// Converse implements backend.Talker.
func (b *talking) Converse() backend.Conversation {
	c := &conversation{b: b.spread}
	for _, t := range b.targets {
		c.all = append(c.all, t.Backend.(backend.Talker).Converse())
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

// Answered implements backend.Conversation.
func (c *conversation) Answered(x *backend.Exchange) error {
	for _, one := range c.all {
		if err := one.Answered(x); err != nil {
			return err
		}
	}
	return nil
}
