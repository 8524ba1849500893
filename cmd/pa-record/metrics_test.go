package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/sim"
	"github.com/pa-tools/pa/pkg/sim/plan"
)

// scrapesOf reads the telemetry of an export as text, and hands each scrape to do.
func scrapesOf(t *testing.T, path string, do func(*export.Scrape)) string {
	t.Helper()
	r := exporttest.Open(t, path)
	var b strings.Builder
	err := r.Scrapes(t.Context(), func(s *export.Scrape) error {
		if do != nil {
			do(s)
		}
		fmt.Fprintln(&b, s.Source, s.StartNS, s.EndNS, s.Error)
		for _, x := range s.Samples {
			fmt.Fprintln(&b, x.Series.Type, x.Series, x.Value)
		}
		return nil
	})
	if err != nil || len(r.Warnings()) > 0 {
		t.Fatalf("%s: %v, %v", path, err, r.Warnings())
	}
	return b.String()
}

// checkLines compares long texts, and shows the first line that differs.
func checkLines(t *testing.T, what, got, want string) {
	t.Helper()
	if got == want {
		return
	}
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			t.Errorf("%s: line %d of %d is\n%s\nwant, of %d,\n%s", what, i, len(g), g[i], len(w), w[i])
			return
		}
	}
	t.Errorf("%s: %d lines, want %d", what, len(g), len(w))
}

// ended sums up the requests of a ledger that had surely ended before one instant,
// and the requests that may have ended before another: numbers, and times in ns. The clock
// of a run is read from the wall clock once, so that they may be apart by a little.
type ended struct {
	n  uint64
	ns uint64
}

const clocksApart = uint64(5 * time.Millisecond)

func endedBy(entries []sim.Entry, instant uint64) (e ended) {
	for i := range entries {
		if x := &entries[i]; x.End == sim.EndOK && x.EndedNS <= instant {
			e.n++
			e.ns += x.EndedNS - x.ReceivedNS
		}
	}
	return e
}

