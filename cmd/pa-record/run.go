package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pa-tools/pa/cmd/pa-record/progress"
	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/redact"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/forecast"
	"github.com/pa-tools/pa/pkg/recorder/observe"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// run makes the run of index i.
func (r *repeatedRun) run(ctx context.Context, i int) error {
	plan := &r.runs[i]
	target := &r.targets[plan.server]
	recording, err := recordingOf(plan, target.s)
	if err != nil {
		if i > 0 { // since the series began
			err = errors.New(err.Error())
		}
		return err
	}
	x, err := r.prepare(ctx, plan, i == 0 && r.s.WarmupRuns == 0)
	if err != nil {
		return err
	}
	defer x.close()
	if target.s.ownSummary() && r.ranks.first() {
		recording.summary = newSummary(ctx, target.s.unstreamed())
	}
	console, err := r.console(&x.cfg.Run, plan.runIndex)
	if err != nil {
		return err
	}
	recording.warn = func(text string) {
		fmt.Fprintf(r.stderr, "pa-record: warning: %s%s\n", plan.prefix(), text)
	}
	recording.kept, recording.judge, recording.loadEnds = r.env.journal, x.judge, func() { x.loadEnds() }
	if err := recording.open(ctx, &x.cfg.Run); err != nil {
		return err
	}
	r.outputs.opened(plan)
	metrics, stats, err := r.watchers(x)
	if err != nil {
		recording.discard()
		return err
	}
	if metrics != nil {
		x.cfg.Telemetry = console.watching(metrics)
	}
	if stats != nil {
		defer stats.Close()
		x.cfg.ServerStats = stats
	}
	x.cfg.Writer, x.cfg.Ranks, x.cfg.LevelDone = recording, r.ranks.forRun(i), console.level
	res, err := x.sendLoad(ctx)
	if res == nil { // nothing was sent
		recording.discard()
		if r.interrupted.signal() != 0 {
			return r.interrupted.exitError(errNothingSent)
		}
		return err
	}
	return r.finish(ctx, x, console, recording, res, err)
}

// A liveRun is a run that is about to be made, recorded or not, with what it opens for itself.
type liveRun struct {
	*repeatedRun
	plan   *plannedRun
	target *target
	cfg    recorder.Config
	judge  *figure.ObjectiveJudge // decides about the levels; nil without an objective
	// loadEnds tells the garbage collector that the load is over. sendLoad sets it.
	loadEnds func()
}

// prepare opens the clock and the backend of a run, after the requests of --between-levels unless
// the run is the first one. The caller adds where the requests go, and closes the run.
func (r *repeatedRun) prepare(ctx context.Context, plan *plannedRun, first bool) (*liveRun, error) {
	x := &liveRun{repeatedRun: r, plan: plan, target: &r.targets[plan.server]}
	s := x.target.s
	if !first {
		if err := r.betweenLevels(ctx, s); err != nil {
			return nil, err
		}
	}
	x.cfg = r.config(x.target, plan)
	x.cfg.Clock = r.env.newClock()
	var err error
	if x.cfg.Backend, err = newBackend(s, x.target.urls); err != nil {
		return nil, err
	}
	if s.SLO.Objective != nil {
		x.judge = figure.NewObjectiveJudge(s.SLO.Objective, &x.cfg.Run)
		x.cfg.Objective = x.judge.Met
	}
	return x, nil
}

// close closes the backend.
func (x *liveRun) close() {
	if err := x.cfg.Backend.Close(); err != nil {
		fmt.Fprintf(x.stderr, "pa-record: warning: %v\n", err)
	}
}

// sendLoad sends the load and shows its progress. The result is nil if nothing was sent.
func (x *liveRun) sendLoad(ctx context.Context) (*recorder.Result, error) {
	x.announce(x.plan)
	display := x.progress(x.target.s, x.plan.runIndex)
	r := x.repeatedRun
	r.runsLeft--
	display.RunsAfter(forecast.Later(r.forecast.Run.Time, r.took, r.runsLeft))
	x.cfg.Progress = display.Callback()
	x.cfg.Begins = r.begins
	if done := x.cfg.LevelDone; done != nil {
		x.cfg.LevelDone = func(l *recorder.Level) {
			display.Clear()
			done(l)
		}
	}
	x.loadEnds = sync.OnceFunc(x.env.steerHeap())
	began := time.Now()
	res, err := recorder.Run(ctx, x.cfg)
	if !x.plan.warmup {
		r.took = append(r.took, time.Since(began))
	}
	x.positions.ended(x.plan, res)
	x.loadEnds() // also if nothing was recorded
	display.Clear()
	return res, err
}

