//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// usageMode as the first argument makes the process run the command that follows and
// print what it used. The kernel counts the memory of the process that starts a command
// as the command's own, so a small process has to start it.
const usageMode = "usage"

// A usage holds the resources that one run of a command used.
type usage struct {
	CPU    float64 `json:"cpu_s"` // user and system
	Wall   float64 `json:"wall_s"`
	PeakMB float64 `json:"peak_mb"` // the largest resident set
}

// usageMain runs the command args, drops its output and prints its usage as JSON.
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
	u := usage{Wall: time.Since(began).Seconds()}
	p := cmd.ProcessState
	u.CPU = (p.UserTime() + p.SystemTime()).Seconds()
	if r, ok := p.SysUsage().(*syscall.Rusage); ok {
		u.PeakMB = float64(r.Maxrss) * 1024 / 1e6
	}
	return printJSON(stdout, u)
}

// use runs a command and returns its usage.
func (s *suite) use(ctx context.Context, args ...string) (u usage, err error) {
	self, err := os.Executable()
	if err != nil {
		return u, err
	}
	cmd := exec.CommandContext(ctx, self, append([]string{usageMode}, args...)...)
	cmd.Stderr = s.log
	out, err := cmd.Output()
	if err != nil {
		return u, fmt.Errorf("%q: %w", args, err)
	}
	return u, json.Unmarshal(out, &u)
}

// A command is a row of a section: its name in the table and its arguments.
type command struct {
	name string
	args []string // nil if the program is missing here
}

// useAll runs the commands in turn in each repetition, and returns their usages by name. A
// later command may read the output of an earlier one.
func (s *suite) useAll(ctx context.Context, commands []command) (map[string][]usage, error) {
	all := map[string][]usage{}
	for rep := range s.reps {
		for _, c := range commands {
			if c.args == nil {
				continue
			}
			fmt.Fprintf(s.log, "%s, repetition %d of %d\n", c.name, rep+1, s.reps)
			u, err := s.use(ctx, c.args...)
			if err != nil {
				return nil, err
			}
			all[c.name] = append(all[c.name], u)
		}
	}
	return all, nil
}

func cpuOf(u *usage) float64  { return u.CPU }
func wallOf(u *usage) float64 { return u.Wall }
func peakOf(u *usage) float64 { return u.PeakMB }

// middle returns the median of one figure over the repetitions.
func middle(all []usage, field func(*usage) float64) float64 {
	x := make([]float64, len(all))
	for i := range all {
		x[i] = field(&all[i])
	}
	return median(x)
}

// middleRatio returns the median of the ratios a ÷ b within a repetition, because the
// machine's other load hits all of a repetition.
func middleRatio(a, b []usage, field func(*usage) float64) float64 {
	x := make([]float64, min(len(a), len(b)))
	for i := range x {
		x[i] = field(&a[i]) / field(&b[i])
	}
	return median(x)
}
