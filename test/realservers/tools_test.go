//go:build realservers

package realservers

import (
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/golden"
)

// installedPerfAnalyzer installs NVIDIA's perf_analyzer of a release ("2.44.0" is
// 24.03, "2.60.0" the last) and returns its path.
func installedPerfAnalyzer(tb testing.TB, version string) string {
	tb.Helper()
	install(tb, "perf_analyzer/install.sh", version)
	return filepath.Join(home(tb), "perf_analyzer", "perf_analyzer-"+version)
}

// A genAIPerfLevel is what GenAI-Perf reads of one load level. Times are in
// ns; requests are in the order of the file.
type genAIPerfLevel struct {
	Mode                  string  `json:"mode"`
	Value                 string  `json:"value"`
	Requests              int     `json:"requests"`
	RequestLatencies      []int64 `json:"request_latencies"`
	TimeToFirstTokens     []int64 `json:"time_to_first_tokens"`
	OutputSequenceLengths []int64 `json:"output_sequence_lengths"`
}

// readByGenAIPerf has the parser of GenAI-Perf 25.08 read an export. It fails the
// test when GenAI-Perf refuses the file.
func readByGenAIPerf(tb testing.TB, export string) []genAIPerfLevel {
	tb.Helper()
	root := golden.Root(tb)
	python := filepath.Join(install(tb, "genai_perf/install.sh"), "bin", "python")
	r := runProgram(tb, tb.TempDir(), python, filepath.Join(root, "realservers", "genai_perf", "read_export.py"),
		export, filepath.Join(root, "testdata", "tokenizers", "tok-llama"))
	if r.Code != 0 {
		tb.Fatalf("GenAI-Perf cannot read the export: %v", r)
	}
	var levels []genAIPerfLevel
	for d := json.NewDecoder(strings.NewReader(r.Stdout)); ; {
		var l genAIPerfLevel
		err := d.Decode(&l)
		if errors.Is(err, io.EOF) {
			return levels
		}
		if err != nil {
			tb.Fatalf("%v in what GenAI-Perf read: %v", err, r)
		}
		levels = append(levels, l)
	}
}
