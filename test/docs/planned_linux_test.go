package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The command that pa-analyze plan prints runs as it is, and records the planned runs with the settings of the first
// ones.
func TestPlannedCommands(t *testing.T) {
	t.Parallel()
	const sim = "'sim://?ttft=1ms&itl=1ms&output_tokens=4'"
	for _, tt := range []struct {
		name, line string
		runs       string // to plan from
		count      int    // of new runs of a side; 0: the plan says how many
	}{
		{"several runs", "pa-record -u " + sim + " --streaming --request-count 30 --concurrency-range 2 --repeat 4 --profile-export-file old.json", "'old.*.json'", 0},
		{"one run", "pa-record -u " + sim + " --streaming --request-count 30 --html 'a page.html'", "profile_export.json", 5},
		{"awkward arguments", "pa-record --service-kind openai -m sim -u " + sim + " --streaming --request-count 30 --artifact-dir 'o u[t]' --extra-body '{\"user\":\"it'\\''s $HOME\"}' --profile-export-file=-x.json", "'o u[[]t]/-x.json'", 5},
		{"another tool's command line", "pa-record genai-perf profile -m m --endpoint-type chat --streaming --concurrency 1 --request-count 4 -u " + sim, "artifacts/*/profile_export.json", 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := runner{page: tt.name, dir: t.TempDir(), addresses: strings.NewReplacer()}
			if out, errs, code := r.bash(t, tt.line, false); code != 0 {
				t.Fatalf("exit code %d: %s%s", code, out, errs)
			}
			plan, errs, code := r.bash(t, "pa-analyze plan --change 500% "+tt.runs, false)
			if code != 0 {
				t.Fatalf("exit code %d: %s", code, errs)
			}
			command, runs := "", tt.count
			for line := range strings.Lines(plan) {
				if _, after, ok := strings.Cut(line, ": pa-record "); ok {
					command = "pa-record " + strings.TrimSpace(after)
					if runs == 0 {
						_, _ = fmt.Sscanf(line, "Record %d runs of each side", &runs)
					}
				}
			}
			if command == "" || runs == 0 {
				t.Fatalf("no command:\n%s", plan)
			}
			if out, errs, code := r.bash(t, command, false); code != 0 {
				t.Fatalf("%s: exit code %d: %s%s", command, code, out, errs)
			}
			for i := 1; i <= runs+1; i++ {
				_, err := os.Stat(filepath.Join(r.dir, fmt.Sprintf("planned.%d.json", i)))
				if exists := err == nil; exists != (i <= runs) {
					files, _ := filepath.Glob(filepath.Join(r.dir, "*"))
					t.Errorf("%s: planned.%d.json exists: %v, want %d runs: %q", command, i, exists, runs, files)
				}
			}
			if out, errs, code := r.bash(t, "pa-analyze plan "+tt.runs+" 'planned.*.json'", false); code != 0 || strings.Contains(out, "not comparable") {
				t.Errorf("the new runs beside the first: exit code %d: %s%s", code, out, errs)
			}
		})
	}
}
