package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/formats"
	"github.com/pa-tools/pa/pkg/tool"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// The console and the CSV file show the GPU metrics of a Triton server below its statistics: for
// each level the scrapes of its windows. The export gives the same figures.
func TestConsoleShowsGPUs(t *testing.T) {
	var asked atomic.Int64 // the memory in use is more each time, so that it tells the scrapes
	for name, tt := range map[string]struct {
		metrics string
		row     string // the ends of the CSV file's rows
		console string
	}{
		"a GPU": {
			"nv_gpu_utilization{gpu_uuid=\"GPU-1\"} 0.25\nnv_gpu_power_usage{gpu_uuid=\"GPU-1\"} 80.5\nnv_gpu_memory_used_bytes{gpu_uuid=\"GPU-1\"} %d\nnv_gpu_memory_total_bytes{gpu_uuid=\"GPU-1\"} 8000\n",
			`,GPU-1:0\.25;,GPU-1:80\.5;,GPU-1:(\d+);,GPU-1:8000;\n`,
			"    Avg GPU Utilization:\n      GPU-1 : 25%\n    Avg GPU Power Usage:\n      GPU-1 : 80.5 watts\n    Max GPU Memory Usage:\n      GPU-1 : ",
		},
		"none": { // as the real Triton without one, and perf_analyzer
			"nv_inference_count{model=\"m\"} %d\n", `,(),,,\n`,
			"    Avg GPU Utilization:\n    Avg GPU Power Usage:\n    Max GPU Memory Usage:\n    Total GPU Memory:\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			asked.Store(0)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprintf(w, tt.metrics, asked.Add(1))
			}))
			defer server.Close()
			dir := t.TempDir()
			path, table := filepath.Join(dir, "e.json"), filepath.Join(dir, "r.csv")
			code, stdout, stderr := inProcess(t.Context(), t,
				"-u", "sim://?ttft=5ms", "-m", "add_sub", "--concurrency-range", "1:2", "--request-count", "40", "--quiet",
				"--collect-metrics", "--metrics-url", server.URL, "--metrics-interval", "5",
				"--profile-export-file", path, "-f", table, "--verbose-csv")
			if code != 0 {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			if got := strings.Count(stdout, "  Server Prometheus Metrics: \n"+tt.console); got != 2 {
				t.Errorf("metrics of %d levels, want 2:\n%s", got, stdout)
			}
			rows, err := os.ReadFile(table)
			if err != nil {
				t.Fatal(err)
			}
			ends := regexp.MustCompile(tt.row).FindAllSubmatch(rows, -1)
			if len(ends) != 2 || !strings.Contains(string(rows), ",Avg GPU Utilization,Avg GPU Power Usage,Max GPU Memory Usage,Total GPU Memory\n") {
				t.Errorf("CSV file\n%s", rows)
			} else if len(ends[0][1]) > 0 && bytes.Equal(ends[0][1], ends[1][1]) {
				t.Errorf("both levels show the scrapes of one:\n%s", rows)
			}

			o := export.Opener{Formats: formats.Readers()}
			r, err := o.Open(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			rep, err := dialect.Analyze(t.Context(), tool.Dialects().Find("perf_analyzer"), r, dialect.Config{VerboseCSV: true})
			if err != nil {
				t.Fatal(err)
			}
			var console, csv strings.Builder
			if err := rep.Console(&console, 0); err != nil {
				t.Fatal(err)
			}
			if err := rep.CSV(&csv); err != nil {
				t.Fatal(err)
			}
			checkLines(t, "the console from the export", console.String(), stdout)
			checkLines(t, "the CSV file from the export", csv.String(), string(rows))
		})
	}
}
