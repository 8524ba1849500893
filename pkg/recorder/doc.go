// Package recorder sends load to a server and writes what came back, and when.
//
// A run is a list of load levels. At each level a closed loop of N slots
// (concurrency N) sends the entries of the workload in turn; a slot sends its
// next request as soon as the last one has ended. One goroutine, the
// collector, takes the finished exchanges from a mailbox, decodes them, decides
// when measurement windows end, and writes each request to an export.Writer. No
// slot ever waits for the collector, and the collector not for the disk when the
// writer writes behind; what waits in memory is bounded, see Config.Writer.
//
//	res, err := recorder.Run(ctx, recorder.Config{
//		Backend: b,                     // backend/openai, backend/kserve
//		Entries: entries,               // package workload
//		Levels:  load.Closed(1, 4, 8),
//		Measure: window.Measure{Requests: 100},
//		Writer:  w,                     // package journal survives a kill; profilejson
//		Run:     export.Run{Meta: &export.RunMeta{}},
//	})
//
// The example of the package is a whole program.
//
// A failed request is a row with a status, not the end of the run; only when
// nothing but failures come back, or more than Config.MaxErrorRate allows, does
// the run stop (see [FailedError], [ErrorRateError]). What the recorder saw of
// itself is in each level's export.ClientMeta.
//
// The latency figures of the package are for watching a run: the mean or a
// percentile per window, for the stability rule; the mean and percentiles of a level,
// in [Level] (above 65,536 requests from a histogram, see [Latency.Approximate]);
// the median time to first token of the last seconds, in [Progress]. For results, use
// package analyze, which computes figures from the export. The package never prints;
// progress goes to a callback.
package recorder
