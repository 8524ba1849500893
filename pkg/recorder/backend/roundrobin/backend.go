package roundrobin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// A Target is one of the servers.
type Target struct {
	Name    string // for messages: its URL, without secrets
	Backend backend.Backend
}

// New returns a backend over the targets, which it closes. models is how many
// models requests go to in turn; 0 means 1. It has a method
// PrepareBatch(es []*workload.Entry) (backend.Payload, error), or is a
// backend.Conversational, if all of them are. The error is that there is no target.
func New(targets []Target, models int) (backend.Backend, error) {
	if len(targets) == 0 {
		return nil, errors.New("no server to send to; give at least one URL")
	}
	b := &spread{targets: targets, turns: uint64(max(models, 1))}
	batchers, talkers := 0, 0
	for _, t := range targets {
		if _, ok := t.Backend.(batcher); ok {
			batchers++
		}
		if _, ok := t.Backend.(backend.Conversational); ok {
			talkers++
		}
	}
	switch len(targets) {
	case batchers:
		return &batching{b}, nil
	case talkers:
		return &talking{b}, nil
	}
	return b, nil
}

// spread is the backend.
type spread struct {
	targets []Target
	turns   uint64 // models
}

var (
	_ backend.Backend = (*spread)(nil)
	_ backend.Warner  = (*spread)(nil)
)

// of returns the number of the target of a request. A sequence stays with the
// server that has its state. Of models in turn one server is asked for each before
// the next server is: else, of two models on two servers, each would stay with one.
func (b *spread) of(x *backend.Exchange) int {
	if id := x.Sequence.ID; id > 0 {
		return int((id - 1) % uint64(len(b.targets)))
	}
	return int((x.Request.ID - 1) / b.turns % uint64(len(b.targets)))
}

// Check implements backend.Backend. It asks all servers at a time; the error is
// that of each that is not right, a line each, or that their models differ.
func (b *spread) Check(ctx context.Context) error {
	errs := make([]error, len(b.targets))
	var asking sync.WaitGroup
	for i, t := range b.targets {
		asking.Go(func() { errs[i] = t.Backend.Check(ctx) })
	}
	asking.Wait()
	if err := errors.Join(errs...); err != nil {
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
func (b *spread) CheckWarnings() []backend.Warning {
	var all []backend.Warning
	for _, t := range b.targets {
		if w, ok := t.Backend.(backend.Warner); ok {
			all = append(all, w.CheckWarnings()...)
		}
	}
	return all
}

// models lists who has which model.
func (b *spread) models() string {
	var all []string
	for _, t := range b.targets {
		all = append(all, fmt.Sprintf("%s has %q", t.Name, t.Backend.Model()))
	}
	return strings.Join(all, ", ")
}

// Model implements backend.Backend.
func (b *spread) Model() string { return b.targets[0].Backend.Model() }

// Stateful implements backend.Stateful: whether some server's model keeps state.
func (b *spread) Stateful() bool {
	for _, t := range b.targets {
		if s, ok := t.Backend.(backend.Stateful); ok && s.Stateful() {
			return true
		}
	}
	return false
}

// Prepare implements backend.Backend.
func (b *spread) Prepare(e *workload.Entry) (backend.Payload, error) {
	return b.prepare(func(i int) (backend.Payload, error) { return b.targets[i].Backend.Prepare(e) })
}

// A batcher is a backend whose requests can hold several entries.
type batcher interface {
	PrepareBatch(es []*workload.Entry) (backend.Payload, error)
}

// batching is a spread over batchers.
type batching struct{ *spread }

// PrepareBatch implements batcher.
func (b *batching) PrepareBatch(es []*workload.Entry) (backend.Payload, error) {
	return b.prepare(func(i int) (backend.Payload, error) { return b.targets[i].Backend.(batcher).PrepareBatch(es) })
}

// payload has what each target is sent.
type payload []backend.Payload

// Inputs implements backend.Payload.
func (p payload) Inputs() export.Fields { return p[0].Inputs() }

// Model returns the model that the request asks, of every target; "" is not known.
func (p payload) Model() string {
	m, ok := p[0].(interface{ Model() string })
	if !ok {
		return ""
	}
	return m.Model()
}

// Streamed reports whether the request, as each target is sent it, asks for a
// streamed answer.
func (p payload) Streamed() bool {
	s, ok := p[0].(interface{ Streamed() bool })
	return ok && s.Streamed()
}

// A sharer is a payload that can do with the bytes of another one of its type,
// where they are equal, and drop its own.
type sharer interface {
	ShareWith(other backend.Payload)
}

// prepare prepares a request for all targets, by their numbers.
func (b *spread) prepare(one func(target int) (backend.Payload, error)) (backend.Payload, error) {
	var all payload
	for i, t := range b.targets {
		p, err := one(i)
		if err != nil && i == 0 {
			return nil, err // the others would say the same
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
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Name != b[i].Name || a[i].Value.Text != b[i].Value.Text || !bytes.Equal(a[i].Value.Data, b[i].Value.Data) {
			return false
		}
	}
	return true
}

// Decode implements backend.Backend.
func (b *spread) Decode(x *backend.Exchange) error {
	return b.targets[b.of(x)].Backend.Decode(x)
}

// Close implements backend.Backend.
func (b *spread) Close() error {
	var errs []error
	for _, t := range b.targets {
		errs = append(errs, t.Backend.Close())
	}
	return errors.Join(errs...)
}
