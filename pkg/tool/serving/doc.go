// Package serving reproduces, to the character, the reports of the serving benchmarks
// that descend from vLLM's benchmark_serving.py: TensorRT-LLM's benchmark_serving of
// release 1.0 and later, vllm bench serve, and sglang.benchmark.serving. [Tools] lists
// them; a report is made by dialect.Analyze.
//
// The tools send requests to OpenAI servers. For each they note the time to the first
// token, the gaps and the latency, and compute the same figures from them. They differ
// in the events that are token events, in the end of an answer, and in the source of
// token counts: see rules.
//
// Failed requests count, because the tools count them. Requests are in the order of
// issue, which shows in the last digits of sums. Times are seconds, each the difference
// of whole nanoseconds rounded once; figures are milliseconds. Sums, deviations and
// percentiles equal the results of numpy 2.3 and later.
//
// Each load level counts as a run of the tool: a report has a block and a result for
// each.
//
// Not reproduced: the lines before the block, figures that the tools ask of the server
// (speculative decoding, energy, cache hits), probes, embeddings, and native endpoints.
// The numbers of the requests are kept in dialect.Memory. The texts are kept in memory if
// save_detailed asks for them.
//
// ResultFile reads the results of these tools as runs, if they hold the requests.
package serving
