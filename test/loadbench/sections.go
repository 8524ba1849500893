//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/load"
)

// Names of the clients: the transports of OpenAI HTTP, and the bare client.
const (
	loop    = "loop"
	netHTTP = "nethttp"
	bare    = "bare"
)

// clients are the clients over OpenAI HTTP, each against a new server. If judged, their times are compared with
// the server's.
func (s *suite) clients(streams int, judged bool) []candidate {
	all := []candidate{{bare, s.against(func(ctx context.Context, srv *server) (f figures, err error) {
		cmd := exec.CommandContext(ctx, s.self, bareMode, "-url", srv.openAI, "-streams", strconv.Itoa(streams),
			"-rounds", strconv.Itoa(s.rounds), "-tokens", strconv.Itoa(s.tokens), "-judge="+strconv.FormatBool(judged))
		cmd.Stderr = s.log
		out, err := cmd.Output()
		if err != nil {
			return nil, err
		}
		return f, json.Unmarshal(out, &f)
	})}}
	for _, transport := range []string{loop, netHTTP} {
		all = append(all, s.recorder(transport, job{service: "openai", transport: transport, streams: streams, judge: judged}))
	}
	return all
}

// recorder is pa-record with a job, each time against a new server.
func (s *suite) recorder(name string, j job) candidate {
	return candidate{name, s.against(func(ctx context.Context, srv *server) (figures, error) { return s.recordOnce(ctx, srv, j) })}
}

// against returns a function that calls do with a new server, which has more flags.
func (s *suite) against(do func(context.Context, *server) (figures, error), flags ...string) func(context.Context) (figures, error) {
	return func(ctx context.Context) (f figures, err error) {
		srv, err := s.serve(ctx, flags...)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, srv.close()) }()
		return do(ctx, srv)
	}
}

// errorColumns show the errors of recorded times.
var errorColumns = []column{middle("p50 µs", 1), middle("p99 µs", 1), middle("p99.9 µs", 1), middle("max µs", 1)}

// startColumns show the errors of starts.
var startColumns = []column{middleOf("p50 µs", startP50, 1), middleOf("p99 µs", startP99, 1)}

// clock measures the errors of recorded times over OpenAI HTTP.
func (s *suite) clock(ctx context.Context) error {
	columns := slices.Concat(errorColumns, []column{
		{"p99 of bare ÷ p99", 2, func(m measured, c string) float64 { return median(m.of(bare, "p99 µs")) / median(m.of(c, "p99 µs")) }},
		middle(aloneP99, 1), middle(sharedReads, 1),
	})
	var received, started [][]string
	for _, n := range s.streams {
		m, err := s.measure(ctx, s.clients(n, true)...)
		if err != nil {
			return fmt.Errorf("%d streams: %w", n, err)
		}
		first := []string{strconv.Itoa(n)}
		received = append(received, m.rows(columns, first, loop, netHTTP, bare)...)
		started = append(started, m.rows(startColumns, first, loop, netHTTP)...)
	}
	first := []string{"streams", "client"}
	s.table(fmt.Sprintf("Receive times, OpenAI HTTP, a token every %v", gap), first, columns, received)
	s.table("Starts, OpenAI HTTP", first, startColumns, started)
	return nil
}

// grpc measures the errors of recorded times over Triton gRPC.
func (s *suite) grpc(ctx context.Context) error {
	const streams = 256
	name := strconv.Itoa(streams)
	m, err := s.measure(ctx, s.recorder(name, job{service: "grpc", streams: streams, judge: true}))
	if err != nil {
		return err
	}
	columns := slices.Concat(errorColumns, []column{middle(aloneP99, 1)})
	s.table("Receive times, Triton gRPC streams, against the server's kernel", []string{"streams"}, columns, m.rows(columns, nil, name))
	s.table("Starts, Triton gRPC", []string{"streams"}, startColumns, m.rows(startColumns, nil, name))
	return nil
}

// cpu measures the CPU time per event and the turnaround of slots.
func (s *suite) cpu(ctx context.Context) error {
	ratio := func(name string, of func([]float64) float64) column {
		return column{name, 2, func(m measured, c string) float64 { return of(m.ratios(c, bare, eventCPU)) }}
	}
	columns := []column{
		middleOf("µs", eventCPU, 1), ratio("÷ bare", median), ratio("least", slices.Min[[]float64]), ratio("most", slices.Max[[]float64]),
		middle("turnaround p50 µs", 0), middleOf("p99 µs", "turnaround p99 µs", 0), // the bare client does not measure them
	}
	var rows [][]string
	for _, n := range s.streams {
		m, err := s.measure(ctx, s.clients(n, false)...)
		if err != nil {
			return fmt.Errorf("%d streams: %w", n, err)
		}
		rows = append(rows, m.rows(columns, []string{strconv.Itoa(n)}, bare, netHTTP, loop)...)
	}
	s.table(fmt.Sprintf("CPU time per event, a token every %v; pa-record writes its journal", gap), []string{"streams", "client"}, columns, rows)
	return nil
}

