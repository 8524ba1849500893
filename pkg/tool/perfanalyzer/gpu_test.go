package perfanalyzer

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// watchedGPUs is a run of five windows of a second each, of which the last three
// are reported, with metrics of two GPUs: before these, in them, one that fails,
// and after them.
func watchedGPUs(kind, telemetry string) string {
	series := func(i int, name, uuid string) string {
		return fmt.Sprintf(`{"series":%d,"source":"s","name":"%s","type":"gauge","labels":{"gpu_uuid":"%s"}}`, i, name, uuid)
	}
	scrape := func(endMS int, values string) string {
		return fmt.Sprintf(`{"source":"s","start_ns":%d000000,"end_ns":%d000000,"values":[%s]}`, endMS-1, endMS, values)
	}
	samples := []string{
		series(0, "nv_gpu_utilization", "GPU-b"), series(1, "nv_gpu_utilization", "GPU-a"), series(2, "nv_gpu_power_usage", "GPU-a"),
		series(3, "nv_gpu_memory_used_bytes", "GPU-a"), series(4, "nv_gpu_memory_total_bytes", "GPU-a"), series(5, "DCGM_FI_DEV_GPU_UTIL", "GPU-a"),
		scrape(2500, `[0,1,1,500,900000,7,99]`), // before the last three windows
		scrape(3001, `[0,0.5,0.25,60.5,1000,80000]`),
		scrape(4500, `[0,0.7],[2,70.5,3000,90000]`), // GPU-a says nothing of its utilization
		`{"source":"s","start_ns":4600000000,"end_ns":4700000000,"error":"gone"}`,
		scrape(5999, `[0,0.6,0.75,61,2000,80000,50]`),
		scrape(6001, `[0,1,1,500,900000,7,99]`), // after them
	}
	var requests []string
	for i := range 50 {
		at := 1_000_000_000 + i*100_000_000
		requests = append(requests, fmt.Sprintf(`{"timestamp":%d,"response_timestamps":[%d],"response_outputs":[{"OUT":1}],"pa":{"id":%d}}`, at, at+50_000_000, i))
	}
	return fmt.Sprintf(`{"service_kind":%q,"experiments":[{"experiment":{"mode":"concurrency","value":1},"requests":[%s],
"window_boundaries":[1000000000,2000000000,3000000000,4000000000,5000000000,6000000000],"pa":{"measured":50}}],
"pa":{"schema":"pa/1","telemetry":[%s],"samples":[%s]}}`, kind, strings.Join(requests, ","), telemetry, strings.Join(samples, ","))
}

// Figures of GPUs are as in perf_analyzer: means, the most, and the first of the answers
// in the windows that are reported.
func TestGPUsOfSamples(t *testing.T) {
	const prometheus = `{"source":"s","kind":"prometheus","scrapes":6,"failed":1,"series":6}`
	rep := analyze(t, watchedGPUs("triton", prometheus), dialect.Config{VerboseCSV: true})
	// By hand: b (0.5+0.7+0.6)/3, a (0.25+0.75)/2; power (60.5+70.5+61)/3.
	want := &GPUs{
		Utilization: []GPUValue{{"GPU-a", 0.5}, {"GPU-b", 0.6}}, Power: []GPUValue{{"GPU-a", 64}},
		MemoryUsed: []GPUValue{{"GPU-a", 3000}}, Memory: []GPUValue{{"GPU-a", 80000}},
	}
	approximately := cmp.Comparer(func(a, b float64) bool { return a-b < 1e-12 && b-a < 1e-12 })
	if d := cmp.Diff(want, rep.Levels[0].GPUs, approximately); d != "" {
		t.Errorf("GPUs (-want +got):\n%s", d)
	}
	var console, csv bytes.Buffer
	if err := rep.Console(&console, 80); err != nil {
		t.Fatal(err)
	}
	if err := rep.CSV(&csv); err != nil {
		t.Fatal(err)
	}
	const block = `  Server Prometheus Metrics: 
    Avg GPU Utilization:
      GPU-a : 50%
      GPU-b : 60%
    Avg GPU Power Usage:
      GPU-a : 64 watts
    Max GPU Memory Usage:
      GPU-a : 3000 bytes
    Total GPU Memory:
      GPU-a : 80000 bytes
`
	if !strings.Contains(console.String(), block) {
		t.Errorf("console:\n%s\nwant in it:\n%s", console.String(), block)
	}
	head, row, _ := strings.Cut(csv.String(), "\n")
	if !strings.HasSuffix(head, ",Avg GPU Utilization,Avg GPU Power Usage,Max GPU Memory Usage,Total GPU Memory") || !strings.HasSuffix(row, ",GPU-a:0.5;GPU-b:0.6;,GPU-a:64;,GPU-a:3000;,GPU-a:80000;\n") {
		t.Errorf("CSV:\n%s", csv.String())
	}

	for _, tt := range []struct{ name, kind, telemetry string }{
		{"not collected", "triton", ""},
		{"an OpenAI server", "openai", prometheus},
		{"nvidia-smi alone", "triton", `{"source":"s","kind":"nvidia-smi","scrapes":6,"failed":1,"series":6}`},
	} {
		if rep := analyze(t, watchedGPUs(tt.kind, tt.telemetry), dialect.Config{}); rep.Levels[0].GPUs != nil {
			t.Errorf("%s: GPUs %+v", tt.name, rep.Levels[0].GPUs)
		}
	}
}
