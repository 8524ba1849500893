package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/forecast"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/tool/perfanalyzer"
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
	ranks       *rankGroup // nil: this process records alone
	reports     [][]string // arguments of pa-analyze, to be named at the end

	forecast *forecast.Forecast
	begun    bool            // the first run, which prints the forecast
	runsLeft int             // after the present one, warm-up runs included
	took     []time.Duration // of the recorded runs that have ended

	positions positions // of the runs in the input data
	warmedUp  int       // runs of --warmup-runs so far

	group string      // of the exports; "" for a single run
	done  []runResult // of the runs that wrote something, in their order
	// warned holds what the last run printed about its levels: --report does not repeat it.
	warned strings.Builder
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
	for i := range r.runs {
		r.runsLeft += 1 + len(r.s.warmupsBefore(i))
	}
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

// warmupsBefore returns the warm-up runs that come before the planned run of index i. The first run of
// each server comes after the warm-up runs of this server. With --interleave the first run of all comes
// after the warm-up runs of all servers, which take turns.
func (s *settings) warmupsBefore(i int) (all []plannedRun) {
	run := s.plannedRuns()[i]
	servers := []int{run.server}
	switch {
	case run.number > 1 || s.Interleave && i > 0:
		return nil
	case s.Interleave:
		servers = servers[:0]
		for k := range max(len(s.Servers), 1) {
			servers = append(servers, k)
		}
	}
	for n := range s.WarmupRuns {
		for _, server := range servers {
			r := plannedRun{server: server, runIndex: runIndex{number: n + 1, total: s.WarmupRuns, warmup: true}}
			if len(s.Servers) > 0 {
				r.Label = s.Servers[server].Label
			}
			all = append(all, r)
		}
	}
	return all
}

// ordered returns levels, which are in the order of the settings, in the order in which
// the run measures them.
func (r *plannedRun) ordered(levels []load.Level) []load.Level {
	if r.order == nil {
		return levels
	}
	ordered := make([]load.Level, len(levels))
	for i, level := range r.order {
		ordered[i] = levels[level]
	}
	return ordered
}

// listed is the reverse of ordered: it returns measured levels in the order of the
// settings.
func (r *plannedRun) listed(levels []recorder.Level) []recorder.Level {
	if r.order == nil {
		return levels
	}
	byIndex := make([]*recorder.Level, len(r.order))
	for i := range levels {
		byIndex[r.order[i]] = &levels[i]
	}
	var all []recorder.Level
	for _, l := range byIndex {
		if l != nil {
			all = append(all, *l)
		}
	}
	return all
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
	if pattern := r.s.filePattern("", "*"); pattern != "" {
		fmt.Fprintf(r.stderr, "pa-record: %d of %s recorded; %s\n", len(r.done), plural.Of(len(r.runs), "run"), r.readRuns(""))
		fmt.Fprintf(r.stderr, "pa-record: to compare %s with another series: %s\n", plural.Them(len(r.done)), r.comparison("old", "OTHER.*.json", "new", pattern))
	}
}

// readRuns returns the command that reads the exports of the runs with a label. A report takes the
// exports of all ranks of one run only.
func (r *repeatedRun) readRuns(label string) string {
	if r.ranks == nil {
		return "read " + plural.Them(len(r.done)) + " with: " + r.reportCommand(r.s.filePattern(label, "*"))
	}
	first := strconv.Itoa(r.done[0].index.number)
	return "read run " + first + " with: " + r.reportCommand(r.s.filePattern(label, first))
}

// nameComparisons prints the commands that compare the first server with every later
// one. Servers without an export are left out.
func (r *repeatedRun) nameComparisons() {
	var labels, patterns []string
	for i := range r.targets {
		label := r.targets[i].s.Label
		recorded := func(done runResult) bool { return done.index.Label == label }
		if pattern := r.s.filePattern(label, "*"); pattern != "" && slices.ContainsFunc(r.done, recorded) {
			labels, patterns = append(labels, label), append(patterns, pattern)
		}
	}
	if len(patterns) == 0 {
		return
	}
	count := fmt.Sprintf("pa-record: %d of %s recorded", len(r.done), plural.Of(len(r.runs), "run"))
	if len(patterns) == 1 {
		fmt.Fprintf(r.stderr, "%s; %s\n", count, r.readRuns(labels[0]))
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
