//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
)

// Names of the rows in the section on shards.
const (
	rowOfShards = "`report` of the shards"
	rowOfMerged = "`report` of the merged file"
	rowMerge    = "`merge`"
)

// ranks measures the report of the shards of a run, beside one merge and the report of the
// merged file. It fails unless both reports are equal.
func (s *suite) ranks(ctx context.Context) (err error) {
	dir := filepath.Join(s.dir, "shards")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	fmt.Fprintf(s.log, "writing %d shards of %d requests\n", s.shards, s.requests)
	size, err := writeShards(dir, s.shards, s.requests, s.tokens)
	if err != nil {
		return err
	}
	shards, merged := filepath.Join(dir, "*.parquet"), filepath.Join(s.dir, "merged.parquet")
	defer func() { err = errors.Join(err, os.Remove(merged)) }()
	mergeCommand := command{rowMerge, []string{s.analyze, "merge", "--overwrite", shards, merged}}
	reports := []command{
		{rowOfMerged, []string{s.analyze, "report", merged}},
		{rowOfShards, []string{s.analyze, "report", shards}},
	}
	fmt.Fprintln(s.log, rowMerge)
	mergeUsage, err := s.use(ctx, mergeCommand.args...)
	if err != nil {
		return err
	}
	all, err := s.useAll(ctx, reports)
	if err != nil {
		return err
	}
	for range s.reps { // each repetition has the figures of the one merge, which takes long
		all[rowMerge] = append(all[rowMerge], mergeUsage)
	}
	info, err := os.Stat(merged)
	if err != nil {
		return err
	}
	if err := s.equalReports(ctx, shards, merged); err != nil {
		return err
	}
	// Rates are per byte of the files that a command reads.
	bytes := map[string]float64{rowMerge: float64(size), rowOfShards: float64(size), rowOfMerged: float64(info.Size())}
	perByte := func(name string, field func(*usage) float64) float64 {
		return middleRatio(all[name], all[rowOfMerged], field) * bytes[rowOfMerged] / bytes[name]
	}
	var rows [][]string
	for _, c := range append([]command{mergeCommand}, reports...) {
		u := all[c.name]
		rows = append(rows, []string{
			c.name, ratio(middle(u, cpuOf)), ratio(middle(u, wallOf)), whole(bytes[c.name] / 1e6 / middle(u, wallOf)), whole(middle(u, peakOf)),
			ratio(perByte(c.name, cpuOf)), ratio(perByte(c.name, wallOf)),
		})
	}
	s.table(fmt.Sprintf("%d shards of %d requests of %d responses: %.0f MB of Parquet, merged %.0f MB", s.shards, s.requests, s.tokens, bytes[rowOfShards]/1e6, bytes[rowOfMerged]/1e6),
		[]string{"command", "CPU s", "s", "MB/s", "peak MB", "CPU per byte ÷ merged", "time per byte ÷ merged"}, rows)
	s.note(shardsToMergedCPU, perByte(rowOfShards, cpuOf))
	s.note(shardsToMergedMemory, middleRatio(all[rowOfShards], all[rowOfMerged], peakOf))
	s.note(mergeToMergedCPU, perByte(rowMerge, cpuOf))
	s.note(mergeToMergedMemory, middleRatio(all[rowMerge], all[rowOfMerged], peakOf))
	return nil
}

// equalReports returns an error unless the reports of two inputs are equal to the last digit.
func (s *suite) equalReports(ctx context.Context, a, b string) error {
	var docs [2]map[string]any
	for i, path := range []string{a, b} {
		cmd := exec.CommandContext(ctx, s.analyze, "report", "--format", "json", path)
		cmd.Stderr = s.log
		out, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("%q: %w", cmd.Args, err)
		}
		if err := json.Unmarshal(out, &docs[i]); err != nil {
			return fmt.Errorf("%q: %w", cmd.Args, err)
		}
		run, ok := docs[i]["run"].(map[string]any)
		if !ok {
			return fmt.Errorf("%q: no member run", cmd.Args)
		}
		delete(run, "file")
	}
	if !reflect.DeepEqual(docs[0], docs[1]) {
		return fmt.Errorf("the reports of %s and %s differ", a, b)
	}
	return nil
}
