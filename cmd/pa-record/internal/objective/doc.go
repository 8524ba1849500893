// Package objective decides for a search whether a load level meets an objective over the
// percentiles of its requests, such as ttft_p99<=200ms && itl_p99<=30ms.
package objective
