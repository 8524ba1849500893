//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// memoryTokens is the length of the answers of the section memory.
const memoryTokens = 200

// Names of the figures of the section memory.
const (
	setMB     = "peak PSS MB" // of the proportional set
	streamKB  = "kB per stream"
	memoryCPU = "CPU µs/token" // of the whole process
)

// grpcStreams is the row of Triton gRPC.
const grpcStreams = "gRPC"

// memory measures the peak memory of recordings with each number of streams until the process ends, the export
// included, and the peak memory of the bare client. All streams begin together, and so all answers end together. Then it measures
// the report of a file.
func (s *suite) memory(ctx context.Context) error {
	columns := []column{middle(setMB, 0), beside("÷ bare", setMB, bare), middle(streamKB, 0), middle(memoryCPU, 1)}
	rounds := max(1, int(s.length/(memoryTokens*gap)))
	file := filepath.Join(s.dir, "memory.json")
	var rows [][]string
	for _, n := range s.streams {
		load := []string{"--concurrency-range", strconv.Itoa(n), "--request-count", strconv.Itoa(n * rounds)}
		client := func(name, program string, args func(*server) ([]string, error)) candidate {
			once := func(ctx context.Context, srv *server) (figures, error) {
				a, err := args(srv)
				if err != nil {
					return nil, err
				}
				f, err := s.memoryOf(ctx, program, a)
				if err == nil {
					f[streamKB] = f[setMB] * 1000 / float64(n)
					f[memoryCPU] = f[cpuS] * 1e6 / float64(n*rounds*memoryTokens)
				}
				return f, err
			}
			return candidate{name, s.against(once, "--ttft", "100ms", "--ledger-content", "none")}
		}
		all := []candidate{client(bare, s.self, func(srv *server) ([]string, error) {
			return []string{bareMode, "-url", srv.openAI, "-streams", strconv.Itoa(n), "-rounds", strconv.Itoa(rounds), "-tokens", strconv.Itoa(memoryTokens)}, nil
		})}
		for _, transport := range []string{loop, netHTTP} {
			all = append(all, client(transport, s.record, func(srv *server) ([]string, error) {
				return append(append(recording(srv, file, memoryTokens), "--transport", transport), load...), nil
			}))
		}
		all = append(all, client(grpcStreams, s.record, func(srv *server) ([]string, error) {
			args, err := s.recordingGRPC(srv, file, memoryTokens)
			return append(args, load...), err
		}))
		m, err := s.measure(ctx, all...)
		if err != nil {
			return fmt.Errorf("%d streams: %w", n, err)
		}
		rows = append(rows, m.rows(columns, []string{strconv.Itoa(n)}, loop, netHTTP, grpcStreams, bare)...)
		for _, c := range all[1:] {
			s.hold(fmt.Sprintf("peak memory of %s at %d streams ÷ bare client", c.name, n), m.ratio(c.name, bare, setMB), mostMemory[c.name])
		}
	}
	s.table(fmt.Sprintf("Peak memory, %d answers of %d tokens a stream, a token every %v", rounds, memoryTokens, gap),
		[]string{"streams", "client"}, columns, rows)

	file, mb, err := s.exportFile()
	if err != nil {
		return err
	}
	m, err := s.measure(ctx, s.command(number(mb, 0), s.analyze, "report", file))
	if err != nil {
		return err
	}
	columns = []column{middle(peakMB, 0), {"peak ÷ file", 2, func(m measured, c string) float64 { return median(m.of(c, peakMB)) / mb }}}
	s.table("Peak memory of a report", []string{"MB of the file"}, columns, m.rows(columns, nil, number(mb, 0)))
	return nil
}

// mostMemory holds the limits of a client's memory ÷ the bare client's memory. The ratios were 2.5, 2.7 and 3.7 with 64
// streams, where the program itself takes most of the memory.
var mostMemory = map[string]float64{loop: 3.5, netHTTP: 3.5, grpcStreams: 4.5}

// memoryOf runs a copy of a program and returns its CPU time and its peak memory. Pages of the program that the server
// or this process have in memory, too, would count only in part.
func (s *suite) memoryOf(ctx context.Context, program string, args []string) (f figures, err error) {
	own := filepath.Join(s.dir, "client")
	if err := copyFile(own, program); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, own, args...)
	var printed bytes.Buffer
	cmd.Stdout, cmd.Stderr = io.Discard, &printed
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	done := make(chan struct{})
	watched := make(chan []setSize)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	go func() { watched <- watchPSS(cmd.Process.Pid, tick.C, done) }()
	err = cmd.Wait()
	close(done)
	mb := 0.0
	for _, m := range <-watched {
		mb = max(mb, m.mb)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s %q: %w\n%s", program, args, err, printed.Bytes())
	case mb == 0:
		return nil, fmt.Errorf("%s: the kernel does not say its proportional set (smaps_rollup, Linux 4.14)", program)
	}
	p := cmd.ProcessState
	return figures{cpuS: (p.UserTime() + p.SystemTime()).Seconds(), setMB: mb}, nil
}

// copyFile makes an executable copy of a file. The kernel copies it, as when it is installed: a file that is written in
// one piece is in memory in larger pieces, of which more count.
func copyFile(to, from string) (err error) {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Close())
}
