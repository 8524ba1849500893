//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
)

// Names of the rows in the sections on files.
const (
	rowReport      = "`pa-analyze report`"
	rowGroups      = "`report --metrics` all groups"
	rowReader      = "`profilejson.Reader` alone"
	rowUnmarshal   = "Go's `json.Unmarshal`"
	rowPython      = "Python's `json.load`"
	rowGenAIPerf   = "`report --dialect genai-perf-main`"
	rowDefsOne     = "`definitions --dialect genai-perf-main`"
	rowDefinitions = "`definitions` (all dialects)"
	rowConvert     = "`convert` JSON to Parquet"
	rowFromParquet = "`report` from Parquet"
)

// allGroups names all groups of metrics of a report.
const allGroups = "quality,economics,prefix,phases"

// analysis measures the report of a large file, beside plain readers of the file.
func (s *suite) analysis(ctx context.Context) error {
	file, mb, err := s.exportFile()
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	python := command{name: rowPython}
	if path, err := exec.LookPath("python3"); err == nil {
		python.args = []string{path, "-c", pythonLoad, file}
	}
	commands := []command{
		{rowReport, []string{s.analyze, "report", file}},
		{rowGroups, []string{s.analyze, "report", "--metrics", allGroups, file}},
		{rowReader, []string{self, plainMode, readerOnly, file}},
		{rowUnmarshal, []string{self, plainMode, unmarshal, file}},
		python,
	}
	all, err := s.useAll(ctx, commands)
	if err != nil {
		return err
	}
	var rows [][]string
	for _, c := range commands {
		u, report := all[c.name], all[rowReport]
		if len(u) == 0 {
			rows = append(rows, []string{c.name, "n/a (no python3)", "", "", "", "", ""})
			continue
		}
		rows = append(rows, []string{
			c.name, ratio(middle(u, cpuOf)), ratio(middle(u, wallOf)), whole(mb / middle(u, wallOf)), whole(middle(u, peakOf)),
			ratio(middleRatio(report, u, cpuOf)), ratio(middleRatio(report, u, wallOf)),
		})
	}
	s.table(fmt.Sprintf("Report and plain readers, %d requests of %d responses, %.0f MB", s.requests, s.tokens, mb),
		[]string{"reader", "CPU s", "s", "MB/s", "peak MB", "CPU of report ÷ CPU", "time of report ÷ time"}, rows)
	s.note(reportToUnmarshal, middleRatio(all[rowReport], all[rowUnmarshal], cpuOf))
	s.note(groupsToReport, middleRatio(all[rowGroups], all[rowReport], cpuOf))
	s.note(reportToReader, middleRatio(all[rowReport], all[rowReader], cpuOf))
	s.note(reportToUnmarshalMemory, middleRatio(all[rowReport], all[rowUnmarshal], peakOf))
	return nil
}

// definitions measures reports by the definitions of other tools, on the same file.
func (s *suite) definitions(ctx context.Context) error {
	file, mb, err := s.exportFile()
	if err != nil {
		return err
	}
	commands := []command{
		{rowReport, []string{s.analyze, "report", file}},
		{rowGenAIPerf, []string{s.analyze, "report", "--dialect", "genai-perf-main", file}},
		{rowDefsOne, []string{s.analyze, "definitions", "--dialect", "genai-perf-main", file}},
		{rowDefinitions, []string{s.analyze, "definitions", file}},
	}
	all, err := s.useAll(ctx, commands)
	if err != nil {
		return err
	}
	s.table(fmt.Sprintf("Dialects, %d requests of %d responses, %.0f MB", s.requests, s.tokens, mb),
		[]string{"command", "CPU s", "s", "peak MB", "CPU ÷ report", "time ÷ report"}, besideReport(commands, all))
	s.note(definitionsToReport, middleRatio(all[rowDefinitions], all[rowReport], cpuOf))
	s.note(genAIPerfToReport, middleRatio(all[rowGenAIPerf], all[rowReport], cpuOf))
	return nil
}

// besideReport returns a row for each command, with ratios to rowReport.
func besideReport(commands []command, all map[string][]usage) [][]string {
	var rows [][]string
	for _, c := range commands {
		u := all[c.name]
		rows = append(rows, []string{
			c.name, ratio(middle(u, cpuOf)), ratio(middle(u, wallOf)), whole(middle(u, peakOf)),
			ratio(middleRatio(u, all[rowReport], cpuOf)), ratio(middleRatio(u, all[rowReport], wallOf)),
		})
	}
	return rows
}
