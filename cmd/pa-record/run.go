package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/redact"
	"github.com/pa-tools/pa/pkg/analyze/dialect/perfanalyzer"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
	"github.com/pa-tools/pa/pkg/recorder/serverstat"
	"github.com/pa-tools/pa/pkg/recorder/telemetry"
	"github.com/pa-tools/pa/pkg/recorder/workload"
	"github.com/pa-tools/pa/pkg/wire/openai"
)

// A repeatedRun makes the runs of one command line: one, or with --repeat or labels of
// servers several, one after the other. The runs share the servers, the inputs and the
// calibration. Each run has its own clock, connections, journal and exports, so that it
// equals a run that is made alone.
type repeatedRun struct {
	s              *settings // of all runs; each target has the settings of its own runs
	args           []string
	env            environment
	stdout, stderr io.Writer

	targets     []target // one, or one for each label
	entries     *inputData
	calibration *export.Calibration // nil: none
	runs        []plannedRun
	stop        <-chan struct{}
	interrupted *interruption
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
	of       runIndex
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
		of := m.runs[i].index
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
	case m.interrupted.signal() != 0:
		return m.interrupted.exitError(withoutBareCode(err))
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
	of, at := plan.index, &m.targets[plan.server]
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
	b, err := newBackend(s, at.urls, clock)
	if err != nil {
		return err
	}
	defer func() {
		if err := b.Close(); err != nil {
			fmt.Fprintf(m.stderr, "pa-record: warning: %v\n", err)
		}
	}()
	header := m.header(at, plan)
	if s.ownSummary() && m.ranks.first() {
		out.summary = newSummary(ctx, s.unstreamed())
	}
	con, err := m.console(&header, of)
	if err != nil {
		return err
	}
	out.warn = func(text string) { fmt.Fprintf(m.stderr, "pa-record: warning: %s%s\n", of.prefix(), text) }
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
	if s.SLO.Expr != nil {
		out.judge = newJudge(s.SLO.Expr, &cfg.Run)
		cfg.Objective = out.judge.met
	}
	cfg.Backend, cfg.Clock, cfg.Progress = b, clock, line.callback()
	cfg.LevelDone = func(l *recorder.Level) {
		line.clear()
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
	line.clear()
	if res == nil { // nothing was sent
		out.discard()
		if m.interrupted.signal() != 0 {
			return m.interrupted.exitError(errNothingSent)
		}
		return err
	}
	return m.finish(ctx, at, plan, con, out, res, err)
}

// header returns the description of a run that its exports begin with.
func (m *repeatedRun) header(at *target, plan *plannedRun) export.Run {
	header := exportHeader(at.s, m.args, m.entries.meta)
	header.Meta.Calibration = m.calibration
	if m.group != "" {
		of := plan.index
		header.Meta.Repeat = &export.RepeatMeta{Label: of.label, Index: of.number, Of: of.total, Group: m.group, Order: plan.order}
	}
	return header
}

// progress returns the display of a run's progress that the settings ask for; nil for none.
func (m *repeatedRun) progress(s *settings, of runIndex) *progressDisplay {
	switch {
	case s.quiet || s.ui == uiNone:
		return nil
	case s.ui == uiPlain:
		return newDisplay(m.stderr, of, m.env.getenv, nil)
	}
	return newDisplay(m.stderr, of, m.env.getenv, m.env.columns)
}

// console returns the console of a run: perf_analyzer's report. For servers whose runs end
// with our own summary it is shown only with -v.
func (m *repeatedRun) console(header *export.Run, of runIndex) (*console, error) {
	title := ""
	if of.total > 0 {
		title = of.title() + "\n\n"
	}
	w := m.stdout
	if m.s.ownSummary() && !m.s.verbose {
		w = io.Discard
	}
	return newConsole(w, title, header, m.s)
}

// config returns the recorder's configuration for a run, without the parts that each run
// opens for itself.
func (m *repeatedRun) config(at *target, plan *plannedRun, header export.Run, out export.Writer) recorder.Config {
	s := at.s
	levels := plan.ordered(s.levels)
	if s.levelPlan != nil {
		levels = nil
	}
	return recorder.Config{
		WaitReady: s.waitReady, Waiting: at.waiting(m.stderr), CheckWarnings: at.checkWarnings(m.stderr),
		Entries: m.entries.Source, Streams: m.entries.streams, Order: s.sendOrder, BatchSize: s.BatchSize,
		First: m.positions.first(plan), Restart: s.restart, Hash: m.positions.hash[plan.server],
		Renew: func(ctx context.Context, level int) (recorder.Renewal, error) {
			return m.entries.renew(ctx, workload.Set{Run: m.setOf(plan.index), Level: level})
		},
		Sequences: s.sequences(m.entries.streams != nil),
		Levels:    levels, Plan: s.levelPlan, StopOnUnstable: s.Measure.stopOnUnstable,
		Between: func(ctx context.Context) error { return m.betweenLevels(ctx, s) },
		Measure: s.Measure.Measure, Warmup: s.Warmup, WarmupTime: time.Duration(s.WarmupDuration),
		OpenPerSecond:  s.openPerSecond(),
		RequestTimeout: s.RequestTimeout.limit(), Grace: s.Grace.limit(), MaxErrorRate: s.MaxErrorRate,
		Writer: out, Run: header,
		Stop: m.stop, StopReason: m.interrupted.name,
	}
}

// setOf returns the number of the made-up entries of a run. Warm-up runs take those after the
// recorded runs, so that recorded runs send the same with and without them.
func (m *repeatedRun) setOf(of runIndex) int {
	if of.warmup {
		return max(m.s.Repeat, 1) + of.number - 1
	}
	return max(of.number-1, 0)
}

// finish prints the results and notes of a run that sent something. err is the error of
// the run; finish returns the error that the command ends with, with its exit code.
func (m *repeatedRun) finish(ctx context.Context, at *target, plan *plannedRun, con *console, out *recording, res *recorder.Result, err error) error {
	of := plan.index
	if csvErr := m.report(ctx, plan, con, res.Levels, out); err == nil {
		err = csvErr
	}
	for _, w := range res.Warnings {
		fmt.Fprintf(m.stderr, "pa-record: warning: %s%s\n", of.prefix(), w)
	}
	if err == nil {
		printLevelNotes(m.stderr, of, m.levelSettings(out.judge), res)
	}
	switch {
	case errors.Is(err, errSecondSignal), errors.Is(err, errSecondSignalWriting):
		return m.interrupted.exitError(err)
	case err != nil:
		return explain(err, at.s, at.ifRefused)
	case m.interrupted.signal() != 0:
		return m.interrupted.exitError(nil)
	}
	return gate(res)
}

// levelSettings returns the settings of the levels, which are the same for each run but for the
// judge.
func (m *repeatedRun) levelSettings(judge *objectiveJudge) *levelSettings {
	s := &levelSettings{judge: judge, stopOnUnstable: m.s.Measure.stopOnUnstable, measure: m.s.Measure.Measure, prompts: m.entries.hasPrompts()}
	if m.s.levelPlan == nil {
		s.levels = len(m.s.levels)
	}
	if m.s.AutoSweep {
		s.sweepConcurrency = m.s.sweepConcurrency()
	}
	return s
}

// announce prints the number of the run that begins.
func (m *repeatedRun) announce(plan *plannedRun) {
	if m.s.quiet || plan.index.total == 0 {
		return
	}
	text := fmt.Sprintf("pa-record: %v", plan.index)
	if len(plan.Levels) > 0 {
		text += ": " + strings.Join(plan.Levels, ", ")
	}
	fmt.Fprintln(m.stderr, text)
}

// report prints the results of a run, its problems and the names of its files. It
// returns the error from writing the CSV file of -f.
func (m *repeatedRun) report(ctx context.Context, plan *plannedRun, con *console, measured []recorder.Level, out *recording) error {
	of := plan.index
	listed, written := plan.listed(measured), out.Written()
	levels := con.all(listed)
	con.summary(levels)
	if out.summary != nil {
		m.uncounted = m.uncounted || out.summary.countsResponses()
		out.summary.print(m.stdout, m.stderr, of, con.begun && m.s.verbose)
	}
	if con.begun && of.total > 0 {
		fmt.Fprintln(m.stdout)
	}
	printLevelWarnings(m.stderr, of, listed)
	names := written
	var err error
	if plan.CSV != "" {
		var files []string
		ctx, release := lastWords(ctx)
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
	if m.s.quiet {
		return err
	}
	m.printFiles(of, names, written)
	return err
}

// printFiles prints the names of the written files, and the command that reads the
// exports among them.
func (m *repeatedRun) printFiles(of runIndex, names, exports []string) {
	list := strings.Join(names, ", ")
	switch {
	case of.total > 0:
		fmt.Fprintf(m.stderr, "pa-record: %v: wrote %s\n", of, list)
	case len(exports) == 0:
		fmt.Fprintf(m.stderr, "pa-record: wrote %s\n", list)
	case m.ranks != nil:
		fmt.Fprintf(m.stderr, "pa-record: note: %s\n", m.ranks.note())
		fmt.Fprintf(m.stderr, "pa-record: wrote %s", list)
		if all := m.s.allRanksPattern(exports[0]); all != "" {
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
	if len(m.done) > 1 && (m.s.verbose || !m.s.ownSummary()) {
		printRuns(m.stdout, m.done)
	}
	if m.s.quiet || len(m.done) == 0 {
		return
	}
	if len(m.targets) > 1 {
		m.nameComparisons()
		return
	}
	if pattern := m.s.filePattern(""); pattern != "" {
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
		recorded := func(r runResult) bool { return r.of.label == label }
		if pattern := m.s.filePattern(label); pattern != "" && slices.ContainsFunc(m.done, recorded) {
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
func (m *repeatedRun) betweenLevels(ctx context.Context, s *settings) error {
	if !m.ranks.first() {
		return nil
	}
	return postBetween(ctx, s)
}

// watchers returns the collectors of the servers' metrics and statistics, which one rank
// reads for all.
func (m *repeatedRun) watchers(at *target, b backend.Backend, clock *rxclock.Clock) (*telemetry.Collector, *serverstat.Collector, error) {
	if !m.ranks.first() {
		return nil, nil, nil
	}
	return watchers(at.s, at.urls, b, clock)
}

// warmUp makes the runs of --warmup-runs that come before run i. The error is not nil if the series
// ends with one of them.
func (m *repeatedRun) warmUp(ctx context.Context, i int) error {
	for _, plan := range m.s.warmupsBefore(i) {
		err := m.ended(ctx, m.warmupRun(ctx, i, &plan))
		switch {
		case err == nil:
		case withoutBareCode(err) == nil:
			return err
		default:
			return fmt.Errorf("%v: %w", plan.index, err)
		}
		m.warmedUp++
	}
	return nil
}

// warmupRun makes a run that is not recorded. A run in which too many requests fail is a warning,
// because no gate is about it.
func (m *repeatedRun) warmupRun(ctx context.Context, i int, plan *plannedRun) error {
	of, at := plan.index, &m.targets[plan.server]
	s := at.s
	if i > 0 || m.warmedUp > 0 {
		if err := m.betweenLevels(ctx, s); err != nil {
			return err
		}
	}
	clock := m.env.clock()
	b, err := newBackend(s, at.urls, clock)
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
	if s.SLO.Expr != nil {
		out.judge = newJudge(s.SLO.Expr, &cfg.Run)
		cfg.Objective = out.judge.met
	}
	cfg.Backend, cfg.Clock, cfg.Progress = b, clock, line.callback()
	if m.env.steerHeap != nil {
		defer m.env.steerHeap()()
	}
	res, err := recorder.Run(ctx, cfg)
	m.positions.ended(plan, res)
	line.clear()
	var tooMany *recorder.ErrorRateError
	switch {
	case m.interrupted.signal() != 0 && err == nil:
		err = errNothingRecorded
	case errors.As(err, &tooMany):
		fmt.Fprintf(m.stderr, "pa-record: warning: %s%v\n", of.prefix(), err)
		err = nil
	case err != nil:
		err = explain(err, s, at.ifRefused)
	}
	if !m.s.quiet && res != nil {
		fmt.Fprintf(m.stderr, "pa-record: note: %v: %s, in no export\n", of, plural.GroupedOf(out.requests, "request"))
	}
	return err
}

// errNothingRecorded ends a warm-up run that was interrupted.
var errNothingRecorded = errors.New("interrupted before the first recorded run")

// unrecorded counts the requests of a run and drops them. It implements export.Writer.
type unrecorded struct {
	judge    *objectiveJudge // nil: the run has no objective
	requests int
}

// BeginExperiment implements export.Writer.
func (u *unrecorded) BeginExperiment(string, string) error { return nil }

// WriteRequest implements export.Writer.
func (u *unrecorded) WriteRequest(q *export.Request) error {
	u.requests++
	u.judge.add(q)
	return nil
}

// EndExperiment implements export.Writer.
func (u *unrecorded) EndExperiment(*export.Experiment) error { return nil }

// WriteScrape implements export.Writer.
func (u *unrecorded) WriteScrape(*export.Scrape) error { return nil }

// Close implements export.Writer.
func (u *unrecorded) Close(*export.Run) error { return nil }

// positions says where in the input data the runs of a command line begin. The runs of one
// repetition begin alike whatever their server, so that a comparison has pairs, unless
// that server has had the requests already. The zero value is ready to use.
type positions struct {
	begins map[int]int               // by repetition, from 1; warm-up runs have negative ones
	next   map[int]int               // after the last run of a server, by server
	hash   map[int]recorder.DataHash // of the first run of a server
}

// first returns where a run begins.
func (p *positions) first(run *plannedRun) int {
	if p.begins == nil {
		p.begins, p.next, p.hash = map[int]int{}, map[int]int{}, map[int]recorder.DataHash{}
	}
	repetition := run.index.number
	if run.index.warmup { // Index counts warm-up runs by themselves
		repetition = -repetition
	}
	begin, known := p.begins[repetition]
	if !known {
		for _, next := range p.next {
			begin = max(begin, next)
		}
		p.begins[repetition] = begin
	}
	return max(begin, p.next[run.server])
}

// ended notes where a run has ended; res is nil if it sent nothing.
func (p *positions) ended(run *plannedRun, res *recorder.Result) {
	if res == nil {
		return
	}
	p.next[run.server] = res.Next
	if run.index.warmup { // its data is not what the exports describe
		return
	}
	if _, known := p.hash[run.server]; !known {
		p.hash[run.server] = res.Hash
	}
}

// betweenTimeout bounds the time of all requests between two levels.
const betweenTimeout = time.Minute

// postBetween posts to the URLs of --between-levels, to flush the servers' caches, say. The
// configured headers, which may hold keys, go only to the servers under test.
func postBetween(ctx context.Context, s *settings) error {
	ctx, cancel := context.WithTimeout(ctx, betweenTimeout)
	defer cancel()
	for _, u := range s.BetweenLevels {
		if err := postOnce(ctx, s, u.URL); err != nil {
			return fmt.Errorf("--between-levels %s: %w", u.shown, err)
		}
	}
	return nil
}

// postOnce sends one request of --between-levels.
func postOnce(ctx context.Context, s *settings, u *url.URL) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), http.NoBody)
	if err != nil {
		return errors.New("it cannot be asked") // the text may have a password
	}
	var secrets redact.Secrets
	secrets.AddQuery(u.RawQuery)
	if password, ok := u.User.Password(); ok {
		req.SetBasicAuth(u.User.Username(), password)
		secrets.AddHeader("Authorization", req.Header.Get("Authorization"))
	}
	for _, server := range s.allURLs() {
		if !strings.EqualFold(addressOf(server), u.Host) {
			continue
		}
		for _, h := range s.Headers {
			req.Header.Add(h.name, h.value)
			secrets.AddHeader(h.name, h.value)
		}
		break
	}
	transport := &http.Transport{TLSClientConfig: s.tlsFor(u.Hostname()), DisableKeepAlives: true}
	if s.proxy != nil {
		transport.Proxy = func(r *http.Request) (*url.URL, error) { return s.proxy(r.URL) }
	}
	resp, err := transport.RoundTrip(req) // no redirects: they would take the key along
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	const most = 4 << 10
	body, err := io.ReadAll(io.LimitReader(resp.Body, most))
	switch {
	case err != nil:
		return err
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return errors.New(strings.TrimSuffix(resp.Status+": "+secrets.Text(openai.OneLine(body)), ": "))
	}
	return nil
}
