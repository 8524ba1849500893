package sim

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	pb "github.com/pa-tools/pa/internal/kserve"
	"github.com/pa-tools/pa/pkg/recorder/observe"
	"github.com/pa-tools/pa/pkg/sim/plan"
)

// metricsOf reads the metrics of a server. A key is a metric's name with its label values,
// without the model "sim", engine and version.
func metricsOf(t *testing.T, url string) map[string]float64 {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != metricsType {
		t.Fatalf("status %d, %v", resp.StatusCode, resp.Header)
	}
	all := map[string]float64{}
	ignored, err := observe.ReadText(resp.Body, observe.TextLimits{}, func(s observe.Sample) error {
		name, labels, err := s.Labels()
		if err != nil {
			return err
		}
		if s.Type != "counter" && s.Type != "gauge" && s.Type != "histogram" {
			return fmt.Errorf("%s has type %q", name, s.Type)
		}
		for _, l := range labels {
			switch l.Name {
			case "engine", "version":
			case "model_name":
				if l.Value != "sim" {
					return fmt.Errorf("%s has the model %q", name, l.Value)
				}
			default:
				name += " " + l.Value
			}
		}
		all[name] = s.Value
		return nil
	})
	if err != nil || ignored.Lines != 0 {
		t.Fatalf("%v, ignored lines %+v", err, ignored)
	}
	return all
}

// checkMetrics checks that got has the values of want. Sums of seconds may differ by the
// rounding of a float64.
func checkMetrics(t *testing.T, got, want map[string]float64) {
	t.Helper()
	for name, w := range want {
		if g, ok := got[name]; !ok || math.Abs(g-w) > 1e-9*math.Abs(w) {
			t.Errorf("%s = %v (present: %v), want %v", name, g, ok, w)
		}
	}
}

// engineOf computes vLLM's metrics from the ledger.
func engineOf(entries []Entry) map[string]float64 {
	want := map[string]float64{}
	observe := func(name string, fromNS, toNS uint64) {
		want[name+"_count"]++
		want[name+"_sum"] += float64(toNS-fromNS) / 1e9
		for _, le := range []float64{0.3, 1, 2.5} { // some of the buckets of requests
			if strings.Contains(name, "request_") && float64(toNS-fromNS) <= le*1e9 {
				want[name+"_bucket "+strconv.FormatFloat(le, 'g', -1, 64)]++
			}
		}
	}
	for i := range entries {
		e := &entries[i]
		tokens := e.TokenTimesNS()
		want["vllm:generation_tokens_total"] += float64(len(tokens))
		var writes []uint64
		for _, w := range e.Writes {
			if w.Tokens > 0 {
				writes = append(writes, w.SentNS)
			}
		}
		if len(writes) > 0 {
			want["vllm:prompt_tokens_total"] += float64(e.InputTokens)
			observe("vllm:time_to_first_token_seconds", e.ReceivedNS, writes[0])
			for k := 1; k < len(writes); k++ {
				observe("vllm:inter_token_latency_seconds", writes[k-1], writes[k])
			}
		}
		if e.End != EndOK {
			continue
		}
		observe("vllm:e2e_request_latency_seconds", e.ReceivedNS, e.EndedNS)
		if len(writes) > 0 {
			observe("vllm:request_queue_time_seconds", e.ReceivedNS, e.StartedNS)
			observe("vllm:request_prefill_time_seconds", e.StartedNS, writes[0])
			observe("vllm:request_decode_time_seconds", writes[0], writes[len(writes)-1])
			observe("vllm:request_inference_time_seconds", e.StartedNS, writes[len(writes)-1])
		}
	}
	return want
}

