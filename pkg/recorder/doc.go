// Package recorder sends load to a server and records each request with the times of its
// responses.
//
// A run is a list of load levels. A closed loop of N slots (concurrency N) sends the
// entries of the workload in turn; each slot sends its next request as soon as its last
// one has ended. An open loop sends by a schedule; see package load. One goroutine, the
// collector, takes the finished exchanges from a queue, decodes them, decides when
// measurement windows end (package window), and writes each request to an export.Writer.
// No slot waits for the collector. The memory of what waits is bounded; see
// Config.Writer.
//
// The example of the package is a whole program. Package journal records so that a run survives a kill.
//
// A failed request is a row with a status and does not end the run. The run stops when
// all requests fail, or more of them than Config.MaxErrorRate allows; see [FailedError]
// and [ErrorRateError]. Each level's export.ClientMeta holds the recorder's measures of itself.
//
// [Config.Forecast] says before the load what a level sends and how long it takes, as far as the
// configuration tells. Progress says how much of the level is left.
//
// The latency figures in [Level] and [Progress] are for watching a run; percentiles of
// more than 65,536 requests are approximate (see window.Latency). For results, use package
// analyze, which computes figures from the export. The package never prints; progress
// goes to a callback.
//
// Durations are time.Duration; instants are Unix nanoseconds.
package recorder
