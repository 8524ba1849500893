// Package quality measures how smoothly the tokens of streamed answers came: fluidity, deadlines
// of tokens, stalls.
//
//	q := quality.NewMeter(quality.Default()).Measure(measured)
//	rate := q.TokenRate()
//
// A [Meter] measures a [Request]. An [Answer] holds the times of one answer with one choice, in nanoseconds. A token
// event with several tokens is one event, as for ITL. The methods of Answer return whole numbers, and package analyze
// adds up the numbers of many requests.
package quality