// begins prints the forecast of all runs before the first of them.
func (r *repeatedRun) begins() {
	if !r.begun && !r.s.quiet {
		fmt.Fprintf(r.stderr, "pa-record: forecast: %v\n", r.forecast)
	}
	r.begun = true
}

// config returns the recorder's configuration for a run, without the parts that each run
// opens for itself.
func (r *repeatedRun) config(target *target, plan *plannedRun) recorder.Config {
	s := target.s
	levels := plan.ordered(s.levels)
	if s.levelPlan != nil {
		levels = nil
	}
	return recorder.Config{
		WaitReady: s.waitReady, Waiting: target.waiting(r.stderr), CheckWarnings: target.checkWarnings(r.stderr),
		Entries: r.entries.Source, Streams: r.entries.streams, Order: s.sendOrder, BatchSize: s.BatchSize,
		Identity: r.entries.identity, ServerDetails: s.askServerTimes,
		First: r.positions.first(plan), Restart: s.restart, Hash: r.positions.hash[plan.server],
		Renew: func(ctx context.Context, level int) (recorder.Renewal, error) {
			return r.entries.renew(ctx, workload.Set{Run: r.setOf(plan.runIndex), Level: level})
		},
		Sequences: s.sequences(r.entries.streams != nil),
		Levels:    levels, Plan: s.levelPlan, StopOnUnstable: s.Measure.stopOnUnstable,
		Between: func(ctx context.Context) error { return r.betweenLevels(ctx, s) },
		Measure: s.Measure.Measure, Warmup: s.Warmup, WarmupTime: time.Duration(s.WarmupDuration),
		OpenPerSecond:  s.openPerSecond(),
		RequestTimeout: s.RequestTimeout.limit(), Grace: s.Grace.limit(), MaxErrorRate: s.MaxErrorRate,
		Starts: s.starts, Marker: s.markerOf(r.setOf(plan.runIndex)), RefillWindow: s.SessionWindow == windowRefill, Judge: s.judge(),
		MaxOverflowRate: s.MaxOverflowRate, ContinueFailed: s.OnSessionFailure == failureContinue,
		Run: r.header(target.s, plan), Stop: r.stop, StopReason: r.interrupted.name,
	}
}

// header returns the description of a run that its exports begin with, as far as it is known before
// the run.
func (r *repeatedRun) header(s *settings, plan *plannedRun) export.Run {
	config, err := json.Marshal(s)
	if err != nil {
		panic(err) // plain data
	}
	kind, endpoint, v := s.ServiceKind, s.Endpoint, version
	var streaming *bool // the recorder looks at the requests, which may say it themselves
	if s.Streaming || kind == kindTriton {
		streaming = &s.Streaming
	}
	header := export.Run{
		Version: &v, ServiceKind: &kind, Endpoint: &endpoint,
		Meta: &export.RunMeta{
			Schema: export.Schema, Tool: "pa-record " + version,
			Args: redact.Args(r.args), Config: config, Models: s.Models, URL: s.URL, URLs: s.URLs, Warnings: slices.Clone(s.warnings), WithoutEffect: s.withoutEffect,
			Protocol: s.Protocol, Streaming: streaming, Seed: s.Seed, Dataset: r.entries.meta, AnalysisHints: s.Hints, Calibration: r.calibration,
			Host: recorder.Host(), Start: export.StartFirstSegment,
		},
	}
	if r.group != "" {
		header.Meta.Repeat = &export.RepeatMeta{Label: plan.Label, Index: plan.number, Of: plan.total, Group: r.group, Order: plan.order}
	}
	return header
}

// setOf returns the number of the made-up entries of a run. Warm-up runs take those after the
// recorded runs, so that recorded runs send the same with and without them.
func (r *repeatedRun) setOf(index runIndex) int {
	if index.warmup {
		return max(r.s.Repeat, 1) + index.number - 1
	}
	return max(index.number-1, 0)
}

