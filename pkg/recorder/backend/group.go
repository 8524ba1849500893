package backend

import (
	"context"
	"errors"
	"sync"

	"github.com/pa-tools/pa/pkg/recorder/rxclock"
)

// Target is one of the backends that requests go to.
type Target struct {
	Name    string // of the model, or the URL of the server without secrets
	Backend Backend
}

// group is what ByModel and RoundRobin have in common.
type group struct{ targets []Target }

// check checks all targets at the same time and joins their errors.
func (g *group) check(ctx context.Context) error {
	errs := make([]error, len(g.targets))
	var checking sync.WaitGroup
	for i, t := range g.targets {
		checking.Go(func() { errs[i] = t.Backend.Check(ctx) })
	}
	checking.Wait()
	return errors.Join(errs...)
}

// Close implements Backend. It closes all targets.
func (g *group) Close() error {
	var errs []error
	for _, t := range g.targets {
		errs = append(errs, t.Backend.Close())
	}
	return errors.Join(errs...)
}

// open opens a sender of each target for a slot.
func (g *group) open(ctx context.Context, slot int, clock *rxclock.Clock) (senders, error) {
	var s senders
	for _, t := range g.targets {
		one, err := t.Backend.Open(ctx, slot, clock)
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s = append(s, one)
	}
	return s, nil
}

// senders holds the senders of one slot, by target.
type senders []Sender

// send sends p to a target and makes the number of the connection unique in the run.
func (s senders) send(ctx context.Context, target int, p Payload, x *Exchange) {
	s[target].Send(ctx, p, x)
	if x.Request.Conn > 0 { // 0: there was no connection
		x.Request.Conn = x.Request.Conn*len(s) + target
	}
}

// Close implements Sender.
func (s senders) Close() error {
	var errs []error
	for _, one := range s {
		errs = append(errs, one.Close())
	}
	return errors.Join(errs...)
}

// streamed reports whether a payload asks for a streamed response.
func streamed(p Payload) bool {
	s, ok := p.(Streamer)
	return ok && s.Streamed()
}
