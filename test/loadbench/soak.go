//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/pa-tools/pa/pkg/export"
)

const (
	soakStreams   = 512
	soakIntervals = 20 // rows of the table; the first two and the last two are the tenths of the verdict
	// idleCores is the most that other programs use, in cores, on a machine that does nothing else.
	idleCores = 0.05
)

// Names of figures of a part of a soak that code needs beside the table.
const (
	residentMB  = "resident MB"
	goroutines  = "goroutines"
	descriptors = "descriptors"
	threads     = "threads"
	simulatorMB = "simulator MB"
	tokensS     = "tokens/s"
	ended       = "requests" // that ended in the part
	failed      = "failed"   // of them
	othersCores = "cores of other programs"
)

// soakFigures are the columns of the table and the figures of the verdict: the limit of the last tenth is factor · the
// first + plus. A figure without a factor has no limit.
var soakFigures = []struct {
	name         string
	digits       int
	factor, plus float64
	least        bool // the limit is the least value, not the most
	tail         bool // of the clock's errors
}{
	{name: residentMB, digits: 1, factor: 1.10},
	{name: goroutines, factor: 1, plus: 2},
	{name: descriptors, factor: 1, plus: 2},
	{name: threads, factor: 1, plus: 1},
	{name: simulatorMB, digits: 1},
	{name: "p50 µs", digits: 1, factor: 1.5, plus: 1},
	{name: "p99 µs", digits: 1, factor: 2, plus: 1, tail: true},
	{name: "p99.9 µs", digits: 1, factor: 3, plus: 1, tail: true},
	{name: aloneP99, digits: 1, factor: 2, plus: 1},
	{name: tokensS, factor: 0.95, least: true},
	{name: ended},
	{name: failed},
	{name: othersCores, digits: 2},
}

// soakRun records for s.soak with 512 streams, and prints a row for each twentieth of the
// time and the verdict: the last tenth beside the first. It returns an error if a verdict
// fails.
func (s *suite) soakRun(ctx context.Context) error {
	if s.soak < time.Minute {
		return fmt.Errorf("-soak %v: a tenth of it is too short to compare; give at least 1m", s.soak)
	}
	run, err := s.soakOnce(ctx)
	if err != nil {
		return err
	}
	whole := run.part(0, soakIntervals)
	if n := whole[failed]; n > 0 {
		err = fmt.Errorf("%.0f of %.0f requests failed", n, whole[ended])
	}
	var columns []column
	for _, f := range soakFigures {
		columns = append(columns, middle(f.name, f.digits))
	}
	var rows [][]string
	for i := range soakIntervals {
		rows = append(rows, measured{run.times(i): {run.part(i, i+1)}}.rows(columns, nil, run.times(i))...)
	}
	others := "nothing else running"
	if n := whole[othersCores]; n >= idleCores {
		others = fmt.Sprintf("on a machine shared with other programs, which used %.1f cores", n)
	}
	s.table(fmt.Sprintf("%s, %d streams for %v, a token every %v; %s", loop, soakStreams, s.soak, gap, others), []string{"time"}, columns, rows)
	rows, bad := verdicts(run.part(0, soakIntervals/10), run.part(soakIntervals-soakIntervals/10, soakIntervals))
	s.table("The last tenth beside the first", []string{"figure", "first tenth", "last tenth", "limit of the last", "verdict"}, nil, rows)
	if bad > 0 {
		err = errors.Join(err, fmt.Errorf("%d figures of the last tenth pass their limits", bad))
	}
	return err
}

// A soak holds the figures of one long run.
type soak struct {
	began, end time.Time // of the measured time
	samples    []sample  // of the processes, then of the goroutines
	answers    [soakIntervals]answers
}

// A sample holds figures of the running processes at a time.
type sample struct {
	at time.Time
	figures
}

// CPU times of a sample in seconds. Each counts from the start of the processes, or of the machine.
const (
	ownCPU     = "own CPU" // of pa-record, the simulator and this program
	machineCPU = "machine CPU"
)

// An answers holds the figures of the export in an interval.
type answers struct {
	errorUS, aloneUS []float32 // of all tokens, and of the last ones of their reads
	requests, failed int       // that ended in the interval
}

// interval returns the number of the interval that holds t. ok is false before and after the
// measured time.
func (r *soak) interval(t time.Time) (i int, ok bool) {
	if t.Before(r.began) || !t.Before(r.end) {
		return 0, false
	}
	return min(int(int64(t.Sub(r.began))*soakIntervals/int64(r.end.Sub(r.began))), soakIntervals-1), true
}

// times names an interval by its time since the start of the measured time.
func (r *soak) times(i int) string {
	whole := r.end.Sub(r.began)
	at := func(i int) time.Duration { return (whole * time.Duration(i) / soakIntervals).Round(time.Second) }
	return fmt.Sprintf("%v to %v", at(i), at(i+1))
}