// rank measures what one process carries: streams of a token every gap over event loops.
// The server has the same cores, so its CPU time is in the table, and the pace at which
// the tokens came.
func (s *suite) rank(ctx context.Context) error {
	columns := []column{
		middle("tokens/s of a stream", 1), middleOf("error p50 µs", "p50 µs", 1), middle("p99 µs", 1), middle(aloneP99, 1), middle(sharedReads, 1),
		middle(eventCPU, 1), middle("CPU µs/event of the server", 1), middle("memory MB", 0),
	}
	var rows [][]string
	for _, n := range s.streams {
		name := strconv.Itoa(n)
		m, err := s.measure(ctx, s.recorder(name, job{service: "openai", transport: loop, streams: n, judge: true}))
		if err != nil {
			return err
		}
		rows = append(rows, m.rows(columns, nil, name)...)
	}
	s.table(fmt.Sprintf("What one process carries: %s, a token every %v", loop, gap), []string{"streams"}, columns, rows)
	return nil
}

// scheduleSeconds is the length of a recording of the section schedule.
const scheduleSeconds = 5

// schedule measures how exactly pa-record keeps a request rate: the time from the scheduled
// instant of a request to its recorded start. Answers have one token, because only requests
// matter here. The table also has the delays of a thread that only waits for the same
// instants, measured just before. The machine causes these delays, not the recorder.
func (s *suite) schedule(ctx context.Context) error {
	columns := []column{
		middle("sent/s", 1), middle("p50 µs", 1), middle("p99 µs", 1), middle("max µs", 1), middle("cores of pa-record", 1),
		middle("p99 µs, only waiting", 1), middle("max µs, only waiting", 1),
	}
	var rows [][]string
	for _, rate := range []int{500, 1000, 2000} {
		for _, how := range []string{"constant", "poisson"} {
			m, err := s.measure(ctx, candidate{how, func(ctx context.Context) (figures, error) {
				f := figures{}
				f["p99 µs, only waiting"], f["max µs, only waiting"] = onlyWait(rate)
				once := s.against(func(ctx context.Context, srv *server) (figures, error) {
					return f, s.scheduleOnce(ctx, srv, rate, how, f)
				},
					"--ttft", "normal:20ms,5ms", "--ledger-content", "none")
				return once(ctx)
			}})
			if err != nil {
				return fmt.Errorf("%d requests/s: %w", rate, err)
			}
			rows = append(rows, m.rows(columns, []string{strconv.Itoa(rate)}, how)...)
		}
	}
	s.table(fmt.Sprintf("Schedules, OpenAI HTTP, %d s each: start − instant of the schedule", scheduleSeconds),
		[]string{"requests/s", "distribution"}, columns, rows)
	return nil
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

// scheduleOnce records one rate and sets the figures.
func (s *suite) scheduleOnce(ctx context.Context, srv *server, rate int, how string, f figures) error {
	file := filepath.Join(s.dir, "schedule.arrow")
	args := append(recording(srv, file, 1), "--request-rate-range", strconv.Itoa(rate), "--request-distribution", how,
		"--duration", fmt.Sprintf("%ds", scheduleSeconds), "--warmup-duration", "1s")
	if err := s.runRecord(ctx, args); err != nil {
		return err
	}
	sent := 0
	run, err := readExport(ctx, file, func(q *export.Request) error {
		if q.Phase != export.PhaseWarmup {
			sent++
		}
		return nil
	})
	if err != nil {
		return err
	}
	f["sent/s"] = float64(sent) / scheduleSeconds
	for _, e := range run.Experiments {
		if e.Meta == nil || e.Meta.Client == nil || e.Meta.Client.Lateness == nil {
			return errors.New("the export does not say how late requests were")
		}
		late := e.Meta.Client.Lateness
		f["p50 µs"], f["p99 µs"], f["max µs"] = float64(late.P50NS)/1e3, float64(late.P99NS)/1e3, float64(late.MaxNS)/1e3
		if c := e.Meta.Client.CPU; c != nil {
			f["cores of pa-record"] = float64(c.UserNS+c.SystemNS) / 1e9 / scheduleSeconds
		}
	}
	return nil
}
