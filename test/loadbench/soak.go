//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// rss is the section on memory over a long run: the resident set of pa-record,
// sampled every second, after the first minute (or a tenth of the run).
func (s *suite) rss(ctx context.Context) error {
	const streams = 512
	var rows [][]string
	for _, transport := range []string{loop} {
		mb, err := s.soakOnce(ctx, transport, streams)
		if err != nil {
			return err
		}
		mid := median(mb)
		lo, hi := mb[0], mb[0]
		for _, x := range mb {
			lo, hi = min(lo, x), max(hi, x)
		}
		minute := min(60, len(mb))
		rows = append(rows, []string{
			transport, us(mid), us(lo), us(hi), fmt.Sprintf("−%.1f +%.1f", 100*(mid-lo)/mid, 100*(hi-mid)/mid),
			us(median(mb[:minute])), us(median(mb[len(mb)-minute:])),
		})
	}
	s.table(fmt.Sprintf("Resident memory, %d streams for %v", streams, s.soak), []string{"transport", "median MB", "least", "most", "off the median %", "first minute", "last minute"}, rows)
	return nil
}

func (s *suite) soakOnce(ctx context.Context, transport string, streams int) (mb []float64, err error) {
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
		end := time.Now().Add(s.soak) // later it writes the export
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case err := <-done:
				return f, err
			case now := <-tick.C:
				if now.After(skip) && now.Before(end) {
					if x := residentMB(cmd.Process.Pid); x > 0 {
						mb = append(mb, x)
					}
				}
			}
		}
	})
	if err == nil && len(mb) == 0 {
		err = fmt.Errorf("no samples")
	}
	return mb, err
}

// residentMB reads a process's resident set from /proc; 0 where there is none.
func residentMB(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, ok := bytes.Cut(text, []byte("VmRSS:"))
	if !ok {
		return 0
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	kb, err := strconv.ParseFloat(string(bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimSpace(line), []byte("kB")))), 64)
	if err != nil {
		return 0
	}
	return kb / 1024
}
