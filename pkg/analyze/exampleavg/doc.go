// Package exampleavg prints the two averages of perf_analyzer's example scripts
// calculate_avg_first_token_latency.py and calculate_avg_token_to_token_latency.py
// (2023-09 to 2024-03), digit for digit:
//
//	line, err := exampleavg.FirstToken(r)
//
// The scripts take every response for a token and know nothing of failed requests.
// Package analyze has the strict definitions of these latencies.
package exampleavg
