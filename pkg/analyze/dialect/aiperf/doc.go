// Package aiperf reproduces the reports of AIPerf 0.13: the tables of
// profile_export_console.txt, and the statistics of profile_export_aiperf.csv
// and profile_export_aiperf.json.
//
//	tool := tools.All().Find("aiperf")
//	rep, err := dialect.Analyze(ctx, tool, reader, dialect.Config{Tokenizer: tok})
//	err = rep.Console(os.Stdout, 140)
//
// A response counts when it holds text or reasoning; a request ends with the
// last one that does, not with usage or [DONE]. What AIPerf calls inter token
// latency is (latency − time to first token) / (output tokens − 1), once per
// request; the gaps themselves are inter chunk latency. Failed requests are in
// no latency but count in the error rate, and in the error-adjusted metrics as
// infinitely late.
//
// The effective metrics are steps over time: at each instant what all requests
// under way do, weighted by how long. The active ones leave out the time when
// none is. Both, and the rates, are over the phase from before the first request
// was issued to after the last was over, which only AIPerf's own summary knows:
// the arguments start_time and end_time give it. Without them the rates are over
// the time from the first start to the last response, as of a run that was
// cancelled, and the steps from the first issue to the last end.
//
// Times are nanoseconds until they are printed. Instants are float64 there, as
// in AIPerf, whose rounding to 256 ns shows in extremes of the steps.
//
// What is not about times and lengths (parts of HTTP exchanges, the server's
// counts, the length that was asked for) is as AIPerf's own records state it; of
// other files it is made again as far as they go: see [export.Stated.Figures].
//
// The table releases holds the facts of each release: names, units, order and limits.
// A new release is a new entry of it.
//
// Memory is 8 bytes for each chunk and some 300 for each request: the steps are
// made anew for each pass over them, of those requests that are under way.
//
// Not reproduced: telemetry, cost and accuracy, counts of audio, images and
// predictions, and what JSON repeats of the command line and names of the run.
package aiperf
