//go:build realservers

package realservers

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A groupsFile is what the test needs of a report with groups of metrics.
type groupsFile struct {
	Experiments []struct {
		Quality struct {
			Requests int
			Counted  int `json:"requests_with_counted_events"`
			Metrics  map[string]metricFile
			Figures  map[string]struct{ Value *float64 }
		}
		Economics struct {
			Figures map[string]struct {
				Value *float64
				Why   string
			}
		}
		Prefix struct {
			Stated  int
			Figures map[string]struct{ Value *float64 }
		}
		Phases struct {
			Metrics map[string]metricFile
			Figures map[string]struct {
				Value *float64
				From  string
			}
		}
	}
}

// A groupSums holds what the raw answers of a run say.
type groupSums struct {
	requests, events       int
	prompt, cached, output float64
	prefillMS, decodeMS    float64 // of timings
	timed                  int
	counted, countedTokens int // requests and tokens whose events have usage
	countedNS              float64
	tpots, rates           []float64
}

// sumsOf reads the answers of an export the plain way. A token event is a chunk with text.
func sumsOf(t *testing.T, requests []requestFile) (s groupSums) {
	t.Helper()
	for _, r := range requests {
		var times []uint64
		var usage []float64 // at each event; −1 without one
		last := -1.0
		for i, o := range r.ResponseOutputs {
			text := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(o.text("response")), "data:"))
			if text == "" || text == "[DONE]" {
				continue
			}
			var c struct {
				Choices []struct{ Text string }
				Usage   *struct {
					Prompt     float64 `json:"prompt_tokens"`
					Completion float64 `json:"completion_tokens"`
					Details    *struct {
						Cached *float64 `json:"cached_tokens"`
					} `json:"prompt_tokens_details"`
				}
				Timings *struct {
					Prompt    float64 `json:"prompt_ms"`
					Predicted float64 `json:"predicted_ms"`
				}
			}
			if err := json.Unmarshal([]byte(text), &c); err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			if len(c.Choices) > 0 && c.Choices[0].Text != "" {
				times = append(times, r.ResponseTimestamps[i])
				n := -1.0
				if c.Usage != nil {
					n = c.Usage.Completion
				}
				usage = append(usage, n)
			}
			if c.Timings != nil {
				s.prefillMS, s.decodeMS, s.timed = s.prefillMS+c.Timings.Prompt, s.decodeMS+c.Timings.Predicted, s.timed+1
			}
			if c.Usage == nil || i < len(r.ResponseOutputs)-2 && len(c.Choices) > 0 {
				continue
			}
			if last < 0 {
				s.prompt += c.Usage.Prompt
				if c.Usage.Details != nil && c.Usage.Details.Cached != nil {
					s.cached += *c.Usage.Details.Cached
				}
			}
			last = c.Usage.Completion
		}
		e2el := float64(r.ResponseTimestamps[len(r.ResponseTimestamps)-1] - r.Timestamp)
		s.requests, s.events, s.output = s.requests+1, s.events+len(times), s.output+last
		s.rates = append(s.rates, last/(e2el/1e9))
		spread := float64(times[len(times)-1] - times[0])
		s.tpots = append(s.tpots, spread/(last-1))
		if !slices.Contains(usage, -1) {
			s.counted++
			s.countedTokens += int(usage[len(usage)-1] - usage[0])
			s.countedNS += spread
		}
	}
	return s
}

func mean(x []float64) (m float64) {
	for _, v := range x {
		m += v / float64(len(x))
	}
	return m
}

