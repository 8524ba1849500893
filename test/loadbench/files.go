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
	"path/filepath"
	"reflect"

	"github.com/pa-tools/pa/pkg/export"
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
	rowOfShards    = "`report` of the shards"
	rowOfMerged    = "`report` of the merged file"
	rowMerge       = "`merge`"
	rowHTML        = "`html`"
	rowRequests    = "`requests`"
	rowCheck       = "`check`"
	rowDiff        = "`diff`, of two such files"
)

// allGroups names the groups of metrics that runs of streamed chats have.
const allGroups = "quality,economics,prefix,phases"

// besideReport are the columns of commands beside a report.
var besideReport = []column{
	middle(cpuS, 2), middle(wallS, 2), middle(peakMB, 0), beside("CPU ÷ report", cpuS, rowReport), beside("time ÷ report", wallS, rowReport),
}

// compare measures commands, and prints a table of them. The first cell of the header is what their names are.
func (s *suite) compare(ctx context.Context, title, what string, columns []column, commands ...candidate) (measured, error) {
	m, err := s.measure(ctx, commands...)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, c := range commands {
		names = append(names, c.name)
	}
	s.table(title, []string{what}, columns, m.rows(columns, nil, names...))
	return m, nil
}

// command is a program with its arguments.
func (s *suite) command(name string, args ...string) candidate {
	return candidate{name, func(ctx context.Context) (figures, error) { return s.use(ctx, args...) }}
}

// exportFile returns the path and the size in MB of the file that sections read. The first
// call makes the file.
func (s *suite) exportFile() (path string, mb float64, err error) {
	return s.exportOf("profile_export.json", 0)
}

// exportOf is exportFile for a file of that name, with the random numbers of a rank.
func (s *suite) exportOf(name string, rank int) (path string, mb float64, err error) {
	path = filepath.Join(s.dir, name)
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		size, err := madeUp{requests: s.requests, tokens: s.tokens, counts: uncounted, rank: rank, ranks: 1}.create(path)
		return path, float64(size) / 1e6, err
	}
	if err != nil {
		return "", 0, err
	}
	return path, float64(info.Size()) / 1e6, nil
}

// analysis measures the report of a large file, beside plain readers of the file.
func (s *suite) analysis(ctx context.Context) error {
	file, mb, err := s.exportFile()
	if err != nil {
		return err
	}
	ofReport := func(name, figure string) column {
		return column{name, 2, func(m measured, c string) float64 { return m.ratio(rowReport, c, figure) }}
	}
	columns := []column{
		middle(cpuS, 2), middle(wallS, 2), rate(func(string) float64 { return mb }), middle(peakMB, 0),
		ofReport("CPU of report ÷ CPU", cpuS), ofReport("time of report ÷ time", wallS),
	}
	python := candidate{name: rowPython}
	if path, err := exec.LookPath("python3"); err == nil {
		python = s.command(rowPython, path, "-c", "import json, sys\nwith open(sys.argv[1], encoding='utf8') as f: json.load(f)", file)
	}
	m, err := s.compare(ctx, fmt.Sprintf("Report and plain readers, %d requests of %d responses, %.0f MB", s.requests, s.tokens, mb), "reader", columns,
		s.command(rowReport, s.analyze, "report", file),
		s.command(rowGroups, s.analyze, "report", "--metrics", allGroups, file),
		s.command(rowReader, s.self, plainMode, readerOnly, file),
		s.command(rowUnmarshal, s.self, plainMode, unmarshal, file),
		python)
	if err != nil {
		return err
	}
	s.hold("CPU of report ÷ json.Unmarshal", m.ratio(rowReport, rowUnmarshal, cpuS), 0.8)               // 0.34
	s.hold("CPU of report ÷ profilejson.Reader", m.ratio(rowReport, rowReader, cpuS), 3.5)              // 1.5
	s.hold("peak memory of report ÷ json.Unmarshal", m.ratio(rowReport, rowUnmarshal, peakMB), 1.2)     // 0.44
	s.hold("CPU of report with all groups of metrics ÷ report", m.ratio(rowGroups, rowReport, cpuS), 2) // 1.1
	return s.others(ctx, file, mb)
}

