package sim

import (
	"context"
	"time"

	"github.com/pa-tools/pa/pkg/sim/ledger"
)

// A pacer waits for one instant after the other with one timer. The zero value
// is ready; it is for one goroutine.
type pacer struct{ timer *time.Timer }

// until waits for the instant t or for ctx. It never spins; the runtime's
// timers wake it 0.05 to 1 ms late.
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

// stop ends the timer.
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
func (s *Server) giveUp() ledger.End {
	if s.ctx.Err() != nil {
		return ledger.EndServerClosed
	}
	return ledger.EndClientGone
}
