package sim

import (
	"sync"
	"time"
)

// vllmFirstToken, vllmRequest and vllmToken are the buckets of vLLM's histograms for the
// time to first token, for whole requests, and for inter-token latency.
var (
	vllmFirstToken = millisecondBuckets(1, 5, 10, 20, 40, 60, 80, 100, 250, 500, 750, 1000, 2500, 5000, 7500, 10_000, 20_000, 40_000, 80_000, 160_000, 640_000, 2_560_000)
	vllmRequest    = millisecondBuckets(300, 500, 800, 1000, 1500, 2000, 2500, 5000, 10_000, 15_000, 20_000, 30_000, 40_000, 50_000, 60_000, 120_000, 240_000, 480_000, 960_000, 1_920_000, 7_680_000)
	vllmToken      = millisecondBuckets(10, 25, 50, 75, 100, 150, 200, 300, 400, 500, 750, 1000, 2500, 5000, 7500, 10_000, 20_000, 40_000, 80_000)
)

func millisecondBuckets(all ...int) (d []time.Duration) {
	for _, ms := range all {
		d = append(d, time.Duration(ms)*time.Millisecond)
	}
	return d
}

// engineStats counts the requests to the OpenAI API as vLLM's engine does, with the times of
// the ledger. A request arrives at ReceivedNS, is scheduled at StartedNS and ends at EndedNS.
// A token counts when its write began. An answer without streaming has all tokens at once.
type engineStats struct {
	sync.Mutex
	running, waiting int
	prompt           uint64 // input tokens of requests that sent a token
	generated        uint64 // output tokens that were sent
	queried, hit     uint64 // input tokens that were looked up in the prefix cache, and that it had
	finished         map[string]uint64

	firstToken, token                          durationHistogram
	request, queue, inference, prefill, decode durationHistogram
}

// finishReasons lists the values of the label finished_reason.
var finishReasons = []string{"stop", "length"}

func newEngineStats() *engineStats {
	e := &engineStats{finished: map[string]uint64{}, firstToken: newDurationHistogram(vllmFirstToken), token: newDurationHistogram(vllmToken)}
	for _, h := range []*durationHistogram{&e.request, &e.queue, &e.inference, &e.prefill, &e.decode} {
		*h = newDurationHistogram(vllmRequest)
	}
	return e
}

// addWaiting adds n to the number of waiting requests.
func (s *engineStats) addWaiting(n int) {
	s.Lock()
	defer s.Unlock()
	s.waiting += n
}

// addRunning counts a request that has got a slot.
func (s *engineStats) addRunning() {
	s.Lock()
	defer s.Unlock()
	s.running++
}

// cached counts the input tokens that were looked up in the prefix cache, and the ones that it had.
func (s *engineStats) cached(input, cached int) {
	s.Lock()
	defer s.Unlock()
	s.queried += uint64(input)
	s.hit += uint64(cached)
}

// sent counts the tokens of a write of r that began at ns.
func (s *engineStats) sent(r *ledgerRecord, tokens int, ns uint64) {
	if tokens == 0 {
		return
	}
	s.Lock()
	defer s.Unlock()
	s.generated += uint64(tokens)
	if r.FirstTokenNS == 0 {
		r.FirstTokenNS = ns
		s.prompt += uint64(r.Entry().InputTokens)
		s.firstToken.observe(between(r.Entry().ReceivedNS, ns))
	} else {
		s.token.observe(between(r.LastTokenNS, ns))
	}
	r.LastTokenNS = ns
}

// Ended implements requestCounter. A failed request enters no histogram of whole
// requests; sent has counted its tokens.
func (s *engineStats) Ended(r *ledgerRecord) {
	e := r.Entry()
	if e.StartedNS != 0 {
		s.running--
	}
	if e.End != EndOK {
		return
	}
	s.finished[r.Finish]++
	s.request.observe(between(e.ReceivedNS, e.EndedNS))
	if r.FirstTokenNS == 0 {
		return // embeddings and rankings have no output tokens
	}
	s.queue.observe(between(e.ReceivedNS, e.StartedNS))
	s.prefill.observe(between(e.StartedNS, r.FirstTokenNS))
	s.decode.observe(between(r.FirstTokenNS, r.LastTokenNS))
	s.inference.observe(between(e.StartedNS, r.LastTokenNS))
}

// between returns the time from one instant to another. It returns 0 if the clock was set
// back, because counters never decrease.
func between(fromNS, toNS uint64) time.Duration { return time.Duration(toNS - min(fromNS, toNS)) }

// write writes the metrics under vLLM's names. As in vLLM, the label is the first of the
// model names.
func (s *engineStats) write(t *metricsText, model string) {
	s.Lock()
	defer s.Unlock()
	labels := metricLabel("engine", "0") + "," + metricLabel("model_name", model)
	one := func(name, kind, help string, v float64) {
		t.family(name, kind, help)
		t.sample(name, labels, v)
	}
	one("vllm:num_requests_running", "gauge", "Requests in work.", float64(s.running))
	one("vllm:num_requests_waiting", "gauge", "Requests that wait.", float64(s.waiting))
	one("vllm:prompt_tokens_total", "counter", "Input tokens of requests that have a token.", float64(s.prompt))
	one("vllm:generation_tokens_total", "counter", "Tokens sent.", float64(s.generated))
	if s.queried > 0 {
		one("vllm:prefix_cache_queries_total", "counter", "Input tokens that were looked up in the prefix cache.", float64(s.queried))
		one("vllm:prefix_cache_hits_total", "counter", "Input tokens that the prefix cache had.", float64(s.hit))
	}
	t.family("vllm:request_success_total", "counter", "Requests that were answered.")
	for _, reason := range finishReasons {
		t.sample("vllm:request_success_total", labels+","+metricLabel("finished_reason", reason), float64(s.finished[reason]))
	}
	for _, x := range []struct {
		name, help string
		h          *durationHistogram
	}{
		{"vllm:time_to_first_token_seconds", "From arrival to the first token.", &s.firstToken},
		{"vllm:inter_token_latency_seconds", "From a token to the next.", &s.token},
		{"vllm:e2e_request_latency_seconds", "From arrival to the end.", &s.request},
		{"vllm:request_queue_time_seconds", "From the arrival to the start of the work.", &s.queue},
		{"vllm:request_inference_time_seconds", "From the start of the work to the last token.", &s.inference},
		{"vllm:request_prefill_time_seconds", "From the start of the work to the first token.", &s.prefill},
		{"vllm:request_decode_time_seconds", "From the first token to the last.", &s.decode},
	} {
		t.family(x.name, "histogram", x.help)
		x.h.write(t, x.name, labels)
	}
}
