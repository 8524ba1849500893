// Package gputap shows the GPU metrics of Triton servers on perf_analyzer's console while
// the recorder collects them. See [Tap].
package gputap
