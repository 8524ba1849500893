package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pa-tools/pa/cmd/pa-record/internal/between"
	"github.com/pa-tools/pa/cmd/pa-record/internal/inputs"
	"github.com/pa-tools/pa/cmd/pa-record/internal/objective"
	"github.com/pa-tools/pa/cmd/pa-record/internal/progress"
	"github.com/pa-tools/pa/cmd/pa-record/internal/remarks"
	"github.com/pa-tools/pa/cmd/pa-record/internal/runindex"
	"github.com/pa-tools/pa/cmd/pa-record/internal/settings"
	"github.com/pa-tools/pa/cmd/pa-record/internal/signals"
	"github.com/pa-tools/pa/cmd/pa-record/internal/summary"
	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/analyze/dialect/perfanalyzer"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
	"github.com/pa-tools/pa/pkg/recorder/serverstat"
	"github.com/pa-tools/pa/pkg/recorder/telemetry"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// A repeatedRun makes the runs of one command line: one, or with --repeat or labels of
// servers several, one after the other. The runs share the servers, the inputs and the
// calibration. Each run has its own clock, connections, journal and exports, so that it
// equals a run that is made alone.
type repeatedRun struct {
	s              *settings.Settings // of all runs; each target has the settings of its own runs
	args           []string
	env            environment
	stdout, stderr io.Writer

	targets     []target // one, or one for each label
	entries     *inputs.Data
	calibration *export.Calibration // nil: none
	runs        []settings.Run
	stop        <-chan struct{}
	interrupted *signals.Interruption
	outputs     *outputFiles
	ranks       *ranks     // nil: this process records alone
	reports     [][]string // arguments of pa-analyze, to be named at the end

	positions positions // of the runs in the input data
	warmedUp  int       // runs of --warmup-runs so far

	group string      // of the exports; "" for a single run
	done  []runResult // of the runs that wrote something, in their order
	// uncounted says that in a run so far nobody counted the tokens: neither server nor tokenizer.
	uncounted bool
}

// A runResult holds the measured levels of one run.
type runResult struct {
	of       runindex.Index
	export   string // first of its files
	settings *perfanalyzer.Settings
	levels   []perfanalyzer.Level // in the order of the settings
}

// record makes the runs. A run that misses a gate is followed by the next one; a run that
// fails or is interrupted is the last. The error has the exit code of the worst outcome:
// an interruption, then a failure, then a missed gate.
func (m *repeatedRun) record(ctx context.Context) error {
	if len(m.s.Runs) == 0 {
		if err := m.warmUp(ctx, 0); err != nil {
			return err
		}
		return m.run(ctx, 0)
	}
	m.group = newGroup(time.Now())
	if m.ranks != nil {
		m.group = groupOf([]byte(m.ranks.id)) // the same in all ranks
	}
	var worst error
	for i := range m.runs {
		of := m.runs[i].Of
		if err := m.warmUp(ctx, i); err != nil {
			worst = err
			break
		}
		err := m.ended(ctx, m.run(ctx, i))
		if err == nil {
			continue
		}
		worst = err
		if !gateMissed(err) {
			if withoutBareCode(err) != nil {
				worst = fmt.Errorf("%v: %w", of, err)
			}
			break
		}
		if withoutBareCode(err) != nil {
			fmt.Fprintf(m.stderr, "pa-record: %v: %v\n", of, err)
			worst = &cmdline.CodeError{Code: cmdline.ExitGate}
		}
	}
	m.summarize()
	return worst
}

