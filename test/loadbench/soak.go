//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/formats"
)

const (
	soakStreams   = 512
	soakIntervals = 20 // rows of the table; the first two and the last two are the tenths of the verdict
	// idleCores is the most that other programs use, in cores, on a machine that does nothing else.
	idleCores = 0.05
)

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
	if whole.failed > 0 {
		err = fmt.Errorf("%d of %d requests failed", whole.failed, whole.requests)
	}
	var rows [][]string
	for i := range soakIntervals {
		p := run.part(i, i+1)
		rows = append(rows, p.row(run.times(i)))
	}
	s.table(fmt.Sprintf("%s, %d streams for %v, a token every %v; %s", loop, soakStreams, s.soak, gap, whole.others()),
		[]string{
			"time", "resident MB", "goroutines", "descriptors", "threads", "simulator MB", "p50 µs", "p99 µs", "p99.9 µs",
			"p99 µs of the last in a read", "tokens/s", "requests", "failed", "cores of other programs",
		}, rows)
	first, last := run.part(0, soakIntervals/10), run.part(soakIntervals-soakIntervals/10, soakIntervals)
	rows, failed := verdicts(&first, &last)
	s.table("The last tenth beside the first", []string{"figure", "first tenth", "last tenth", "limit of the last", "verdict"}, rows)
	if failed > 0 {
		err = errors.Join(err, fmt.Errorf("%d figures of the last tenth pass their limits", failed))
	}
	return err
}

// A soak holds the figures of one long run.
type soak struct {
	began, end time.Time // of the measured time
	samples    []sample
	goroutines []count
	answers    [soakIntervals]answers
}

// A sample holds figures of the running processes at a time. Each CPU time counts from the
// start of its process, or of the machine.
type sample struct {
	at                                time.Time
	residentMB, descriptors, threads  float64
	simulatorMB                       float64
	ownCPU, machineCPU, collectingCPU time.Duration
}

// A count is the number of goroutines at a time.
type count struct {
	at time.Time
	n  float64
}

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

// others says how many cores other programs used.
func (p *part) others() string {
	if p.othersCores < idleCores {
		return "nothing else running"
	}
	return fmt.Sprintf("on a machine shared with other programs, which used %.1f cores", p.othersCores)
}

// A part holds the figures of a part of a soak: medians of the samples, and quantiles of the
// clock's errors.
type part struct {
	residentMB, goroutines, descriptors, threads, simulatorMB float64
	p50, p99, p999, aloneP99                                  float64 // µs
	tokensPerSecond                                           float64
	requests, failed                                          int
	othersCores                                               float64
}

// part returns the figures of the intervals from (inclusive) to to (exclusive).
func (r *soak) part(from, to int) part {
	inPart := func(t time.Time) bool {
		i, ok := r.interval(t)
		return ok && i >= from && i < to
	}
	var in []sample
	for i := range r.samples {
		if inPart(r.samples[i].at) {
			in = append(in, r.samples[i])
		}
	}
	var goroutines []float64
	for _, c := range r.goroutines {
		if inPart(c.at) {
			goroutines = append(goroutines, c.n)
		}
	}
	medianOf := func(f func(*sample) float64) float64 {
		x := make([]float64, len(in))
		for i := range in {
			x[i] = f(&in[i])
		}
		return median(x)
	}
	p := part{
		residentMB:  medianOf(func(x *sample) float64 { return x.residentMB }),
		goroutines:  median(goroutines),
		descriptors: medianOf(func(x *sample) float64 { return x.descriptors }),
		threads:     medianOf(func(x *sample) float64 { return x.threads }),
		simulatorMB: medianOf(func(x *sample) float64 { return x.simulatorMB }),
	}
	if n := len(in) - 1; n > 0 {
		others := in[n].machineCPU - in[0].machineCPU - (in[n].ownCPU - in[0].ownCPU) - (in[n].collectingCPU - in[0].collectingCPU)
		p.othersCores = max(0, others.Seconds()/in[n].at.Sub(in[0].at).Seconds())
	}
	var all, alone []float32
	for i := from; i < to; i++ {
		all, alone = append(all, r.answers[i].errorUS...), append(alone, r.answers[i].aloneUS...)
		p.requests += r.answers[i].requests
		p.failed += r.answers[i].failed
	}
	slices.Sort(all)
	slices.Sort(alone)
	p.p50, p.p99, p.p999, p.aloneP99 = float64(quantile(all, 0.5)), float64(quantile(all, 0.99)), float64(quantile(all, 0.999)), float64(quantile(alone, 0.99))
	p.tokensPerSecond = float64(len(all)) / (r.end.Sub(r.began).Seconds() * float64(to-from) / soakIntervals)
	return p
}

