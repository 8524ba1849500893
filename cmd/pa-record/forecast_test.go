package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/disk"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/formats"
	"github.com/pa-tools/pa/pkg/export/recordlog"
	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/forecast"
)

// trace has three rows at 0, 60 and 90 s.
const trace = `{"timestamp":0,"input_length":100,"output_length":50,"hash_ids":[1]}
{"timestamp":60000,"input_length":300,"output_length":150,"hash_ids":[1]}
{"timestamp":90000,"input_length":200,"output_length":100,"hash_ids":[1]}
`

func TestForecastText(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	traced := file("trace.jsonl", trace)
	bodies := file("bodies.json", `{"data":[{"payload":[{"messages":[{"role":"user","content":"12345678"}],"max_completion_tokens":30}]}]}`)
	talks := file("talks.jsonl", `{"session_id":"a","text":"one two three","delay":4000}
{"session_id":"a","text":"one two three"}
{"session_id":"b","text":"one two three","delay":8000}
{"session_id":"b","text":"one two three"}
`)
	mixed := file("mixed.jsonl", `{"prompt":"one two three","max_completion_tokens":9}
{"prompt":"one two three"}
`)
	whole := file("whole.jsonl", `{"prompt":"one two three","output_tokens":9}
{"model":"m","messages":[{"role":"user","content":"one two three"}]}
`)
	large := file("large.jsonl", "")
	if err := os.Truncate(large, forecast.MostDryBytes+1); err != nil {
		t.Fatal(err)
	}
	const noLength = "output tokens and export (the requests ask for no length of the answers)"
	const pace = " (it depends on the server's speed)"
	for _, tt := range []struct{ args, want string }{
		{"--streaming --request-rate-range 10 --duration 2m --isl 550 --osl 256", "2m00s, about 1,200 requests, about 660,000 input tokens, at most 308,000 output tokens, at most 90.2 MB of export"},
		{"--request-rate-range 10 --request-count 100 --isl 20", "10 s, 100 requests, 2,000 input tokens; unknown: " + noLength},
		{"--request-rate-range 10,20 --request-count 100 --isl 20 --repeat 3 --warmup-runs 1", "1m00s, 800 requests, 16,000 input tokens; unknown: " + noLength + " (all 4 runs)"},
		{"--request-rate-range 10 --request-count 100 --isl 20 --output-tokens fixed:20 --output-tokens-mean-deterministic", "10 s, 100 requests, 2,000 input tokens, 2,000 output tokens, about 102 kB of export"},
		{"--request-rate-range 10 --request-count 10 --output-tokens fixed:6 --input-data " + mixed, "1 s, 10 requests, about 33 input tokens, at most 75 output tokens, at most 10.3 kB of export"},
		{"--request-rate-range 10 --request-count 10 --output-tokens fixed:6 --input-data " + whole, "1 s, 10 requests, about 101 input tokens; unknown: " + noLength},
		{"", "at most 50 s; unknown: requests, input tokens, output tokens and export" + pace},
		{"--request-count 80 --concurrency-range 1,8 --isl 20 --osl 10", "160 requests, 3,200 input tokens, at most 1,600 output tokens, at most 153 kB of export; unknown: time" + pace},
		{"--concurrency-range 1:64 --binary-search -l 100 --duration 10s", "at most 1m30s; unknown: requests, input tokens, output tokens and export" + pace},
		{"--concurrency-range 1:4 -l 100 --request-count 10 --isl 20", "at most 40 requests, at most 800 input tokens; unknown: time" + pace + "; " + noLength},
		{"--concurrency-range 1:0 -l 100", "unknown: time, requests, input tokens, output tokens and export (only the latency ends the search)"},
		{"--auto-sweep --duration 30s", "at most 5m00s; unknown: requests, input tokens, output tokens and export" + pace},
		{"--auto-sweep --request-count 300 --isl 20", "at most 3,000 requests, at most 60,000 input tokens; unknown: time" + pace + "; " + noLength},
		{"--session-concurrency 4 --num-sessions 20 --session-turns-mean 3 --session-turn-delay-mean 2000 --isl 20", "at least 20 s, 60 requests, at least 1,200 input tokens; unknown: " + noLength},
		{"--session-concurrency 2 --input-data " + talks, "at least 6 s, 4 requests, at least 13 input tokens; unknown: " + noLength},
		{"--fixed-schedule --streaming --input-data " + traced, "at least 1m30s, 3 requests, about 600 input tokens, at most 300 output tokens, at most 91.7 kB of export"},
		{"--fixed-schedule --streaming --speed-up 2 --input-data " + traced, "at least 45 s, 3 requests, about 600 input tokens, at most 300 output tokens, at most 91.7 kB of export"},
		{"--concurrency-range 1,2 --request-count all --input-data " + traced, "6 requests, about 1,200 input tokens, at most 600 output tokens, at most 15.3 kB of export; unknown: time" + pace},
		{"--request-count 10 --input-data " + bodies, "10 requests, about 195 input tokens, at most 300 output tokens, at most 12.4 kB of export; unknown: time" + pace},
		{"--request-count all --input-data nowhere.jsonl", "unknown: time, requests, input tokens, output tokens and export (--input-data: nowhere.jsonl: no such file or directory; check the path)"},
		{"--request-count all --input-data " + large, "unknown: time, requests, input tokens, output tokens and export (--input-data " + large + " is large, and is read when the run begins)"},
		{"--request-count all --input-data -", "unknown: time, requests, input tokens, output tokens and export (--input-data -: standard input is read when the run begins)"},
		{"--periodic-concurrency-range 2:8:2 --isl 20", "8 requests, 160 input tokens; unknown: time" + pace + "; " + noLength},
		{"--endpoint v1/embeddings --isl 20 --request-count 10", "10 requests, 200 input tokens; unknown: time" + pace + "; output tokens (answers of this endpoint have no length in tokens); export (the size of the answers is not known)"},
		{"--request-count 10 --isl 20 --concurrency-range 5 --rank 1 --world-size 3 --start-at 2099-01-01T00:00:00Z", "3 requests, 60 input tokens; unknown: time" + pace + "; " + noLength + " (of this rank)"},
		{"--request-count 10 --isl 20 --extra-body {\"max_tokens\":7}", "10 requests, 200 input tokens, at most 70 output tokens, at most 11.0 kB of export; unknown: time" + pace},
		{"--isl 20 --request-count 2000000 --osl 2000", "2,000,000 requests, 40,000,000 input tokens, at most 4,000 M output tokens, at most 26.6 GB of export; unknown: time" + pace},
	} {
		s, err := parse(t, "", append([]string{"-u", "sim://", "--service-kind", "openai"}, strings.Fields(tt.args)...)...)
		if err != nil {
			t.Errorf("%s: %v", tt.args, err)
			continue
		}
		if got := forecastOf(t, s); got != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.args, got, tt.want)
		}
	}
}

