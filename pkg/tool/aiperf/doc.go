// Package aiperf reproduces the reports of AIPerf 0.13: the tables of
// profile_export_console.txt, and the statistics of profile_export_aiperf.csv
// and profile_export_aiperf.json.
//
//	t := tool.Dialects().Find("aiperf")
//	rep, err := dialect.Analyze(ctx, t, reader, dialect.Config{Tokenizer: tok})
//	err = rep.Console(os.Stdout, 140)
//
// A response counts if it holds text, reasoning or a call of a tool; a request ends with the last such
// response, not with usage or [DONE]. AIPerf's inter token latency is (latency − time to
// first token) / (output tokens − 1), once per request; the gaps are its inter chunk
// latency. Failed requests are in no latency. They count in the error rate, and as
// infinitely late in the error-adjusted metrics.
//
// The effective metrics are steps over time: sums over all requests in flight, weighted
// by the duration of each step. The active metrics leave out the time without requests in
// flight. Both, and the rates, cover AIPerf's phase, which begins before the first
// request is issued and ends after the last. Only AIPerf's own summary states it; the
// arguments start_time and end_time repeat it. Without them, rates cover the time from
// the first start to the last response, as for a cancelled run, and steps the time from
// the first issue to the last end.
//
// Times are nanoseconds until they are printed. Instants of the steps are float64 as in
// AIPerf; their rounding to 256 ns shows in minima and maxima.
//
// Other metrics than times and lengths (parts of HTTP exchanges, the server's counts, the
// requested length) come from AIPerf's own records. For other files they are computed if
// the files have the values: see [export.Stated.Figures].
//
// The table releases holds the facts of each release: names, units, order and limits.
// A new release is a new entry of it.
//
// An analysis keeps values in [dialect.Memory], and takes some 80 bytes besides for each
// request. Each pass over the steps computes them again from the requests in flight.
//
// Not reproduced: telemetry, cost and accuracy, counts of audio, images and predictions,
// and the command line and names of the run in the JSON report.
//
// ResultFile reads AIPerf's records, profile_export.jsonl and profile_export_raw.jsonl, as runs.
package aiperf