// progress returns the display of a run's progress that the settings ask for; nil for none.
func (r *repeatedRun) progress(s *settings, index runIndex) *progress.Display {
	columns := r.env.columns
	switch {
	case s.quiet || s.ui == uiNone:
		return nil
	case s.ui == uiPlain:
		columns = nil
	}
	return progress.New(r.stderr, progress.Run{Prefix: index.prefix(), Short: index.short()}, r.env.getenv, columns)
}

// console returns the console of a run: perf_analyzer's report. For servers whose runs end
// with our own summary it is shown only with -v.
func (r *repeatedRun) console(header *export.Run, index runIndex) (*console, error) {
	title := ""
	if index.total > 0 {
		title = index.title() + "\n\n"
	}
	w := r.stdout
	if r.s.ownSummary() && !r.s.verbose {
		w = io.Discard
	}
	return newConsole(w, title, header, r.s)
}

// watchers returns the collectors of the servers' metrics and statistics, which one rank
// reads for all.
func (r *repeatedRun) watchers(x *liveRun) (*observe.Metrics, *observe.Statistics, error) {
	if !r.ranks.first() {
		return nil, nil, nil
	}
	return watchers(x.target.s, x.target.urls, x.cfg.Backend, x.cfg.Clock)
}

// betweenLevels sends the requests of --between-levels, once for all ranks.
func (r *repeatedRun) betweenLevels(ctx context.Context, s *settings) error {
	if !r.ranks.first() {
		return nil
	}
	return postBetween(ctx, s)
}

// announce prints the number of the run that begins.
func (r *repeatedRun) announce(plan *plannedRun) {
	if r.s.quiet || plan.total == 0 {
		return
	}
	text := fmt.Sprintf("pa-record: %v", plan.runIndex)
	if len(plan.Levels) > 0 {
		text += ": " + strings.Join(plan.Levels, ", ")
	}
	fmt.Fprintln(r.stderr, text)
}

// finish prints the results and notes of a run that sent something. err is the error of
// the run; finish returns the error that the command ends with, with its exit code.
func (r *repeatedRun) finish(ctx context.Context, x *liveRun, console *console, recording *recording, res *recorder.Result, err error) error {
	index := x.plan.runIndex
	if csvErr := r.report(ctx, x.plan, console, res.Levels, recording); err == nil {
		err = csvErr
	}
	for _, w := range res.Warnings {
		fmt.Fprintf(r.stderr, "pa-record: warning: %s%s\n", index.prefix(), w)
	}
	printSubmission(r.stdout, index, res.Submission)
	if err == nil {
		printLevelNotes(r.stderr, index, r.levelSettings(x.judge), res)
	}
	switch {
	case errors.Is(err, errSecondSignal), errors.Is(err, errSecondSignalWriting):
		return r.interrupted.exitError(err)
	case err != nil:
		return explain(err, x.target)
	case r.interrupted.signal() != 0:
		return r.interrupted.exitError(nil)
	}
	return gate(res)
}

// levelSettings returns the settings of the levels, which are the same for each run but for the
// judge.
func (r *repeatedRun) levelSettings(judge *figure.ObjectiveJudge) *levelSettings {
	s := &levelSettings{judge: judge, stopOnUnstable: r.s.Measure.stopOnUnstable, measure: r.s.Measure.Measure, prompts: r.entries.hasPrompts()}
	if r.s.levelPlan == nil {
		s.levels = len(r.s.levels)
	}
	if r.s.AutoSweep {
		s.sweepConcurrency = r.s.sweepConcurrency()
	}
	return s
}

