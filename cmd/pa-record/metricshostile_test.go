package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/analyze/check"
	"github.com/pa-tools/pa/pkg/export"
)

// A metrics endpoint that hangs, floods, lies, or says something else every time
// costs a run nothing but a warning: every request is sent and answered, while
// the endpoint is being asked.
func TestMetricsHostile(t *testing.T) {
	t.Parallel()
	flood := []byte(strings.Repeat("m{a=\""+strings.Repeat("0123456789", 100)+"\"} 1\n", 1000)) // 1 MB
	long := `",pad="` + strings.Repeat("x", 4000) + "\"} 1\n"
	// spaced makes a series as long as with long, but with short labels, which cost less time.
	spaced := `"` + strings.Repeat(" ", 4000) + ",pad=\"x\"} 1\n"
	sets := 1000 / testenv.Stride(10)
	for _, tt := range []struct {
		name    string
		h       func(n int64, w http.ResponseWriter, r *http.Request)
		warning string // that it failed; "" for none
		another string // warning; "" for none
	}{
		{"hangs", func(_ int64, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "no metrics from", ""},
		{"hangs in the answer", func(_ int64, w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "a 1\n")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, "no metrics from", ""},
		{"floods", func(_ int64, w http.ResponseWriter, _ *http.Request) {
			for range 100 {
				if _, err := w.Write(flood); err != nil {
					return
				}
			}
		}, "more than 16777216 bytes", ""},
		{"lies", func(n int64, w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, "# TYPE vllm:e2e_request_latency_seconds histogram\nvllm:e2e_request_latency_seconds_count %d\nvllm:e2e_request_latency_seconds_sum NaN\nvllm:num_requests_running -1e308\nnonsense\nx{ 1\n", -n)
		}, "", "lines make no sense: left out; the first was line 5 of an answer"},
		{"has other label sets each time", func(n int64, w http.ResponseWriter, _ *http.Request) {
			for i := range sets {
				fmt.Fprintf(w, "m{run=\"%d\",i=\"%d\"} 1\n", n, i)
			}
		}, "", "series came or went during the run"},
		{"has other and long label sets each time", func(n int64, w http.ResponseWriter, _ *http.Request) {
			more := 1100
			if n > 1 { // none of these fit
				more = 100
			}
			for i := range more {
				fmt.Fprintf(w, "m{run=\"%d\",i=\"%d", n, i)
				end := long
				if i%testenv.Stride(100) > 0 {
					end = spaced
				}
				_, _ = io.WriteString(w, end)
			}
		}, "", "too many series: the first 1,0"}, // of 4 kB in 4 MiB
		{"changes its labels and types", func(n int64, w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, "# TYPE c %s\nc{l%d=\"x\"} %d\n", []string{"counter", "gauge"}[n%2], n%3, n)
		}, "", "series came or went during the run"},
		{"repeats itself", func(_ int64, w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "a 1\na 2\n")
		}, "", "were of a series that had one in the same answer"},
		{"gets more series with the requests", func(n int64, w http.ResponseWriter, _ *http.Request) {
			for i := range n {
				fmt.Fprintf(w, "c_total{code=\"%d\"} %d\n", i, n-i)
			}
		}, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int64
			told := make(chan struct{}) // closed once an answer was read, or hangs
			hostile := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				n := asked.Add(1)
				if n == 1 && strings.HasPrefix(tt.name, "hangs") || n == 2 && !strings.HasPrefix(tt.name, "hangs") {
					close(told)
				}
				tt.h(n, w, r)
			}))
			defer hostile.Close()
			var served atomic.Int64
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodPost {
					http.NotFound(w, r)
					return
				}
				_, _ = io.Copy(io.Discard, r.Body)
				select { // on a slow machine the run would be over before
				case <-told:
				case <-r.Context().Done():
					return
				}
				served.Add(1)
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, strings.Repeat(oneEvent, 3)+"data: [DONE]\n\n")
			}))
			defer srv.Close()
			const requests = 30
			out := filepath.Join(t.TempDir(), "e.json")
			parquet := filepath.Join(filepath.Dir(out), "e.parquet")
			code, _, stderr := inProcess(t.Context(), t, "--service-kind", "openai", "--streaming", "-u", srv.URL, "--request-rate-range", "60", "--request-count", fmt.Sprint(requests),
				"--collect-metrics", "--metrics-url", hostile.URL, "--metrics-interval", fmt.Sprint(testenv.Stride(300)), "--quiet", "--profile-export-file", out, "--profile-export-file", parquet)
			if code != 0 {
				t.Fatalf("exit code %d:\n%s", code, stderr)
			}
			if got := strings.Contains(stderr, "metrics from") || strings.Contains(stderr, "gave no metrics"); got != (tt.warning != "") || !strings.Contains(stderr, tt.warning) {
				t.Errorf("stderr:\n%s\nwant the warning %q", stderr, tt.warning)
			}
			if got := strings.Contains(stderr, "warning: "+hostile.URL); tt.warning == "" && got != (tt.another != "") || !strings.Contains(stderr, tt.another) {
				t.Errorf("stderr:\n%s\nwant the warning %q", stderr, tt.another)
			}
			checkValid(t, out)
			checkValid(t, parquet)
			run, all := exporttest.Read(t, out)
			if len(all) != requests || served.Load() != requests || asked.Load() == 0 {
				t.Errorf("%d requests in the export, %d at the server, want %d; the endpoint was asked %d times", len(all), served.Load(), requests, asked.Load())
			}
			for i := range all {
				if all[i].Status != export.StatusOK || len(all[i].Responses) == 0 {
					t.Errorf("request %d: %v, %s", i, all[i].Status, all[i].Message)
				}
			}
			s := run.Meta.Telemetry
			if len(s) != 1 || tt.warning == "" && (s[0].Scrapes == 0 || s[0].Failed > 0) {
				t.Fatalf("sources %+v", s)
			}
			scrapes := 0
			scrapesOf(t, out, func(*export.Scrape) { scrapes++ })
			if scrapes != s[0].Scrapes {
				t.Errorf("%d scrapes, want %d", scrapes, s[0].Scrapes)
			}
		})
	}
}

const oneEvent = `data: {"id":"a","choices":[{"index":0,"delta":{"content":"x"}}]}` + "\n\n"

// checkValid holds a file to what it promises.
func checkValid(t *testing.T, path string) {
	t.Helper()
	r := exporttest.Open(t, path)
	if _, err := check.Validate(t.Context(), r, check.ValidateConfig{}, func(v check.Violation) { t.Errorf("%s: %s", path, v.String()) }); err != nil {
		t.Error(err)
	}
	if w := r.Warnings(); len(w) > 0 {
		t.Errorf("%s: %v", path, w)
	}
}
