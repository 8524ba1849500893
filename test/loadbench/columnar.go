//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// columnar measures Parquet: converting JSON to it, and the report from it.
func (s *suite) columnar(ctx context.Context) error {
	file, mb, err := s.exportFile()
	if err != nil {
		return err
	}
	parquet := filepath.Join(s.dir, "run.parquet")
	commands := []command{
		{rowReport, []string{s.analyze, "report", file}},
		{rowConvert, []string{s.analyze, "convert", "--overwrite", file, parquet}},
		{rowFromParquet, []string{s.analyze, "report", parquet}},
	}
	all, err := s.useAll(ctx, commands)
	if err != nil {
		return err
	}
	info, err := os.Stat(parquet)
	if err != nil {
		return err
	}
	size := float64(info.Size()) / 1e6
	s.table(fmt.Sprintf("Parquet, %d requests of %d responses: %.0f MB of JSON, %.1f MB of Parquet", s.requests, s.tokens, mb, size),
		[]string{"command", "CPU s", "s", "peak MB", "CPU ÷ report", "time ÷ report"}, besideReport(commands, all))
	s.note(convertToReport, middleRatio(all[rowConvert], all[rowReport], cpuOf))
	s.note(parquetToReport, middleRatio(all[rowFromParquet], all[rowReport], cpuOf))
	s.note(parquetToJSONSize, size/mb)
	return s.groups(ctx)
}

// leastGroupRequests is the least number of requests of the files of groups: with fewer, the start of the
// program hides the cost of the groups.
const leastGroupRequests = 20_000

// groups measures reports with all groups of metrics, from Parquet files whose events have one token or several.
func (s *suite) groups(ctx context.Context) error {
	requests := max(s.requests, leastGroupRequests)
	var rows [][]string
	for _, kind := range []struct {
		counts tokenCounts
		ratio  string
	}{{oneToken, groupsOneToReport}, {several, groupsSeveralToReport}, {counted, groupsCountedToReport}} {
		file := filepath.Join(s.dir, string(kind.counts)+".parquet")
		if _, err := createShard(file, 0, 1, requests, s.tokens, kind.counts); err != nil {
			return err
		}
		commands := []command{
			{rowReport, []string{s.analyze, "report", file}},
			{rowGroups, []string{s.analyze, "report", "--metrics", allGroups, file}},
		}
		all, err := s.useAll(ctx, commands)
		if err != nil {
			return err
		}
		for _, row := range besideReport(commands, all) {
			rows = append(rows, append([]string{string(kind.counts)}, row...))
		}
		s.note(kind.ratio, middleRatio(all[rowGroups], all[rowReport], cpuOf))
	}
	s.table(fmt.Sprintf("Groups of metrics, from Parquet, %d requests of %d responses", requests, s.tokens),
		[]string{"tokens of an event", "command", "CPU s", "s", "peak MB", "CPU ÷ report", "time ÷ report"}, rows)
	return nil
}
