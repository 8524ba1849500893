package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/load"
)

// Every run of a series is one as if it were alone, in all formats alike: with
// all levels in the order of the list, measured one run after the other and in
// each run in its own order. No request is sent twice.
func TestSeries(t *testing.T) {
	t.Parallel()
	const runs, requests, seed = 3, 6, 7
	levels := []int{1, 2, 4}
	for _, interleave := range []bool{false, true} {
		t.Run(fmt.Sprintf("interleave %v", interleave), func(t *testing.T) {
			paths := []string{"x.json", "x.parquet", "x.arrow"}
			dir := t.TempDir()
			args := []string{
				"-u", "sim://?ttft=1ms&itl=1ms&output_tokens=3", "--concurrency-range", "1,2,4", "--request-count", strconv.Itoa(requests),
				"--repeat", strconv.Itoa(runs), "--random-seed", strconv.Itoa(seed), "--quiet", fmt.Sprintf("--interleave=%v", interleave),
			}
			for _, p := range paths {
				args = append(args, "--profile-export-file", filepath.Join(dir, p))
			}
			if code, _, stderr := inProcess(t.Context(), t, args...); code != 0 {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			var first *export.RunMeta
			var ended uint64 // of the run before
			sent := map[string]bool{}
			for i := range runs {
				meta, inputs := seriesRun(t, dir, paths, i+1)
				if first == nil {
					first = meta
				}
				want := &export.RepeatMeta{Index: i + 1, Of: runs, Group: first.Repeat.Group}
				if interleave {
					want.Order = load.Order(len(levels), i, seed)
				}
				if d := cmp.Diff(want, meta.Repeat); d != "" || len(want.Group) != 16 {
					t.Errorf("run %d (-want +got):\n%s", i+1, d)
				}
				if meta.DatasetSHA256 != first.DatasetSHA256 || meta.Seed != seed || string(meta.Config) != string(first.Config) {
					t.Errorf("run %d: dataset, seed or configuration differ from the first run's", i+1)
				}
				if meta.StartNS <= ended || meta.EndNS <= meta.StartNS {
					t.Errorf("run %d took from %d to %d, the previous run ended at %d", i+1, meta.StartNS, meta.EndNS, ended)
				}
				ended = meta.EndNS
				order := []int{0, 1, 2}
				if interleave {
					order = want.Order
				}
				seriesOrder(t, filepath.Join(dir, fmt.Sprintf("x.%d.json", i+1)), levels, order)
				for level, got := range inputs {
					for _, text := range got {
						if sent[text] {
							t.Errorf("run %d, level %d: %s was sent before", i+1, level, text)
						}
						sent[text] = true
					}
					if len(got) != requests {
						t.Errorf("run %d, level %d: %d requests, want %d", i+1, level, len(got), requests)
					}
				}
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != runs*len(paths) {
				t.Errorf("files %q, want the exports alone", left)
			}
		})
	}
}

// seriesRun checks that the exports of a run say the same of it, and returns its
// metadata and, by level, what was sent, in the order of issue.
func seriesRun(t *testing.T, dir string, paths []string, index int) (*export.RunMeta, [][]string) {
	t.Helper()
	var meta *export.RunMeta
	for _, p := range paths {
		run, _ := exporttest.Read(t, filepath.Join(dir, numberedPath(p, strconv.Itoa(index))))
		if meta == nil {
			meta = run.Meta
		}
		if d := cmp.Diff(meta, run.Meta); d != "" {
			t.Errorf("run %d, %s (-%s +this):\n%s", index, p, paths[0], d)
		}
	}
	run, requests := exporttest.Read(t, filepath.Join(dir, numberedPath(paths[0], strconv.Itoa(index))))
	slices.SortFunc(requests, func(a, b export.Request) int { return int(a.ID) - int(b.ID) })
	inputs := make([][]string, len(run.Experiments))
	if requests[0].ID != 1 || requests[0].Reused {
		t.Errorf("run %d: the first request is number %d, reused %v; want 1, on a connection of its own", index, requests[0].ID, requests[0].Reused)
	}
	for i := range requests {
		q := &requests[i]
		if q.StartNS < run.Meta.StartNS || q.StartNS > run.Meta.EndNS {
			t.Errorf("run %d: request %d is not within the run", index, q.ID)
		}
		level := slices.IndexFunc(run.Experiments, func(e export.Experiment) bool {
			return e.Meta.StartNS <= q.IssuedNS && q.IssuedNS <= e.Meta.EndNS
		})
		payload, _ := q.Inputs.Get("payload")
		inputs[level] = append(inputs[level], string(payload.Data))
	}
	for _, e := range run.Experiments {
		if e.Meta.Client == nil || e.Meta.Client.DurationNS == 0 {
			t.Errorf("run %d, level %s: nothing of the client", index, e.Value)
		}
	}
	return run.Meta, inputs
}

// seriesOrder checks that an export lists levels in the order of levels, and that they
// were measured in the order of order.
func seriesOrder(t *testing.T, path string, levels, order []int) {
	t.Helper()
	run, _ := exporttest.Read(t, path)
	var listed, measured []string
	for _, n := range levels {
		listed = append(listed, strconv.Itoa(n))
	}
	for _, i := range order {
		measured = append(measured, strconv.Itoa(levels[i]))
	}
	values := func(all []export.Experiment) (v []string) {
		for _, e := range all {
			v = append(v, e.Value)
		}
		return v
	}
	if got := values(run.Experiments); !slices.Equal(got, listed) {
		t.Errorf("%s: levels %q, want %q", filepath.Base(path), got, listed)
	}
	byTime := slices.SortedFunc(slices.Values(run.Experiments), func(a, b export.Experiment) int {
		return int(int64(a.Meta.StartNS) - int64(b.Meta.StartNS))
	})
	if got := values(byTime); !slices.Equal(got, measured) {
		t.Errorf("%s: by their times, levels were measured in the order %q, want %q", filepath.Base(path), got, measured)
	}
	for i := 1; i < len(byTime); i++ {
		if byTime[i].Meta.StartNS < byTime[i-1].Meta.EndNS {
			t.Errorf("%s: levels %s and %s overlap", filepath.Base(path), byTime[i-1].Value, byTime[i].Value)
		}
	}
}

// Synthetic data are the same in all runs of a series, and differ with another seed.
func TestSeriesMadeUp(t *testing.T) {
	t.Parallel()
	hashes := map[string]string{}
	for _, seed := range []string{"1", "2"} {
		dir := t.TempDir()
		code, _, stderr := inProcess(t.Context(), t, "-u", "sim://?ttft=1ms&itl=1ms&output_tokens=2", "-m", "add_sub", "-i", "grpc",
			"--request-count", "2", "--repeat", "2", "--random-seed", seed, "--profile-export-file", filepath.Join(dir, "x.json"), "--quiet")
		if code != 0 {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
		for _, name := range []string{"x.1.json", "x.2.json"} {
			run, _ := exporttest.Read(t, filepath.Join(dir, name))
			hash := run.Meta.DatasetSHA256
			if before, ok := hashes[seed]; ok && hash != before {
				t.Errorf("seed %s: the second run sent something else than the first", seed)
			}
			hashes[seed] = hash
		}
	}
	if hashes["1"] == hashes["2"] || hashes["1"] == "" {
		t.Errorf("datasets %q: want one for each seed", hashes)
	}
}

// A turningServer answers requests by their number, from 1.
func startTurning(t *testing.T, bad func(n int64) bool, each func(n int64)) string {
	t.Helper()
	var posts atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"m","object":"model"}]}`)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		n := posts.Add(1)
		each(n)
		if bad(n) {
			http.Error(w, "tired", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, oneToken+"data: [DONE]\n\n")
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

const oneToken = `data: {"id":"a","choices":[{"index":0,"delta":{"content":"x"}}]}` + "\n\n"

// Runs of a series that end in different ways, and the outcome of the series. Each has 30 requests.
func TestSeriesOutcome(t *testing.T) {
	t.Parallel()
	// Failures one after the other would make the slot wait.
	everySecond := func(from, to int64) func(int64) bool {
		return func(n int64) bool { return n >= from && n <= to && n%2 == 0 }
	}
	from := func(first int64) func(int64) bool { return func(n int64) bool { return n >= first } }
	for _, tt := range []struct {
		name string
		bad  func(n int64) bool
		args string
		code int
		runs int    // exports
		said string // on standard error
	}{
		{"all well", everySecond(0, 0), "", 0, 3, "3 of 3 runs recorded"},
		{"a gate in the first", everySecond(1, 20), "--max-error-rate 10%", 3, 3, "run 1 of 3: concurrency 1: 10 of 20 requests failed"},
		{"a gate in the last", everySecond(61, 80), "--max-error-rate 10%", 3, 3, "run 3 of 3: concurrency 1: 10 of 20 requests failed"},
		{"a failure in the second", from(31), "", 1, 2, "pa-record: run 2 of 3: all of the first 5 requests failed: http_error 500"},
		{"some failures", everySecond(31, 34), "", 0, 3, "warning: run 2 of 3: concurrency 1: 2 of 30 requests failed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			url := startTurning(t, tt.bad, func(int64) {})
			dir := t.TempDir()
			args := append([]string{"--service-kind", "openai", "-u", url, "--streaming", "--request-count", "30", "--repeat", "3", "--profile-export-file", filepath.Join(dir, "x.json")}, strings.Fields(tt.args)...)
			code, _, stderr := inProcess(t.Context(), t, args...)
			if code != tt.code || !strings.Contains(stderr, tt.said) {
				t.Errorf("exit code %d, want %d and %q: %s", code, tt.code, tt.said, stderr)
			}
			if files, _ := filepath.Glob(filepath.Join(dir, "*")); len(files) != tt.runs {
				t.Errorf("files %q, want %d", files, tt.runs)
			}
		})
	}
}

// A file that appears while the run before goes on is not replaced. That is a
// failure, which is worse than the gate that this run missed.
func TestSeriesFileAppears(t *testing.T) {
	dir := t.TempDir()
	second := filepath.Join(dir, "x.2.json")
	url := startTurning(t, func(n int64) bool { return n%2 == 0 }, func(n int64) {
		if n == 1 {
			if err := os.WriteFile(second, []byte("mine"), 0o600); err != nil {
				t.Error(err)
			}
		}
	})
	code, _, stderr := inProcess(t.Context(), t, "--service-kind", "openai", "-u", url, "--request-count", "20", "--max-error-rate", "10%", "--repeat", "3", "--profile-export-file", filepath.Join(dir, "x.json"))
	if code != 1 || !strings.Contains(stderr, "run 1 of 3: concurrency 1: 10 of 20 requests failed") || !strings.Contains(stderr, "run 2 of 3: "+second+" is there already") || !strings.Contains(stderr, "1 of 3 runs recorded") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if text, err := os.ReadFile(second); err != nil || string(text) != "mine" {
		t.Errorf("%s holds %q (%v)", second, text, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "x.3.json")); err == nil {
		t.Error("the third run was made")
	}
}

// The device that takes everything takes all exports.
func TestSeriesInPlace(t *testing.T) {
	code, _, stderr := inProcess(t.Context(), t, "-u", "sim://?ttft=1ms&itl=1ms&output_tokens=2", "--request-count", "2", "--repeat", "2", "--profile-export-file", os.DevNull)
	if code != 0 || !strings.Contains(stderr, "run 2 of 2: wrote "+os.DevNull) || strings.Contains(stderr, "pa-analyze") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

func TestNewGroup(t *testing.T) {
	now := time.Unix(1_700_000_000, 1)
	if a, b := newGroup(now), newGroup(now.Add(1)); len(a) != 16 || a == b || a != newGroup(now) {
		t.Errorf("groups %q and %q a nanosecond apart; want two of 16 digits", a, b)
	}
}
