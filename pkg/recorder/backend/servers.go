package backend

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// RoundRobin returns a backend over the targets, one for each server, and closes them with
// itself. models is the number of models that requests go to in turn; 0 means 1. The
// backend is a Batcher, else a backend.Conversational, if all targets are. It
// returns an error for no target.
func RoundRobin(targets []Target, models int) (Backend, error) {
	if len(targets) == 0 {
		return nil, errors.New("no server to send to; give at least one URL")
	}
	b := &servers{group: group{targets}, turns: uint64(max(models, 1))}
	batchers, conversational := 0, 0
	for _, t := range targets {
		if _, ok := t.Backend.(Batcher); ok {
			batchers++
		}
		if _, ok := t.Backend.(Conversational); ok {
			conversational++
		}
	}
	switch len(targets) {
	case batchers:
		return &batchingServers{b}, nil
	case conversational:
		return &conversationalServers{b}, nil
	}
	return b, nil
}

// servers sends requests to its targets in turn.
type servers struct {
	group
	turns uint64 // models
}

var (
	_ Backend = (*servers)(nil)
	_ Warner  = (*servers)(nil)
)

// target returns the index of the target of a request. A sequence stays with the server
// that has its state. With several models in turn, one server gets a request for each
// model before the next server does; otherwise, of two models on two servers, each model
// would stay with one server.
func (b *servers) target(x *Exchange) int {
	if id := x.Sequence.ID; id > 0 {
		return int((id - 1) % uint64(len(b.targets)))
	}
	return int((x.Request.ID - 1) / b.turns % uint64(len(b.targets)))
}

// Check implements Backend. It checks all servers at the same time; the error has
// a line for each server that failed, or says that their models differ.
func (b *servers) Check(ctx context.Context) error {
	if err := b.check(ctx); err != nil {
		return err
	}
	for _, t := range b.targets[1:] {
		if t.Backend.Model() != b.Model() {
			return fmt.Errorf("the servers have different models: %s; choose one with -m", b.models())
		}
	}
	return nil
}

// CheckWarnings implements backend.Warner. It returns the warnings of all servers.
func (b *servers) CheckWarnings() []Warning {
	var all []Warning
	for _, t := range b.targets {
		if w, ok := t.Backend.(Warner); ok {
			all = append(all, w.CheckWarnings()...)
		}
	}
	return all
}

// models lists the servers with their models.
func (b *servers) models() string {
	var all []string
	for _, t := range b.targets {
		all = append(all, fmt.Sprintf("%s has %q", t.Name, t.Backend.Model()))
	}
	return strings.Join(all, ", ")
}

// Model implements Backend.
func (b *servers) Model() string { return b.targets[0].Backend.Model() }

// Stateful implements backend.Stateful. It reports whether any server's model keeps
// state.
func (b *servers) Stateful() bool {
	for _, t := range b.targets {
		if s, ok := t.Backend.(Stateful); ok && s.Stateful() {
			return true
		}
	}
	return false
}

// Prepare implements Backend.
func (b *servers) Prepare(e *workload.Entry) (Payload, error) {
	return b.prepare(func(i int) (Payload, error) { return b.targets[i].Backend.Prepare(e) })
}

// batchingServers are servers that are all backend.Batchers.
type batchingServers struct{ *servers }

// PrepareBatch implements Batcher.
func (b *batchingServers) PrepareBatch(es []*workload.Entry) (Payload, error) {
	return b.prepare(func(i int) (Payload, error) { return b.targets[i].Backend.(Batcher).PrepareBatch(es) })
}

// serverPayload holds one request as a payload for each target, in the order of targets.
type serverPayload []Payload

// Inputs implements Payload.
func (p serverPayload) Inputs() export.Fields { return p[0].Inputs() }

// Model implements Modeler. All targets have the same model.
func (p serverPayload) Model() string {
	m, ok := p[0].(Modeler)
	if !ok {
		return ""
	}
	return m.Model()
}

// Streamed implements Streamer.
func (p serverPayload) Streamed() bool { return streamed(p[0]) }

// A sharer is a payload that can replace its bytes by equal bytes of another payload of
// its type.
type sharer interface {
	ShareWith(other Payload)
}

// prepare encodes a request for all targets; one(i) encodes it for target i.
func (b *servers) prepare(one func(target int) (Payload, error)) (Payload, error) {
	var all serverPayload
	for i, t := range b.targets {
		p, err := one(i)
		if err != nil && i == 0 {
			return nil, err // the others would fail in the same way
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.Name, err)
		}
		if i > 0 && !equal(all[0].Inputs(), p.Inputs()) {
			return nil, fmt.Errorf("%s and %s would be sent different inputs; are their models the same?", b.targets[0].Name, t.Name)
		}
		if s, ok := p.(sharer); ok && i > 0 {
			s.ShareWith(all[0])
		}
		all = append(all, p)
	}
	return all, nil
}

func equal(a, b export.Fields) bool {
	return slices.EqualFunc(a, b, func(a, b export.Field) bool {
		return a.Name == b.Name && a.Value.Text == b.Value.Text && bytes.Equal(a.Value.Data, b.Value.Data)
	})
}

// Decode implements Backend.
func (b *servers) Decode(x *Exchange) error {
	return b.targets[b.target(x)].Backend.Decode(x)
}

// Open implements Backend.
func (b *servers) Open(ctx context.Context, slot int, clock *rxclock.Clock) (Sender, error) {
	s, err := b.open(ctx, slot, clock)
	if err != nil {
		return nil, err
	}
	return serverSenders{s, b}, nil
}

// serverSenders are the senders of a slot, by server.
type serverSenders struct {
	senders
	b *servers
}

// Send implements Sender.
func (s serverSenders) Send(ctx context.Context, p Payload, x *Exchange) {
	i := s.b.target(x)
	s.send(ctx, i, p.(serverPayload)[i], x)
}
