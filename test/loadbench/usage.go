//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"syscall"
	"time"
)

// usageMode as the first argument makes the process run the command that follows and
// print what it used. The kernel counts the memory of the process that starts a command
// as the command's own, so a small process has to start it.
const usageMode = "usage"

// Names of the figures of a command.
const (
	cpuS   = "CPU s" // user and system
	wallS  = "s"
	peakMB = "peak MB" // of the largest resident set
)

// usageMain runs the command args, drops its output and prints its figures as JSON.
func usageMain(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		return errors.New("usage: no command to run")
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stderr = stderr
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%q: %w", args, err)
	}
	p := cmd.ProcessState
	f := figures{cpuS: (p.UserTime() + p.SystemTime()).Seconds(), wallS: time.Since(began).Seconds()}
	if r, ok := p.SysUsage().(*syscall.Rusage); ok {
		f[peakMB] = float64(r.Maxrss) * 1024 / 1e6
	}
	return json.NewEncoder(stdout).Encode(f)
}

// use runs a command and returns its figures.
func (s *suite) use(ctx context.Context, args ...string) (f figures, err error) {
	cmd := exec.CommandContext(ctx, s.self, append([]string{usageMode}, args...)...)
	cmd.Stderr = s.log
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%q: %w", args, err)
	}
	return f, json.Unmarshal(out, &f)
}