// report prints the results of a run, its problems and the names of its files. It
// returns the error from writing the CSV file of -f.
func (r *repeatedRun) report(ctx context.Context, plan *plannedRun, console *console, measured []recorder.Level, recording *recording) error {
	index := plan.runIndex
	listed, written := plan.listed(measured), recording.Written()
	levels := console.all(listed)
	console.summary(levels)
	r.warned.Reset()
	stderr := io.MultiWriter(r.stderr, &r.warned)
	if recording.summary != nil {
		r.uncounted = r.uncounted || recording.summary.countsResponses()
		recording.summary.print(r.stdout, stderr, index, console.begun && r.s.verbose)
	}
	if console.begun && index.total > 0 {
		fmt.Fprintln(r.stdout)
	}
	printLevelWarnings(stderr, index, listed)
	names := written
	var err error
	if plan.CSV != "" {
		var files []string
		ctx, release := lastWords(ctx)
		defer release()
		files, err = writeCSV(ctx, r.outputs.csv[plan.CSV], plan.CSV, &console.settings, levels)
		names = slices.Concat(names, files)
	}
	if len(names) == 0 {
		return err
	}
	if len(written) > 0 {
		r.done = append(r.done, runResult{index, cmp.Or(firstRegular(written), written[0]), &console.settings, levels})
	}
	if r.s.quiet {
		return err
	}
	r.printFiles(index, names, written)
	return err
}

// printFiles prints the names of the written files, and the command that reads the
// exports among them.
func (r *repeatedRun) printFiles(index runIndex, names, exports []string) {
	list := strings.Join(names, ", ")
	switch {
	case index.total > 0:
		fmt.Fprintf(r.stderr, "pa-record: %v: wrote %s\n", index, list)
	case len(exports) == 0:
		fmt.Fprintf(r.stderr, "pa-record: wrote %s\n", list)
	case r.ranks != nil:
		fmt.Fprintf(r.stderr, "pa-record: note: %s\n", r.ranks.note())
		fmt.Fprintf(r.stderr, "pa-record: wrote %s", list)
		if all := r.s.allRanksPattern(exports[0]); all != "" {
			fmt.Fprintf(r.stderr, "; read the whole run with: %s", r.reportCommand(all))
		}
		fmt.Fprintln(r.stderr)
	default:
		fmt.Fprintf(r.stderr, "pa-record: wrote %s; %s: %s\n", list, r.readIt(), r.reportCommand(exports[0]))
		for _, line := range r.furtherReports(exports) {
			fmt.Fprintf(r.stderr, "pa-record: and for the file that the tool writes: %s\n", line)
		}
	}
}

// gate turns an unstable measurement, and one that does not follow the rules of a scenario, into its exit code.
func gate(res *recorder.Result) error {
	if v := res.Submission; v != nil && !v.Valid {
		return &cmdline.CodeError{Code: cmdline.ExitGate}
	}
	for i := range res.Levels {
		if res.Levels[i].Unstable() {
			return &cmdline.CodeError{Code: cmdline.ExitGate}
		}
	}
	return nil
}

// errNothingSent ends a run that was interrupted before its first request.
var errNothingSent = errors.New("interrupted before the first request")

// warmupRun makes a run that is not recorded. A run in which too many requests fail is a warning,
// because no gate is about it.
func (r *repeatedRun) warmupRun(ctx context.Context, i int, plan *plannedRun) error {
	x, err := r.prepare(ctx, plan, i == 0 && r.warmedUp == 0)
	if err != nil {
		return err
	}
	defer x.close()
	counter := &unrecorded{judge: x.judge}
	x.cfg.Writer, x.cfg.Ranks = counter, r.ranks.forRun(len(r.runs)+r.warmedUp)
	res, err := x.sendLoad(ctx)
	var tooMany *recorder.ErrorRateError
	var tooLong *recorder.OverflowRateError
	switch {
	case r.interrupted.signal() != 0 && err == nil:
		err = errNothingRecorded
	case errors.As(err, &tooMany), errors.As(err, &tooLong):
		fmt.Fprintf(r.stderr, "pa-record: warning: %s%v\n", plan.prefix(), err)
		err = nil
	case err != nil:
		err = explain(err, x.target)
	}
	if !r.s.quiet && res != nil {
		fmt.Fprintf(r.stderr, "pa-record: note: %v: %s, in no export\n", plan.runIndex, plural.GroupedOf(counter.requests, "request"))
	}
	return err
}

// errNothingRecorded ends a warm-up run that was interrupted.
var errNothingRecorded = errors.New("interrupted before the first recorded run")

// unrecorded counts the requests of a run and drops them. It implements export.Writer.
type unrecorded struct {
	judge    *figure.ObjectiveJudge // nil: the run has no objective
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