// others measures other commands beside the report of the same file.
func (s *suite) others(ctx context.Context, file string, mb float64) error {
	second, _, err := s.exportOf("profile_export_2.json", 1)
	if err != nil {
		return err
	}
	m, err := s.compare(ctx, fmt.Sprintf("Commands, %d requests of %d responses, %.0f MB", s.requests, s.tokens, mb), "command", besideReport,
		s.command(rowReport, s.analyze, "report", file),
		s.command(rowHTML, s.analyze, "html", "--overwrite", "-o", filepath.Join(s.dir, "page.html"), file),
		s.command(rowRequests, s.analyze, "requests", file),
		s.command(rowCheck, s.analyze, "check", file),
		s.command(rowDiff, s.analyze, "diff", file, second))
	if err != nil {
		return err
	}
	s.hold("CPU of html ÷ report", m.ratio(rowHTML, rowReport, cpuS), 3)         // 1.5
	s.hold("CPU of requests ÷ report", m.ratio(rowRequests, rowReport, cpuS), 4) // 1.5; 2.3 with 100,000 requests
	s.hold("CPU of check ÷ report", m.ratio(rowCheck, rowReport, cpuS), 3)       // 1.2
	s.hold("CPU of diff ÷ report", m.ratio(rowDiff, rowReport, cpuS), 7)         // 3.4 with 100,000 requests
	return nil
}

// rate is a column with the MB that a command reads each second.
func rate(mb func(command string) float64) column {
	return column{"MB/s", 0, func(m measured, c string) float64 { return mb(c) / median(m.of(c, wallS)) }}
}

// definitions measures reports by the definitions of other tools, on the same file.
func (s *suite) definitions(ctx context.Context) error {
	file, mb, err := s.exportFile()
	if err != nil {
		return err
	}
	m, err := s.compare(ctx, fmt.Sprintf("Dialects, %d requests of %d responses, %.0f MB", s.requests, s.tokens, mb), "command", besideReport,
		s.command(rowReport, s.analyze, "report", file),
		s.command(rowGenAIPerf, s.analyze, "report", "--dialect", "genai-perf-main", file),
		s.command(rowDefsOne, s.analyze, "definitions", "--dialect", "genai-perf-main", file),
		s.command(rowDefinitions, s.analyze, "definitions", file))
	if err != nil {
		return err
	}
	s.hold("CPU of definitions ÷ report", m.ratio(rowDefinitions, rowReport, cpuS), 14)                   // 6.1
	s.hold("CPU of report --dialect genai-perf-main ÷ report", m.ratio(rowGenAIPerf, rowReport, cpuS), 3) // 1.25
	return nil
}

// columnar measures Parquet: converting JSON to it, and the report from it.
func (s *suite) columnar(ctx context.Context) error {
	file, mb, err := s.exportFile()
	if err != nil {
		return err
	}
	parquet := filepath.Join(s.dir, "run.parquet")
	convert := s.command(rowConvert, s.analyze, "convert", "--overwrite", file, parquet)
	if _, err := convert.once(ctx); err != nil { // the title has the size
		return err
	}
	info, err := os.Stat(parquet)
	if err != nil {
		return err
	}
	size := float64(info.Size()) / 1e6
	m, err := s.compare(ctx, fmt.Sprintf("Parquet, %d requests of %d responses: %.0f MB of JSON, %.1f MB of Parquet", s.requests, s.tokens, mb, size), "command", besideReport,
		s.command(rowReport, s.analyze, "report", file), convert, s.command(rowFromParquet, s.analyze, "report", parquet))
	if err != nil {
		return err
	}
	s.hold("CPU of convert to Parquet ÷ report", m.ratio(rowConvert, rowReport, cpuS), 7)           // 2.6
	s.hold("CPU of report from Parquet ÷ from JSON", m.ratio(rowFromParquet, rowReport, cpuS), 1.5) // 0.51; 0.30 with 10,000 requests
	s.hold("size of Parquet ÷ JSON", size/mb, 0.12)                                                 // 0.05
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
		tokens string // of an event
	}{
		{oneToken, "a token an event"},       // 1.15 with 20,000 requests
		{several, "several tokens an event"}, // 1.31; 3.0 when times per token were sorted
		{counted, "counts in each event"},    // 1.31; 4.1 when times per token were sorted
	} {
		file := filepath.Join(s.dir, string(kind.counts)+".parquet")
		if _, err := (madeUp{requests: requests, tokens: s.tokens, counts: kind.counts, ranks: 1}).create(file); err != nil {
			return err
		}
		m, err := s.measure(ctx, s.command(rowReport, s.analyze, "report", file),
			s.command(rowGroups, s.analyze, "report", "--metrics", allGroups, file))
		if err != nil {
			return err
		}
		rows = append(rows, m.rows(besideReport, []string{string(kind.counts)}, rowReport, rowGroups)...)
		s.hold("CPU of report with all groups ÷ report, from Parquet, "+kind.tokens, m.ratio(rowGroups, rowReport, cpuS), 2)
	}
	s.table(fmt.Sprintf("Groups of metrics, from Parquet, %d requests of %d responses", requests, s.tokens), []string{"tokens of an event", "command"}, besideReport, rows)
	return nil
}

