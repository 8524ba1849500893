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
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
	"github.com/pa-tools/pa/pkg/recorder/serverstat"
	"github.com/pa-tools/pa/pkg/recorder/telemetry"
	"github.com/pa-tools/pa/pkg/recorder/workload"
	"github.com/pa-tools/pa/pkg/tool/perfanalyzer"
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
	index    runIndex
	export   string // first of its files
	settings *perfanalyzer.Settings
	levels   []perfanalyzer.Level // in the order of the settings
}

// record makes the runs. A run that misses a gate is followed by the next one; a run that
// fails or is interrupted is the last. The error has the exit code of the worst outcome:
// an interruption, then a failure, then a missed gate.
func (r *repeatedRun) record(ctx context.Context) error {
	if len(r.s.Runs) == 0 {
		if err := r.warmUp(ctx, 0); err != nil {
			return err
		}
		return r.run(ctx, 0)
	}
	r.group = newGroup(time.Now())
	if r.ranks != nil {
		r.group = groupOf([]byte(r.ranks.id)) // the same in all ranks
	}
	var worst error
	for i := range r.runs {
		index := r.runs[i].runIndex
		if err := r.warmUp(ctx, i); err != nil {
			worst = err
			break
		}
		err := r.ended(ctx, r.run(ctx, i))
		if err == nil {
			continue
		}
		worst = err
		if !gateMissed(err) {
			if withoutBareCode(err) != nil {
				worst = fmt.Errorf("%v: %w", index, err)
			}
			break
		}
		if withoutBareCode(err) != nil {
			fmt.Fprintf(r.stderr, "pa-record: %v: %v\n", index, err)
			worst = &cmdline.CodeError{Code: cmdline.ExitGate}
		}
	}
	r.summarize()
	return worst
}

