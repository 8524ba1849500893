//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
)

// Names of the clients: the transports of OpenAI HTTP, and the bare client.
const (
	loop    = "loop"
	netHTTP = "nethttp"
	bare    = "bare"
)

// runBare runs the bare client once.
func (s *suite) runBare(ctx context.Context, srv *server, streams int, judged bool) (f figures, err error) {
	self, err := os.Executable()
	if err != nil {
		return f, err
	}
	cmd := exec.CommandContext(ctx, self, bareMode, "-url", srv.openAI, "-streams", strconv.Itoa(streams),
		"-rounds", strconv.Itoa(s.rounds), "-tokens", strconv.Itoa(s.tokens), "-judge="+strconv.FormatBool(judged))
	cmd.Stderr = s.log
	out, err := cmd.Output()
	if err != nil {
		return f, fmt.Errorf("bare client: %w", err)
	}
	return f, json.Unmarshal(out, &f)
}

// compare runs the clients in turn, each against a new server, and returns the figures of
// the repetitions by client.
func (s *suite) compare(ctx context.Context, streams int, judged bool) (map[string][]figures, error) {
	all := map[string][]figures{}
	for rep := range s.reps {
		order := []string{bare, loop, netHTTP}
		slices.Reverse(order[:1+rep%len(order)]) // no client is always the first one
		for _, client := range order {
			fmt.Fprintf(s.log, "%d streams, repetition %d of %d, %s\n", streams, rep+1, s.reps, client)
			f, err := s.against(ctx, func(srv *server) (figures, error) {
				if client == bare {
					return s.runBare(ctx, srv, streams, judged)
				}
				return s.recordOnce(ctx, srv, job{service: "openai", transport: client, streams: streams, judge: judged})
			})
			if err != nil {
				return nil, fmt.Errorf("%s, %d streams: %w", client, streams, err)
			}
			all[client] = append(all[client], f)
		}
	}
	return all, nil
}

// against calls do with a new server.
func (s *suite) against(ctx context.Context, do func(*server) (figures, error)) (f figures, err error) {
	srv, err := s.serve(ctx)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, srv.close()) }()
	return do(srv)
}

func p99(f *figures) float64 { return f.P99 }

// clock measures the errors of recorded times over OpenAI HTTP.
func (s *suite) clock(ctx context.Context) error {
	var recv, start [][]string
	for _, n := range s.streams {
		all, err := s.compare(ctx, n, true)
		if err != nil {
			return err
		}
		for _, client := range []string{loop, netHTTP, bare} {
			fs := all[client]
			share := func(f *figures) float64 { return 100 * float64(f.Shared) / float64(f.Events) }
			recv = append(recv, []string{
				strconv.Itoa(n), client,
				us(of(fs, func(f *figures) float64 { return f.P50 })), us(of(fs, p99)),
				us(of(fs, func(f *figures) float64 { return f.P999 })), us(of(fs, func(f *figures) float64 { return f.Max })),
				ratio(of(all[bare], p99) / of(fs, p99)), us(of(fs, func(f *figures) float64 { return f.AloneP99 })), us(of(fs, share)),
			})
			if client != bare {
				start = append(start, startRow(n, client, fs))
			}
		}
	}
	s.table(fmt.Sprintf("Receive times, OpenAI HTTP, a token every %v", gap),
		[]string{"streams", "client", "p50 µs", "p99 µs", "p99.9 µs", "max µs", "p99 of bare ÷ p99", "p99 µs of the last in a read", "shared a read %"}, recv)
	s.table("Starts, OpenAI HTTP", startHeader, start)
	return nil
}

var startHeader = []string{"streams", "client", "p50 µs", "p99 µs"}

func startRow(streams int, client string, fs []figures) []string {
	return []string{
		strconv.Itoa(streams), client,
		us(of(fs, func(f *figures) float64 { return f.StartP50 })), us(of(fs, func(f *figures) float64 { return f.StartP99 })),
	}
}

// grpc measures the errors of recorded times over Triton gRPC.
func (s *suite) grpc(ctx context.Context) error {
	const streams = 256
	var fs []figures
	for rep := range s.reps {
		fmt.Fprintf(s.log, "%d gRPC streams, repetition %d of %d\n", streams, rep+1, s.reps)
		f, err := s.against(ctx, func(srv *server) (figures, error) {
			return s.recordOnce(ctx, srv, job{service: "grpc", streams: streams, judge: true})
		})
		if err != nil {
			return err
		}
		fs = append(fs, f)
	}
	s.table("Receive times, Triton gRPC streams, against the server's kernel",
		[]string{"streams", "p50 µs", "p99 µs", "p99.9 µs", "max µs", "p99 µs of the last in a read"},
		[][]string{{
			strconv.Itoa(streams), us(of(fs, func(f *figures) float64 { return f.P50 })), us(of(fs, p99)),
			us(of(fs, func(f *figures) float64 { return f.P999 })), us(of(fs, func(f *figures) float64 { return f.Max })),
			us(of(fs, func(f *figures) float64 { return f.AloneP99 })),
		}})
	s.table("Starts, Triton gRPC", startHeader, [][]string{startRow(streams, "grpc", fs)})
	return nil
}

// cpu measures the CPU time per event and the turnaround of slots.
func (s *suite) cpu(ctx context.Context) error {
	var rows [][]string
	for _, n := range s.streams {
		all, err := s.compare(ctx, n, false)
		if err != nil {
			return err
		}
		for _, client := range []string{bare, netHTTP, loop} {
			rows = append(rows, costRow(n, client, all))
		}
	}
	s.table(fmt.Sprintf("CPU time per event, a token every %v; pa-record writes its journal", gap),
		[]string{"streams", "client", "µs", "÷ bare", "least", "most", "turnaround p50 µs", "p99 µs"}, rows)
	return nil
}

// costRow returns the row of one client.
func costRow(streams int, client string, all map[string][]figures) []string {
	fs := all[client]
	// The ratio within a repetition, because the machine's other load hits all of it.
	var ratios []float64
	for i := range fs {
		ratios = append(ratios, fs[i].CPUus/all[bare][i].CPUus)
	}
	row := []string{
		strconv.Itoa(streams), client, us(of(fs, func(f *figures) float64 { return f.CPUus })),
		ratio(median(ratios)), ratio(slices.Min(ratios)), ratio(slices.Max(ratios)),
	}
	if client == bare {
		return append(row, "n/a", "n/a") // it does not measure them
	}
	return append(row,
		whole(of(fs, func(f *figures) float64 { return f.TurnP50 })), whole(of(fs, func(f *figures) float64 { return f.TurnP99 })))
}
