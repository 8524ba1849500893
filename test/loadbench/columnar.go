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
	return nil
}
