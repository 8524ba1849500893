//go:build realservers

package realservers

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// testTritonConsole has pa-record print and write line by line what perf_analyzer
// does, numbers aside, and pa-analyze make the same of the export.
func testTritonConsole(t *testing.T, s *server) {
	streamed := []string{"-m", "vllm", "-i", "grpc", "--async", "--streaming", "-u", s.GRPC, "--input-data=prompts.json"}
	// Windows are of requests, or so long that none is empty on a busy machine: of
	// one without a request perf_analyzer makes an error.
	for _, c := range []struct {
		name    string
		prompts string
		args    []string
	}{
		{"request count", vllmPrompts, append(streamed, "--request-count", "9")},
		{"warm-up", vllmPrompts, append(streamed, "--request-count", "6", "--warmup-request-count", "3", "--concurrency-range", "2")},
		{"sweep, verbose", vllmPrompts, append(streamed, "--concurrency-range", "1:2", "--measurement-mode", "count_windows", "--measurement-request-count", "5", "-s", "999", "-v", "--verbose-csv")},
		{"time windows, http", "", []string{"-m", "add_sub", "-u", s.HTTP, "-p", "2000", "-s", "999"}},
		{"grpc, verbose, percentile", "", []string{"-m", "add_sub", "-i", "grpc", "-u", s.GRPC, "--async", "-p", "2000", "-s", "999", "--percentile", "95", "-v", "--verbose-csv"}},
		{"a range of one level", "", []string{"-m", "add_sub", "-u", s.HTTP, "--concurrency-range", "2:2", "--request-count", "6"}},
		{"tensors as JSON", "", []string{"-m", "add_sub", "-u", s.HTTP, "--input-tensor-format", "json", "--output-tensor-format", "json", "--request-count", "6"}},
		{"ensemble", "", []string{"-m", "pipeline", "-u", s.HTTP, "--request-count", "6"}},
		{"ensemble, grpc, verbose", "", []string{"-m", "pipeline", "-i", "grpc", "-u", s.GRPC, "--measurement-mode", "count_windows", "--measurement-request-count", "5", "-s", "999", "-v", "--verbose-csv"}},
		{"rates", "", []string{"-m", "add_sub", "-u", s.HTTP, "--request-rate-range", "5:10:5", "--measurement-mode", "count_windows", "--measurement-request-count", "5", "-s", "999"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // no times are compared
			args := append([]string{"--profile-export-file", exportName, "-f", "report.csv"}, c.args...)
			dir, ours := record(t, c.prompts, args...)
			if ours.Code != 0 {
				t.Fatal(ours)
			}
			theirDir, theirs := runIn(t, installedPerfAnalyzer(t, "2.60.0"), c.prompts, args)
			if theirs.Code != 0 {
				t.Fatal(theirs)
			}
			compareMasked(t, "console", theirs.Stdout, ours.Stdout)
			compareMasked(t, "CSV", readText(t, theirDir, "report.csv"), readText(t, dir, "report.csv"))

			again := []string{"report", "--dialect", "perf_analyzer", exportName}
			if strings.Contains(strings.Join(c.args, " "), " -v") {
				again = append(again, "-v")
			}
			offline := runProgram(t, dir, program(t, "pa-analyze"), again...)
			if diff := cmp.Diff(ours.Stdout, offline.Stdout); diff != "" {
				t.Errorf("pa-analyze of the export (-pa-record +pa-analyze):\n%s", diff)
			}
		})
	}
}

// number is what may differ from run to run.
var number = regexp.MustCompile(`[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?`)

// late is what perf_analyzer says when it could not keep up, which is a matter of
// the machine.
var late = regexp.MustCompile(`(?m)^(    Avg send request rate: |    \[WARNING\] |\[WARNING\] ).*\n`)

func compareMasked(t *testing.T, what, theirs, ours string) {
	t.Helper()
	mask := func(s string) []string {
		lines := strings.Split(number.ReplaceAllString(late.ReplaceAllString(s, ""), "#"), "\n")
		// How many windows it takes to be stable is a matter of the machine, too.
		return slices.CompactFunc(lines, func(a, b string) bool { return a == b && strings.HasPrefix(a, "  Pass [#] ") })
	}
	if diff := cmp.Diff(mask(theirs), mask(ours)); diff != "" {
		t.Errorf("%s, numbers replaced (-perf_analyzer +pa-record):\n%s", what, diff)
	}
}

func readText(t *testing.T, dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
