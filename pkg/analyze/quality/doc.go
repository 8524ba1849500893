// Package quality measures how smoothly the tokens of streamed answers came: fluidity, deadlines
// of tokens, stalls.
//
// An [Answer] holds the times of one answer with one choice, in nanoseconds. A token event with several
// tokens is one event, as for ITL. Its methods return whole numbers, so that figures of many requests are
// sums of them; package analyze adds them up.
package quality