// forecastOf returns the forecast as text. The levels of a schedule are known after its data.
func forecastOf(t *testing.T, s *settings) string {
	t.Helper()
	data, _ := s.dryData(t.Context())
	return s.forecastLoad().Forecast(data).String()
}

// The files of a run have the size that was forecast, within 30 %. Compressed files of streamed
// answers may be smaller, the more so the more regular the times are: up to a factor of 2.5.
func TestForecastSize(t *testing.T) {
	for _, args := range []string{
		"--streaming", "--streaming --endpoint v1/completions", "--streaming --endpoint v1/responses",
		"", "--endpoint v1/completions", "--endpoint v1/responses",
	} {
		t.Run(strings.ReplaceAll(args, "/", "."), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			all := append([]string{"-u", "sim://?ttft=5ms&itl=normal:1ms,200us&output_tokens=100", "--service-kind", "openai", "--quiet"},
				strings.Fields(args+" --request-count 64 --concurrency-range 32 --synthetic-input-tokens fixed:60 --output-tokens fixed:100")...)
			var paths []string
			for i, suffix := range []string{".json", ".json.gz", ".json.zst", ".parquet", ".arrow"} {
				paths = append(paths, filepath.Join(dir, fmt.Sprint("x", i, suffix)))
				all = append(all, "--profile-export-file", paths[i])
			}
			s, err := parse(t, "", all...)
			if err != nil {
				t.Fatal(err)
			}
			if code, _, stderr := inProcess(t.Context(), t, all...); code != 0 {
				t.Fatalf("exit code %d, %s", code, stderr)
			}
			data, _ := s.dryData(t.Context())
			load := s.forecastLoad()
			compare := func(name string, f recorder.Figure, got int64) {
				most := 1.3
				if s.Streaming && slices.Contains([]string{".gz", ".zst", ".parquet"}, filepath.Ext(name)) {
					most = 2.5
				}
				if ratio := f.Value / float64(got); ratio < 0.7 || ratio > most {
					t.Errorf("%s has %d bytes, forecast were %.0f", name, got, f.Value)
				}
			}
			sum := 0.0
			for _, path := range paths {
				info, err := os.Stat(path)
				if err != nil {
					t.Fatal(err)
				}
				load.Exports = []string{path}
				f := load.Forecast(data).Export
				compare(filepath.Base(path), f, info.Size())
				sum += f.Value
			}
			load.Exports = paths
			f := load.Forecast(data)
			compare("the journal", f.Journal, journalBytes(t, paths[0]))
			if math.Abs(f.Export.Value/sum-1) > 1e-9 {
				t.Errorf("the exports together: %v, want %v", f.Export.Value, sum)
			}
		})
	}
}

