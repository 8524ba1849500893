package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/testenv"
)

// A statedRequest is a request whose answer may state times and numbers of the server; NaN is not stated.
type statedRequest struct {
	sent, ttft              int64   // ns after the start
	queue, prefill          float64 // ms
	steps, drafts, accepted float64
	device, host, in        float64 // tokens
}

// number returns a member of JSON with a comma before it; "" for NaN.
func (q *statedRequest) number(name string, v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return `,"` + name + `":` + strconv.FormatFloat(v, 'f', -1, 64)
}

// json returns the request as it stands in an export: vLLM's members, or llama.cpp's if the queue is not stated.
func (q *statedRequest) json(start int64) string {
	last := `{"choices":[],"usage":{"prompt_tokens":` + fmt.Sprint(q.in) + `,"completion_tokens":2}`
	switch {
	case !math.IsNaN(q.queue):
		last += `,"metrics":{"x":0` + q.number("queue_time_ms", q.queue) + q.number("time_to_first_token_ms", q.prefill)
		if !math.IsNaN(q.steps) {
			last += `,"speculative_decoding":{"x":0` + q.number("num_spec_steps", q.steps) + q.number("num_draft_tokens", q.drafts) + q.number("num_accepted_draft_tokens", q.accepted) + `}`
		}
		last += `}`
	case !math.IsNaN(q.prefill):
		last += `,"timings":{"predicted_ms":1` + q.number("prompt_ms", q.prefill) + q.number("draft_n", q.drafts) + q.number("draft_n_accepted", q.accepted) + `}`
	}
	if !math.IsNaN(q.device) {
		last += `,"sglext":{"cached_tokens_details":{"x":0` + q.number("device", q.device) + q.number("host", q.host) + `}}`
	}
	var outputs, times []string
	for i, chunk := range []string{`{"choices":[{"index":0,"delta":{"content":"a"}}]}`, `{"choices":[{"index":0,"delta":{"content":"b"}}]}`, last + `}`, `[DONE]`} {
		outputs = append(outputs, `{"response":`+quote("data: "+chunk+"\n\n")+`}`)
		times = append(times, fmt.Sprint(start+q.ttft+int64(i)*1000))
	}
	return fmt.Sprintf(`{"timestamp":%d,"request_inputs":{"payload":"{\"stream\":true}"},"response_timestamps":[%s],"response_outputs":[%s],"pa":{"sent_ns":%d}}`,
		start, strings.Join(times, ","), strings.Join(outputs, ","), start+q.sent)
}

// The parts of the TTFT, and the pooled figures of speculation and the cache, equal what the formulas of
// docs/reference/phases.md make of the raw answers, from JSON and from the columns of a Parquet file.
func TestPhasesFigures(t *testing.T) {
	dir := t.TempDir()
	compared := 0
	for seed := range 40 / testenv.Stride(4) {
		rng := rand.New(rand.NewPCG(uint64(seed), 43))
		maybe := func(v float64) float64 {
			if rng.IntN(3) == 0 {
				return math.NaN()
			}
			return v
		}
		var lines []string
		var all []*statedRequest
		for i := range 1 + rng.IntN(30) {
			q := &statedRequest{ttft: 1e6 + rng.Int64N(1e8), in: 1 + float64(rng.IntN(100))}
			q.sent = rng.Int64N(q.ttft)
			q.queue, q.prefill = maybe(rng.Float64()*50), rng.Float64()*50
			if math.IsNaN(q.queue) {
				q.prefill = maybe(q.prefill)
			}
			q.steps, q.drafts, q.accepted, q.device, q.host = math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN()
			if rng.IntN(2) == 0 && !math.IsNaN(q.prefill) {
				q.drafts = float64(rng.IntN(30))
				q.accepted = math.Floor(q.drafts * rng.Float64())
				if !math.IsNaN(q.queue) {
					q.steps = 1 + float64(rng.IntN(10))
				}
			}
			if rng.IntN(2) == 0 {
				q.device, q.host = math.Floor(q.in/2), maybe(math.Floor(q.in/4))
			}
			all, lines = append(all, q), append(lines, q.json(1_700_000_000_000_000_000+int64(i)*2e8))
		}
		file := filepath.Join(dir, "run.json")
		text := `{"experiments":[{"experiment":{"mode":"concurrency","value":1},"requests":[` + strings.Join(lines, ",\n") + `],"window_boundaries":[]}],"version":"2.60.0","service_kind":"openai","endpoint":""}`
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		columns := filepath.Join(dir, fmt.Sprintf("run%d.parquet", seed))
		if res := exec(t, "", "convert", file, columns); res.code != 0 {
			t.Fatal(res.stderr)
		}
		for _, f := range []string{file, columns} {
			compared += comparePhases(t, f, all)
		}
		if t.Failed() {
			t.Fatalf("export %d:\n%.3000s", seed, text)
		}
	}
	if compared < 300/testenv.Stride(4) {
		t.Errorf("only %d figures were compared", compared)
	}
}

