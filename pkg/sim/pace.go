package sim

import (
	"context"
	"time"
)

// A pacer waits for successive instants with one timer. Its zero value is ready to use. It
// is not safe for concurrent use.
type pacer struct{ timer *time.Timer }

// until waits for the instant t or for ctx. The runtime's timers wake it 0.05 to 1 ms late.
func (p *pacer) until(ctx context.Context, t time.Time) error {
	d := time.Until(t)
	if d <= 0 {
		return ctx.Err()
	}
	if p.timer == nil {
		p.timer = time.NewTimer(d)
	} else {
		p.timer.Reset(d)
	}
	select {
	case <-p.timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stop stops the timer.
func (p *pacer) stop() {
	if p.timer != nil {
		p.timer.Stop()
	}
}

// sleepUntil waits once; see [pacer.until].
func sleepUntil(ctx context.Context, t time.Time) error {
	var p pacer
	defer p.stop()
	return p.until(ctx, t)
}

// acquire waits for a slot, first come first served. If it returns nil, the caller must call
// release.
func (s *Server) acquire(ctx context.Context) error {
	if s.slots == nil {
		return ctx.Err()
	}
	select {
	case s.slots <- struct{}{}: // blocked senders queue in order
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

// endReason returns how a request ended whose context is done.
func (s *Server) endReason() End {
	if s.ctx.Err() != nil {
		return EndServerClosed
	}
	return EndClientGone
}
