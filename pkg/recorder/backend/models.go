package backend

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/pa-tools/pa/pkg/recorder/rxclock"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// Models is a backend that sends each request to the model of its entry. Use ByModel.
type Models struct {
	group
	index map[string]int // of a model in targets
}

var (
	_ Backend  = (*Models)(nil)
	_ Batcher  = (*Models)(nil)
	_ Streamer = (*modelPayload)(nil)
	_ Modeler  = (*modelPayload)(nil)
)

// ByModel returns a backend over the targets, one for each model, and closes them with
// itself. It returns an error for no target, or two with one name.
func ByModel(targets []Target) (*Models, error) {
	if len(targets) == 0 {
		return nil, errors.New("no model to send to; name one with -m")
	}
	b := &Models{group: group{targets}, index: map[string]int{}}
	for i, t := range targets {
		if _, twice := b.index[t.Name]; twice {
			return nil, fmt.Errorf("model %s is named twice", t.Name)
		}
		b.index[t.Name] = i
	}
	return b, nil
}

// Targets returns the models with their backends, in order.
func (b *Models) Targets() []Target { return b.targets }

// Check implements Backend. It checks all models at the same time; the error has a
// line for each model that failed.
func (b *Models) Check(ctx context.Context) error {
	if err := b.check(ctx); err != nil {
		return err
	}
	for _, t := range b.targets {
		if s, ok := t.Backend.(Stateful); ok && s.Stateful() {
			return fmt.Errorf("model %s keeps state, and cannot be one of several; make a run of its own for it", t.Name)
		}
	}
	return nil
}

// Model implements Backend. It returns the first model.
func (b *Models) Model() string { return b.targets[0].Name }

// target returns the index of the model of an entry; the first for an entry without one.
func (b *Models) target(e *workload.Entry) (int, error) {
	if e.Model == "" {
		return 0, nil
	}
	i, ok := b.index[e.Model]
	if !ok {
		return 0, fmt.Errorf("%s: model %.80q is not one of %s; add it with -m", e.Place(), e.Model, b.names())
	}
	return i, nil
}

func (b *Models) names() string {
	names := make([]string, len(b.targets))
	for i, t := range b.targets {
		names[i] = t.Name
	}
	return strings.Join(names, ", ")
}

// modelPayload is a request for one of the models.
type modelPayload struct {
	Payload
	target int
	model  string
}

// Model implements Modeler.
func (p *modelPayload) Model() string { return p.model }

// Streamed implements Streamer.
func (p *modelPayload) Streamed() bool { return streamed(p.Payload) }

// Prepare implements Backend.
func (b *Models) Prepare(e *workload.Entry) (Payload, error) {
	i, err := b.target(e)
	if err != nil {
		return nil, err
	}
	p, err := b.targets[i].Backend.Prepare(e)
	return b.payload(i, p, err)
}

// PrepareBatch implements Batcher. The entries must be of one model.
func (b *Models) PrepareBatch(es []*workload.Entry) (Payload, error) {
	i, err := b.target(es[0])
	if err != nil {
		return nil, err
	}
	for _, e := range es[1:] {
		if k, err := b.target(e); err != nil || k != i {
			return nil, errors.Join(err, fmt.Errorf("%s is for model %s, but is in a batch for model %s; use -b 1", e.Place(), e.Model, b.targets[i].Name))
		}
	}
	batcher, ok := b.targets[i].Backend.(Batcher)
	if !ok {
		return nil, fmt.Errorf("model %s takes no batches; use -b 1", b.targets[i].Name)
	}
	p, err := batcher.PrepareBatch(es)
	return b.payload(i, p, err)
}

func (b *Models) payload(i int, p Payload, err error) (Payload, error) {
	if err != nil {
		return nil, err
	}
	return &modelPayload{p, i, b.targets[i].Name}, nil
}

// Decode implements Backend.
func (b *Models) Decode(x *Exchange) error {
	p, ok := x.Sent.(*sent)
	if !ok {
		return errors.New("an exchange of another backend")
	}
	x.Sent = p.Payload
	return b.targets[p.target].Backend.Decode(x)
}

// sent is what a model's sender left in the exchange for its Decode.
type sent struct {
	Payload // nil: nothing
	target  int
}

// Open implements Backend.
func (b *Models) Open(ctx context.Context, slot int, clock *rxclock.Clock) (Sender, error) {
	s, err := b.open(ctx, slot, clock)
	if err != nil {
		return nil, err
	}
	return modelSenders{s}, nil
}

// modelSenders are the senders of a slot, by model.
type modelSenders struct{ senders }

// Send implements Sender.
func (s modelSenders) Send(ctx context.Context, p Payload, x *Exchange) {
	q := p.(*modelPayload)
	s.send(ctx, q.target, q.Payload, x)
	x.Sent = &sent{x.Sent, q.target}
}