// The metrics of the OpenAI API agree with the ledger, also while requests are in flight.
func TestEngineMetrics(t *testing.T) {
	c := fast()
	c.MaxConcurrency = 2
	c.TokensPerEvent = 3
	s := start(t, c)
	var clients sync.WaitGroup
	for _, r := range []struct {
		path, body string
		n          int
	}{
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":"one two three"}],"stream":true}`, 6},
		{"/v1/completions", `{"prompt":["a b","c"],"max_tokens":3,"n":2}`, 4},
		{"/v1/responses", `{"input":"a b c d","max_output_tokens":4,"stream":true}`, 3},
		{"/v1/embeddings", `{"input":["a b"]}`, 2},
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":"x"}],"stream":true,"sim_fault":"reset","sim_fault_after":4}`, 2},
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":"x"}],"sim_fault":"http_500"}`, 2},
		{"/v1/chat/completions", `{"model":"none"}`, 1},
	} {
		for range r.n {
			clients.Go(func() { _, _, _ = post(t, s.OpenAIURL()+r.path, r.body) })
		}
	}
	done := make(chan struct{})
	go func() {
		clients.Wait()
		close(done)
	}()
	for looking := true; looking; {
		select {
		case <-done:
			looking = false
		default:
		}
		before := uint64(time.Now().UnixNano())
		got := metricsOf(t, s.OpenAIURL())
		after := uint64(time.Now().UnixNano())
		// The answer counts requests that ended before it was asked for, and none
		// that ended after it came.
		least, most := 0.0, 0.0
		for _, e := range endedOnly(s.Ledger()) {
			if e.End == EndOK && e.EndedNS < before {
				least++
			}
			if e.End == EndOK && e.EndedNS <= after {
				most++
			}
		}
		if n := got["vllm:e2e_request_latency_seconds_count"]; n < least || n > most {
			t.Fatalf("%v requests are counted, of %v that had ended, %v meanwhile", n, least, most)
		}
		if n := got["vllm:num_requests_running"]; n < 0 || n > 2 {
			t.Fatalf("%v requests run, of 2 at a time", n)
		}
	}
	entries := settled(t, s)
	got := metricsOf(t, s.OpenAIURL())
	want := engineOf(entries)
	for name, v := range map[string]float64{
		// Counted by hand. 8 requests stop by themselves: 6 with 8 tokens, and 2
		// embeddings. max_tokens cuts 7: 4 with 4 choices of 3 tokens, and 3 with
		// 4 tokens. The 2 broken ones send 4 tokens each.
		"vllm:request_success_total stop": 8, "vllm:request_success_total length": 7,
		"vllm:generation_tokens_total": 6*8 + 4*4*3 + 3*4 + 2*4,
		"vllm:prompt_tokens_total":     6*3 + 4*3 + 3*4 + 2*1,
		"vllm:num_requests_running":    0, "vllm:num_requests_waiting": 0,
		"vllm:e2e_request_latency_seconds_count": 15, "vllm:request_queue_time_seconds_count": 13,
		"vllm:time_to_first_token_seconds_count": 15,
	} {
		if w, ok := want[name]; ok && w != v {
			t.Errorf("%s of the ledger is %v, want %v", name, w, v)
		}
		want[name] = v
	}
	checkMetrics(t, got, want)
}

// endedOnly returns the entries of requests that have ended.
func endedOnly(all []Entry) (ended []Entry) {
	for _, e := range all {
		if e.End != EndRunning {
			ended = append(ended, e)
		}
	}
	return ended
}

