package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
)

// A wall clock that is set during a run changes no time of the run, and the export and the
// report say that it was set.
func TestClockStep(t *testing.T) {
	t.Parallel()
	for i, by := range []time.Duration{2 * time.Second, -2 * time.Second, 0} {
		for j, name := range []string{"e.json", "e.parquet"} {
			if (i+j)%testenv.Stride(2) > 0 {
				continue // in make test, one format of each step
			}
			t.Run(by.String()+", "+name, func(t *testing.T) {
				t.Parallel()
				file := filepath.Join(t.TempDir(), name)
				env := newEnvironment(noEnv, make(chan os.Signal))
				env.newClock = func() *rxclock.Clock {
					return rxclock.NewSet(400*time.Millisecond, by)
				}
				var stdout, stderr bytes.Buffer
				code := run(t.Context(), []string{
					"pa-record", "-u", "sim://?ttft=10ms&itl=2ms&output_tokens=10", "--concurrency-range", "2", "--duration", "800ms", "--profile-export-file", file, "--quiet",
				}, env, strings.NewReader(""), &stdout, &stderr)
				if code != 0 {
					t.Fatalf("exit code %d: %s", code, stderr.String())
				}
				header, all := exporttest.Read(t, file)
				said := ""
				for _, w := range header.Meta.Warnings {
					if strings.HasPrefix(w, export.ClockStepWarning) {
						said += w
					}
				}
				size, _, _ := strings.Cut(strings.TrimPrefix(said, export.ClockStepWarning), " between ")
				if got, err := time.ParseDuration(size); by == 0 && said != "" || by != 0 && (err != nil || (got-by).Abs() > time.Millisecond) {
					t.Errorf("the export says %q, want a step of %v", said, by)
				}
				// Answers that were on the way at the step may be off by it.
				off := 0
				for i := range all {
					q := &all[i]
					last := q.Responses[len(q.Responses)-1].RecvNS
					if took := int64(last - q.StartNS); q.StartNS < header.Meta.StartNS || last > header.Meta.EndNS || took < 0 || took > int64(time.Second) {
						off++
					}
				}
				if len(all) < 10 || off > 2 {
					t.Errorf("%d of %d requests have times that are off, want at most the 2 that were under way", off, len(all))
				}
				rep, err := analyze.Run(t.Context(), exporttest.Open(t, file), analyze.Config{})
				if err != nil {
					t.Fatal(err)
				}
				// pa-analyze report prints these on standard error.
				shown := fmt.Sprint(report.Warnings([]report.Input{{Name: name, Report: rep}}, false))
				if by != 0 && !strings.Contains(shown, said) || by == 0 && strings.Contains(shown, "wall clock") {
					t.Errorf("the report's warnings are %s, want %q among them", shown, said)
				}
			})
		}
	}
}
