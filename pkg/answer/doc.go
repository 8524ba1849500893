// Package answer decodes the responses to one request and measures them: which
// responses are tokens, when they came, how many tokens there are, and whether the
// request counts.
//
// A token event is a response, or a part of one, that adds output to one of the
// choices of an answer. [Decoder] finds the token events of a request in the bodies of
// OpenAI-compatible servers, in server-sent events and in the tensors of KServe v2.
// [Meter] turns them into [Measures]:
//
//	m := answer.NewMeter(r.Run(), answer.Config{})
//	for r.Next() {
//		q := m.Measure(r.Request())
//		if q.Counted && q.TTFT.OK {
//			use(q.TTFT.V) // nanoseconds
//		}
//	}
//
// Times are nanoseconds and token counts whole numbers. A missing value is a [Value]
// that is not OK, never 0: a request with one token has no gap, and one without a
// response has no latency.
//
// A request with a single response may or may not have been streamed. Only the other
// requests of its load level can tell; a [StreamQueue] decides that before the measures
// are used.
//
// The package knows nothing of load levels, statistics and reports: package analyze
// sums up the requests of a run. It opens no files (package export does).
package answer
