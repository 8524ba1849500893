package sim

import (
	"fmt"
	"time"

	"github.com/pa-tools/pa/pkg/sim/plan"
)

// Values of Config.ServerDetails.
const (
	ServerDetailsVLLM     = "vllm"
	ServerDetailsSGLang   = "sglang"
	ServerDetailsLlamaCPP = "llamacpp"
)

// requestDetails are what a server states about a request: times from the ledger, and due times.
type requestDetails struct {
	*plan.Plan
	queue, prefill, decode time.Duration // until StartedNS, the first token, the last token
	sent                   time.Time     // when the end is due
}

// detailsOf returns what appends the details, with a comma before, by the value of Config.ServerDetails; nil for other values.
func detailsOf(name string) func(b []byte, d *requestDetails) []byte {
	switch name {
	case ServerDetailsVLLM:
		return appendVLLMDetails
	case ServerDetailsSGLang:
		return appendSGLangDetails
	case ServerDetailsLlamaCPP:
		return appendLlamaCPPDetails
	}
	return nil
}

// appendDetails appends what the server states about a request, whose last token is due at the given time.
func (t *openAIRenderer) appendDetails(b []byte, p *plan.Plan, last time.Duration) []byte {
	if t.details == nil {
		return b
	}
	first := p.FirstTokenAt()
	return t.details(b, &requestDetails{Plan: p, queue: t.queue, prefill: first, decode: last - first, sent: t.started.Add(last)})
}

// ms returns a time in milliseconds.
func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// appendVLLMDetails appends vLLM's metrics, which it states for requests of one choice.
func appendVLLMDetails(b []byte, d *requestDetails) []byte {
	if d.Choices > 1 {
		return append(b, `,"metrics":null`...)
	}
	b = fmt.Appendf(b, `,"metrics":{"time_to_first_token_ms":%v,"generation_time_ms":%v,"queue_time_ms":%v`, ms(d.prefill), ms(d.decode), ms(d.queue))
	if n := d.OutputTokens(); n > 1 {
		b = fmt.Appendf(b, `,"mean_itl_ms":%v`, ms(d.decode)/float64(n-1))
	}
	if d.CachedTokens >= 0 {
		b = fmt.Appendf(b, `,"prefix_cache":{"num_computed_tokens":%d,"num_cached_tokens":%d,"num_local_cached_tokens":%d,"num_external_cached_tokens":0}`, d.InputTokens-d.CachedTokens, d.CachedTokens, d.CachedTokens)
	}
	return append(b, '}')
}

// appendSGLangDetails appends SGLang's meta_info. SGLang writes it beside the choices.
func appendSGLangDetails(b []byte, d *requestDetails) []byte {
	b = fmt.Appendf(b, `,"meta_info":{"queue_time":%v,"e2e_latency":%v,"response_sent_to_client_ts":%.9f,"num_retractions":0`,
		d.queue.Seconds(), (d.queue + d.prefill + d.decode).Seconds(), float64(d.sent.UnixNano())/1e9)
	if d.CachedTokens >= 0 {
		b = fmt.Appendf(b, `,"cached_tokens_details":{"device":%d,"host":0}`, d.CachedTokens)
	}
	return append(b, '}')
}

// appendLlamaCPPDetails appends llama.cpp's timings.
func appendLlamaCPPDetails(b []byte, d *requestDetails) []byte {
	cached := max(d.CachedTokens, 0)
	return fmt.Appendf(b, `,"timings":{"cache_n":%d,"prompt_n":%d,"prompt_ms":%v,"predicted_n":%d,"predicted_ms":%v}`,
		cached, d.InputTokens-cached, ms(d.prefill), d.OutputTokens(), ms(d.decode))
}
