package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/pa-tools/pa/cmd/pa-record/internal/objective"
	"github.com/pa-tools/pa/cmd/pa-record/internal/settings"
	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder"
)

// warmUp makes the runs of --warmup-runs that come before run i. The error is not nil if the series
// ends with one of them.
func (m *repeatedRun) warmUp(ctx context.Context, i int) error {
	for _, plan := range m.s.WarmupsBefore(i) {
		err := m.ended(ctx, m.warmupRun(ctx, i, &plan))
		switch {
		case err == nil:
		case withoutBareCode(err) == nil:
			return err
		default:
			return fmt.Errorf("%v: %w", plan.Of, err)
		}
		m.warmedUp++
	}
	return nil
}

// warmupRun makes a run that is not recorded. A run in which too many requests fail is a warning,
// because no gate is about it.
func (m *repeatedRun) warmupRun(ctx context.Context, i int, plan *settings.Run) error {
	of, at := plan.Of, &m.targets[plan.Server]
	s := at.s
	if i > 0 || m.warmedUp > 0 {
		if err := m.betweenLevels(ctx, s); err != nil {
			return err
		}
	}
	b, err := newBackend(s, at.urls)
	if err != nil {
		return err
	}
	defer func() {
		if err := b.Close(); err != nil {
			fmt.Fprintf(m.stderr, "pa-record: warning: %v\n", err)
		}
	}()
	m.announce(plan)
	out := &unrecorded{}
	line := m.progress(s, of)
	cfg := m.config(at, plan, m.header(at, plan), out)
	cfg.Ranks = m.ranks.of(len(m.runs) + m.warmedUp)
	if s.Objective != nil {
		out.judge = objective.New(s.Objective, &cfg.Run)
		cfg.Objective = out.judge.Met
	}
	cfg.Backend, cfg.Clock, cfg.Progress = b, m.env.clock(), line.Callback()
	if m.env.steerHeap != nil {
		defer m.env.steerHeap()()
	}
	res, err := recorder.Run(ctx, cfg)
	m.positions.ended(plan, res)
	line.Clear()
	var tooMany *recorder.ErrorRateError
	switch {
	case m.interrupted.Signal() != 0 && err == nil:
		err = errNothingRecorded
	case errors.As(err, &tooMany):
		fmt.Fprintf(m.stderr, "pa-record: warning: %s%v\n", of.Prefix(), err)
		err = nil
	case err != nil:
		err = explain(err, s, at.ifRefused)
	}
	if !m.s.Quiet && res != nil {
		fmt.Fprintf(m.stderr, "pa-record: note: %v: %s, in no export\n", of, plural.GroupedOf(out.requests, "request"))
	}
	return err
}

// errNothingRecorded ends a warm-up run that was interrupted.
var errNothingRecorded = errors.New("interrupted before the first recorded run")

// unrecorded counts the requests of a run and drops them. It implements export.Writer.
type unrecorded struct {
	judge    *objective.Judge // nil: the run has no objective
	requests int
}

// BeginExperiment implements export.Writer.
func (u *unrecorded) BeginExperiment(string, string) error { return nil }

// WriteRequest implements export.Writer.
func (u *unrecorded) WriteRequest(q *export.Request) error {
	u.requests++
	u.judge.Add(q)
	return nil
}

// EndExperiment implements export.Writer.
func (u *unrecorded) EndExperiment(*export.Experiment) error { return nil }

// WriteScrape implements export.Writer.
func (u *unrecorded) WriteScrape(*export.Scrape) error { return nil }

// Close implements export.Writer.
func (u *unrecorded) Close(*export.Run) error { return nil }