// Triton's metrics, and ModelStatistics over both protocols, agree with each other and with
// the ledger.
func TestTritonMetrics(t *testing.T) {
	c := fast()
	c.AddSubDelay = plan.ConstantDelay(time.Millisecond)
	c.MaxConcurrency = 2
	s := start(t, c)
	client := dial(t, s)
	var clients sync.WaitGroup
	for i := range 5 {
		clients.Go(func() {
			if _, err := client.ModelInfer(t.Context(), addSubRequest("", i%3+1, int32(i), 0)); err != nil {
				t.Error(err)
			}
		})
	}
	clients.Go(func() { _, _ = client.ModelInfer(t.Context(), addSubRequest("", 1, -1, 0)) }) // fails
	clients.Go(func() {
		if _, err := exchangeAll(t.Context(), t, client, textRequest("a", "x", "", true, nil), textRequest("b", "x", "", true, nil)); err != nil {
			t.Error(err)
		}
	})
	clients.Go(func() {
		_, _, _ = post(t, s.TritonHTTPURL()+"/v2/models/vllm/generate_stream", `{"text_input":"a b","stream":true}`)
		_, _, _ = post(t, s.TritonHTTPURL()+"/v2/models/none/generate_stream", `{"text_input":"a b"}`)
	})
	clients.Wait()
	want := map[string]float64{}
	ns := map[string]uint64{}
	for _, e := range settled(t, s) {
		if e.Model == "none" {
			continue
		}
		if e.End != EndOK {
			want["nv_inference_request_failure "+e.Model+" OTHER"]++
			continue
		}
		want["nv_inference_request_success "+e.Model]++
		want["nv_inference_exec_count "+e.Model]++
		ns["nv_inference_request_duration_us "+e.Model] += e.EndedNS - e.ReceivedNS
		ns["nv_inference_queue_duration_us "+e.Model] += e.StartedNS - e.ReceivedNS
		ns["nv_inference_compute_infer_duration_us "+e.Model] += e.EndedNS - e.StartedNS
	}
	for name, v := range ns {
		want[name] = float64(v / 1000)
	}
	for name, v := range map[string]float64{
		"nv_inference_request_success add_sub": 5, "nv_inference_request_failure add_sub OTHER": 1, "nv_inference_request_failure add_sub CANCELED": 0,
		"nv_inference_request_success vllm": 3,
		"nv_inference_count add_sub":        1 + 2 + 3 + 1 + 2, "nv_inference_count vllm": 3, // batches of 1, 2, 3, 1 and 2
		"nv_inference_request_success sequence": 0,
	} {
		if w, ok := want[name]; ok && w != v {
			t.Errorf("%s of the ledger is %v, want %v", name, w, v)
		}
		want[name] = v
	}
	checkMetrics(t, metricsOf(t, s.TritonHTTPURL()), want)

	for _, model := range []string{"add_sub", "vllm"} {
		r, err := client.ModelStatistics(t.Context(), &pb.ModelStatisticsRequest{Name: model})
		if err != nil {
			t.Fatal(err)
		}
		m := r.GetModelStats()[0]
		st := m.GetInferenceStats()
		got := map[string]float64{
			"nv_inference_request_success " + model:            float64(st.GetSuccess().GetCount()),
			"nv_inference_request_failure " + model + " OTHER": float64(st.GetFail().GetCount()),
			"nv_inference_count " + model:                      float64(m.GetInferenceCount()),
			"nv_inference_exec_count " + model:                 float64(m.GetExecutionCount()),
			"nv_inference_request_duration_us " + model:        float64(st.GetSuccess().GetNs() / 1000),
			"nv_inference_queue_duration_us " + model:          float64(st.GetQueue().GetNs() / 1000),
			"nv_inference_compute_infer_duration_us " + model:  float64(st.GetComputeInfer().GetNs() / 1000),
		}
		for name, g := range got {
			if w := want[name]; g != w {
				t.Errorf("ModelStatistics: %s is %v, want %v", name, g, w)
			}
		}
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get(s.TritonHTTPURL() + "/v2/models/" + model + "/stats")
		if err != nil {
			t.Fatal(err)
		}
		var over struct {
			ModelStats []struct {
				InferenceCount json.Number `json:"inference_count"`
				InferenceStats struct {
					Success struct{ Count, NS json.Number }
				} `json:"inference_stats"`
			} `json:"model_stats"`
		}
		err = json.NewDecoder(resp.Body).Decode(&over)
		_ = resp.Body.Close()
		if err != nil || len(over.ModelStats) != 1 {
			t.Fatalf("over HTTP: %v, %+v", err, over)
		}
		h := &over.ModelStats[0]
		if got, want := fmt.Sprintf("%s %v", h.InferenceCount, h.InferenceStats.Success), fmt.Sprintf("%d {%d %d}", m.GetInferenceCount(), st.GetSuccess().GetCount(), st.GetSuccess().GetNs()); got != want {
			t.Errorf("over HTTP: %s, want %s", got, want)
		}
	}
}