// ranks measures the report of the shards of a run, beside one merge and the report of the
// merged file. It fails unless both reports are equal.
func (s *suite) ranks(ctx context.Context) (err error) {
	dir := filepath.Join(s.dir, "shards")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	fmt.Fprintf(s.log, "writing %d shards of %d requests\n", s.shards, s.requests)
	size := int64(0)
	for rank := range s.shards {
		n, err := madeUp{requests: s.requests, tokens: s.tokens, counts: oneToken, rank: rank, ranks: s.shards}.create(filepath.Join(dir, fmt.Sprintf("%03d.parquet", rank)))
		if err != nil {
			return err
		}
		size += n
	}
	shards, merged := filepath.Join(dir, "*.parquet"), filepath.Join(s.dir, "merged.parquet")
	fmt.Fprintln(s.log, rowMerge)
	mergeFigures, err := s.use(ctx, s.analyze, "merge", "--overwrite", shards, merged)
	if err != nil {
		return err
	}
	info, err := os.Stat(merged)
	if err != nil {
		return err
	}
	if err := s.equalReports(ctx, shards, merged); err != nil {
		return err
	}
	// Rates are per byte of the files that a command reads.
	bytes := func(command string) float64 {
		if command == rowOfMerged {
			return float64(info.Size())
		}
		return float64(size)
	}
	perByte := func(m measured, c, figure string) float64 {
		return m.ratio(c, rowOfMerged, figure) * bytes(rowOfMerged) / bytes(c)
	}
	columns := []column{
		middle(cpuS, 2), middle(wallS, 2), rate(func(c string) float64 { return bytes(c) / 1e6 }), middle(peakMB, 0),
		{"CPU per byte ÷ merged", 2, func(m measured, c string) float64 { return perByte(m, c, cpuS) }},
		{"time per byte ÷ merged", 2, func(m measured, c string) float64 { return perByte(m, c, wallS) }},
	}
	title := fmt.Sprintf("%d shards of %d requests of %d responses: %.0f MB of Parquet, merged %.0f MB", s.shards, s.requests, s.tokens, bytes(rowOfShards)/1e6, bytes(rowOfMerged)/1e6)
	m, err := s.compare(ctx, title, "command", columns,
		candidate{rowMerge, func(context.Context) (figures, error) { return mergeFigures, nil }}, // once, because it takes long
		s.command(rowOfMerged, s.analyze, "report", merged), s.command(rowOfShards, s.analyze, "report", shards))
	if err != nil {
		return err
	}
	s.hold("CPU per byte of report from shards ÷ merged", perByte(m, rowOfShards, cpuS), 3)              // 1.4; 1.0 with 10,000 requests a shard
	s.hold("peak memory of report from shards ÷ merged", m.ratio(rowOfShards, rowOfMerged, peakMB), 2.2) // 1.1; 1.0 with 10,000
	s.hold("CPU per byte of merge ÷ report from merged", perByte(m, rowMerge, cpuS), 36)                 // 18
	// 2.4 to 2.7; 1.1 with 10,000; 4.6 when each column kept buffers of its own
	s.hold("peak memory of merge ÷ report from merged", m.ratio(rowMerge, rowOfMerged, peakMB), 4)
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

// plainMode as the first argument makes the process a plain reader: the second argument is
// the way to read, the third one the file.
const plainMode = "plain"

// Ways to read a file.
const (
	unmarshal  = "unmarshal"   // encoding/json, into any
	readerOnly = "profilejson" // profilejson.Reader, every request
)

// plainMain runs a plain reader.
func plainMain(ctx context.Context, args []string, _, _ io.Writer) error {
	if len(args) != 2 {
		return errors.New("plain: expected a way to read and a file")
	}
	switch way, path := args[0], args[1]; way {
	case unmarshal:
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var v any
		return json.Unmarshal(data, &v)
	case readerOnly:
		requests := 0
		_, err := readExport(ctx, path, func(*export.Request) error { requests++; return nil })
		if err == nil && requests == 0 {
			err = fmt.Errorf("%s: no requests", path)
		}
		return err
	default:
		return fmt.Errorf("plain: no way %q to read", way)
	}
}
