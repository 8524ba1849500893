// Package histogram counts durations in buckets, in memory that does not grow with
// their number.
//
// Durations below 2^b ns have a bucket each. From there on each power of two has 2^b
// buckets, so a percentile is rounded up by at most 1/2^b of its value:
//
//	bucket(v) = v                                  for v < 2^b
//	bucket(v) = 2^b·k + v>>k, k = len(v) − (b + 1)  otherwise; v>>k is in [2^b, 2^(b+1))
//
// The package keeps no sum and no order: use it for percentiles only.
package histogram
