package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/pa-tools/pa/cmd/pa-record/internal/settings"
	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/barrier"
)

// ranks connects this process with the others that record a run together. nil is a
// process that records alone.
type ranks struct {
	s       *settings.Settings
	session *barrier.Session // nil with --start-at
	id      string           // of the runs of all ranks
}

// joinRanks meets the other ranks, if there are any. leave must be called at the end,
// with the error of the command, and returns it with the number of the rank. The other
// ranks end with the error, too, unless it is the loss of a rank: rank 0 tells them of
// it, and they complete their shares of the load.
func joinRanks(ctx context.Context, s *settings.Settings) (r *ranks, leave func(error) error, err error) {
	if !s.World.Several() {
		return nil, func(err error) error { return err }, nil
	}
	r = &ranks{s: s}
	named := func(err error) error {
		if withoutBareCode(err) == nil {
			return err
		}
		return fmt.Errorf("rank %d: %w", s.World.Rank, err)
	}
	if !s.StartAt.IsZero() {
		r.id = fmt.Sprintf("start-%d", s.StartAt.UnixNano())
		return r, named, nil
	}
	r.session, err = barrier.Join(ctx, barrier.Config{World: s.World, Addr: s.Barrier, Secret: s.BarrierSecret, Timeout: s.BarrierTimeout})
	if err != nil {
		return nil, nil, named(err)
	}
	r.id = r.session.ID()
	return r, func(err error) error {
		var ended *barrier.EndedError
		var lost *barrier.LostError
		if withoutBareCode(err) != nil && !errors.As(err, &ended) && !errors.As(err, &lost) {
			r.session.End(err.Error())
		}
		return named(errors.Join(err, r.session.Close()))
	}, nil
}

// of returns what the recorder needs to know of the ranks for a run; nil for a process
// that records alone.
func (r *ranks) of(run int) *recorder.Ranks {
	if r == nil {
		return nil
	}
	return &recorder.Ranks{World: r.s.World, Run: fmt.Sprintf("%s-%d", r.id, run), Plan: r.s.CommonPlan(), Barrier: r.barrier()}
}

func (r *ranks) barrier() recorder.Barrier {
	if r.session == nil {
		return &barrier.StartAt{At: r.s.StartAt}
	}
	return r.session
}

// first reports whether this process does what only one of the ranks should do: reading
// the servers' metrics, and requests between levels.
func (r *ranks) first() bool { return r == nil || r.s.World.Rank == 0 }

// note returns a sentence about the figures that rank 0 prints; "" for a process that
// records alone.
func (r *ranks) note() string {
	if r == nil {
		return ""
	}
	text := fmt.Sprintf("the figures are of rank %d's share of the load", r.s.World.Rank)
	if r.session != nil {
		if strangers := r.session.Strangers().String(); strangers != "" {
			text += "; " + strangers
		}
	}
	return text
}

// A rankWriter puts the number of the rank into the messages of a rank.
type rankWriter struct {
	w    io.Writer
	rank int
}

// Write writes one message.
func (w *rankWriter) Write(b []byte) (int, error) {
	const program = "pa-record: "
	if rest, ok := bytes.CutPrefix(b, []byte(program)); ok {
		if _, err := fmt.Fprintf(w.w, "%srank %d: %s", program, w.rank, rest); err != nil {
			return 0, err
		}
		return len(b), nil
	}
	return w.w.Write(b)
}
