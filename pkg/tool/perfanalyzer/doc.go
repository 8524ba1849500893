// Package perfanalyzer prints the console report and the CSV file of NVIDIA's
// perf_analyzer, as each release from 23.09 on prints them.
//
//	t := tool.Dialects().Find("perf_analyzer")
//	rep, err := dialect.Analyze(ctx, t, reader, dialect.Config{Verbose: true})
//	err = rep.Console(os.Stdout, 0)
//
// A run has [Settings] and a [Level] for each load level. An analysis reads them
// from an export. A recorder that has them in memory makes them itself, and prints
// them with the same code: [Settings.Write], [Settings.WriteLevel],
// [Settings.WriteSummary] and [Settings.WriteCSV].
//
// Package pawindow decides which requests count, and computes the figures. A figure
// that an export has no data for is "n/a", and a warning says why: perf_analyzer's
// own exports have no server statistics, no times within the client, and no command
// line.
//
// [AverageFirstToken] and [AverageTokenToToken] print the averages of two example scripts of perf_analyzer,
// digit for digit. The scripts take every response for a token and know nothing of failed requests.
//
// Two faults are not reproduced: the standard deviation of latencies of seconds, which
// overflows 64 bits, and the two decimals of all numbers after the first warning of a
// rate that was not reached.
package perfanalyzer
