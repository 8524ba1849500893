// Package evalscope reads the figures that EvalScope's performance test (evalscope perf) writes: benchmark_summary.json and
// benchmark_percentile.json. Its requests are in an SQLite database.
package evalscope
