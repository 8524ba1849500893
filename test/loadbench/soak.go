//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// rss measures pa-record over a long run, every second after the first minute (or a tenth of
// the run): its resident set, open descriptors and threads.
func (s *suite) rss(ctx context.Context) error {
	const streams = 512
	samples, err := s.soakOnce(ctx, loop, streams)
	if err != nil {
		return err
	}
	var rows [][]string
	for _, f := range []struct {
		name string
		of   func(*sample) float64
	}{
		{"resident set, MB", func(x *sample) float64 { return x.residentMB }},
		{"descriptors", func(x *sample) float64 { return x.descriptors }},
		{"threads", func(x *sample) float64 { return x.threads }},
	} {
		all := make([]float64, len(samples))
		for i := range samples {
			all[i] = f.of(&samples[i])
		}
		mid, lo, hi := median(all), slices.Min(all), slices.Max(all)
		minute := min(60, len(all))
		rows = append(rows, []string{
			f.name, us(mid), us(lo), us(hi), fmt.Sprintf("−%.1f +%.1f", 100*(mid-lo)/mid, 100*(hi-mid)/mid),
			us(median(all[:minute])), us(median(all[len(all)-minute:])),
		})
	}
	s.table(fmt.Sprintf("%s, %d streams for %v", loop, streams, s.soak), []string{"figure", "median", "least", "most", "off the median %", "first minute", "last minute"}, rows)
	return nil
}

// A sample holds figures of a running process.
type sample struct {
	residentMB, descriptors, threads float64
}

// soakOnce records for s.soak and returns the samples.
func (s *suite) soakOnce(ctx context.Context, transport string, streams int) (all []sample, err error) {
	_, err = s.against(ctx, func(srv *server) (f figures, err error) {
		cmd := exec.CommandContext(ctx, s.record, "--service-kind", "openai", "-m", "sim", "-u", srv.openAI, "--streaming",
			"--transport", transport, "--concurrency-range", strconv.Itoa(streams), "--duration", s.soak.String(),
			"--extra-body", fmt.Sprintf(`{"max_tokens":%d,"ignore_eos":true}`, s.tokens),
			"--profile-export-file", filepath.Join(s.dir, "soak.arrow"), "--overwrite", "--quiet")
		cmd.Stderr = s.log
		if err := cmd.Start(); err != nil {
			return f, err
		}
		done := make(chan error, 1)
		go func() { done <- cmd.Wait() }()
		skip := time.Now().Add(min(time.Minute, s.soak/10))
		end := time.Now().Add(s.soak) // then pa-record writes the export
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case err := <-done:
				return f, err
			case now := <-tick.C:
				if now.After(skip) && now.Before(end) {
					if x, ok := sampleOf(cmd.Process.Pid); ok {
						all = append(all, x)
					}
				}
			}
		}
	})
	if err == nil && len(all) == 0 {
		err = errors.New("no samples")
	}
	return all, err
}

// sampleOf reads the figures of a process from /proc. ok is false if it is not there.
func sampleOf(pid int) (x sample, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return x, false
	}
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return x, false
	}
	kb, threads := statusNumber(text, "VmRSS:"), statusNumber(text, "Threads:")
	return sample{residentMB: kb / 1024, descriptors: float64(len(open)), threads: threads}, kb > 0
}

// statusNumber returns the number after a key in the text of /proc/PID/status; 0 if it is
// missing.
func statusNumber(status []byte, key string) float64 {
	_, rest, _ := bytes.Cut(status, []byte("\n"+key))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	n, err := strconv.ParseFloat(string(bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimSpace(line), []byte("kB")))), 64)
	if err != nil {
		return 0
	}
	return n
}