// part returns the figures of the intervals from (inclusive) to to (exclusive): medians of the samples, and quantiles
// of the clock's errors. A figure that was not measured is missing.
func (r *soak) part(from, to int) figures {
	p, all := figures{}, map[string][]float64{}
	var first, last *sample // of the processes
	for i := range r.samples {
		x := &r.samples[i]
		if k, ok := r.interval(x.at); !ok || k < from || k >= to {
			continue
		}
		if _, ok := x.figures[ownCPU]; ok {
			if first == nil {
				first = x
			}
			last = x
		}
		for name, v := range x.figures {
			all[name] = append(all[name], v)
		}
	}
	for _, name := range []string{residentMB, goroutines, descriptors, threads, simulatorMB} {
		if len(all[name]) > 0 {
			p[name] = median(all[name])
		}
	}
	if first != last {
		others := last.figures[machineCPU] - first.figures[machineCPU] - (last.figures[ownCPU] - first.figures[ownCPU])
		p[othersCores] = max(0, others/last.at.Sub(first.at).Seconds())
	}
	var errors, alone []float32
	for _, a := range r.answers[from:to] {
		errors, alone = append(errors, a.errorUS...), append(alone, a.aloneUS...)
		p[ended] += float64(a.requests)
		p[failed] += float64(a.failed)
	}
	setErrors(p, errors, alone)
	p[tokensS] = float64(len(errors)) / (r.end.Sub(r.began).Seconds() * float64(to-from) / soakIntervals)
	return p
}

// verdicts compares the last part with the first, and returns the rows of the table and the
// number of figures that pass their limits. If other programs used the machine, the tail of
// the clock's errors has no verdict: tokens that wait for a core are read together, and share
// the time of the last one.
func verdicts(first, last figures) (rows [][]string, bad int) {
	shared := max(first[othersCores], last[othersCores]) >= idleCores
	for _, f := range soakFigures {
		if f.factor == 0 {
			continue
		}
		was, is := first[f.name], last[f.name]
		limit := f.factor*was + f.plus
		verdict, bound := "holds", "≤ "+number(limit, 1)
		if f.least {
			bound = "≥ " + number(limit, 1)
		}
		switch {
		case was == 0 || is == 0:
			verdict = "n/a (not measured)"
			bad++
		case f.tail && shared:
			verdict, bound = "n/a (other programs delayed reads)", "n/a"
		case is > limit && !f.least, is < limit && f.least:
			verdict = "fails"
			bad++
		}
		rows = append(rows, []string{f.name, number(was, 1), number(is, 1), bound, verdict})
	}
	return rows, bad
}

// soakOnce records for s.soak, and returns the figures from after the first minute (or the first
// tenth of the run).
func (s *suite) soakOnce(ctx context.Context) (run *soak, err error) {
	srv, err := s.serve(ctx, "--ledger-content", "none")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, srv.close()) }()
	// A pipe that is full would stop the program whose scheduler writes to it; a file never does.
	messages, err := os.Create(filepath.Join(s.dir, "soak.log"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, messages.Close()) }()
	file := filepath.Join(s.dir, "soak.parquet")
	limited, cancel := context.WithTimeout(ctx, 2*s.soak+10*time.Minute) // with the time to write the export
	defer cancel()
	cmd := exec.CommandContext(limited, s.record, append(recording(srv, file, s.tokens),
		"--transport", loop, "--concurrency-range", strconv.Itoa(soakStreams), "--duration", s.soak.String())...)
	cmd.Stderr = messages
	cmd.Env = append(os.Environ(), schedulerTrace(max(time.Second, s.soak/(3*soakIntervals))))
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	run = &soak{began: began.Add(min(time.Minute, s.soak/10)), end: began.Add(s.soak)}
	if err := s.watch(run, cmd, srv.cmd.Process.Pid); err != nil {
		text, _ := os.ReadFile(messages.Name())
		return nil, fmt.Errorf("%s: %w: %s", s.record, err, withoutTrace(text))
	}
	text, err := os.ReadFile(messages.Name())
	if err != nil {
		return nil, err
	}
	run.samples = append(run.samples, goroutinesIn(text, began)...)
	_, err = readExport(ctx, file, func(q *export.Request) error { run.add(q); return nil })
	return run, err
}

// watch samples the processes every second until the command ends, and logs a line for each
// interval.
func (s *suite) watch(run *soak, cmd *exec.Cmd, server int) error {
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	logged := -1
	for {
		select {
		case err := <-done:
			return err
		case now := <-tick.C:
			i, in := run.interval(now)
			if !in {
				continue
			}
			x, ok := sampleOf(now, cmd.Process.Pid, server)
			if !ok {
				continue
			}
			run.samples = append(run.samples, x)
			if i > logged {
				logged = i
				fmt.Fprintf(s.log, "%s: %s: %.1f MB, %.0f descriptors, %.0f threads; simulator %.1f MB\n",
					now.Format(time.TimeOnly), run.times(i), x.figures[residentMB], x.figures[descriptors], x.figures[threads], x.figures[simulatorMB])
			}
		}
	}
}

// add counts a request in the interval of its end, and each of its tokens in the interval of
// its arrival.
func (r *soak) add(q *export.Request) {
	end := q.FailedNS
	if n := len(q.Responses); n > 0 && q.Status == export.StatusOK {
		end = q.Responses[n-1].RecvNS
	}
	if i, ok := r.interval(time.Unix(0, int64(end))); ok {
		r.answers[i].requests++
		if q.Status != export.StatusOK {
			r.answers[i].failed++
		}
	}
	for k := range q.Responses {
		p := &q.Responses[k]
		us, stamped := textError(p)
		i, in := r.interval(time.Unix(0, int64(p.RecvNS)))
		if !stamped || !in {
			continue
		}
		r.answers[i].errorUS = append(r.answers[i].errorUS, float32(us))
		if lastOfRead(q, k) {
			r.answers[i].aloneUS = append(r.answers[i].aloneUS, float32(us))
		}
	}
}
