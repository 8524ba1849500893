// Package infperf reads the result files of inference-perf as runs, and writes them from any export:
// per_request_lifecycle_metrics.json, and beside it a summary of the run and one of each
// stage. Programs that read inference-perf's files then read a recording, too. The facts
// of each known release are in release.go.
//
// A load level is a stage. Only chunks with text count, as in inference-perf: content of
// the first choice, no reasoning. inference-perf's seconds count from an unknown time;
// here they are Unix times. Every token of a chunk has the chunk's time, and a request
// ends when the recorder finished it. Requests of the warmup, and requests that ended
// after the measurement, are left out: inference-perf has no such phases.
//
// Requests are written as they are read. The statistics of a summary equal numpy's over
// all requests. They take 8 bytes of memory for each value: some 70 for a request and 8
// for a token.
package infperf
