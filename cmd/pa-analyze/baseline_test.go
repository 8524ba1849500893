package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/exporttest"
	"github.com/pa-tools/pa/internal/runsettest"
)

// A gate whose baseline was changed fails and names the file, in every format. It adds nothing to
// the baseline.
func TestDamagedBaseline(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	night := func(n int, ttft float64) []string {
		var files []string
		for i := range 3 {
			s := runsettest.Spec{Second: uint64(86_400*n + 60*i), TTFT: ttft + 0.1*float64(i), ITL: 20 + 0.05*float64((3*n+i)%4), Group: fmt.Sprint("night", n)}
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
		if got := trend([]string{"--accept"}, night(n, ttft)); got.code != 0 {
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
	if got := trend([]string{"--accept"}, next); got.code != 3 || !strings.Contains(got.stderr, "no accepted point is left, so nothing was compared") || strings.Count(got.stderr, "is gone") != 3 {
		t.Errorf("no point is left: %+v", got)
	}
	// The rest of a killed --accept is named.
	if err := os.Mkdir(filepath.Join(base, ".accepting-7"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := trend(nil, next); !strings.Contains(got.stderr, ".accepting-7 was left by an --accept that is running or was killed; the folder is no point: delete it if no --accept is running") {
		t.Errorf("a leftover: %s", got.stderr)
	}
	if now, err := filepath.Glob(filepath.Join(base, "2023*")); err != nil || len(now) != 3 {
		t.Errorf("the baseline has %v, %v", now, err)
	}
}