// journalBytes returns the size of the journal of an export.
func journalBytes(t *testing.T, path string) int64 {
	t.Helper()
	opener := export.Opener{Formats: formats.Readers()}
	r, err := opener.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var b bytes.Buffer
	w, err := recordlog.NewWriter(recordlog.To(&b), r.Run())
	if err != nil {
		t.Fatal(err)
	}
	if err := export.Copy(t.Context(), w, r); err != nil {
		t.Fatal(err)
	}
	return int64(b.Len())
}

// A run prints its forecast once, before the load; --quiet and a dry run print what they say.
func TestForecastPrinted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	args := []string{"-u", "sim://?ttft=1ms&itl=1ms&output_tokens=3", "--request-rate-range", "200", "--request-count", "4", "--isl", "20", "--osl", "3", "--repeat", "2", "--warmup-runs", "1", "--profile-export-file", filepath.Join(dir, "x.json")}
	const line = "pa-record: forecast: 0.1 s, 12 requests, 240 input tokens, at most 36 output tokens, at most "
	for _, tt := range []struct {
		flag   string
		counts int
	}{{"-v", 1}, {"--dry-run", 1}, {"--quiet", 0}} {
		code, stdout, stderr := inProcess(t.Context(), t, append(args, "--overwrite", tt.flag)...)
		if n := strings.Count(stderr, line); code != 0 || n != tt.counts || strings.Count(stderr, "forecast") != n {
			t.Errorf("%s: exit code %d, %d forecasts, want %d: %s", tt.flag, code, n, tt.counts, stderr)
		}
		if tt.flag != "--dry-run" {
			continue
		}
		var plan struct {
			Repeat   int
			Forecast map[string]struct {
				Value *float64
				Bound string
				Basis string
			}
		}
		if err := json.Unmarshal([]byte(stdout), &plan); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{
			"time_s": "0.06 exact", "requests": "12 exact", "input_tokens": "240 exact", "output_tokens": "36 at most",
		} {
			f := plan.Forecast[name]
			if f.Value == nil || fmt.Sprint(*f.Value, " ", f.Bound) != want || f.Basis == "" {
				t.Errorf("%s: %+v, want %s", name, f, want)
			}
		}
		if plan.Repeat != 2 || plan.Forecast["export_bytes"].Value == nil || plan.Forecast["journal_bytes"].Value == nil {
			t.Errorf("%s", stdout)
		}
	}
}

// A --duration that leaves rows unsent gives a warning with their number, which the export keeps.
func TestUnsentRows(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "trace.jsonl")
	if err := os.WriteFile(path, []byte(trace), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ args, want string }{
		{"--fixed-schedule --duration 30s", "--duration 30s ends before the schedule, which takes 1m30s: 2 of 3 rows are left unsent; give a longer --duration, drop it, or raise --speed-up"},
		{"--fixed-schedule --duration 30s --speed-up 2", "--duration 30s ends before the schedule, which takes 45 s: 1 of 3 rows is left unsent; give a longer --duration, drop it, or raise --speed-up"},
		{"--fixed-schedule --duration 30s --warmup-duration 30s", "--duration 30s ends before the schedule, which takes 1m30s: 1 of 3 rows is left unsent; give a longer --duration, drop it, or raise --speed-up"},
		{"--fixed-schedule --duration 90s", ""},
		{"--fixed-schedule", ""},
		{"--request-rate-range 1 --duration 2s", ""},
		{"--request-rate-range 1 --duration 2s --num-dataset-entries 3", "--duration 2s at the given rates sends about 2 of the 3 rows of --num-dataset-entries and leaves 1 unsent; give a longer --duration, a higher rate, or --request-count all"},
		{"--request-rate-range 1 --duration 2s --num-dataset-entries 3 --repeat 2", ""},
		{"--concurrency-range 1 --duration 2s --num-dataset-entries 3", ""},
	} {
		args := append([]string{"-u", "sim://", "--input-data", path}, strings.Fields(tt.args)...)
		code, _, stderr := inProcess(t.Context(), t, append(args, "--dry-run")...)
		want := ""
		if tt.want != "" {
			want = "pa-record: warning: " + tt.want + "\n"
		}
		if code != 0 || !strings.Contains(stderr, want) || strings.Contains(stderr, "unsent") != (want != "") {
			t.Errorf("%s: exit code %d, %s, want %s", tt.args, code, stderr, want)
		}
	}
	export := filepath.Join(t.TempDir(), "x.json")
	_, _, stderr := inProcess(t.Context(), t, "-u", "sim://?ttft=1ms&output_tokens=1", "--input-data", path, "--fixed-schedule", "--duration", "20ms", "--profile-export-file", export)
	text, err := os.ReadFile(export)
	const want = "--duration 20ms ends before the schedule, which takes 1m30s: 2 of 3 rows are left unsent"
	if err != nil || strings.Count(stderr, want) != 1 || !bytes.Contains(text, []byte(want)) {
		t.Errorf("%v; %s; the export keeps it: %v", err, stderr, bytes.Contains(text, []byte(want)))
	}
}