// comparePhases compares the report of a file with requests, and returns the number of figures.
func comparePhases(t *testing.T, file string, all []*statedRequest) (compared int) {
	t.Helper()
	res := exec(t, "", "report", "--metrics", "phases", "--format", "json", file)
	var got struct {
		Experiments []struct {
			Phases struct {
				Metrics   map[string]map[string]float64
				Waterfall struct {
					Requests int     `json:"requests"`
					Without  int     `json:"requests_without"`
					TTFT     float64 `json:"ttft_ns"`
					Below    int     `json:"rest_below_0"`
					Parts    []struct {
						Part  string
						N     int
						Mean  float64 `json:"mean_ns"`
						Share float64
					}
				}
				Figures map[string]struct{ Value *float64 }
			}
		}
	}
	if err := json.Unmarshal([]byte(res.stdout), &got); err != nil {
		t.Fatalf("%v\n%s%s", err, res.stdout, res.stderr)
	}
	p := &got.Experiments[0].Phases
	equal := func(name string, got, want float64) {
		t.Helper()
		compared++
		if math.Abs(got-want) > 1e-9*math.Max(math.Abs(want), 1e6) {
			t.Errorf("%s: %s is %v, want %v", filepath.Base(file), name, got, want)
		}
	}
	ns := func(ms float64) float64 { return math.Round(ms * 1e6) }
	parts := map[string][]float64{}
	ttft, below, divided := 0.0, 0, 0
	var accepted, steps, acceptedDrafts, drafts, device, deviceIn, host, hostIn float64
	for _, q := range all {
		if !math.IsNaN(q.steps) {
			accepted, steps = accepted+q.accepted, steps+q.steps
		}
		if !math.IsNaN(q.drafts) {
			acceptedDrafts, drafts = acceptedDrafts+q.accepted, drafts+q.drafts
		}
		if !math.IsNaN(q.device) {
			device, deviceIn = device+q.device, deviceIn+q.in
		}
		if !math.IsNaN(q.host) {
			host, hostIn = host+q.host, hostIn+q.in
		}
		if math.IsNaN(q.prefill) {
			continue
		}
		divided++
		ttft += float64(q.ttft)
		rest := float64(q.ttft-q.sent) - ns(q.prefill)
		parts["send"] = append(parts["send"], float64(q.sent))
		parts["prefill"] = append(parts["prefill"], ns(q.prefill))
		if !math.IsNaN(q.queue) {
			parts["queue"] = append(parts["queue"], ns(q.queue))
			rest -= ns(q.queue)
		}
		parts["network and rest"] = append(parts["network and rest"], rest)
		if rest < 0 {
			below++
		}
	}
	w := &p.Waterfall
	if w.Requests != divided || divided > 0 && w.Without != len(all)-divided || w.Below != below || len(w.Parts) != len(parts) {
		t.Errorf("%s: %+v, want %d requests of %d, %d below 0, %d parts", filepath.Base(file), w, divided, len(all), below, len(parts))
	}
	sum := 0.0
	for _, part := range w.Parts {
		values := parts[part.Part]
		total := 0.0
		for _, v := range values {
			total += v
		}
		if part.N != len(values) {
			t.Errorf("%d requests have %s, want %d", part.N, part.Part, len(values))
		}
		equal(part.Part, part.Mean, total/float64(divided))
		equal("the share of "+part.Part, part.Share, total/ttft)
		if key := map[string]string{"send": "ttft_send_ns", "queue": "server_queue_ns", "prefill": "server_prefill_ns", "network and rest": "ttft_rest_ns"}[part.Part]; len(values) > 0 {
			for name, v := range describe(values) {
				equal(key+" "+name, p.Metrics[key][name], v)
			}
		}
		sum += part.Mean
	}
	equal("the sum of the parts", sum, w.TTFT)
	for key, x := range map[string][2]float64{"pooled_acceptance_length": {accepted + steps, steps}, "accepted_draft_tokens": {acceptedDrafts, drafts}, "cached_local_share": {device, deviceIn}, "cached_host_share": {host, hostIn}} {
		switch v := p.Figures[key].Value; {
		case (v != nil) != (x[1] > 0):
			t.Errorf("%s is %v, want %v", key, v, x)
		case v != nil:
			equal(key, *v, x[0]/x[1])
		}
	}
	return compared
}
