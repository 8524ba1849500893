//go:build linux

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
)

// memory measures the largest resident sets of a recording with each number of streams,
// including the export, and of the report of the file.
func (s *suite) memory(ctx context.Context) error {
	var rows [][]string
	for _, n := range s.streams {
		var all []usage
		for rep := range s.reps {
			fmt.Fprintf(s.log, "%d streams, repetition %d of %d\n", n, rep+1, s.reps)
			u, err := s.recordFor(ctx, n)
			if err != nil {
				return err
			}
			all = append(all, u)
		}
		peak := middle(all, peakOf)
		rows = append(rows, []string{strconv.Itoa(n), whole(peak), ratio(peak / float64(n)), ratio(middle(all, cpuOf))})
	}
	s.table(fmt.Sprintf("Peak memory of pa-record in %v, a token every %v", s.length, gap),
		[]string{"streams", "peak MB", "MB per stream", "CPU s"}, rows)

	file, mb, err := s.exportFile()
	if err != nil {
		return err
	}
	all, err := s.useAll(ctx, []command{{rowReport, []string{s.analyze, "report", file}}})
	if err != nil {
		return err
	}
	peak := middle(all[rowReport], peakOf)
	s.table("Peak memory of a report", []string{"MB of the file", "peak MB", "peak ÷ file"}, [][]string{{whole(mb), whole(peak), ratio(peak / mb)}})
	return nil
}

// recordFor records that many streams for s.length and returns the usage of pa-record.
func (s *suite) recordFor(ctx context.Context, streams int) (u usage, err error) {
	_, err = s.against(ctx, func(srv *server) (f figures, err error) {
		u, err = s.use(ctx, s.record, "--service-kind", "openai", "-m", "sim", "-u", srv.openAI, "--streaming",
			"--concurrency-range", strconv.Itoa(streams), "--duration", s.length.String(),
			"--extra-body", fmt.Sprintf(`{"max_tokens":%d,"ignore_eos":true}`, s.tokens),
			"--profile-export-file", filepath.Join(s.dir, "memory.json"), "--overwrite", "--quiet")
		return f, err
	})
	return u, err
}
