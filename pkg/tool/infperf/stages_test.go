package infperf

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
)

// The stages of a run of inference-perf are levels, if the settings and the requests show which
// request belongs to which stage.
func TestStages(t *testing.T) {
	const twoRates = "load: {type: constant, interval: 5, stages: [{rate: 1, duration: 3}, {rate: 2.5, duration: 2}]}"
	for _, tt := range []struct {
		name, config string
		starts       string // of the requests, in the order of the file; x for a request without one
		want         string // the level of each request
		warned       bool   // that stages are not known
		files        string // of stages: the number of requests, the seconds and the load of each
	}{
		{"by their numbers", twoRates, "1 2 3 10 10 11 11 12", "request_rate:1 request_rate:1 request_rate:1 request_rate:2.5 request_rate:2.5 request_rate:2.5 request_rate:2.5 request_rate:2.5", false, ""},
		{"in the order of their ends", twoRates, "2 1 3 11 10 10 12 11", "request_rate:1 request_rate:1 request_rate:1 request_rate:2.5 request_rate:2.5 request_rate:2.5 request_rate:2.5 request_rate:2.5", false, ""},
		{"no interval between them", strings.Replace(twoRates, "interval: 5", "interval: 0", 1), "1 2 3 3.1 3.2 3.3 3.4 3.5", "request_rate:1 request_rate:1 request_rate:1 request_rate:2.5 request_rate:2.5 request_rate:2.5 request_rate:2.5 request_rate:2.5", false, ""},
		{"fewer requests than planned: by the interval", twoRates, "1 3 10 11", "request_rate:1 request_rate:1 request_rate:2.5 request_rate:2.5", false, ""},
		{"a request without a start", twoRates, "1 x 3 10 11", "request_rate:1 request_rate:1 request_rate:2.5 request_rate:2.5", false, ""},
		{"concurrency", "load: {type: concurrent, interval: 1, stages: [{num_requests: 2, concurrency_level: 2}, {num_requests: 1, concurrency_level: 8}, {num_requests: 1, concurrency_level: 16}]}", "1 1 5 9", "concurrency:2 concurrency:2 concurrency:8 concurrency:16", false, ""},
		{"one stage", "load: {type: poisson, stages: [{rate: 4, duration: 1}]}", "1 2", "request_rate:4 request_rate:4", false, ""},
		{"the numbers contradict the interval", twoRates, "1 2 3 4 20 21 22 23", "request_rate:1 request_rate:1 request_rate:1 request_rate:1 request_rate:2.5 request_rate:2.5 request_rate:2.5 request_rate:2.5", false, ""},
		{"more pauses than stages", twoRates, "1 20 40", ": : :", true, ""},
		{"stages mixed in the file", twoRates, "1 10 2 10 3 11 11 12", ": : : : : : : :", true, ""},
		{"a trace", "load: {type: trace_replay, stages: [{rate: 1, duration: 3}]}", "1 2", ": :", true, ""},
		{"files of stages", "", "1 2 3 10 10", "request_rate:1 request_rate:1 request_rate:1 request_rate:2.5 request_rate:2.5", false, "3/5/requested_rate:1 2/5/requested_rate:2.5"},
		{"files of stages, no pause", "", "1 2 3 4 5", "request_rate:1 request_rate:1 request_rate:1 request_rate:2.5 request_rate:2.5", false, "3/5/requested_rate:1 2/5/requested_rate:2.5"},
		{"files of stages and settings", twoRates, "1 2 3 4 5", "request_rate:1 request_rate:1 request_rate:1 request_rate:2.5 request_rate:2.5", false, "3/5/requested_rate:7 2/5/requested_rate:8"},
		{"files of stages with a concurrency", "", "1 1 3", "concurrency:2 concurrency:2 concurrency:4", false, "2/5/concurrency:2 1/5/concurrency:4"},
		{"files of stages without a load", "", "1 1 3", ": : :", false, "2/5/x:2 1/5/x:4"},
		{"a file of a stage is missing", "", "1 2 3 10 10", ": : : : :", true, "3/5/requested_rate:1"},
		{"a stage with more requests than there are", "", "1 2", ": :", true, "9/5/requested_rate:1"},
		{"a stage longer than its file says", "", "1 2 30 40", ": : : :", true, "3/5/requested_rate:1 1/5/requested_rate:1"},
		{"a request without a start and files of stages", "", "1 x 3", ": :", true, "2/5/requested_rate:1 1/5/requested_rate:1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var requests []string
			for _, start := range strings.Fields(tt.starts) {
				field := fmt.Sprintf(`"start_time":%s,`, start)
				if start == "x" {
					field = ""
				}
				requests = append(requests, `{`+field+`"end_time":99,"request":"{}","response":"x"}`)
			}
			dir := t.TempDir()
			files := map[string]string{"per_request_lifecycle_metrics.json": "[" + strings.Join(requests, ",\n") + "]"}
			if tt.config != "" {
				files["config.yaml"] = tt.config
			}
			for i, stage := range strings.Fields(tt.files) {
				f := strings.FieldsFunc(stage, func(r rune) bool { return r == '/' || r == ':' })
				files[fmt.Sprintf("stage_%d_lifecycle_metrics.json", i)] = fmt.Sprintf(`{"benchmark_time_seconds":%s,"load_summary":{"count":%s,%q:%s}}`, f[1], f[0], f[2], f[3])
			}
			for name, text := range files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			o := export.Opener{Formats: resultfile.Formats(ResultFile())}
			r, err := o.Open(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			var got []string
			for r.Next() {
				e := r.Run().Experiments[r.Experiment()]
				got = append(got, e.Mode+":"+e.Value)
			}
			if r.Err() != nil || strings.Join(got, " ") != tt.want {
				t.Errorf("%q, %v, want %q", got, r.Err(), tt.want)
			}
			if warned := strings.Contains(strings.Join(r.Run().Meta.Warnings, "\n"), "does not say which stage a request belongs to: all are in one level"); warned != tt.warned {
				t.Errorf("warnings %q", r.Run().Meta.Warnings)
			}
		})
	}
}