// ended returns the error of one of several runs, which returned err. An interruption
// takes precedence over err.
func (r *repeatedRun) ended(ctx context.Context, err error) error {
	switch {
	case r.interrupted.signal() != 0:
		return r.interrupted.exitError(withoutBareCode(err))
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
	if i > 0 || r.s.WarmupRuns > 0 {
		if err := r.betweenLevels(ctx, target.s); err != nil {
			return err
		}
	}
	clock, b, closeBackend, err := r.open(target)
	if err != nil {
		return err
	}
	defer closeBackend()
	header := r.header(target, plan)
	if target.s.ownSummary() && r.ranks.first() {
		recording.summary = newSummary(ctx, target.s.unstreamed())
	}
	console, err := r.console(&header, plan.runIndex)
	if err != nil {
		return err
	}
	recording.warn = func(text string) {
		fmt.Fprintf(r.stderr, "pa-record: warning: %s%s\n", plan.prefix(), text)
	}
	recording.kept = r.env.journal
	if err := recording.open(ctx, &header); err != nil {
		return err
	}
	r.outputs.opened(plan)
	metrics, stats, err := r.watchers(target, b, clock)
	if err != nil {
		recording.discard()
		return err
	}
	r.announce(plan)
	display := r.progress(target.s, plan.runIndex)
	cfg := r.config(target, plan, header, recording)
	cfg.Ranks = r.ranks.of(i)
	cfg.Backend, cfg.Clock, cfg.Progress = b, clock, display.callback()
	recording.judge = judgeFor(target.s, &cfg)
	cfg.LevelDone = func(l *recorder.Level) {
		display.clear()
		console.level(l)
	}
	if metrics != nil {
		cfg.Telemetry = console.watching(metrics)
	}
	if stats != nil {
		defer stats.Close()
		cfg.ServerStats = stats
	}
	recording.loadEnds = sync.OnceFunc(r.env.steerHeap())
	res, err := recorder.Run(ctx, cfg)
	r.positions.ended(plan, res)
	recording.loadEnds() // also if nothing was recorded
	display.clear()
	if res == nil { // nothing was sent
		recording.discard()
		if r.interrupted.signal() != 0 {
			return r.interrupted.exitError(errNothingSent)
		}
		return err
	}
	return r.finish(ctx, target, plan, console, recording, res, err)
}

// open makes the clock of a run, and the backend that sends its requests.
func (r *repeatedRun) open(target *target) (clock *rxclock.Clock, b backend.Backend, closeBackend func(), err error) {
	clock = r.env.newClock()
	b, err = newBackend(target.s, target.urls)
	return clock, b, func() {
		if err := b.Close(); err != nil {
			fmt.Fprintf(r.stderr, "pa-record: warning: %v\n", err)
		}
	}, err
}

// judgeFor lets the judge of the settings' objective decide about the levels of a run; nil if
// there is no objective.
func judgeFor(s *settings, cfg *recorder.Config) *objectiveJudge {
	if s.SLO.Objective == nil {
		return nil
	}
	judge := newJudge(s.SLO.Objective, &cfg.Run)
	cfg.Objective = judge.met
	return judge
}

// header returns the description of a run that its exports begin with.
func (r *repeatedRun) header(target *target, plan *plannedRun) export.Run {
	header := exportHeader(target.s, r.args, r.entries.meta)
	header.Meta.Calibration = r.calibration
	if r.group != "" {
		header.Meta.Repeat = &export.RepeatMeta{Label: plan.Label, Index: plan.number, Of: plan.total, Group: r.group, Order: plan.order}
	}
	return header
}

// progress returns the display of a run's progress that the settings ask for; nil for none.
func (r *repeatedRun) progress(s *settings, index runIndex) *progressDisplay {
	switch {
	case s.quiet || s.ui == uiNone:
		return nil
	case s.ui == uiPlain:
		return newDisplay(r.stderr, index, r.env.getenv, nil)
	}
	return newDisplay(r.stderr, index, r.env.getenv, r.env.columns)
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

// config returns the recorder's configuration for a run, without the parts that each run
// opens for itself.
func (r *repeatedRun) config(target *target, plan *plannedRun, header export.Run, out export.Writer) recorder.Config {
	s := target.s
	levels := plan.ordered(s.levels)
	if s.levelPlan != nil {
		levels = nil
	}
	return recorder.Config{
		WaitReady: s.waitReady, Waiting: target.waiting(r.stderr), CheckWarnings: target.checkWarnings(r.stderr),
		Entries: r.entries.Source, Streams: r.entries.streams, Order: s.sendOrder, BatchSize: s.BatchSize,
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
		Writer: out, Run: header,
		Stop: r.stop, StopReason: r.interrupted.name,
	}
}

// setOf returns the number of the made-up entries of a run. Warm-up runs take those after the
// recorded runs, so that recorded runs send the same with and without them.
func (r *repeatedRun) setOf(index runIndex) int {
	if index.warmup {
		return max(r.s.Repeat, 1) + index.number - 1
	}
	return max(index.number-1, 0)
}

// finish prints the results and notes of a run that sent something. err is the error of
// the run; finish returns the error that the command ends with, with its exit code.
func (r *repeatedRun) finish(ctx context.Context, target *target, plan *plannedRun, console *console, recording *recording, res *recorder.Result, err error) error {
	index := plan.runIndex
	if csvErr := r.report(ctx, plan, console, res.Levels, recording); err == nil {
		err = csvErr
	}
	for _, w := range res.Warnings {
		fmt.Fprintf(r.stderr, "pa-record: warning: %s%s\n", index.prefix(), w)
	}
	if err == nil {
		printLevelNotes(r.stderr, index, r.levelSettings(recording.judge), res)
	}
	switch {
	case errors.Is(err, errSecondSignal), errors.Is(err, errSecondSignalWriting):
		return r.interrupted.exitError(err)
	case err != nil:
		return explain(err, target.s, target.ifRefused)
	case r.interrupted.signal() != 0:
		return r.interrupted.exitError(nil)
	}
	return gate(res)
}

// levelSettings returns the settings of the levels, which are the same for each run but for the
// judge.
func (r *repeatedRun) levelSettings(judge *objectiveJudge) *levelSettings {
	s := &levelSettings{judge: judge, stopOnUnstable: r.s.Measure.stopOnUnstable, measure: r.s.Measure.Measure, prompts: r.entries.hasPrompts()}
	if r.s.levelPlan == nil {
		s.levels = len(r.s.levels)
	}
	if r.s.AutoSweep {
		s.sweepConcurrency = r.s.sweepConcurrency()
	}
	return s
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

// report prints the results of a run, its problems and the names of its files. It
// returns the error from writing the CSV file of -f.
func (r *repeatedRun) report(ctx context.Context, plan *plannedRun, console *console, measured []recorder.Level, recording *recording) error {
	index := plan.runIndex
	listed, written := plan.listed(measured), recording.Written()
	levels := console.all(listed)
	console.summary(levels)
	if recording.summary != nil {
		r.uncounted = r.uncounted || recording.summary.countsResponses()
		recording.summary.print(r.stdout, r.stderr, index, console.begun && r.s.verbose)
	}
	if console.begun && index.total > 0 {
		fmt.Fprintln(r.stdout)
	}
	printLevelWarnings(r.stderr, index, listed)
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

// summarize prints the levels of all runs, and the commands that read the exports.
func (r *repeatedRun) summarize() {
	if len(r.done) > 1 && (r.s.verbose || !r.s.ownSummary()) {
		printRuns(r.stdout, r.done)
	}
	if r.s.quiet || len(r.done) == 0 {
		return
	}
	if len(r.targets) > 1 {
		r.nameComparisons()
		return
	}
	if pattern := r.s.filePattern(""); pattern != "" {
		fmt.Fprintf(r.stderr, "pa-record: %d of %d runs recorded; read them with: %s\n", len(r.done), len(r.runs), r.reportCommand(pattern))
		fmt.Fprintf(r.stderr, "pa-record: to compare them with another series: %s\n", r.comparison("old", "OTHER.*.json", "new", pattern))
	}
}

// nameComparisons prints the commands that compare the first server with every later
// one. Servers without an export are left out.
func (r *repeatedRun) nameComparisons() {
	var labels, patterns []string
	for i := range r.targets {
		label := r.targets[i].s.Label
		recorded := func(done runResult) bool { return done.index.Label == label }
		if pattern := r.s.filePattern(label); pattern != "" && slices.ContainsFunc(r.done, recorded) {
			labels, patterns = append(labels, label), append(patterns, pattern)
		}
	}
	if len(patterns) == 0 {
		return
	}
	count := fmt.Sprintf("pa-record: %d of %d runs recorded", len(r.done), len(r.runs))
	if len(patterns) == 1 {
		fmt.Fprintf(r.stderr, "%s; read them with: %s\n", count, r.reportCommand(patterns[0]))
		return
	}
	for i, other := range patterns[1:] {
		how := count + "; compare them with"
		if i > 0 {
			how = "pa-record: and"
		}
		fmt.Fprintf(r.stderr, "%s: %s\n", how, r.comparison(labels[0], patterns[0], labels[i+1], other))
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
func (r *repeatedRun) betweenLevels(ctx context.Context, s *settings) error {
	if !r.ranks.first() {
		return nil
	}
	return postBetween(ctx, s)
}

// watchers returns the collectors of the servers' metrics and statistics, which one rank
// reads for all.
func (r *repeatedRun) watchers(target *target, b backend.Backend, clock *rxclock.Clock) (*telemetry.Collector, *serverstat.Collector, error) {
	if !r.ranks.first() {
		return nil, nil, nil
	}
	return watchers(target.s, target.urls, b, clock)
}

// warmUp makes the runs of --warmup-runs that come before run i. The error is not nil if the series
// ends with one of them.
func (r *repeatedRun) warmUp(ctx context.Context, i int) error {
	for _, plan := range r.s.warmupsBefore(i) {
		err := r.ended(ctx, r.warmupRun(ctx, i, &plan))
		switch {
		case err == nil:
		case withoutBareCode(err) == nil:
			return err
		default:
			return fmt.Errorf("%v: %w", plan.runIndex, err)
		}
		r.warmedUp++
	}
	return nil
}

// warmupRun makes a run that is not recorded. A run in which too many requests fail is a warning,
// because no gate is about it.
func (r *repeatedRun) warmupRun(ctx context.Context, i int, plan *plannedRun) error {
	target := &r.targets[plan.server]
	if i > 0 || r.warmedUp > 0 {
		if err := r.betweenLevels(ctx, target.s); err != nil {
			return err
		}
	}
	clock, b, closeBackend, err := r.open(target)
	if err != nil {
		return err
	}
	defer closeBackend()
	r.announce(plan)
	display := r.progress(target.s, plan.runIndex)
	counter := &unrecorded{}
	cfg := r.config(target, plan, r.header(target, plan), counter)
	cfg.Ranks = r.ranks.of(len(r.runs) + r.warmedUp)
	cfg.Backend, cfg.Clock, cfg.Progress = b, clock, display.callback()
	counter.judge = judgeFor(target.s, &cfg)
	defer r.env.steerHeap()()
	res, err := recorder.Run(ctx, cfg)
	r.positions.ended(plan, res)
	display.clear()
	var tooMany *recorder.ErrorRateError
	switch {
	case r.interrupted.signal() != 0 && err == nil:
		err = errNothingRecorded
	case errors.As(err, &tooMany):
		fmt.Fprintf(r.stderr, "pa-record: warning: %s%v\n", plan.prefix(), err)
		err = nil
	case err != nil:
		err = explain(err, target.s, target.ifRefused)
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
	repetition := run.number
	if run.warmup { // number counts warm-up runs by themselves
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
	if run.warmup { // its data is not what the exports describe
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
