package export

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pa-tools/pa/internal/disk"
	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/spool"
)

// A Summarized is a Reader of a tool's file of requests, where that file states figures about its requests, or the
// tool writes summaries beside it: files of the same folder with the figures and the settings of the run.
type Summarized interface {
	Reader
	// SelfCheck compares the stated figures with the requests. It is complete when Next has
	// returned false and Err is nil.
	SelfCheck() SelfCheck
	// SummaryNames returns the names of the summaries, given the name of the file that
	// the Reader reads; all names are without the folder. A * stands for any characters. It returns nil if the tool
	// writes no such files.
	SummaryNames(file string) []string
	// UseSummary takes the content of one summary, before the first Next. SelfCheck
	// compares the figures of the content with the figures of the run, and the run takes
	// over the load that the content names. name is the path. A non-nil err is the
	// reason why the file could not be read; content is then nil, and a Warning reports
	// err.
	UseSummary(name string, content []byte, err error)
}

// A SelfCheck is the result of comparing the figures that a file states with figures
// computed from its requests.
type SelfCheck struct {
	// Compared is the number of compared figures, Differing the number that differ. A
	// Warning names each difference.
	Compared, Differing int
	// Kinds names the kinds of the compared figures, in order: "latencies", "rates".
	Kinds []string
	// NotCompared names figures that the file states and that were not compared, with the
	// reason.
	NotCompared []string
}

// maxSummaryBytes bounds a summary: the tools write a few kilobytes.
const maxSummaryBytes = 16 << 20

// resultFiles lists the names of files of requests, and last a name of a file of figures, which are all that its tool keeps. Each can be compressed or converted: see
// fileSuffixes. A * stands for any characters. ResultFile takes the first of them in the folder.
var resultFiles = []string{
	"profile_export.json", "profile_export.jsonl", "profile_export_raw.jsonl", "per_request_lifecycle_metrics.json", "benchmarks.json", "events.jsonl",
	"*_individual_responses.json", "benchmark_summary.json",
}

// compressedSuffixes are the suffixes of compressed files.
var compressedSuffixes = []string{".gz", ".zst"}

// fileSuffixes lists the names under which a file of requests can be read: as it is, compressed,
// or converted.
func fileSuffixes(name string) []string {
	names := []string{name}
	for _, suffix := range compressedSuffixes {
		names = append(names, name+suffix)
	}
	stem := strings.TrimSuffix(name, filepath.Ext(name))
	return append(names, stem+".parquet", stem+".arrow", stem+".journal")
}

// ResultFile returns the path of the file of requests in the folder of a tool's
// results: profile_export.json, AIPerf's profile_export.jsonl, inference-perf's
// per_request_lifecycle_metrics.json, GuideLLM's benchmarks.json, the events.jsonl of
// mlcommons/endpoints, the individual responses of Ray LLMPerf or the figures of EvalScope. Each can end in .gz or .zst too, or be a Parquet or
// Arrow file of that name. It returns an error for a folder with the responses of several runs.
func ResultFile(folder string) (string, error) {
	for _, result := range resultFiles {
		for _, name := range fileSuffixes(result) {
			switch found := regularFiles(folder, name); {
			case len(found) > 1:
				return "", fmt.Errorf("%s: the folder holds %s, such as %s; give the files of the runs to read", folder, plural.GroupedOf(len(found), name+" file"), filepath.Base(found[0]))
			case len(found) == 1:
				return found[0], nil
			}
		}
	}
	return "", fmt.Errorf("%s: is a directory without a result file (%s, also with .gz or .zst, or as .parquet or .arrow); give a file", folder, strings.Join(resultFiles, ", "))
}

// regularFiles returns the paths of the regular files of a name, which may have a *, in a folder.
func regularFiles(folder, name string) (found []string) {
	for _, path := range summaryPaths(folder, name) {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			found = append(found, path)
		}
	}
	return found
}

// SummaryNames returns the names of the files that the tool writes into the folder
// of the file at path, which r reads, and that say more about its run; nil if it
// writes none. They are read if [Opener.Beside] allows it.
func SummaryNames(r Reader, path string) []string {
	s, ok := formatReader(r).(Summarized)
	if !ok || path == "-" {
		return nil
	}
	file := filepath.Base(path)
	for _, compressed := range compressedSuffixes {
		file = strings.TrimSuffix(file, compressed)
	}
	return s.SummaryNames(file)
}

// SummaryPaths returns the paths of the files of SummaryNames that exist.
func SummaryPaths(r Reader, path string) []string {
	var all []string
	for _, name := range SummaryNames(r, path) {
		all = append(all, summaryPaths(filepath.Dir(path), name)...)
	}
	return all
}

// mostOfPattern bounds the summaries that a name with a * finds.
const mostOfPattern = 1024

// summaryPaths returns the paths of the summaries of a name in a folder, which can be compressed.
func summaryPaths(folder, name string) (all []string) {
	if !strings.Contains(name, "*") {
		for _, suffix := range append([]string{""}, compressedSuffixes...) {
			path := filepath.Join(folder, name+suffix)
			if _, err := os.Stat(path); err == nil {
				return []string{path}
			}
		}
		return nil
	}
	entries, _ := os.ReadDir(folder) // a folder that cannot be listed has none
	for _, e := range entries {
		plain := e.Name()
		for _, suffix := range compressedSuffixes {
			plain = strings.TrimSuffix(plain, suffix)
		}
		begin, end, _ := strings.Cut(name, "*")
		if strings.HasPrefix(plain, begin) && strings.HasSuffix(plain, end) && len(plain) > len(begin)+len(end) && len(all) < mostOfPattern {
			all = append(all, filepath.Join(folder, e.Name()))
		}
	}
	return all
}

// readSummary returns the content of a summary.
func readSummary(ctx context.Context, path string) ([]byte, error) {
	content, err := disk.ReadFile(ctx, path, maxSummaryBytes)
	if err != nil || spool.Compression(content) == "" {
		return content, err
	}
	s, err := spool.Copy(ctx, path, bytes.NewReader(content), spool.Config{MaxBytes: maxSummaryBytes})
	if err != nil {
		return nil, err
	}
	content, err = io.ReadAll(io.NewSectionReader(s.File, 0, s.Size))
	return content, errors.Join(err, s.Err, s.Close())
}

// useSummaries gives r, which reads the file at path, the summaries that exist beside
// that file.
func useSummaries(ctx context.Context, r Reader, path string) {
	for _, name := range SummaryPaths(r, path) {
		content, err := readSummary(ctx, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if s, ok := formatReader(r).(Summarized); ok {
			s.UseSummary(name, content, err)
		}
	}
}

// Checked returns the comparison that r made when it had read all requests. ok is false if r reads
// no [Summarized] file, or if nothing was compared.
func Checked(r Reader) (c SelfCheck, ok bool) {
	if s, is := formatReader(r).(Summarized); is {
		c = s.SelfCheck()
	}
	return c, c.Compared > 0
}