// ended returns the error of one of several runs, which returned err. An interruption
// takes precedence over err.
func (m *repeatedRun) ended(ctx context.Context, err error) error {
	switch {
	case m.interrupted.Signal() != 0:
		return m.interrupted.Error(withoutBareCode(err))
	case err == nil && ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return err
}

// gateMissed reports whether err says no more than that a gate was not met.
func gateMissed(err error) bool {
	var code *cmdline.CodeError
	return errors.As(err, &code) && code.Code == cmdline.ExitGate
}

// withoutBareCode returns err, or nil if err carries only an exit code.
func withoutBareCode(err error) error {
	var code *cmdline.CodeError
	if errors.As(err, &code) && code.Err == nil {
		return nil
	}
	return err
}

// run makes the run of index i.
func (m *repeatedRun) run(ctx context.Context, i int) error {
	plan := &m.runs[i]
	of, at := plan.Of, &m.targets[plan.Server]
	s := at.s
	out, err := recordingOf(plan, s)
	if err != nil {
		if i > 0 { // since the series began
			err = errors.New(err.Error())
		}
		return err
	}
	if i > 0 || s.WarmupRuns > 0 {
		if err := m.betweenLevels(ctx, s); err != nil {
			return err
		}
	}
	clock := m.env.clock()
	b, err := newBackend(s, at.urls)
	if err != nil {
		return err
	}
	defer func() {
		if err := b.Close(); err != nil {
			fmt.Fprintf(m.stderr, "pa-record: warning: %v\n", err)
		}
	}()
	header := m.header(at, plan)
	if s.OwnSummary() && m.ranks.first() {
		out.summary = summary.New(ctx, s.Unstreamed())
	}
	con, err := m.console(&header, of)
	if err != nil {
		return err
	}
	out.warn = func(text string) { fmt.Fprintf(m.stderr, "pa-record: warning: %s%s\n", of.Prefix(), text) }
	out.kept = m.env.journal
	if err := out.open(ctx, &header); err != nil {
		return err
	}
	m.outputs.opened(plan)
	watch, stats, err := m.watchers(at, b, clock)
	if err != nil {
		out.discard()
		return err
	}
	m.announce(plan)
	line := m.progress(s, of)
	cfg := m.config(at, plan, header, out)
	cfg.Ranks = m.ranks.of(i)
	if s.Objective != nil {
		out.judge = objective.New(s.Objective, &cfg.Run)
		cfg.Objective = out.judge.Met
	}
	cfg.Backend, cfg.Clock, cfg.Progress = b, clock, line.Callback()
	cfg.LevelDone = func(l *recorder.Level) {
		line.Clear()
		con.level(l)
	}
	if watch != nil {
		cfg.Telemetry = con.watching(watch)
	}
	if stats != nil {
		defer stats.Close()
		cfg.ServerStats = stats
	}
	out.loadEnds = func() {}
	if m.env.steerHeap != nil {
		out.loadEnds = sync.OnceFunc(m.env.steerHeap())
	}
	res, err := recorder.Run(ctx, cfg)
	m.positions.ended(plan, res)
	out.loadEnds() // also if nothing was recorded
	line.Clear()
	if res == nil { // nothing was sent
		out.discard()
		if m.interrupted.Signal() != 0 {
			return m.interrupted.Error(errNothingSent)
		}
		return err
	}
	return m.finish(ctx, at, plan, con, out, res, err)
}

// header returns the description of a run that its exports begin with.
func (m *repeatedRun) header(at *target, plan *settings.Run) export.Run {
	header := exportHeader(at.s, m.args, m.entries.Meta)
	header.Meta.Calibration = m.calibration
	if m.group != "" {
		of := plan.Of
		header.Meta.Repeat = &export.RepeatMeta{Label: of.Label, Index: of.Index, Of: of.Of, Group: m.group, Order: plan.Order}
	}
	return header
}

// progress returns the display of a run's progress that the settings ask for; nil for none.
func (m *repeatedRun) progress(s *settings.Settings, of runindex.Index) *progress.Display {
	switch {
	case s.Quiet || s.UI == settings.UINone:
		return nil
	case s.UI == settings.UIPlain:
		return progress.New(m.stderr, of, m.env.getenv, nil)
	}
	return progress.New(m.stderr, of, m.env.getenv, m.env.columns)
}

// console returns the console of a run: perf_analyzer's report. For servers whose runs end
// with our own summary it is shown only with -v.
func (m *repeatedRun) console(header *export.Run, of runindex.Index) (*console, error) {
	title := ""
	if of.Of > 0 {
		title = of.Title() + "\n\n"
	}
	w := m.stdout
	if m.s.OwnSummary() && !m.s.Verbose {
		w = io.Discard
	}
	return newConsole(w, title, header, m.s)
}

// config returns the recorder's configuration for a run, without the parts that each run
// opens for itself.
func (m *repeatedRun) config(at *target, plan *settings.Run, header export.Run, out export.Writer) recorder.Config {
	s := at.s
	levels := plan.Ordered(s.Levels)
	if s.LevelPlan != nil {
		levels = nil
	}
	return recorder.Config{
		WaitReady: s.WaitReady, Waiting: at.waiting(m.stderr), CheckWarnings: at.checkWarnings(m.stderr),
		Entries: m.entries.Source, Streams: m.entries.Streams, Order: s.SendOrder, BatchSize: s.BatchSize,
		First: m.positions.first(plan), Restart: s.Restart, Hash: m.positions.hash[plan.Server],
		Renew: func(ctx context.Context, level int) (recorder.Renewal, error) {
			return m.entries.Renew(ctx, workload.Set{Run: m.setOf(plan.Of), Level: level})
		},
		Sequences: s.Sequences(m.entries.Streams != nil),
		Levels:    levels, Plan: s.LevelPlan, StopOnUnstable: s.Measure.StopOnUnstable,
		Between: func(ctx context.Context) error { return m.betweenLevels(ctx, s) },
		Measure: s.Measurement, Warmup: s.Warmup, WarmupTime: s.WarmupDuration,
		OpenPerSecond:  s.OpenPerSecond(),
		RequestTimeout: orNone(s.RequestTimeout), Grace: orNone(s.Grace), MaxErrorRate: s.MaxErrorRate,
		Writer: out, Run: header,
		Stop: m.stop, StopReason: m.interrupted.Name,
	}
}

// setOf returns the number of the made-up entries of a run. Warm-up runs take those after the
// recorded runs, so that recorded runs send the same with and without them.
func (m *repeatedRun) setOf(of runindex.Index) int {
	if of.Warmup {
		return max(m.s.Repeat, 1) + of.Index - 1
	}
	return max(of.Index-1, 0)
}

// finish prints the results and notes of a run that sent something. err is the error of
// the run; finish returns the error that the command ends with, with its exit code.
func (m *repeatedRun) finish(ctx context.Context, at *target, plan *settings.Run, con *console, out *recording, res *recorder.Result, err error) error {
	of := plan.Of
	if csvErr := m.report(ctx, plan, con, res.Levels, out); err == nil {
		err = csvErr
	}
	for _, w := range res.Warnings {
		fmt.Fprintf(m.stderr, "pa-record: warning: %s%s\n", of.Prefix(), w)
	}
	if err == nil {
		remarks.PrintNotes(m.stderr, of, m.levelSettings(out.judge), res)
	}
	switch {
	case errors.Is(err, signals.ErrSecond), errors.Is(err, signals.ErrSecondWriting):
		return m.interrupted.Error(err)
	case err != nil:
		return explain(err, at.s, at.ifRefused)
	case m.interrupted.Signal() != 0:
		return m.interrupted.Error(nil)
	}
	return gate(res)
}

// levelSettings returns the settings of the levels, which are the same for each run but for the
// judge.
func (m *repeatedRun) levelSettings(judge *objective.Judge) *remarks.LevelSettings {
	s := &remarks.LevelSettings{Judge: judge, StopOnUnstable: m.s.Measure.StopOnUnstable, Measure: m.s.Measurement, Prompts: m.entries.HasPrompts()}
	if m.s.LevelPlan == nil {
		s.Levels = len(m.s.Levels)
	}
	if m.s.AutoSweep {
		s.SweepConcurrency = m.s.SweepConcurrency()
	}
	return s
}

// announce prints the number of the run that begins.
func (m *repeatedRun) announce(plan *settings.Run) {
	if m.s.Quiet || plan.Of.Of == 0 {
		return
	}
	text := fmt.Sprintf("pa-record: %v", plan.Of)
	if len(plan.Levels) > 0 {
		text += ": " + strings.Join(plan.Levels, ", ")
	}
	fmt.Fprintln(m.stderr, text)
}

// report prints the results of a run, its problems and the names of its files. It
// returns the error from writing the CSV file of -f.
func (m *repeatedRun) report(ctx context.Context, plan *settings.Run, con *console, measured []recorder.Level, out *recording) error {
	of := plan.Of
	listed, written := plan.Listed(measured), out.Written()
	levels := con.all(listed)
	con.summary(levels)
	if out.summary != nil {
		m.uncounted = m.uncounted || out.summary.CountsResponses()
		out.summary.Print(m.stdout, m.stderr, of, con.begun && m.s.Verbose)
	}
	if con.begun && of.Of > 0 {
		fmt.Fprintln(m.stdout)
	}
	remarks.PrintWarnings(m.stderr, of, listed)
	names := written
	var err error
	if plan.CSV != "" {
		var files []string
		ctx, release := signals.LastWords(ctx)
		defer release()
		files, err = writeCSV(ctx, m.outputs.csv[plan.CSV], plan.CSV, &con.settings, levels)
		names = slices.Concat(names, files)
	}
	if len(names) == 0 {
		return err
	}
	if len(written) > 0 {
		m.done = append(m.done, runResult{of, cmp.Or(firstRegular(written), written[0]), &con.settings, levels})
	}
	if m.s.Quiet {
		return err
	}
	m.printFiles(of, names, written)
	return err
}

// printFiles prints the names of the written files, and the command that reads the
// exports among them.
func (m *repeatedRun) printFiles(of runindex.Index, names, exports []string) {
	list := strings.Join(names, ", ")
	switch {
	case of.Of > 0:
		fmt.Fprintf(m.stderr, "pa-record: %v: wrote %s\n", of, list)
	case len(exports) == 0:
		fmt.Fprintf(m.stderr, "pa-record: wrote %s\n", list)
	case m.ranks != nil:
		fmt.Fprintf(m.stderr, "pa-record: note: %s\n", m.ranks.note())
		fmt.Fprintf(m.stderr, "pa-record: wrote %s", list)
		if all := m.s.AllRanksPattern(exports[0]); all != "" {
			fmt.Fprintf(m.stderr, "; read the whole run with: %s", m.reportCommand(all))
		}
		fmt.Fprintln(m.stderr)
	default:
		fmt.Fprintf(m.stderr, "pa-record: wrote %s; %s: %s\n", list, m.readIt(), m.reportCommand(exports[0]))
		for _, line := range m.furtherReports(exports) {
			fmt.Fprintf(m.stderr, "pa-record: and for the file that the tool writes: %s\n", line)
		}
	}
}

// summarize prints the levels of all runs, and the commands that read the exports.
func (m *repeatedRun) summarize() {
	if len(m.done) > 1 && (m.s.Verbose || !m.s.OwnSummary()) {
		printRuns(m.stdout, m.done)
	}
	if m.s.Quiet || len(m.done) == 0 {
		return
	}
	if len(m.targets) > 1 {
		m.nameComparisons()
		return
	}
	if pattern := m.s.FilePattern(""); pattern != "" {
		fmt.Fprintf(m.stderr, "pa-record: %d of %d runs recorded; read them with: %s\n", len(m.done), len(m.runs), m.reportCommand(pattern))
		fmt.Fprintf(m.stderr, "pa-record: to compare them with another series: %s\n", m.comparison("old", "OTHER.*.json", "new", pattern))
	}
}

// nameComparisons prints the commands that compare the first server with every later
// one. Servers without an export are left out.
func (m *repeatedRun) nameComparisons() {
	var labels, patterns []string
	for i := range m.targets {
		label := m.targets[i].s.Label
		recorded := func(r runResult) bool { return r.of.Label == label }
		if pattern := m.s.FilePattern(label); pattern != "" && slices.ContainsFunc(m.done, recorded) {
			labels, patterns = append(labels, label), append(patterns, pattern)
		}
	}
	if len(patterns) == 0 {
		return
	}
	count := fmt.Sprintf("pa-record: %d of %d runs recorded", len(m.done), len(m.runs))
	if len(patterns) == 1 {
		fmt.Fprintf(m.stderr, "%s; read them with: %s\n", count, m.reportCommand(patterns[0]))
		return
	}
	for i, other := range patterns[1:] {
		how := count + "; compare them with"
		if i > 0 {
			how = "pa-record: and"
		}
		fmt.Fprintf(m.stderr, "%s: %s\n", how, m.comparison(labels[0], patterns[0], labels[i+1], other))
	}
}

// newGroup returns a name for the exports of a series that begins now: a hash of
// the host, the process and the time.
func newGroup(now time.Time) string {
	host, _ := os.Hostname()
	return groupOf(fmt.Appendf(nil, "%s\x00%d\x00%d", host, os.Getpid(), now.UnixNano()))
}

// groupOf returns the name of a series from what distinguishes it.
func groupOf(what []byte) string {
	sum := sha256.Sum256(what)
	return hex.EncodeToString(sum[:8])
}

// betweenLevels sends the requests of --between-levels, once for all ranks.
func (m *repeatedRun) betweenLevels(ctx context.Context, s *settings.Settings) error {
	if !m.ranks.first() {
		return nil
	}
	return between.Post(ctx, s)
}

// watchers returns the collectors of the servers' metrics and statistics, which one rank
// reads for all.
func (m *repeatedRun) watchers(at *target, b backend.Backend, clock *rxclock.Clock) (*telemetry.Collector, *serverstat.Collector, error) {
	if !m.ranks.first() {
		return nil, nil, nil
	}
	return watchers(at.s, at.urls, b, clock)
}
