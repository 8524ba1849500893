package perfanalyzer

import (
	"strings"
	"testing"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/pawindow"
)

// each returns stats of n requests, of which each took so many µs: in all, in the
// queue, and in the three parts of the model.
func each(n, all, queue, input, infer, output uint64) Stats {
	of := func(us uint64) export.CountNS { return export.CountNS{Count: n, NS: n * us * 1000} }
	return Stats{
		Inferences: n, Executions: n,
		InferenceStats: export.InferenceStats{Success: of(all), Queue: of(queue), ComputeInput: of(input), ComputeInfer: of(infer), ComputeOutput: of(output)},
	}
}

// pipeline is the ensemble of TensorRT-LLM's backend in the documentation of
// llm_perf, with what perf_analyzer printed of it: a µs was lost there in adding up
// what is rounded down, four more are of the times below a µs.
func pipeline() *Model {
	return &Model{
		Name: "ensemble", Version: "1", Stats: Stats{Inferences: 1207, Executions: 1207, InferenceStats: export.InferenceStats{Success: export.CountNS{Count: 1207, NS: 1207 * 177344000}}},
		Composing: []Model{
			{Name: "postprocessing", Version: "1", Stats: each(1394, 721, 481, 24, 156, 56)},
			{Name: "preprocessing", Version: "1", Stats: each(1213, 1511, 838, 21, 584, 64)},
			{Name: "tensorrt_llm", Version: "1", Stats: each(1207, 175090, 49, 22, 174927, 89)},
		},
	}
}

