//go:build realservers

package realservers

import (
	"bufio"
	"encoding/json"
	"math"
	"strings"
	"testing"
)

// TestServerDetails reads llama.cpp's timings.
func TestServerDetails(t *testing.T) { compareServerDetails(t, "llamacpp", startOpenAI(t, "llamacpp")) }

// compareServerDetails compares what pa-analyze requests lists of the server with the raw bytes of each answer: llama.cpp's timings,
// and vLLM's metrics. The server's TTFT is within the client's.
func compareServerDetails(t *testing.T, kind string, s *server) {
	const requests = 12
	path, f := mustRecord(t, "", "-m", "tiny", "--service-kind", "openai", "--streaming", "--ask-server-times", "-u", s.HTTP,
		"--isl", "40", "--osl", "16", "--concurrency-range", "4", "--request-count", "12")
	want := map[uint64]map[string]float64{} // of each request: times in ms, numbers
	for _, r := range f.requests(t, requests) {
		for _, o := range r.ResponseOutputs {
			var c struct{ Timings, Metrics map[string]any }
			if json.Unmarshal([]byte(strings.TrimPrefix(strings.TrimSpace(o.text("response")), "data:")), &c) != nil {
				continue
			}
			for _, from := range []map[string]any{c.Timings, c.Metrics} {
				for name, v := range from {
					if n, ok := v.(float64); ok {
						if want[r.PA.ID] == nil {
							want[r.PA.ID] = map[string]float64{}
						}
						want[r.PA.ID][name] = n
					}
				}
			}
		}
	}
	lines := bufio.NewScanner(strings.NewReader(analyze(t, "requests", "--metrics", "phases", "--format", "jsonl", path)))
	n, timed := 0, 0
	for ; lines.Scan(); n++ {
		var row struct {
			ID      uint64
			TTFT    *float64 `json:"ttft_ns"`
			Queue   *float64 `json:"server_queue_ns"`
			Prefill *float64 `json:"server_prefill_ns"`
			First   *float64 `json:"server_ttft_ns"`
			Decode  *float64 `json:"server_decode_ns"`
			Cached  *float64 `json:"cached_local_tokens"`
		}
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		raw := want[row.ID]
		same := func(what string, got *float64, raw float64) {
			t.Helper()
			if got == nil || math.Abs(*got-raw) > 1 {
				t.Errorf("request %d: %s %v, raw %v", row.ID, what, got, raw)
			}
		}
		if kind == "llamacpp" {
			same("prefill", row.Prefill, raw["prompt_ms"]*1e6)
			same("decode", row.Decode, raw["predicted_ms"]*1e6)
			same("cached tokens", row.Cached, raw["cache_n"])
			continue
		}
		same("queue", row.Queue, raw["queue_time_ms"]*1e6)
		same("prefill", row.Prefill, raw["time_to_first_token_ms"]*1e6)
		same("TTFT", row.First, (raw["queue_time_ms"]+raw["time_to_first_token_ms"])*1e6)
		same("decode", row.Decode, raw["generation_time_ms"]*1e6)
		if row.First == nil || row.TTFT == nil { // the model ended without a text
			continue
		}
		timed++
		if *row.First > *row.TTFT {
			t.Errorf("request %d: TTFT %v ns at the server, %v ns at the client", row.ID, *row.First, *row.TTFT)
		}
	}
	if kind != "llamacpp" && timed < requests/2 {
		t.Errorf("%d of %d requests have a TTFT of both sides", timed, requests)
	}
	if n != requests || len(want) != requests {
		t.Errorf("%d rows, %d answers with times; want %d", n, len(want), requests)
	}
}
