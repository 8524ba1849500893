// Package infperf writes the result files of inference-perf 0.7.0, so that what
// reads those reads a recording too:
//
//	w := infperf.NewWriter(reader.Run(), dialect.Config{Tokenizer: tok}, out)
//	err := w.WriteAll(ctx, reader) // per_request_lifecycle_metrics.json
//	for _, f := range w.Summaries() {
//		err = f.Write(other) // f.Name: summary_lifecycle_metrics.json, stage_0_…
//	}
//
// The load levels of a run are its stages. Of an answer the chunks with text
// count, as inference-perf has it: content of the first choice, no reasoning.
// Its seconds are floats of a clock without a date; here they are Unix times.
// Every token of a chunk has the chunk's time, and a request ends when the
// recorder was through with it. Requests of the warmup, and those that ended
// after the measurement, are not there: inference-perf has no such phases.
//
// Requests are written as they are read. The figures of a summary equal
// numpy's over all requests. They take 8 bytes of memory for each value: some 70 for a
// request and 8 for a token.
package infperf
