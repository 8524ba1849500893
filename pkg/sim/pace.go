package sim

import (
	"context"
	"time"
)

// sleepUntil waits for the instant t or for ctx. It never spins; the runtime's
// timers wake it 0.05 to 1 ms late.
func sleepUntil(ctx context.Context, t time.Time) error {
	d := time.Until(t)
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// acquire waits for a slot, first come first served. The caller calls release
// when it is nil.
func (s *Server) acquire(ctx context.Context) error {
	if s.slots == nil {
		return ctx.Err()
	}
	select {
	case s.slots <- struct{}{}: // goroutines blocked in a send queue in order
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Server) release() {
	if s.slots != nil {
		<-s.slots
	}
}

// giveUp says how a request ended whose context is done.
func (s *Server) giveUp() End {
	if s.ctx.Err() != nil {
		return EndServerClosed
	}
	return EndClientGone
}