func TestServer(t *testing.T) {
	cached := each(90, 200, 30, 10, 100, 20) // of 100 requests; 10 were in the cache
	cached.Success, cached.Queue = export.CountNS{Count: 100, NS: 100 * 250000}, export.CountNS{Count: 100, NS: 100 * 30000}
	cached.CacheHit, cached.CacheMiss = export.CountNS{Count: 10, NS: 10 * 15000}, export.CountNS{Count: 90, NS: 90 * 25000}
	cachedPipeline := pipeline()
	cachedPipeline.ResponseCache = true
	top := pipeline()
	top.ResponseCache, top.TopLevelCache = true, true
	top.CacheHit, top.CacheMiss = export.CountNS{Count: 4, NS: 4 * 50000}, export.CountNS{Count: 2, NS: 2 * 9000}
	for _, tt := range []struct {
		name, release string
		m             *Model
		want          string
	}{
		{"a model", "25.06", &Model{Stats: each(958, 382, 41, 26, 257, 16)}, `
    Inference count: 958
    Execution count: 958
    Successful request count: 958
    Avg request latency: 382 usec (overhead 42 usec + queue 41 usec + compute input 26 usec + compute infer 257 usec + compute output 16 usec)
`},
		{"an empty line until 25.02", "25.02", &Model{Stats: each(1, 5, 1, 1, 1, 1)}, `
    Inference count: 1
    Execution count: 1
    Successful request count: 1
    Avg request latency: 5 usec (overhead 1 usec + queue 1 usec + compute input 1 usec + compute infer 1 usec + compute output 1 usec)

`},
		{"no request", "25.02", &Model{Stats: Stats{Inferences: 3}}, `
    Request count: 0
`},
		{"no overhead below 0", "25.06", &Model{Stats: each(2, 3, 2, 1, 1, 1)}, `
    Inference count: 2
    Execution count: 2
    Successful request count: 2
    Avg request latency: 3 usec (overhead 0 usec + queue 2 usec + compute input 1 usec + compute infer 1 usec + compute output 1 usec)
`},
		{"an ensemble", "25.06", pipeline(), `
    Inference count: 1207
    Execution count: 1207
    Successful request count: 1207
    Avg request latency: 177344 usec (overhead 33 usec + queue 1368 usec + compute 175943 usec)

  Composing models: 
  postprocessing, version: 1
      Inference count: 1394
      Execution count: 1394
      Successful request count: 1394
      Avg request latency: 721 usec (overhead 4 usec + queue 481 usec + compute input 24 usec + compute infer 156 usec + compute output 56 usec)
  preprocessing, version: 1
      Inference count: 1213
      Execution count: 1213
      Successful request count: 1213
      Avg request latency: 1511 usec (overhead 4 usec + queue 838 usec + compute input 21 usec + compute infer 584 usec + compute output 64 usec)
  tensorrt_llm, version: 1
      Inference count: 1207
      Execution count: 1207
      Successful request count: 1207
      Avg request latency: 175090 usec (overhead 3 usec + queue 49 usec + compute input 22 usec + compute infer 174927 usec + compute output 89 usec)
`},
		{"a response cache", "25.06", &Model{ResponseCache: true, Stats: cached}, `
    Inference count: 90
    Execution count: 90
    Cache hit count: 10
    Cache miss count: 90
    Successful request count: 100
    Avg request latency: 250 usec (overhead 79 usec + queue 30 usec + cache hit/miss 141 usec)
      Average Cache Hit Latency: 15 usec
      Average Cache Miss Latency: 155 usec (cache lookup/insertion 25 usec + compute input 10 usec + compute infer 100 usec + compute output 20 usec)
`},
		{"the same in the models of an ensemble", "25.06", &Model{
			ResponseCache: true, Stats: Stats{Inferences: 100, Executions: 100, InferenceStats: export.InferenceStats{Success: export.CountNS{Count: 100, NS: 100 * 300000}}},
			Composing: []Model{{Name: "a", Version: "2", Stats: cached}},
		}, `
    Inference count: 100
    Execution count: 100
    Cache hit count: 0
    Cache miss count: 0
    Successful request count: 100
    Avg request latency: 300 usec (overhead 129 usec + queue 30 usec + cache hit/miss 141 usec)
      Average Cache Hit Latency: 15 usec
      Average Cache Miss Latency: 155 usec 

  Composing models: 
  a, version: 2
      Inference count: 90
      Execution count: 90
      Cache hit count: 10
      Cache miss count: 90
      Successful request count: 100
      Avg request latency: 250 usec (overhead 79 usec + queue 30 usec + cache hit/miss 141 usec)
          Average Cache Hit Latency: 15 usec
          Average Cache Miss Latency: 155 usec (cache lookup/insertion 25 usec + compute input 10 usec + compute infer 100 usec + compute output 20 usec)
`},
		{"one of the ensemble itself", "25.06", &Model{
			ResponseCache: true, TopLevelCache: true, Stats: top.Stats, Composing: []Model{{Name: "a", Version: "2"}},
		}, `
    Inference count: 1207
    Execution count: 1207
    Cache hit count: 4
    Cache miss count: 2
    Successful request count: 1207
    Avg request latency: 177344 usec
      Average Cache Hit Latency: 50 usec
      Average Cache Miss Latency: 9 usec 

  Composing models: 
  a, version: 2
      Request count: 0
`},
	} {
		release := named(t, tt.release)
		s := Settings{Release: release}
		p := &printer{}
		p.linef("")
		s.writeServer(p, tt.m)
		if got := p.b.String(); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}

// What the server accounts for is taken from the time between sending and
// receiving: the rest is the network's.
func TestCSVServer(t *testing.T) {
	cached := each(4, 200, 30, 10, 100, 20)
	cached.CacheHit, cached.CacheMiss = export.CountNS{Count: 2, NS: 30000}, export.CountNS{Count: 4, NS: 100000}
	level := Level{
		Mode: export.ModeConcurrency, Value: 2, Times: &pawindow.MeanTimes{Request: 7000500, Send: 20900, Receive: 30900},
		Server: &Model{Name: "m", Version: "1", Stats: cached, ResponseCache: true},
		Summary: pawindow.Summary{
			Duration: 2 * time.Second, Requests: 8, Mean: 1000900, StdDevUS: 4,
			Percentiles: []pawindow.Percentile{{Pct: 50, Latency: 1000}, {Pct: 90, Latency: 2999}, {Pct: 95, Latency: 3000}, {Pct: 99, Latency: 4000}},
		},
	}
	slow := level
	slow.Value, slow.Summary.Requests, slow.Summary.Mean = 1, 4, 100000
	var out strings.Builder
	s := Settings{VerboseCSV: true}
	if err := s.WriteCSV(&out, []Level{level, slow}); err != nil {
		t.Fatal(err)
	}
	// 1000900 − 20900 − 30900 − (30000 + 130000 + 15000 + 25000) = 749100 ns
	const want = `Concurrency,Inferences/Second,Client Send,Network+Server Send/Recv,Server Queue,Server Compute Input,Server Compute Infer,Server Compute Output,Server Cache Hit,Server Cache Miss,Client Recv,p50 latency,p90 latency,p95 latency,p99 latency,Avg latency,request/response,response wait
1,2,20,0,30,10,100,20,15,25,30,1,2,3,4,100,50,6950
2,4,20,749,30,10,100,20,15,25,30,1,2,3,4,1000,50,6950
`
	if out.String() != want {
		t.Errorf("CSV by increasing throughput:\n%s\nwant\n%s", out.String(), want)
	}
}

func TestComposingCSV(t *testing.T) {
	level := Level{
		Mode: export.ModeRequestRate, Value: 2.5, Server: pipeline(),
		Summary: pawindow.Summary{Duration: time.Second, Requests: 1000},
	}
	var s Settings
	files := s.ComposingCSV([]Level{level})
	if len(files) != 3 || files[0].Name != "postprocessing_v1" {
		t.Fatalf("%d files, want 3", len(files))
	}
	// 1000 · 1394/1207 per second; 721 − (481 + 236) µs
	const want = `Request Rate,Inferences/Second,Client Send,Network+Server Send/Recv,Server Queue,Server Compute Input,Server Compute Infer,Server Compute Output,Client Recv
2.5,1154.93,0,4,481,24,156,56,0
`
	if got := string(files[0].Content); got != want {
		t.Errorf("%s:\n%s\nwant\n%s", files[0].Name, got, want)
	}
	level.Server = nil
	if files := s.ComposingCSV([]Level{level}); files != nil {
		t.Errorf("%d files without statistics", len(files))
	}
}

// The texts are from perf_analyzer's unit test.
func TestGPUs(t *testing.T) {
	g := &GPUs{
		Utilization: []GPUValue{{"gpu0", 0.45}, {"gpu1", 0.52}}, Power: []GPUValue{{"gpu0", 70}, {"gpu1", 84.5}},
		MemoryUsed: []GPUValue{{"gpu0", 10000}, {"gpu1", 12000}}, Memory: []GPUValue{{"gpu0", 100000}, {"gpu1", 100000}},
	}
	p := &printer{}
	g.write(p)
	const want = `    Avg GPU Utilization:
      gpu0 : 45%
      gpu1 : 52%
    Avg GPU Power Usage:
      gpu0 : 70 watts
      gpu1 : 84.5 watts
    Max GPU Memory Usage:
      gpu0 : 10000 bytes
      gpu1 : 12000 bytes
    Total GPU Memory:
      gpu0 : 100000 bytes
      gpu1 : 100000 bytes
`
	if got := p.b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	p = &printer{}
	(&GPUs{Power: make([]GPUValue, 17)}).write(p)
	if got, want := p.b.String(), "Too many GPUs on system to print out individual Prometheus metrics, use the CSV output feature to see metrics.\n"; got != want {
		t.Errorf("17 GPUs: %q, want %q", got, want)
	}
	if got, want := ofEach(g.MemoryUsed, bytesOf), "gpu0:10000;gpu1:12000;"; got != want {
		t.Errorf("CSV cell %q, want %q", got, want)
	}
}
