package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/internal/test/memrun"
)

// A gate whose baseline was changed fails and names the file, in every format. It adds nothing to
// the baseline.
func TestDamagedBaseline(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	night := func(n int, ttft float64) []string {
		var files []string
		for i := range 3 {
			s := memrun.Spec{Second: uint64(86_400*n + 60*i), TTFT: ttft + 0.1*float64(i), ITL: 20 + 0.05*float64((3*n+i)%4), Group: fmt.Sprint("night", n)}
			files = append(files, filepath.Join(dir, fmt.Sprintf("night%d.%d.json", n, i)))
			exporttest.Write(t, files[i], s.Reader())
		}
		return files
	}
	base := filepath.Join(dir, "base")
	trend := func(flags []string, files []string) result {
		return exec(t, "", append(append([]string{"trend", "--allow", "3%", "--baseline", base}, flags...), files...)...)
	}
	for n, ttft := range []float64{30.2, 29.9, 30.4} {
		if got := trend([]string{"--accept"}, night(n, ttft)); got.code != 4 {
			t.Fatalf("night %d: exit code %d: %s", n, got.code, got.stderr)
		}
	}
	next := night(3, 30.1)
	if got := trend(nil, next); got.code != 0 || !strings.Contains(got.stdout, "3 accepted points of 9 runs") || got.stderr != "" {
		t.Fatalf("as accepted: %+v", got)
	}
	points, err := filepath.Glob(filepath.Join(base, "2023*"))
	if err != nil || len(points) != 3 {
		t.Fatal(points, err)
	}
	// Without its manifest a point is used, with a warning.
	manifest := filepath.Join(points[2], "manifest.json")
	kept, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(manifest); err != nil {
		t.Fatal(err)
	}
	got := trend(nil, next)
	if warning := "point " + filepath.Base(points[2]) + " has no manifest.json, so changes of its files cannot be found"; got.code != 0 || !strings.Contains(got.stderr, warning) || !strings.Contains(got.stdout, "without a manifest") {
		t.Errorf("without a manifest: %+v", got)
	}
	if err := os.WriteFile(manifest, kept, 0o600); err != nil {
		t.Fatal(err)
	}
	// A changed file: valid JSON, other times.
	changed := filepath.Join(points[1], "night1.0.json")
	text, err := os.ReadFile(changed)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(changed, []byte(strings.Replace(string(text), "1700086400029900000", "1700086400089900000", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	for format, want := range map[string]string{
		"text": "2 of 3 accepted points of 6 runs", "markdown": "2 of 3 accepted points", "json": `"passed": false`, "csv": "\nleft_out,", "junit": `<error message="left out: night1.0.json was changed`,
	} {
		got := trend([]string{"--accept", "--format", format}, next)
		if got.code != 3 || !strings.Contains(got.stderr, "accepted point "+filepath.Base(points[1])+": night1.0.json was changed after it was accepted") ||
			!strings.Contains(got.stdout, want) || !strings.Contains(got.stdout, "night1.0.json was changed after it was accepted") {
			t.Errorf("%s: exit code %d: %s\n%s", format, got.code, got.stderr, got.stdout)
		}
	}
	// No point is left: this is no baseline that begins.
	for n, p := range points {
		if err := os.Remove(filepath.Join(p, fmt.Sprintf("night%d.1.json", n))); err != nil {
			t.Fatal(err)
		}
	}
	if got := trend([]string{"--accept"}, next); got.code != 3 || !strings.Contains(got.stderr, "3 accepted points left out, so the gate fails") && !strings.Contains(got.stdout, "3 accepted points left out, so the gate fails") || strings.Count(got.stderr, "is gone") != 3 {
		t.Errorf("no point is left: %+v", got)
	}
	// The rest of a killed --accept is named.
	if err := os.Mkdir(filepath.Join(base, ".accepting-7"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := trend(nil, next); !strings.Contains(got.stderr, ".accepting-7 was left by an --accept that is running or was killed, and is not a point; delete the folder if no --accept is running") {
		t.Errorf("a leftover: %s", got.stderr)
	}
	if now, err := filepath.Glob(filepath.Join(base, "2023*")); err != nil || len(now) != 3 {
		t.Errorf("the baseline has %v, %v", now, err)
	}
}

// The first five points are accepted whatever they show, so that they show how much points differ.
// A later point that is worse is accepted only as noise, and a point with an outlying run is not
// accepted without a word.
func TestAcceptedPoints(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	base := filepath.Join(dir, "base")
	night := func(n int, ttft ...float64) []string {
		var files []string
		for i, ms := range ttft {
			s := memrun.Spec{Second: uint64(86_400*n + 60*i), TTFT: ms, ITL: 20 + 0.05*float64((3*n+i)%4), Group: fmt.Sprint("night", n)}
			files = append(files, filepath.Join(dir, fmt.Sprintf("night%d.%d.json", n, i)))
			exporttest.Write(t, files[i], s.Reader())
		}
		return files
	}
	trend := func(flags string, files []string) result {
		return exec(t, "", slices.Concat([]string{"trend", "--baseline", base}, strings.Fields(flags), files)...)
	}
	points := func() int {
		all, err := filepath.Glob(filepath.Join(base, "2023*"))
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	check := func(got result, code, accepted int, texts ...string) {
		t.Helper()
		if n := points(); got.code != code || n != accepted {
			t.Errorf("exit code %d, %d points; want %d and %d: %s%s", got.code, n, code, accepted, got.stdout, got.stderr)
		}
		for _, text := range texts {
			if !strings.Contains(got.stdout+got.stderr, text) {
				t.Errorf("%q is missing in:\n%s%s", text, got.stdout, got.stderr)
			}
		}
	}
	cold := night(0, 150, 30.1, 30, 30.2, 29.9)
	check(trend("--accept", cold), 3, 0, "not accepted as the first point of --baseline "+base+": "+cold[0]+" has 5 times the TTFT p50 of the other runs at concurrency 1: record again, with pa-record --warmup-runs 1")
	check(trend("--accept-noise cold", cold), 0, 1, "accepted as")
	if err := os.RemoveAll(base); err != nil {
		t.Fatal(err)
	}
	check(trend("--accept", night(0, 30, 30.1, 30.2, 29.9)), 4, 1)
	check(trend("--accept", night(1, 150, 30.1, 30, 30.2, 29.9)), 4, 1, "night1.0.json has 5 times the TTFT p50")
	check(trend("--accept", night(1, 30.3, 30.4, 30.2)), 4, 2)
	check(trend("--accept", night(2, 29.8, 29.7, 29.9)), 4, 3)
	check(trend("--accept", night(3, 36, 36.1, 36.2)), 3, 4, "worse than the last 3 accepted points: TTFT p50 +20 %", "accepted although worse, as each of the first 5 points is")
	// The slower point makes the spread large: nothing can be told, and the point is accepted.
	check(trend("--accept", night(4, 30.1, 30, 30.2)), 4, 5, "cannot tell whether worse by 5 %", "accepted points differ from each other by 9")
	check(trend("--accept --margin 40%", night(5, 30.1, 30, 30.2)), 0, 6, "no", "accepted as")
	slow := night(6, 60, 60.1, 60.2)
	check(trend("--accept", slow), 3, 6, "worse than the last 6 accepted points", "not accepted: TTFT p50 is worse; if a person finds that this is noise, --accept-noise WHY accepts it")
	check(trend("--accept-noise the-fan-failed", slow), 0, 7, "accepted as", "warning: TTFT p50 at concurrency 1 is worse than")
	check(trend("", night(7, 30.1, 30, 30.2)), 4, 7, "2023-11-20T221320Z was accepted as noise: the-fan-failed")
}
