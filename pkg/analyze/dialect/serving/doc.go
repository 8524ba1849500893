// Package serving reproduces the reports of the serving benchmarks that have
// vLLM's benchmark_serving.py for an ancestor, to the character: TensorRT-LLM's
// benchmark_serving of release 1.0 and later, vllm bench serve, and
// sglang.benchmark.serving.
//
//	tool := serving.Find("vllm")
//	rep, err := serving.Analyze(ctx, tool, reader, dialect.Config{
//		Tokenizer: tok,
//		Args:      map[string]string{"percentile_metrics": "ttft,tpot,itl,e2el", "save_detailed": "True"},
//	})
//	err = rep.Console(os.Stdout, 0) // its block
//	err = rep.JSON(os.Stdout)       // its result file
//
// They send requests to OpenAI servers, note of each the time to the first
// token, the gaps and the latency, and make the same figures of them; what is a
// token event, when an answer is over, and whose count of tokens is believed
// differs ([Tools]).
//
// The tools take failed requests into account, so those of a recording count
// here, wherever its file has them. All requests are put into the order of their
// issue, because it shows in the last digits of sums. Times are seconds, each
// the difference of whole nanoseconds rounded once; figures are milliseconds.
// Sums, deviations and percentiles equal the results of numpy 2.3 and later.
//
// Each load level is a run of the tool: a report has a block, and a result, for
// each.
//
// Not reproduced: what is printed before the block, figures that the tools ask
// of the server (speculative decoding, energy, cache hits), those of probes, and
// measurements of embeddings and of native, non-OpenAI endpoints. Of a run under
// a single level the memory grows with the requests: some 100 bytes for each,
// 8 for a gap, and the texts where save_detailed asks for them.
package serving
