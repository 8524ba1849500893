// Package sim is a simulated LLM server that keeps a ledger of the bytes it really sent,
// and when.
//
// A [Server] listens on three loopback ports: an OpenAI-compatible HTTP API, Triton's
// KServe v2 HTTP API with the generate extension, and Triton's KServe v2 gRPC API. It sends
// words of a fixed vocabulary; [Config] sets their number and speed. It serves to try the
// programs without a GPU, to measure a client's clock, and for tests, which read in the
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
// Without TLS the OpenAI API also accepts HTTP/2 with prior knowledge. There, a
// fault that breaks the connection resets only the stream, and so does garbage_header;
// slow_header has no effect.
//
// Package plan decides the answers, their times and their faults. This package serves:
// server.go and exchange.go the requests of every API, openai*.go the OpenAI API, triton*.go both APIs of
// Triton. ledger*.go record the answers as they were sent.
//
// # Terms
//
// A token is one piece of the vocabulary; several may share an event
// ([Config.TokensPerEvent]). An event is one SSE event or one gRPC message. A write hands
// bytes to the kernel (HTTP) or to the gRPC stream. It usually holds one event; some faults
// join or cut events. An input token is a word of the prompt, or an element of a prompt
// given as token ids.
//
// # Time
//
// The first token is due TTFT + input tokens × PrefillPerToken after the request was read
// and a slot was free. Each further token is due ITL after the previous one. Due times are
// absolute, so late wake-ups do not add up. The server sleeps on ordinary timers: a write
// usually happens 0.05 to 1 ms after its due time. The ledger has the real time, read from
// CLOCK_REALTIME just before the write, in Unix nanoseconds.
//
// On Linux the ledger has the kernel's times as well: when a request arrived
// (Entry.ReceivedKernelNS), and when a write left (Write.KernelNS; over
// HTTP with [Config].KernelSends). They do not depend on when the server got to run.
// Over HTTP/2, where requests share a connection, they are unknown.
//
// # Metrics
//
// GET /metrics returns the metrics of vLLM's engine on the OpenAI port, and the metrics of
// Triton on Triton's HTTP port, in the text format of Prometheus. They use the times of the
// ledger and include every request that has ended there. They work without a ledger too.
//
// # Randomness
//
// Every random value is a function of (seed, request index, token index): see
// package plan. The request index counts inference requests of all protocols in
// the order of their arrival. Equal seeds give equal texts, lengths and delays for equal
// indices, independent of scheduling and cores. As with real servers, a seed in the request
// replaces the index for its text and length.
//
// # Request fields
//
// An OpenAI body, Triton's sampling_parameters (JSON text) and Triton's request
// parameters may hold, beside max_tokens, max_completion_tokens, min_tokens,
// ignore_eos, seed, n and the other usual fields:
//
//	sim_fault        name of a plan.Fault; "none" overrides configured faults
//	sim_fault_after  tokens before the fault strikes
//	ttft_ms          overrides TTFT, milliseconds
//	itl_ms           overrides ITL, milliseconds
//	prefill_us       overrides PrefillPerToken, microseconds
//	vocabulary       "plain", "tricky" or "stamp"
//	final            "empty" or "attached" (Triton)
//	echo             true: the prompt precedes the first token (Triton, completions)
//	fail_after       sim_fault error_event after this many tokens
//
// # Limits
//
// There is no tokenizer, no chat template, no tool, no logprob and no stop string. Unknown
// fields are ignored.
package sim
