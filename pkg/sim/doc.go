// Package sim is a simulated LLM server that keeps a ledger of what it really
// sent, and when.
//
// One [Server] listens on three loopback ports: an OpenAI-compatible HTTP API,
// Triton's KServe v2 HTTP API with the generate extension, and Triton's KServe
// v2 gRPC API. It generates no language: it emits words of a fixed vocabulary,
// as many and as fast as its [Config] says. It is meant for trying the programs
// without a GPU, for measuring a client's clock, and for tests, which ask the
// ledger what happened on the wire:
//
//	srv, err := sim.Start(ctx, sim.Config{
//		TTFT:         plan.ConstantDelay(20 * time.Millisecond),
//		ITL:          plan.Delay{Kind: plan.Normal, Mean: 10 * time.Millisecond, Stddev: time.Millisecond},
//		OutputTokens: plan.ConstantLength(32),
//	})
//	if err != nil {
//		return err
//	}
//	defer srv.Close()
//	… send requests to srv.OpenAIURL() …
//	err = srv.Wait(ctx) // nothing in flight any more
//	for _, e := range srv.Ledger() {
//		fmt.Println(e.ID, e.EventTimesNS())
//	}
//
// Without TLS the OpenAI API also speaks HTTP/2 to clients that begin with it
// (prior knowledge). A fault that breaks the connection then resets the stream,
// and those of the header do not exist: slow_header changes nothing, and
// garbage_header resets the stream.
//
// Package plan decides what is sent and when, with its faults. Package ledger keeps
// what was sent. This package serves: server.go and exchange.go the requests of every
// API, openai*.go the OpenAI API, triton*.go both APIs of Triton.
//
// # Terms
//
// A token is one piece of the vocabulary; several may share an event
// ([Config.TokensPerEvent]). An event is one SSE event or one gRPC message. A
// write is one hand-over of bytes to the kernel (HTTP) or to the gRPC stream:
// normally one event each; some faults join or cut events. An input token is a
// word of the prompt (a run without white space), or an element of a prompt
// given as token ids.
//
// # Time
//
// The first token is due TTFT + input tokens × PrefillPerToken after the
// request was read and a slot was free, each further one ITL after the one
// before. Due times are absolute, so that late wake-ups do not add up. The
// server sleeps on ordinary timers and does not spin: a write typically happens
// 0.05 to 1 ms after it was due. The ledger has the true time, a CLOCK_REALTIME
// reading taken right before the write; instants are Unix nanoseconds.
//
// On Linux the ledger has the kernel's times as well: when a request arrived
// (ledger.Entry.ReceivedKernelNS), and when a write left (ledger.Write.KernelNS; over
// HTTP with [Config].KernelSends). They do not depend on when the server got to run.
// Over HTTP/2, where requests share a connection, they are unknown.
//
// # Metrics
//
// GET /metrics on the OpenAI port has the metrics of vLLM's engine, on Triton's
// HTTP port those of Triton (which it has on a port of its own), in the text
// format of Prometheus. They are counted with the times of the ledger, and a
// request that has ended in the ledger is in them. They need no ledger.
//
// # Randomness
//
// Every random value is a function of (seed, request index, token index): see
// package plan. The request index counts inference requests of all protocols in
// the order of their arrival. Equal seeds give equal texts, lengths and delays
// for equal indices, whatever the scheduling and the number of cores. A request
// that brings a seed of its own gets its text and length from that seed instead
// of its index, as real servers do.
//
// # Request fields
//
// An OpenAI body, Triton's sampling_parameters (JSON text) and Triton's request
// parameters may hold, beside max_tokens, max_completion_tokens, min_tokens,
// ignore_eos, seed, n and the other usual fields:
//
//	sim_fault        name of a Fault, "none" to be spared the configured ones
//	sim_fault_after  tokens before the fault strikes
//	ttft_ms          overrides TTFT, milliseconds
//	itl_ms           overrides ITL, milliseconds
//	prefill_us       overrides PrefillPerToken, microseconds
//	vocabulary       "plain", "tricky" or "stamp"
//	final            "empty" or "attached" (Triton)
//	echo             true: the prompt precedes the first token (Triton, completions)
//	fail_after       the same as sim_fault error_event after so many tokens
//
// # What it does not do
//
// No tokenizer, no chat templates, no tools, no logprobs and no stop strings. Unknown fields are ignored.
package sim
