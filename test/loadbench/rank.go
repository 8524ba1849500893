//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"time"
)

// rank measures what one process carries: streams of a token every gap over event loops.
// The server has the same cores, so its CPU time is in the table, and the pace at which
// the tokens came.
func (s *suite) rank(ctx context.Context) error {
	var rows [][]string
	for _, n := range s.streams {
		var fs []figures
		for rep := range s.reps {
			fmt.Fprintf(s.log, "%d streams, repetition %d of %d\n", n, rep+1, s.reps)
			f, err := s.against(ctx, func(srv *server) (figures, error) {
				return s.recordOnce(ctx, srv, job{service: "openai", transport: loop, streams: n, judge: true})
			})
			if err != nil {
				return err
			}
			fs = append(fs, f)
		}
		rows = append(rows, []string{
			strconv.Itoa(n), us(of(fs, func(f *figures) float64 { return f.Pace })),
			us(of(fs, func(f *figures) float64 { return f.P50 })), us(of(fs, p99)), us(of(fs, func(f *figures) float64 { return f.AloneP99 })),
			us(of(fs, func(f *figures) float64 { return 100 * float64(f.Shared) / float64(f.Events) })),
			us(of(fs, func(f *figures) float64 { return f.CPUus })), us(of(fs, func(f *figures) float64 { return f.ServerCPUus })),
			whole(of(fs, func(f *figures) float64 { return f.PeakMB })),
		})
	}
	s.table(fmt.Sprintf("What one process carries: %s, a token every %v", loop, gap),
		[]string{"streams", "tokens/s of a stream", "error p50 µs", "p99 µs", "p99 µs of the last in a read", "shared a read %", "CPU µs/event", "CPU µs/event of the server", "memory MB"}, rows)
	return nil
}

// processCPU returns the CPU time of a process so far, from /proc; 0 if it is not there.
func processCPU(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	return cpuInStat(text)
}

// ticksPerSecond is the unit of times in /proc on all Linux systems that Go knows.
const ticksPerSecond = 100

// cpuInStat returns the sum of utime and stime in the text of /proc/PID/stat. Its second
// field, the program's name in parentheses, may hold anything.
func cpuInStat(text []byte) time.Duration {
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	const utime, stime = 14 - 3, 15 - 3 // fields are counted from 1, and two are cut off
	if len(fields) <= stime {
		return 0
	}
	var sum time.Duration
	for _, field := range []int{utime, stime} {
		n, err := strconv.ParseInt(string(fields[field]), 10, 64)
		if err != nil {
			return 0
		}
		sum += time.Duration(n) * time.Second / ticksPerSecond
	}
	return sum
}
