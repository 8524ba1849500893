package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pa-tools/pa/cmd/pa-record/internal/settings"
	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/recorder/backend"
)

// A target is what a run sends its requests to: the servers of a command line, or the
// servers of one label.
type target struct {
	s          *settings.Settings // of its runs
	urls       []string           // to send to
	simMetrics string             // URL of a simulated server's metrics; "" for other servers

	warned    []string // texts of the warnings from checking the servers
	ifRefused []string // advice to print if the servers refuse the first requests
}

// openTargets resolves the targets and finds the mistakes that only the protocol knows
// of. closeTargets stops the simulated servers among them.
func openTargets(ctx context.Context, s *settings.Settings) (targets []target, closeTargets func(), err error) {
	var closers []func()
	closeTargets = func() {
		for _, c := range closers {
			c()
		}
	}
	for i := range max(len(s.Servers), 1) {
		t := target{s: s.ForServer(i)}
		var closeOne func()
		if t.urls, t.simMetrics, closeOne, err = resolveTarget(ctx, t.s); err != nil {
			closeTargets()
			return nil, nil, t.labelled(err)
		}
		closers = append(closers, closeOne)
		if err := checkBackend(t.s, t.urls); err != nil {
			closeTargets()
			return nil, nil, t.labelled(err)
		}
		targets = append(targets, t)
	}
	return targets, closeTargets, nil
}

// checkBackend finds the mistakes that only the protocol knows of. The error is
// a usage error.
func checkBackend(s *settings.Settings, urls []string) error {
	b, err := newBackend(s, urls)
	if err != nil {
		return &cmdline.UsageError{Msg: err.Error()}
	}
	return b.Close()
}

// labelled adds the target's label to err.
func (t *target) labelled(err error) error {
	if t.s.Label == "" {
		return err
	}
	return fmt.Errorf("%s: %w", t.s.Label, err)
}

// settle gives the targets their settings, when the settings of all runs are complete.
func settle(targets []target, s *settings.Settings) {
	for i := range targets {
		t := &targets[i]
		t.s = s.ForServer(i)
		t.s.SimMetrics = t.simMetrics
	}
}

// prefix begins a message about the target.
func (t *target) prefix() string {
	if t.s.Label == "" {
		return ""
	}
	return t.s.Label + ": "
}

// waiting returns the function that prints to stderr that pa-record waits for the server,
// and why.
func (t *target) waiting(stderr io.Writer) func(why error) {
	urls := t.s.URLs
	if urls == nil {
		urls = []string{t.s.URL}
	}
	return func(why error) {
		switch {
		case t.s.Quiet:
		case why == nil:
			fmt.Fprintf(stderr, "pa-record: %swaiting for %s to say whether it is ready\n", t.prefix(), strings.Join(urls, ", "))
		default:
			fmt.Fprintf(stderr, "pa-record: %swaiting up to %v for the server: %v\n", t.prefix(), t.s.WaitReady, why)
		}
	}
}

// checkWarnings returns the function that prints to stderr the warnings from checking the
// servers, each text once for all runs.
func (t *target) checkWarnings(stderr io.Writer) func([]backend.Warning) {
	return func(all []backend.Warning) {
		for _, w := range all {
			if !slices.Contains(t.warned, w.Text) {
				t.warned = append(t.warned, w.Text)
				fmt.Fprintf(stderr, "pa-record: warning: %s%s\n", t.prefix(), w.Text)
			}
			if w.IfRefused != "" && !slices.Contains(t.ifRefused, w.IfRefused) {
				t.ifRefused = append(t.ifRefused, w.IfRefused)
			}
		}
	}
}
