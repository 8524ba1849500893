package bymodel

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// A Target is one of the models.
type Target struct {
	Model   string
	Backend backend.Backend
}

// A Backend sends to several models.
type Backend struct {
	targets []Target
	index   map[string]int // of a model in targets
}

var _ backend.Backend = (*Backend)(nil)

// New returns a backend over the targets, which it closes. The error is that there
// is none, or that two have one name.
func New(targets []Target) (*Backend, error) {
	if len(targets) == 0 {
		return nil, errors.New("no model to send to; name one with -m")
	}
	b := &Backend{targets: targets, index: map[string]int{}}
	for i, t := range targets {
		if _, twice := b.index[t.Model]; twice {
			return nil, fmt.Errorf("model %s is named twice", t.Model)
		}
		b.index[t.Model] = i
	}
	return b, nil
}

// Targets returns the models with their backends, in their order.
func (b *Backend) Targets() []Target { return b.targets }

// Check implements backend.Backend. It asks for all models at a time; the error is
// that of each that is not right, a line each.
func (b *Backend) Check(ctx context.Context) error {
	errs := make([]error, len(b.targets))
	var asking sync.WaitGroup
	for i, t := range b.targets {
		asking.Go(func() { errs[i] = t.Backend.Check(ctx) })
	}
	asking.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, t := range b.targets {
		if s, ok := t.Backend.(backend.Stateful); ok && s.Stateful() {
			return fmt.Errorf("model %s keeps state, and cannot be one of several; make a run of its own for it", t.Model)
		}
	}
	return nil
}

// Model implements backend.Backend: it is the first one.
func (b *Backend) Model() string { return b.targets[0].Model }

// of returns the number of the model of an entry.
func (b *Backend) of(e *workload.Entry) (int, error) {
	if e.Model == "" {
		return 0, nil
	}
	i, ok := b.index[e.Model]
	if !ok {
		return 0, fmt.Errorf("%s: model %.80q is none of %s; name it with -m, too", e.Place(), e.Model, b.names())
	}
	return i, nil
}

func (b *Backend) names() string {
	names := make([]string, len(b.targets))
	for i, t := range b.targets {
		names[i] = t.Model
	}
	return strings.Join(names, ", ")
}

// A payload is a request for one of the models.
type payload struct {
	backend.Payload
	target int
	model  string
}

// Model returns the model that the request asks.
func (p *payload) Model() string { return p.model }

// Streamed reports whether the request asks for a streamed answer.
func (p *payload) Streamed() bool {
	s, ok := p.Payload.(interface{ Streamed() bool })
	return ok && s.Streamed()
}

// Prepare implements backend.Backend.
func (b *Backend) Prepare(e *workload.Entry) (backend.Payload, error) {
	i, err := b.of(e)
	if err != nil {
		return nil, err
	}
	p, err := b.targets[i].Backend.Prepare(e)
	return b.payload(i, p, err)
}

// PrepareBatch makes a request of several entries, which must be of one model.
func (b *Backend) PrepareBatch(es []*workload.Entry) (backend.Payload, error) {
	i, err := b.of(es[0])
	if err != nil {
		return nil, err
	}
	for _, e := range es[1:] {
		if k, err := b.of(e); err != nil || k != i {
			return nil, errors.Join(err, fmt.Errorf("%s is for model %s, but is in a batch for model %s; use -b 1", e.Place(), e.Model, b.targets[i].Model))
		}
	}
	batcher, ok := b.targets[i].Backend.(interface {
		PrepareBatch(es []*workload.Entry) (backend.Payload, error)
	})
	if !ok {
		return nil, fmt.Errorf("model %s takes no batches; use -b 1", b.targets[i].Model)
	}
	p, err := batcher.PrepareBatch(es)
	return b.payload(i, p, err)
}

func (b *Backend) payload(i int, p backend.Payload, err error) (backend.Payload, error) {
	if err != nil {
		return nil, err
	}
	return &payload{p, i, b.targets[i].Model}, nil
}

// Decode implements backend.Backend.
func (b *Backend) Decode(x *backend.Exchange) error {
	p, ok := x.Sent.(*sent)
	if !ok {
		return errors.New("an exchange of another backend")
	}
	x.Sent = p.Payload
	return b.targets[p.target].Backend.Decode(x)
}

// sent is what the model's backend has left in an exchange for its Decode.
type sent struct {
	backend.Payload // nil: nothing
	target          int
}

// Close implements backend.Backend.
func (b *Backend) Close() error {
	var errs []error
	for _, t := range b.targets {
		errs = append(errs, t.Backend.Close())
	}
	return errors.Join(errs...)
}

// Open implements backend.Backend.
func (b *Backend) Open(ctx context.Context, slot int) (backend.Sender, error) {
	s := &sender{}
	for _, t := range b.targets {
		one, err := t.Backend.Open(ctx, slot)
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.all = append(s.all, one)
	}
	return s, nil
}

// A sender has a sender of its slot for each model.
type sender struct{ all []backend.Sender }

// Send implements backend.Sender.
func (s *sender) Send(ctx context.Context, p backend.Payload, x *backend.Exchange) {
	q := p.(*payload)
	s.all[q.target].Send(ctx, q.Payload, x)
	x.Sent = &sent{x.Sent, q.target}
	if x.Request.Conn > 0 { // it came to a connection
		x.Request.Conn = x.Request.Conn*len(s.all) + q.target
	}
}

// Close implements backend.Sender.
func (s *sender) Close() error {
	var errs []error
	for _, one := range s.all {
		errs = append(errs, one.Close())
	}
	return errors.Join(errs...)
}
