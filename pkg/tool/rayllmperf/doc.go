// Package rayllmperf reads the result files of Ray's LLMPerf (token_benchmark_ray.py): individual_responses.json with the requests, and
// the summary beside it, which holds figures only.
//
// The tool's inter_token_latency_s is the time of the last token, which includes the time to the first, divided by a number that the
// file does not name: of tokens by the tokenizer of Llama 2, or of events. So the file gives neither gaps nor the time of the last token.
package rayllmperf
