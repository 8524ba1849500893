package roundrobin

import (
	"context"
	"errors"

	"github.com/pa-tools/pa/pkg/recorder/backend"
)

// A sender has a sender of its slot for each target.
type sender struct {
	b   *spread
	all []backend.Sender
}

// Open implements backend.Backend.
func (b *spread) Open(ctx context.Context, slot int) (backend.Sender, error) {
	s := &sender{b: b}
	for _, t := range b.targets {
		one, err := t.Backend.Open(ctx, slot)
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.all = append(s.all, one)
	}
	return s, nil
}

// Send implements backend.Sender.
func (s *sender) Send(ctx context.Context, p backend.Payload, x *backend.Exchange) {
	i := s.b.of(x)
	s.all[i].Send(ctx, p.(payload)[i], x)
	if x.Request.Conn > 0 { // it came to a connection
		x.Request.Conn = x.Request.Conn*len(s.all) + i
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
