package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/heap"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/forecast"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// record is pa-record without a subcommand. reports are named at the end.
func (s *settings) record(c *cli.Context, args []string, env environment, reports [][]string) (err error) {
	if err := s.read(c, env.getenv, true); err != nil {
		return err
	}
	if err := s.checkFiles(c); err != nil {
		return err
	}
	stdout, stderr := sanitize.NewWriter(c.App.Writer), c.App.ErrWriter
	var tooLarge error
	if free, ok := heap.FreeBytes(); ok {
		tooLarge = s.checkMemory(free)
	}
	if s.dryRun {
		s.printNotes(stderr)
		data, notes := s.dryData(c.Context)
		if s.refused != nil {
			return s.refused
		}
		plan := dryRun{s, s.worldPlan(), nil, nil}
		if data.Sessions != nil {
			plan.Sessions = &drySessions{data.Sessions, notes}
		}
		plan.Forecast = s.forecastLoad().Forecast(data)
		if text := s.unsentRows(data, plan.Forecast); text != "" {
			fmt.Fprintf(stderr, "pa-record: warning: %s\n", text)
		}
		s.warnOfDisk(stderr, plan.Forecast, env.freeSpace, data)
		if tooLarge != nil { // another machine may run the plan
			fmt.Fprintf(stderr, "pa-record: warning: this machine would refuse the run: %v\n", tooLarge)
		}
		if !s.quiet {
			if plan.Sessions != nil {
				fmt.Fprintf(stderr, "pa-record: the input data holds %v\n", plan.Sessions)
				for _, note := range notes {
					fmt.Fprintf(stderr, "pa-record: note: %s\n", note)
				}
			}
			fmt.Fprintf(stderr, "pa-record: forecast: %v\n", plan.Forecast)
		}
		return printJSON(stdout, plan)
	}
	if tooLarge != nil {
		return tooLarge
	}
	if s.world.Several() && s.world.Rank > 0 { // rank 0 speaks for all
		stdout, stderr = sanitize.NewWriter(io.Discard), &rankWriter{stderr, s.world.Rank}
		s.quiet = true
	}
	runs := s.plannedRuns()
	if err := s.makeArtifactDir(); err != nil {
		return err
	}
	if err := checkFiles(runs, s); err != nil {
		return err
	}
	outputs, err := openOutputs(c.Context, s, runs)
	if err != nil {
		return err
	}
	defer outputs.close()
	if err := backend.CheckSources(s.sourceIPs); err != nil {
		return fmt.Errorf("--source-ip: %w; use one that an interface of this machine has", err)
	}
	ctx := c.Context // a signal ends it as long as nothing is sent
	targets, closeTargets, err := openTargets(ctx, s)
	if err != nil {
		return err
	}
	defer closeTargets()
	entries, err := openInputs(c, s, env)
	if err != nil {
		return err
	}
	defer entries.close()
	s.warnOfLimits()
	data := s.dataFacts(entries, entries.textPerToken())
	planned := s.forecastLoad().Forecast(data)
	if text := s.unsentRows(data, planned); text != "" {
		s.warn("%s", text)
	}
	s.notes = append(s.notes, entries.notes...)
	if s.world.Rank > 0 {
		s.notes = nil // rank 0 prints the same
	}
	s.printNotes(stderr)
	s.warnOfDisk(stderr, planned, env.freeSpace, data)
	ranks, leave, err := joinRanks(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = leave(err) }()
	settle(targets, s)
	ctx, stop, interrupted, release := watchSignals(ctx, env.relay, stderr)
	defer release()
	all := &repeatedRun{
		s: s, args: args, env: env, stdout: stdout, stderr: stderr,
		targets: targets, entries: entries, runs: runs, stop: stop, interrupted: interrupted,
		reports: reports, ranks: ranks, outputs: outputs, forecast: planned,
	}
	if s.Calibrate {
		all.calibration, err = calibrateFor(ctx, s, stop, stderr)
		if interrupted.signal() != 0 {
			return interrupted.exitError(errNothingSent)
		}
		if err != nil {
			return err
		}
	}
	err = all.record(ctx)
	if pageErr := errors.Join(all.printReport(ctx), all.page(ctx)); pageErr != nil {
		if interrupted.signal() != 0 {
			return interrupted.exitError(errors.Join(withoutBareCode(err), pageErr))
		}
		err = errors.Join(err, pageErr)
	}
	return err
}

// A dryRun is what --dry-run prints.
type dryRun struct {
	*settings
	World    *worldPlan         `json:"world,omitempty"`    // nil for a process that records alone
	Sessions *drySessions       `json:"sessions,omitempty"` // nil for data without any
	Forecast *forecast.Forecast `json:"forecast"`
}

// A drySessions is what --dry-run prints of sessions.
type drySessions struct {
	*workload.SessionFacts
	Notes []string `json:"notes,omitempty"` // what was left out and assumed
}

// printJSON prints v as indented JSON by [sanitize.JSON].
func printJSON(w io.Writer, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", sanitize.JSON(text))
	return err
}