// What the simulated server says of itself, over each protocol and in each format,
// is what its ledger has; and the analysis shows it beside the client's figures.
func TestMetricsLedger(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, args string
		count, sum string // of the series
		sumNS      float64
		figure     string
	}{
		{"OpenAI", "--service-kind openai --streaming", "vllm:e2e_request_latency_seconds_count", "vllm:e2e_request_latency_seconds_sum", 1e9, "vllm:e2e_request_latency_seconds"},
		{"Triton gRPC", "-m vllm -i grpc --async --streaming --input-data prompts.json", "nv_inference_request_success", "nv_inference_request_duration_us", 1e3, "ModelStatistics"},
		{"Triton HTTP", "-m add_sub -i http", "nv_inference_request_success", "nv_inference_request_duration_us", 1e3, "ModelStatistics"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			srv, err := sim.Start(t.Context(), sim.Config{
				TTFT: plan.ConstantDelay(2 * time.Millisecond), ITL: plan.ConstantDelay(time.Millisecond), OutputTokens: plan.ConstantLength(4), AddSubDelay: plan.ConstantDelay(3 * time.Millisecond),
			})
			if err != nil {
				t.Fatal(err)
			}
			defer srv.Close()
			url, metrics, dir := srv.TritonHTTPURL(), srv.TritonHTTPURL(), t.TempDir()
			switch {
			case strings.Contains(tt.args, "grpc"):
				url = srv.TritonGRPCAddr()
			case strings.Contains(tt.args, "openai"):
				url, metrics = srv.OpenAIURL(), srv.OpenAIURL()
			}
			prompts := filepath.Join(dir, "prompts.json")
			if err := os.WriteFile(prompts, []byte(`{"data":[{"text_input":["hi"],"stream":[true],"sampling_parameters":["{}"]}]}`), 0o600); err != nil {
				t.Fatal(err)
			}
			const requests = 15
			args := append(strings.Fields(strings.ReplaceAll(tt.args, "prompts.json", prompts)), "-u", url, "--collect-metrics", "--metrics-url", metrics, "--metrics-interval", strconv.Itoa(testenv.Stride(12)),
				"--request-rate-range", "30", "--request-count", fmt.Sprint(requests), "--quiet")
			var paths []string
			for _, name := range []string{"e.json", "e.parquet", "e.arrow"} {
				paths = append(paths, filepath.Join(dir, name))
				args = append(args, "--profile-export-file", paths[len(paths)-1])
			}
			if code, _, stderr := inProcess(t.Context(), t, args...); code != 0 || strings.Contains(stderr, "warning: telemetry") {
				t.Fatalf("exit code %d:\n%s", code, stderr)
			}
			if err := srv.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			entries := srv.Ledger()
			if len(entries) != requests {
				t.Fatalf("%d requests in the ledger, want %d", len(entries), requests)
			}

			// check holds counters that were asked for from one instant to another to
			// the ledger, and says whether they could be but one value.
			check := func(what string, fromNS, toNS, n uint64, ns float64) bool {
				least, most := endedBy(entries, fromNS-clocksApart), endedBy(entries, toNS+clocksApart)
				if n < least.n || n > most.n || ns < float64(least.ns)-1e3 || ns > float64(most.ns)+1e3 {
					t.Errorf("%s: %d requests of %.0f ns; the ledger has %+v to %+v", what, n, ns, least, most)
				}
				return least == most
			}
			exact, scrapes := 0, 0
			want := scrapesOf(t, paths[0], func(s *export.Scrape) {
				if s.Source != metrics+"/metrics" || s.Error != "" {
					t.Errorf("scrape of %s: %s", s.Source, s.Error)
				}
				var n, ns float64
				for _, x := range s.Samples {
					switch model := x.Series.Label("model"); {
					case model != "" && !strings.Contains(tt.args, "-m "+model+" "):
					case x.Series.Name == tt.count:
						n = x.Value
					case x.Series.Name == tt.sum:
						ns = x.Value * tt.sumNS
					}
				}
				if scrapes++; check("scrape", s.StartNS, s.EndNS, uint64(n), ns) {
					exact++
				}
			})
			if scrapes < 3 || exact == 0 {
				t.Errorf("%d scrapes, %d of them at instants when nothing ended", scrapes, exact)
			}
			for _, path := range paths[1:] {
				checkLines(t, path, scrapesOf(t, path, nil), want)
			}

			run, _ := exporttest.Read(t, paths[0])
			if s := run.Meta.Telemetry; len(s) != 1 || s[0].Scrapes != scrapes || s[0].Failed+s[0].Dropped+s[0].LeftOut != 0 || s[0].Host != "127.0.0.1" {
				t.Errorf("sources %+v, of %d scrapes", s, scrapes)
			}
			if stats := run.Experiments[0].Meta.ServerStats; tt.figure == "ModelStatistics" {
				if stats == nil || len(stats.Snapshots) < 3 || stats.Errors != nil {
					t.Fatalf("statistics %+v", stats)
				}
				for _, s := range stats.Snapshots {
					c := s.Stats[0].InferenceStats.Success
					check("snapshot at the edge "+string(s.Edge), s.StartNS, s.EndNS, c.Count, float64(c.NS))
				}
			}
			checkServerFigure(t, paths[1], tt.figure, requests)
		})
	}
}

// checkServerFigure has a file analyzed: the server's time of requests is there,
// beside the client's.
func checkServerFigure(t *testing.T, path, metric string, requests uint64) {
	t.Helper()
	r := exporttest.Open(t, path)
	rep, err := analyze.Run(t.Context(), r, analyze.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range rep.Experiments[0].Server {
		if f.Name == "request" && f.Metric == metric {
			e2el := rep.Experiments[0].Metric(answer.E2EL)
			// All but the requests that ended around the last time that the server was asked.
			if f.N == 0 || f.N > requests || f.Mean <= 0 || !f.Compared || f.Client != e2el.Mean {
				t.Errorf("%+v, client %+v", f, e2el)
			}
			return
		}
	}
	t.Errorf("no figure of %s in %+v", metric, rep.Experiments[0].Server)
}
