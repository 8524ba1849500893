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
//		Levels:  []int{1, 4, 8},
//		Measure: recorder.Measure{Requests: 100},
//		Writer:  w,                     // package profilejson
//		Run:     export.Run{…},
//	})
//
// A failed request is a row with a status, not the end of the run; only when
// nothing but failures come back, or more than Config.MaxErrorRate allows, does
// the run stop (see [FailedError], [ErrorRateError]). What the recorder saw of
// itself is in each level's export.ClientMeta. The
// package computes no latency metric but the mean per window that its own
// stability rule needs. It never prints; progress goes to a callback.
package recorder
