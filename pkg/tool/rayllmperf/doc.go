// Package rayllmperf reads the result files of Ray's LLMPerf (token_benchmark_ray.py): individual_responses.json with the requests, and
// the summary beside it, which holds figures only.
//
// The tool divides the time of the last token, which includes the time to the first, by the number of tokens and calls the quotient
// inter_token_latency_s. So it is no gap between tokens. The product of the two numbers is the time of the last token, which the file
// does not state otherwise.
package rayllmperf
