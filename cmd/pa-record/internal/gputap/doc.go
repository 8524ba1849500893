// Package gputap keeps the GPU metrics of Triton servers for perf_analyzer's console while
// the recorder collects them. See [Tap].
package gputap
