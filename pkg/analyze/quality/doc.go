// Package quality measures how smoothly the tokens of streamed answers came: fluidity, deadlines
// of tokens, stalls.
//
// Each function looks at one answer with one choice: ttft is the time from the start of the request
// to the first token event, and gaps are the times between successive token events, in nanoseconds.
// A token event with several tokens is one event, as for ITL. Functions return whole numbers, so
// that figures of many requests are sums of them; package analyze adds them up.
//
// Times that add up to more than Most are out of range: see [Fits].
package quality