// row returns the row of the table.
func (p *part) row(times string) []string {
	return []string{
		times, us(p.residentMB), whole(p.goroutines), whole(p.descriptors), whole(p.threads), us(p.simulatorMB),
		us(p.p50), us(p.p99), us(p.p999), us(p.aloneP99), whole(p.tokensPerSecond),
		strconv.Itoa(p.requests), strconv.Itoa(p.failed), ratio(p.othersCores),
	}
}

// verdicts compares the last part with the first, and returns the rows of the table and the
// number of figures that pass their limits. If other programs used the machine, the tail of
// the clock's errors has no verdict: tokens that wait for a core are read together, and share
// the time of the last one.
func verdicts(first, last *part) (rows [][]string, failed int) {
	shared := max(first.othersCores, last.othersCores) >= idleCores
	for _, f := range []struct {
		name        string
		first, last float64
		limit       float64
		least       bool // the limit is the least value, not the most
		tail        bool
	}{
		{name: "resident MB", first: first.residentMB, last: last.residentMB, limit: 1.10 * first.residentMB},
		{name: "goroutines", first: first.goroutines, last: last.goroutines, limit: first.goroutines + 2},
		{name: "descriptors", first: first.descriptors, last: last.descriptors, limit: first.descriptors + 2},
		{name: "threads", first: first.threads, last: last.threads, limit: first.threads + 1},
		{name: "p50 µs", first: first.p50, last: last.p50, limit: 1.5*first.p50 + 1},
		{name: "p99 µs of the last in a read", first: first.aloneP99, last: last.aloneP99, limit: 2*first.aloneP99 + 1},
		{name: "p99 µs", first: first.p99, last: last.p99, limit: 2*first.p99 + 1, tail: true},
		{name: "p99.9 µs", first: first.p999, last: last.p999, limit: 3*first.p999 + 1, tail: true},
		{name: "tokens/s", first: first.tokensPerSecond, last: last.tokensPerSecond, limit: 0.95 * first.tokensPerSecond, least: true},
	} {
		verdict, bound := "holds", "≤ "+us(f.limit)
		if f.least {
			bound = "≥ " + us(f.limit)
		}
		switch {
		case f.first == 0 || f.last == 0:
			verdict = "n/a (not measured)"
			failed++
		case f.tail && shared:
			verdict, bound = "n/a (other programs delayed reads)", "n/a"
		case f.last > f.limit && !f.least, f.last < f.limit && f.least:
			verdict = "fails"
			failed++
		}
		rows = append(rows, []string{f.name, us(f.first), us(f.last), bound, verdict})
	}
	return rows, failed
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
	recording, cancel := context.WithTimeout(ctx, 2*s.soak+10*time.Minute) // with the time to write the export
	defer cancel()
	cmd := exec.CommandContext(recording, s.record, "--service-kind", "openai", "-m", "sim", "-u", srv.openAI, "--streaming",
		"--transport", loop, "--concurrency-range", strconv.Itoa(soakStreams), "--duration", s.soak.String(),
		"--extra-body", fmt.Sprintf(`{"max_tokens":%d,"ignore_eos":true}`, s.tokens),
		"--profile-export-file", file, "--overwrite", "--quiet")
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
	run.goroutines = goroutinesIn(text, began)
	return run, run.read(ctx, file)
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
					now.Format(time.TimeOnly), run.times(i), x.residentMB, x.descriptors, x.threads, x.simulatorMB)
			}
		}
	}
}

// read reads the export of the run.
func (r *soak) read(ctx context.Context, file string) (err error) {
	o := export.Opener{Formats: formats.Readers()}
	reader, err := o.Open(ctx, file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	for reader.Next() {
		r.add(reader.Request())
	}
	return reader.Err()
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
		v, _ := p.Outputs.Get("response")
		ns, stamped := stampIn(v.Data)
		i, in := r.interval(time.Unix(0, int64(p.RecvNS)))
		if !stamped || !in {
			continue
		}
		e := float32(errorUS(p.RecvNS, ns))
		r.answers[i].errorUS = append(r.answers[i].errorUS, e)
		if lastOfRead(q, k) {
			r.answers[i].aloneUS = append(r.answers[i].aloneUS, e)
		}
	}
}
