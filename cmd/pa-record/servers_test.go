package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/load"
)

// Two simulated servers are recorded in turn. Each run is a whole run against its own
// server, which its export names in every format.
func TestServersInTurn(t *testing.T) {
	t.Parallel()
	const requests, tokens = 4, 3
	dir := t.TempDir()
	args := []string{
		"-u", fmt.Sprintf("old=sim://?ttft=1ms&itl=1ms&output_tokens=%d", tokens), "-u", fmt.Sprintf("new=sim://?ttft=1ms&itl=1ms&output_tokens=%d", tokens+1),
		"--concurrency-range", "1,2", "--request-count", fmt.Sprint(requests), "--warmup-request-count", "1", "--repeat", "2", "--interleave", "--random-seed", "5",
	}
	for _, suffix := range []string{"json", "parquet", "arrow"} {
		args = append(args, "--profile-export-file", filepath.Join(dir, "x."+suffix))
	}
	code, _, stderr := inProcess(t.Context(), t, args...)
	next := fmt.Sprintf("4 of 4 runs recorded; compare them with: pa-analyze diff 'old=%s' 'new=%s'\n", filepath.Join(dir, "x.old.*.json"), filepath.Join(dir, "x.new.*.json"))
	if code != 0 || !strings.HasSuffix(stderr, next) {
		t.Fatalf("exit code %d, want %q at the end: %s", code, next, stderr)
	}
	var first *export.RunMeta
	var ended uint64 // of the run before
	for _, want := range []struct {
		label string
		index int
	}{{"old", 1}, {"new", 1}, {"new", 2}, {"old", 2}} {
		name := fmt.Sprintf("x.%s.%d", want.label, want.index)
		run, rows := exporttest.Read(t, filepath.Join(dir, name+".json"))
		slices.SortFunc(rows, func(a, b export.Request) int { return int(a.ID) - int(b.ID) })
		meta := run.Meta
		if first == nil {
			first = meta
		}
		for _, suffix := range []string{"parquet", "arrow"} {
			other, _ := exporttest.Read(t, filepath.Join(dir, name+"."+suffix))
			if d := cmp.Diff(meta, other.Meta); d != "" {
				t.Errorf("%s.%s (-json +this):\n%s", name, suffix, d)
			}
		}
		repeat := &export.RepeatMeta{Label: want.label, Index: want.index, Of: 2, Group: first.Repeat.Group, Order: load.Order(2, want.index-1, 5)}
		if d := cmp.Diff(repeat, meta.Repeat); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		n := tokens
		if want.label == "new" {
			n++
		}
		if url := fmt.Sprintf("sim://?ttft=1ms&itl=1ms&output_tokens=%d", n); meta.URL != url {
			t.Errorf("%s: URL %s, want %s", name, meta.URL, url)
		}
		if !strings.Contains(string(meta.Config), fmt.Sprintf(`"label":%q`, want.label)) {
			t.Errorf("%s: configuration %s", name, meta.Config)
		}
		warmup := 0
		for i := range rows {
			if rows[i].Phase == export.PhaseWarmup {
				warmup++
			}
		}
		if len(rows) != 2*(requests+1) || warmup != 2 || rows[0].ID != 1 || rows[0].Reused {
			t.Errorf("%s: %d requests, %d of them warm-up; the first is number %d, on a used connection: %v", name, len(rows), warmup, rows[0].ID, rows[0].Reused)
		}
		for i := range rows {
			// The first event has the role, the last two the usage and [DONE].
			if got := strings.Count(outputs(&rows[i]), `"delta":{"content"`); got != n {
				t.Errorf("%s: request %d has %d tokens, want %d", name, rows[i].ID, got, n)
			}
		}
		if meta.StartNS <= ended {
			t.Errorf("%s began at %d, before the run before it ended at %d", name, meta.StartNS, ended)
		}
		ended = meta.EndNS
		if meta.DatasetSHA256 != first.DatasetSHA256 {
			t.Errorf("%s: other requests than in the first run", name)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 4*3 {
		t.Errorf("files %q, want 12 exports", left)
	}
}

// outputs returns all that the server sent for a request.
func outputs(q *export.Request) string {
	var b strings.Builder
	for _, r := range q.Responses {
		for _, f := range r.Outputs {
			b.Write(f.Value.Data)
		}
	}
	return b.String()
}

// A server that fails is named, and the runs end with it.
func TestServersFailure(t *testing.T) {
	bad := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "tired", http.StatusInternalServerError) }))
	t.Cleanup(bad.Close)
	good := startTurning(t, func(int64) bool { return false }, func(int64) {})
	dir := t.TempDir()
	path := filepath.Join(dir, "x.json")
	code, _, stderr := inProcess(t.Context(), t, "--service-kind", "openai", "-m", "m", "--streaming", "-u", "old="+good, "-u", "new="+bad.URL,
		"--request-count", "20", "--repeat", "2", "--interleave", "--profile-export-file", path)
	if code != 1 || !strings.Contains(stderr, "pa-record: new, run 1 of 2: all of the first 5 requests failed: http_error 500") ||
		!strings.Contains(stderr, "2 of 4 runs recorded; compare them with") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	left, _ := filepath.Glob(filepath.Join(dir, "*"))
	if want := []string{filepath.Join(dir, "x.new.1.json"), filepath.Join(dir, "x.old.1.json")}; !slices.Equal(left, want) {
		t.Errorf("files %q, want %q", left, want)
	}
}

// Headers, which may hold keys, go to --between-levels URLs of each server, whichever is
// being recorded.
func TestServersBetween(t *testing.T) {
	var mu sync.Mutex
	var keys []string
	start := func() string {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == "/flush":
				mu.Lock()
				defer mu.Unlock()
				keys = append(keys, r.Header.Get("X-Key"))
			case r.Method == http.MethodPost:
				fmt.Fprint(w, oneToken+"data: [DONE]\n\n")
			default:
				fmt.Fprint(w, `{"object":"list","data":[{"id":"m","object":"model"}]}`)
			}
		}))
		t.Cleanup(srv.Close)
		return srv.URL
	}
	a, b := start(), start()
	code, _, stderr := inProcess(t.Context(), t, "--service-kind", "openai", "--streaming", "-u", "old="+a, "-u", "new="+b, "-H", "X-Key: k",
		"--between-levels", a+"/flush", "--between-levels", b+"/flush", "--request-count", "2", "--profile-export-file", filepath.Join(t.TempDir(), "x.json"))
	if code != 0 || !slices.Equal(keys, []string{"k", "k"}) {
		t.Errorf("exit code %d, keys %q between the runs, want one for each server: %s", code, keys, stderr)
	}
}
