package docs

import (
	"encoding/xml"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/golden"
)

// The gate of examples/ci against simulated servers: a missing baseline fails where one is
// required, and is made and said elsewhere. Below three accepted points the gate cannot tell, and says
// so; then an equal server passes, and a slowed one fails. Runs of an earlier job are deleted.
func TestGateScript(t *testing.T) {
	t.Parallel()
	const usual, slow = "sim://?ttft=10ms&itl=10ms&output_tokens=6", "sim://?ttft=10ms&itl=30ms&output_tokens=6"
	dir := t.TempDir()
	gate := func(url string, settings ...string) (code int, said string) {
		cmd := exec.CommandContext(t.Context(), "bash", filepath.Join(golden.Root(t), "examples/ci/gate.sh"),
			"--service-kind", "openai", "-m", "sim", "--streaming", "-u", url, "--concurrency-range", "2", "--request-count", "10")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), append([]string{"PATH=" + programs + ":" + os.Getenv("PATH"), "GATE_REPEAT=3", "GATE_ALLOW=50%", "GITHUB_STEP_SUMMARY=" + filepath.Join(dir, "summary")}, settings...)...)
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return cmd.ProcessState.ExitCode(), string(out)
	}
	for _, tt := range []struct {
		name, url string
		settings  []string
		code      int
		said      string
		points    int // accepted afterwards
	}{
		{"no baseline, required; more runs than later", usual, []string{"GATE_REPEAT=4", "GATE_REQUIRE_BASELINE=true", "GATE_ACCEPT=true"}, 3, "has no accepted point, so nothing was compared", 0},
		{"no baseline", usual, []string{"GATE_ACCEPT=true", "GATE_LABEL=main/1"}, 0, "accepted as baseline/", 1},
		{"too early", usual, []string{"GATE_REQUIRE_BASELINE=true", "GATE_INCONCLUSIVE=4"}, 4, "cannot tell yet: only 1 point is accepted", 1},
		{"equal", usual, []string{"GATE_REQUIRE_BASELINE=true", "GATE_ACCEPT=true", "GATE_LABEL=main/2"}, 0, "accepted as baseline/", 2},
		{"equal again", usual, []string{"GATE_REQUIRE_BASELINE=true", "GATE_ACCEPT=true", "GATE_LABEL=main/3"}, 0, "accepted as baseline/", 3},
		{"slowed", slow, []string{"GATE_REQUIRE_BASELINE=true"}, 3, "TPOT p50 at concurrency 2 is worse than", 3},
	} {
		code, said := gate(tt.url, tt.settings...)
		if code != tt.code || !strings.Contains(said, tt.said) {
			t.Errorf("%s: exit code %d, want %d and %q:\n%s", tt.name, code, tt.code, tt.said, said)
		}
		if n := strings.Count(said, "has no accepted point"); n > 1 {
			t.Errorf("%s: %d warnings about the missing baseline, want one:\n%s", tt.name, n, said)
		}
		points, err := filepath.Glob(filepath.Join(dir, "baseline/*Z*"))
		if err != nil || len(points) != tt.points {
			t.Errorf("%s: %d accepted points, want %d", tt.name, len(points), tt.points)
		}
	}
	summary, err := os.ReadFile(filepath.Join(dir, "summary"))
	if err != nil || !strings.Contains(string(summary), "**cannot tell yet: no point is accepted") || !strings.Contains(string(summary), "**worse than the last 3 accepted points: ") {
		t.Errorf("summary of the job: %v\n%s", err, summary)
	}
	var suites struct {
		Failures int `xml:"failures,attr"`
	}
	b, err := os.ReadFile(filepath.Join(dir, "gate-out/junit.xml"))
	if err == nil {
		err = xml.Unmarshal(b, &suites)
	}
	if page, err := os.ReadFile(filepath.Join(dir, "gate-out/page.html")); err != nil || !strings.Contains(string(page), "run.3.json") {
		t.Errorf("page.html: %v, %d bytes", err, len(page))
	}
	if err != nil || suites.Failures == 0 {
		t.Errorf("junit.xml: %v, %d failures", err, suites.Failures)
	}
	if exports, err := filepath.Glob(filepath.Join(dir, "gate-out/run.[0-9].json")); err != nil || len(exports) != 3 {
		t.Errorf("exports that are kept: %v", exports)
	}
}
