//go:build realservers

package realservers

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
)

// A waterfallFile is what the test needs of a report with the parts of the TTFT.
type waterfallFile struct {
	Experiments []struct {
		Phases struct {
			Waterfall struct {
				Requests int
				TTFT     float64 `json:"ttft_ns"`
				Bound    float64 `json:"clock_bound_ns"`
				Beyond   int     `json:"rest_beyond_clock_bound"`
				Least    float64 `json:"least_rest_ns"`
				Parts    []struct {
					Part  string
					N     int
					Mean  float64 `json:"mean_ns"`
					Share float64
				}
			}
		}
	}
}

// statedTimes returns the TTFT of the client, and the queue and prefill that the raw answer states, in ns; NaN if it does not.
func statedTimes(t *testing.T, r *requestFile) (ttft, queue, prefill float64) {
	t.Helper()
	ttft, queue, prefill = math.NaN(), math.NaN(), math.NaN()
	for i, o := range r.ResponseOutputs {
		text := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(o.text("response")), "data:"))
		if text == "" || text == "[DONE]" {
			continue
		}
		var c struct {
			Choices []struct{ Text string }
			Timings *struct {
				Prompt float64 `json:"prompt_ms"`
			}
			Metrics *struct {
				First *float64 `json:"time_to_first_token_ms"`
				Queue *float64 `json:"queue_time_ms"`
			}
		}
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if len(c.Choices) > 0 && c.Choices[0].Text != "" && math.IsNaN(ttft) {
			ttft = float64(r.ResponseTimestamps[i] - r.Timestamp)
		}
		if c.Timings != nil {
			prefill = c.Timings.Prompt * 1e6
		}
		if c.Metrics != nil && c.Metrics.First != nil && c.Metrics.Queue != nil {
			queue, prefill = *c.Metrics.Queue*1e6, *c.Metrics.First*1e6
		}
	}
	return ttft, queue, prefill
}

// TestWaterfall divides the TTFT of llama.cpp.
func TestWaterfall(t *testing.T) { checkWaterfall(t, "llamacpp", startOpenAI(t, "llamacpp")) }

// checkWaterfall divides the TTFT: the parts are the ones that the raw answers state, they add up to the client's TTFT, and no
// server states more time than passed, within the bound of the clocks.
func checkWaterfall(t *testing.T, kind string, s *server) {
	const requests = 12
	prompts := `{"data": [{"payload": [{"model": "tiny", "stream": true, "stream_options": {"include_usage": true}, "max_tokens": 8, "ignore_eos": true, "prompt": "Once upon a time there was a king"}]}]}`
	dir, r := record(t, prompts, "-m", "tiny", "--service-kind", "openai", "--endpoint", "v1/completions", "-u", s.HTTP,
		"--request-count", fmt.Sprint(requests), "--concurrency-range", "2", "--input-data=prompts.json", "--profile-export-file", exportName, "--profile-export-file", "e.parquet")
	if r.Code != 0 {
		t.Fatalf("pa-record: %v", r)
	}
	path := filepath.Join(dir, exportName)
	var ttft, queue, prefill float64
	raw := readExport(t, path).requests(t, requests)
	for i := range raw {
		first, q, p := statedTimes(t, &raw[i])
		if math.IsNaN(first) || math.IsNaN(p) || math.IsNaN(q) != (kind == "llamacpp") {
			t.Fatalf("request %d: TTFT %v, queue %v, prefill %v", i, first, q, p)
		}
		if math.IsNaN(q) {
			q = 0
		}
		ttft, queue, prefill = ttft+first/requests, queue+q/requests, prefill+p/requests
		if bound := (q+p)/1000 + 2000; q+p > first+bound {
			t.Errorf("request %d: the server states %v ns, and %v passed; the bound is %v", i, q+p, first, bound)
		}
	}
	for _, file := range []string{path, filepath.Join(dir, "e.parquet")} {
		var f waterfallFile
		if err := json.Unmarshal([]byte(analyze(t, "report", "--metrics", "phases", "--format", "json", file)), &f); err != nil {
			t.Fatal(err)
		}
		w := &f.Experiments[0].Phases.Waterfall
		sum := 0.0
		parts := map[string]float64{}
		for _, p := range w.Parts {
			sum, parts[p.Part] = sum+p.Mean, p.Mean
		}
		near := func(name string, got, want float64) {
			t.Helper()
			if math.Abs(got-want) > 1 { // stated times are rounded to nanoseconds
				t.Errorf("%s: %s is %v, want %v", filepath.Base(file), name, got, want)
			}
		}
		near("the TTFT", w.TTFT, ttft)
		near("the sum of the parts", sum, ttft)
		near("queue", parts["queue"], queue)
		near("prefill", parts["prefill"], prefill)
		if send, has := parts["send"]; w.Requests != requests || w.Beyond != 0 || !has || send < 0 {
			t.Errorf("%+v", w)
		}
		t.Logf("%+v", w)
	}
}
