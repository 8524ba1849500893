package export

import "cmp"

// ServerDetails are the numbers that a server states in its answer about the work on one request. They are as
// stated: a wrong server may state times below 0. A number that the server does not state is missing; a stated 0 is 0.
//
// Servers: vLLM (metrics), SGLang (meta_info, sglext), llama.cpp (timings), Ollama (durations), Dynamo (nvext), Groq (times
// in usage).
type ServerDetails struct {
	// Times at the server in nanoseconds.
	//
	// Queue is the wait before the work on the prompt began; at Ollama, the wait for a loaded model. Prefill is
	// the time from the end of Queue until the prompt was processed, at vLLM and llama.cpp until the first token.
	// TTFT is the time from the arrival at the server to the first token, never less than Queue and Prefill together
	// at vLLM. Decode is the time from the first token, or from the end of Prefill, to the last token. E2E is the
	// time from the arrival to the end of the answer.
	Queue, Prefill, TTFT, Decode, E2E Int
	// SentNS is the time at which the server sent the end of the answer, in nanoseconds since 1970 by the clock of the server.
	SentNS Int
	// Cached tokens of the prompt by level: in the memory of the accelerator (SGLang's device), in the memory of the host, on
	// storage, and in a store that other servers fill (vLLM's external). Derived.CachedTokens is the sum that usage states.
	CachedLocal, CachedHost, CachedStorage, CachedExternal Int
	// Speculative decoding: DraftSteps verified DraftTokens proposed tokens and accepted AcceptedTokens. A step adds its accepted
	// tokens and one more, so that the mean acceptance length is 1 + AcceptedTokens/DraftSteps. llama.cpp does not
	// state DraftSteps.
	DraftSteps, DraftTokens, AcceptedTokens Int
	// Retractions is how often the server took the request out of the running batch to make room.
	Retractions Int
	// PrefillWorker and DecodeWorker are the ids of the workers of a disaggregated server; "" if it does not state them.
	PrefillWorker, DecodeWorker string
}

// Add takes over what from states.
func (d *ServerDetails) Add(from *ServerDetails) {
	for i := range ServerNumbers {
		if n := ServerNumbers[i].Of(from); n.OK {
			*ServerNumbers[i].Of(d) = *n
		}
	}
	d.PrefillWorker = cmp.Or(from.PrefillWorker, d.PrefillWorker)
	d.DecodeWorker = cmp.Or(from.DecodeWorker, d.DecodeWorker)
}

// A ServerNumber is a number of [ServerDetails].
type ServerNumber struct {
	Column string // its name in tables
	Of     func(*ServerDetails) *Int
}

// ServerNumbers lists the numbers of [ServerDetails]. The first NumServerTimes are times in nanoseconds.
var ServerNumbers = [...]ServerNumber{
	{"server_queue_ns", func(d *ServerDetails) *Int { return &d.Queue }},
	{"server_prefill_ns", func(d *ServerDetails) *Int { return &d.Prefill }},
	{"server_ttft_ns", func(d *ServerDetails) *Int { return &d.TTFT }},
	{"server_decode_ns", func(d *ServerDetails) *Int { return &d.Decode }},
	{"server_e2e_ns", func(d *ServerDetails) *Int { return &d.E2E }},
	{"server_sent_ns", func(d *ServerDetails) *Int { return &d.SentNS }},
	{"cached_local_tokens", func(d *ServerDetails) *Int { return &d.CachedLocal }},
	{"cached_host_tokens", func(d *ServerDetails) *Int { return &d.CachedHost }},
	{"cached_storage_tokens", func(d *ServerDetails) *Int { return &d.CachedStorage }},
	{"cached_external_tokens", func(d *ServerDetails) *Int { return &d.CachedExternal }},
	{"draft_steps", func(d *ServerDetails) *Int { return &d.DraftSteps }},
	{"draft_tokens", func(d *ServerDetails) *Int { return &d.DraftTokens }},
	{"accepted_tokens", func(d *ServerDetails) *Int { return &d.AcceptedTokens }},
	{"retractions", func(d *ServerDetails) *Int { return &d.Retractions }},
}

// NumServerTimes is the number of times that ServerNumbers begins with.
const NumServerTimes = 5
