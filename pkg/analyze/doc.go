// Package analyze turns the requests of a recorded run into latencies, token
// counts and throughputs.
//
// Package answer measures each request; [Run] sums up a whole file, experiment by
// experiment:
//
//	rep, err := analyze.Run(ctx, r, analyze.Config{})
//	for _, e := range rep.Experiments {
//		if ttft := e.Metric(answer.TTFT); ttft != nil {
//			use(e.Value, ttft.P(99)) // nanoseconds
//		}
//	}
//
// The definitions of the metrics are data: see [answer.StrictMetrics]. Percentiles are of type 7
// (numpy's linear) and always exact. Times are nanoseconds, token counts whole
// numbers, rates per second. A value that does not exist is absent and never
// 0: a request with one token has no gap, one without a response no latency.
//
// A part of each level can be chosen after the fact ([Selection]), shown over
// time ([Windows]), and held against an objective ([Attainment], package expr).
// Code that compares runs sets Config.Follower, which gets the requests in the order of time; Config.Series keeps
// them in memory.
//
// A Report carries its warnings: which data was left out and why, and which numbers need
// care. Requests that failed or do not belong to the measurement are counted by reason.
// After an error the report covers what could be read.
//
// Package check checks a file against what every recorder promises.
//
// The files follow the way of a request: request_*.go reads it and measures it, as a [Point]; level_*.go counts the
// points of a level, with the samples of package summary and the groups of package figure; warning*.go says what needs
// care. analyze.go leads through them, and report.go has the result.
//
// The package prints nothing (package report does) and opens no files (package
// export does).
package analyze
