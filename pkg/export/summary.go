package export

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pa-tools/pa/internal/regular"
)

// maxSummaryBytes bounds a summary: the tools write a few kilobytes.
const maxSummaryBytes = 16 << 20

// resultFiles lists the names of files of requests. For a folder it takes the first of
// them in the folder.
var resultFiles = []string{
	"profile_export.json", "profile_export.jsonl", "profile_export_raw.jsonl", "per_request_lifecycle_metrics.json", "benchmarks.json", "events.jsonl",
}

// ResultFile returns the path of the file of requests in the folder of a tool's
// results: profile_export.json, AIPerf's profile_export.jsonl, inference-perf's
// per_request_lifecycle_metrics.json, GuideLLM's benchmarks.json or the events.jsonl of
// mlcommons/endpoints.
func ResultFile(folder string) (string, error) {
	for _, name := range resultFiles {
		path := filepath.Join(folder, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s: is a directory without a result file (%s); give a file", folder, strings.Join(resultFiles, ", "))
}

// SummaryNames returns the names of the files that the tool writes into the folder
// of the file at path, which r reads, and that say more about its run; nil if it
// writes none. They are read if [Opener.Beside] allows it.
func SummaryNames(r Reader, path string) []string {
	s, ok := summarized(r)
	if !ok || path == "-" {
		return nil
	}
	file := filepath.Base(path)
	for _, compressed := range []string{".gz", ".zst"} {
		file = strings.TrimSuffix(file, compressed)
	}
	return s.SummaryNames(file)
}

// SummaryPaths returns the paths of the files of SummaryNames that exist.
func SummaryPaths(r Reader, path string) []string {
	var all []string
	for _, name := range SummaryNames(r, path) {
		name = filepath.Join(filepath.Dir(path), name)
		if _, err := os.Stat(name); err == nil {
			all = append(all, name)
		}
	}
	return all
}

// summarized returns r, or the Reader that an Opener wrapped in r, as a Summarized; ok is false
// if it is none.
func summarized(r Reader) (s Summarized, ok bool) {
	if o, is := r.(*opened); is {
		r = o.Reader
	}
	s, ok = r.(Summarized)
	return s, ok
}

// useSummaries gives r, which reads the file at path, the summaries that exist beside
// that file.
func useSummaries(ctx context.Context, r Reader, path string) {
	for _, name := range SummaryNames(r, path) {
		name = filepath.Join(filepath.Dir(path), name)
		content, err := regular.ReadFile(ctx, name, maxSummaryBytes)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if s, ok := summarized(r); ok {
			s.UseSummary(name, content, err)
		}
	}
}