// A disk without room for journal and exports gives a warning before the load.
func TestDiskForecast(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const mb = 1_000_000
	base := "-u sim:// --streaming --request-count 1000 --isl 20 --osl 100 --dry-run --profile-export-file "
	out := func(name string) string { return filepath.Join(dir, name) }
	for _, tt := range []struct {
		name, args string
		free       uint64
		unknown    bool
		want       []string // parts of the warning; nil: none
	}{
		{"room", out("x.json"), 40 * mb, false, nil},
		{"no room", out("x.json"), 20 * mb, false, []string{"journal and export need at most 31.3 MB in " + dir + ", which has 20.0 MB free: ", "--artifact-dir", ".parquet", "--spill-dir", "send less"}},
		{"parquet fits", out("x.parquet"), 20 * mb, false, nil},
		{"parquet does not", out("x.parquet"), 1 * mb, false, []string{"which has 1.00 MB free: free space there, write elsewhere with --artifact-dir, name a folder"}},
		{"both formats", out("x.json") + " --profile-export-file " + out("x.parquet"), 30 * mb, false, []string{"need at most 32.5 MB"}},
		{"all runs, one journal", out("x.json") + " --repeat 3", 80 * mb, false, []string{"need at most 89.8 MB"}},
		{"unknown", out("x.json"), 0, true, nil},
		{"a device", os.DevNull, 0, false, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(func(string) string { return "" }, make(chan os.Signal))
			var asked []string
			env.freeSpace = func(dir string) (disk.Space, bool) {
				asked = append(asked, dir)
				return disk.Space{Free: tt.free, FileSystem: "a"}, !tt.unknown
			}
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), append([]string{"pa-record"}, strings.Fields(base+tt.args)...), env, strings.NewReader(""), &stdout, &stderr)
			warned := strings.Contains(stderr.String(), "pa-record: warning: journal and export")
			missing := slices.ContainsFunc(tt.want, func(part string) bool { return !strings.Contains(stderr.String(), part) })
			if code != 0 || warned != (tt.want != nil) || missing {
				t.Errorf("exit code %d, %s, want %q", code, &stderr, tt.want)
			}
			if slices.ContainsFunc(asked, func(d string) bool { return d != dir }) {
				t.Errorf("asked for the space of %q", asked)
			}
		})
	}
}

// Folders on several file systems are judged each by itself, and a run gives the warning, too.
func TestDiskForecastOfFolders(t *testing.T) {
	t.Parallel()
	small, large := t.TempDir(), t.TempDir()
	env := newEnvironment(func(string) string { return "" }, make(chan os.Signal))
	env.freeSpace = func(dir string) (disk.Space, bool) {
		if dir == small {
			return disk.Space{Free: 1000}, true
		}
		return disk.Space{Free: 1e9}, true
	}
	var stdout, stderr bytes.Buffer
	args := strings.Fields("pa-record -u sim://?ttft=1ms&output_tokens=1 --request-count 2 --isl 20 --osl 1 --profile-export-file " + filepath.Join(large, "x.json") + " --profile-export-file " + filepath.Join(small, "y.arrow"))
	code := run(t.Context(), args, env, strings.NewReader(""), &stdout, &stderr)
	if want := "warning: exports need at most 23.5 kB in " + small + ", which has 1.00 kB free: free space there, write elsewhere with --artifact-dir, export .parquet (a fraction of the size), or send less\n"; code != 0 || strings.Count(stderr.String(), " need ") != 1 || !strings.Contains(stderr.String(), want) {
		t.Errorf("exit code %d, %s, want %s", code, &stderr, want)
	}
}