// TestGroupsOpenAI computes figures of all groups of metrics from the raw answers of llama.cpp, and with
// REALSERVERS=all of vLLM, and compares them with the report: of the JSON file and of its columns.
func TestGroupsOpenAI(t *testing.T) {
	kinds := map[string][]string{"llamacpp": nil}
	if os.Getenv("REALSERVERS") == "all" {
		kinds["vllm"] = []string{"--enable-prompt-tokens-details"}
	}
	const requests, tokens = 12, 24
	payload := `{"payload": [{"model": "tiny", "stream": true, "stream_options": {"include_usage": true, "continuous_usage_stats": true}, "max_tokens": %d, "ignore_eos": true, "temperature": 0, "prompt": %q}]}`
	king := strings.Repeat("Once upon a time there was a king who had three sons. ", 4)
	prompts := fmt.Sprintf(`{"data": [`+payload+`,`+payload+`]}`, tokens, king+"The first one", tokens, king+"The second one went away to a far country")
	for kind, args := range kinds {
		t.Run(kind, func(t *testing.T) {
			s := startOpenAI(t, kind, args...)
			path := recordMetrics(t, s, prompts, []string{"decode", "output tokens"}, "-m", "tiny", "--service-kind", "openai", "--endpoint", "v1/completions", "-u", s.HTTP,
				"--request-count", fmt.Sprint(requests), "--concurrency-range", "2", "--input-data=prompts.json")
			want := sumsOf(t, readExport(t, path).requests(t, requests))
			for _, file := range []string{path, filepath.Join(filepath.Dir(path), "e.parquet")} {
				t.Run(filepath.Ext(file), func(t *testing.T) {
					var r groupsFile
					if err := json.Unmarshal([]byte(analyze(t, "report", "--metrics", "quality,economics,prefix,phases", "--format", "json", file)), &r); err != nil {
						t.Fatal(err)
					}
					checkGroups(t, kind, &r, &want)
				})
			}
		})
	}
}

// checkGroups compares a report with what the answers say.
func checkGroups(t *testing.T, kind string, r *groupsFile, want *groupSums) {
	t.Helper()
	near := func(name string, got *float64, want float64) {
		t.Helper()
		if math.IsInf(want, 0) { // all tokens of an answer came in one read: there is no rate
			if got != nil {
				t.Errorf("%s is %v without a time between tokens", name, *got)
			}
			return
		}
		if got == nil || math.Abs(*got-want) > 1e-9*math.Abs(want) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	e := &r.Experiments[0]
	near("the hit rate", e.Prefix.Figures["hit_rate"].Value, want.cached/want.prompt)
	if e.Prefix.Stated != want.requests || want.cached == 0 {
		t.Errorf("%d requests state cached tokens, %v of them in all", e.Prefix.Stated, want.cached)
	}
	near("tokens per event", e.Quality.Figures["tokens_per_event"].Value, want.output/float64(want.events))
	near("the decode rate", e.Economics.Figures["output_tokens_per_s_per_user_decode"].Value, 1e9/mean(want.tpots))
	near("the rate of a request", e.Economics.Figures["output_tokens_per_s_per_user_e2e"].Value, mean(want.rates))
	if why := e.Economics.Figures["energy_j"].Why; !strings.Contains(why, "the telemetry holds no GPU") {
		t.Errorf("energy: %q", why)
	}
	if e.Quality.Requests != want.requests || e.Quality.Counted != want.counted {
		t.Errorf("%d requests, %d with counted events; want %d, %d", e.Quality.Requests, e.Quality.Counted, want.requests, want.counted)
	}
	if kind == "llamacpp" {
		for i, key := range []string{"prefill", "decode"} {
			ns := []float64{want.prefillMS, want.decodeMS}[i] / float64(want.timed) * 1e6
			m := e.Phases.Metrics["server_"+key+"_ns"]
			near(key, &m.Mean, ns)
			near(key+" of the level", e.Phases.Figures[key+"_ns"].Value, ns)
		}
		return
	}
	if want.counted != want.requests {
		t.Errorf("usage stands in all events of %d of %d requests", want.counted, want.requests)
	}
	m := e.Quality.Metrics["itl_per_token_estimated_ns"]
	near("ITL per token", &m.Mean, want.countedNS/float64(want.countedTokens))
	if m.N != want.countedTokens {
		t.Errorf("%d times per token, want %d", m.N, want.countedTokens)
	}
	for _, key := range []string{"queue", "prefill", "decode"} {
		if f := e.Phases.Figures[key+"_ns"]; f.Value == nil || *f.Value < 0 || !strings.HasPrefix(f.From, "vllm:request_"+key) {
			t.Errorf("%s: %+v", key, f)
		}
	}
}
