// Package perfanalyzer reports a run as NVIDIA's perf_analyzer does: its console
// and its CSV file, of all releases from 23.09 on.
//
//	rep, err := perfanalyzer.Analyze(ctx, nil, reader, dialect.Config{Verbose: true})
//	err = rep.Console(os.Stdout, 0)
//
// A run has [Settings] and a [Level] for each load level. Analyze reads them out
// of an export; a recorder that has them at hand makes them itself, and prints
// them with the same code: [Settings.Write], [Settings.WriteLevel],
// [Settings.WriteSummary] and [Settings.WriteCSV].
//
// What counts and what is computed is package pawindow's. What an export does not
// hold is "n/a", and a warning says why: perf_analyzer's own have neither the
// statistics of the server nor the times within the client, and nothing of its
// command line.
//
// Not reproduced, because it is wrong: the standard deviation of latencies of
// seconds, which overflows 64 bits; two decimals in all numbers behind the first
// warning of a rate that was not kept up.
package perfanalyzer
