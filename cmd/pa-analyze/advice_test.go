package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/golden"
)

// advised matches a flag that a warning advises, with its value.
var advised = regexp.MustCompile(`--[a-z][a-z-]+(?: (?:[0-9]+%|(?:start|issued|responses|usage)\b))?`)

// drifting returns a level of n requests. The first tenth of the requests is slow, and users
// requests are in flight at once, in the first tenth only so many as first says.
func drifting(mode, value string, n, first, users int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"experiment":{"mode":%q,"value":%s},"requests":[`, mode, value)
	for i := range n {
		slot, ttft := i/first, 900_000
		if k := n / 10; i >= k {
			slot, ttft = k/first+(i-k)/users, 100_000
		}
		start := 1_000_000_000 + slot*1_000_000
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"timestamp":%d,"response_timestamps":[%d,%d],"response_outputs":[{"text_output":"a"},{"text_output":"b"}]}`, start, start+ttft, start+950_000)
	}
	b.WriteString(`]}`)
	return b.String()
}

func exportOf(levels ...string) string {
	return `{"experiments":[` + strings.Join(levels, ",") + `],"version":"","service_kind":"triton","endpoint":""}`
}

// A warning advises only flags that work on the file that it is about.
func TestAdviceWorks(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{
		"closed.json":    exportOf(drifting("concurrency", "4", 200, 4, 4)),
		"ramped.json":    exportOf(drifting("concurrency", "4", 200, 2, 4)),
		"slow.json":      exportOf(drifting("concurrency", "4", 200, 1, 4)),
		"rate.json":      exportOf(drifting("request_rate", "9", 200, 4, 4)),
		"unreached.json": exportOf(drifting("concurrency", "40", 200, 4, 4)),
		"mixed.json":     exportOf(drifting("concurrency", "4", 200, 4, 4), drifting("request_rate", "9", 200, 4, 4)),
		"burst.json":     exportOf(drifting("concurrency", "4", 200, 200, 200)),
		"nameless.json":  `{"experiments":[` + strings.Replace(drifting("", "1", 200, 4, 4), `"mode":"","value":1`, ``, 1) + `]}`,
	}
	// Files of real tools.
	fsys := golden.FS(t, "peers")
	if err := fs.WalkDir(fsys, ".", func(p string, _ fs.DirEntry, err error) error {
		base := filepath.Base(p)
		if err != nil || !strings.Contains(p, "/ok/") || !strings.HasPrefix(base, "result.") && base != "benchmarks.json" && base != "profile_export.jsonl" && base != "events.jsonl" && base != "per_request_lifecycle_metrics.json" {
			return err
		}
		content, err := fs.ReadFile(fsys, p)
		files[strings.ReplaceAll(p, "/", "_")] = string(content)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	advice := map[string]int{}
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		found := exec(t, "", "report", path)
		for _, line := range strings.Split(found.stderr, "\n") {
			_, text, ok := strings.Cut(line, "warning: ")
			if !ok || strings.Contains(text, "--all-warnings") {
				continue
			}
			for _, flag := range advised.FindAllString(text, -1) {
				advice[flag]++
				args := append([]string{"report", path}, strings.Fields(flag)...)
				if flag == "--tokenizer" {
					args = append(args, "built-in")
				}
				again := exec(t, "", args...)
				if again.code != 0 {
					t.Errorf("%s: %q advises %s: exit code %d\n%s", name, text, flag, again.code, again.stderr)
				}
				if strings.Contains(again.stderr, "leaves the start out") || strings.Contains(text, "leaves the start out") && strings.Contains(again.stderr, "the first tenth") {
					t.Errorf("%s: %q advises %s, which leaves %s", name, text, flag, again.stderr)
				}
			}
		}
		wants := map[string]string{
			"closed.json": "; --trim-start 10% leaves", "ramped.json": "; --trim-start 20% or --steady-state leaves", "slow.json": "; --trim-start 30% or --steady-state leaves", "rate.json": "--trim-start 10% leaves", "unreached.json": "--trim-start 10% leaves",
			"mixed.json": "--trim-start 10% leaves", "nameless.json": "--trim-start 10% leaves",
		}
		if want := wants[name]; !strings.Contains(found.stderr, want) {
			t.Errorf("%s: %q, want %q", name, found.stderr, want)
		}
	}
	if advice["--steady-state"] != 2 || advice["--trim-start 10%"] != 5 {
		t.Errorf("advice: %v", advice)
	}
}

// coldStart returns a level of n requests that are 20 ms apart. The first three take ten times as long to the first token.
func coldStart(mode, value string, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"experiment":{"mode":%q,"value":%s},"requests":[`, mode, value)
	for i := range n {
		start, ttft := 1_000_000_000+i*20_000_000, 5_000_000+i%3*1000
		if i < 3 {
			ttft *= 10
		}
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"timestamp":%d,"response_timestamps":[%d,%d],"response_outputs":[{"text_output":"a"},{"text_output":"b"}]}`, start, start+ttft, start+ttft+19_000_000)
	}
	b.WriteString(`]}`)
	return b.String()
}

// check names few cold requests, and advises only flags that leave them out: no --steady-state, which the first request begins.
func TestCheckAdvice(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]string{"concurrency": "--trim-start 10% leaves the start out", "request_rate": "--trim-start 10% leaves the start out"} {
		path := filepath.Join(t.TempDir(), "run.json")
		if err := os.WriteFile(path, []byte(exportOf(coldStart(mode, "1", 200))), 0o600); err != nil {
			t.Fatal(err)
		}
		found := exec(t, "", "check", path)
		if text := "the first 3 requests took 10.0 times as long as the rest: TTFT 50.01 ms, then 5.00 ms on average; " + want; found.code != 0 || !strings.Contains(found.stdout, text) {
			t.Errorf("%s: exit code %d, %s, want %q", mode, found.code, found.stdout, text)
		}
		for _, flag := range advised.FindAllString(want, -1) {
			if again := exec(t, "", append([]string{"report", path}, strings.Fields(flag)...)...); again.code != 0 {
				t.Errorf("%s: %s: exit code %d\n%s", mode, flag, again.code, again.stderr)
			}
		}
	}
}
