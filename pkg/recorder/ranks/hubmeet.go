package ranks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// This file has the meetings of a hub.

const (
	// compareTimeout bounds the comparison of the clocks in a meeting.
	compareTimeout = 30 * time.Second
	// lead is the time from the decision to the instant at which all ranks begin, besides
	// the time of the message on the way. In this time the ranks wake up.
	lead = 250 * time.Millisecond
)

// await waits until done returns true, which is called with the lock held whenever
// something has changed.
func (h *hub) await(ctx context.Context, timeout <-chan time.Time, done func() bool) error {
	for {
		h.mu.Lock()
		ok, changed := done(), h.changed
		h.mu.Unlock()
		if by := h.ending.get(); by != nil {
			return by
		}
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-h.ending.done:
		case <-timeout:
			return errTimeout
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-h.closed:
			return errClosed
		}
	}
}

var errTimeout = errors.New("timeout")

// absent returns the ranks for which has is false.
func (h *hub) absent(has func(m *member) bool) []int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.absentLocked(has)
}

// absentLocked is absent for a caller that holds the lock.
func (h *hub) absentLocked(has func(m *member) bool) (ranks []int) {
	for rank := 1; rank < h.cfg.World.Size; rank++ {
		if m := h.members[rank]; m == nil || !has(m) {
			ranks = append(ranks, rank)
		}
	}
	return ranks
}

// meet is Session.Meet of rank 0.
func (h *hub) meet(ctx context.Context, m Meeting) (Begin, error) {
	h.mu.Lock()
	h.clock = m.Clock
	h.seq++
	seq, first := h.seq, !h.begun
	h.mu.Unlock()
	var timeout <-chan time.Time
	if first {
		t := time.NewTimer(h.cfg.Timeout)
		defer t.Stop()
		timeout = t.C
	}
	if err := h.gather(ctx, timeout, seq); err != nil {
		return Begin{}, h.fail(err)
	}
	if err := h.samePlan(m); err != nil {
		return Begin{}, h.fail(err)
	}
	h.broadcast(message{Kind: kindMeasure, Seq: seq})
	measured := func(m *member) bool { return m.measured.Seq == seq }
	compared := time.NewTimer(compareTimeout)
	defer compared.Stop()
	if err := h.await(ctx, compared.C, func() bool {
		return len(h.gone) > 0 || len(h.absentLocked(measured)) == 0
	}); err != nil {
		if errors.Is(err, errTimeout) {
			err = &MissingError{h.absent(measured), fmt.Sprintf("did not compare clocks within %v", compareTimeout)}
		}
		return Begin{}, h.fail(err)
	}
	if err := h.lost(); err != nil {
		return Begin{}, h.fail(err)
	}
	h.mu.Lock()
	b := Begin{NextID: m.NextID}
	slowest := int64(0)
	for _, other := range h.members {
		b.NextID = max(b.NextID, other.ready.NextID)
		slowest = max(slowest, other.measured.BoundNS)
	}
	h.begun = true
	h.mu.Unlock()
	if m.Start {
		// The bound is half of the shortest round trip; other round trips take longer.
		b.AtNS = m.Clock.NowNS() + uint64(lead) + uint64(min(8*slowest, int64(time.Minute)))
		b.LocalNS = b.AtNS
	}
	h.broadcast(message{Kind: kindGo, Seq: seq, AtNS: b.AtNS, NextID: b.NextID})
	return b, nil
}

// gather waits until all ranks are ready for meeting seq.
func (h *hub) gather(ctx context.Context, timeout <-chan time.Time, seq int) error {
	ready := func(m *member) bool { return m.ready.Seq >= seq }
	err := h.await(ctx, timeout, func() bool {
		return len(h.gone) > 0 || len(h.left) > 0 || len(h.absentLocked(ready)) == 0
	})
	if errors.Is(err, errTimeout) {
		if never := h.absent(func(*member) bool { return true }); len(never) > 0 {
			return &MissingError{never, fmt.Sprintf("did not come to the barrier within %v%s", h.cfg.Timeout, h.unproven().behind())}
		}
		return &MissingError{h.absent(ready), fmt.Sprintf("came to the barrier but prepared for longer than %v", h.cfg.Timeout)}
	}
	if err != nil {
		return err
	}
	return h.lost()
}

// lost returns an error if ranks were lost.
func (h *hub) lost() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.gone)+len(h.left) == 0 {
		return nil
	}
	return &LostError{slices.Concat(h.gone, h.left)}
}

// samePlan refuses ranks with another plan.
func (h *hub) samePlan(own Meeting) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var others []int
	var parts []string
	for rank, m := range h.members {
		if m.ready.Plan != own.PlanSHA256 {
			others = append(others, rank)
			parts = append(parts, differentParts(partsText(own.Parts), m.ready.Parts)...)
		}
	}
	slices.Sort(parts)
	if len(others) == 0 {
		return nil
	}
	return &DifferentError{others, slices.Compact(parts)}
}

// fail ends the run of all because of err, unless another rank has ended it.
func (h *hub) fail(err error) error {
	var ended *EndedError
	if !errors.As(err, &ended) {
		h.end(&EndedError{0, err.Error()})
	}
	return err
}
