//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/formats"
	"github.com/pa-tools/pa/pkg/recorder/load"
)

// scheduleRates are the requests per second of the section schedule.
var scheduleRates = []int{500, 1000, 2000}

// schedule measures how exactly pa-record keeps a request rate: the time from the scheduled
// instant of a request to its recorded start. Answers have one token, because only requests
// matter here. The table also has the delays of a thread that only waits for the same
// instants, measured just before. The machine causes these delays, not the recorder.
func (s *suite) schedule(ctx context.Context) error {
	const seconds = 5
	var rows [][]string
	for _, rate := range scheduleRates {
		for _, how := range []string{"constant", "poisson"} {
			var all []lateness
			for rep := range s.reps {
				fmt.Fprintf(s.log, "%d requests/s, %s, repetition %d of %d\n", rate, how, rep+1, s.reps)
				l, err := s.scheduleOnce(ctx, rate, how, seconds)
				if err != nil {
					return err
				}
				all = append(all, l)
			}
			mid := func(field func(*lateness) float64) string {
				x := make([]float64, len(all))
				for i := range all {
					x[i] = field(&all[i])
				}
				return us(median(x))
			}
			rows = append(rows, []string{
				strconv.Itoa(rate), how, mid(func(l *lateness) float64 { return l.perSecond }),
				mid(func(l *lateness) float64 { return l.p50 }), mid(func(l *lateness) float64 { return l.p99 }),
				mid(func(l *lateness) float64 { return l.most }), mid(func(l *lateness) float64 { return l.cores }),
				mid(func(l *lateness) float64 { return l.bareP99 }), mid(func(l *lateness) float64 { return l.bareMost }),
			})
		}
	}
	s.table(fmt.Sprintf("Schedules, OpenAI HTTP, %d s each: start − instant of the schedule", seconds),
		[]string{"requests/s", "distribution", "sent/s", "p50 µs", "p99 µs", "max µs", "cores of pa-record", "p99 µs, only waiting", "max µs, only waiting"}, rows)
	return nil
}

// A lateness holds the delays of the requests of a run.
type lateness struct {
	perSecond      float64 // sent requests
	p50, p99, most float64 // µs
	cores          float64 // number of cores that pa-record used

	bareP99, bareMost float64 // µs; of a thread that only waits
}

// onlyWait waits for the instants of a constant rate for a second. It returns the 99th
// percentile and the maximum of its delays in µs.
func onlyWait(rate int) (p99, most float64) {
	late := make([]float64, rate)
	at := time.Now()
	for i := range late {
		at = at.Add(time.Second / time.Duration(rate))
		load.Wait(at, nil, nil)
		late[i] = float64(time.Since(at)) / 1e3
	}
	slices.Sort(late)
	return late[len(late)*99/100], late[len(late)-1]
}

// scheduleOnce records one rate against a new server.
func (s *suite) scheduleOnce(ctx context.Context, rate int, how string, seconds int) (l lateness, err error) {
	l.bareP99, l.bareMost = onlyWait(rate)
	srv, err := s.serve(ctx, "--ttft", "normal:20ms,5ms", "--ledger-content", "none")
	if err != nil {
		return l, err
	}
	defer func() { err = errors.Join(err, srv.close()) }()
	file := filepath.Join(s.dir, "schedule.arrow")
	cmd := exec.CommandContext(ctx, s.record, "--service-kind", "openai", "-m", "sim", "-u", srv.openAI, "--streaming",
		"--request-rate-range", strconv.Itoa(rate), "--request-distribution", how, "--duration", fmt.Sprintf("%ds", seconds),
		"--warmup-duration", "1s", "--extra-body", `{"max_tokens":1,"ignore_eos":true}`,
		"--profile-export-file", file, "--overwrite", "--quiet")
	cmd.Stderr = s.log
	if err := cmd.Run(); err != nil {
		return l, fmt.Errorf("%s at %d requests/s: %w", s.record, rate, err)
	}
	o := export.Opener{Formats: formats.Readers()}
	r, err := o.Open(ctx, file)
	if err != nil {
		return l, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	sent := 0
	for r.Next() {
		if r.Request().Phase != export.PhaseWarmup {
			sent++
		}
	}
	if err := r.Err(); err != nil {
		return l, err
	}
	l.perSecond = float64(sent) / float64(seconds)
	for _, e := range r.Run().Experiments {
		m := e.Meta
		if m == nil || m.Client == nil || m.Client.Lateness == nil {
			return l, errors.New("the export does not say how late requests were")
		}
		late := m.Client.Lateness
		l.p50, l.p99, l.most = float64(late.P50NS)/1e3, float64(late.P99NS)/1e3, float64(late.MaxNS)/1e3
		if c := m.Client.CPU; c != nil {
			l.cores = float64(c.UserNS+c.SystemNS) / 1e9 / float64(seconds)
		}
	}
	return l, nil
}
