// Package llmperf reproduces the reports of llm_perf.py, a benchmark of language models
// behind Triton, to the character. The first version divides tokens by the sum of
// latencies; the second prints a table.
//
//	t := tool.Dialects().Find("llm_perf-v2")
//	rep, err := dialect.Analyze(ctx, t, reader, dialect.Config{Tokenizer: tok})
//	err = rep.Console(os.Stdout, 0) // all that it prints
//	err = rep.JSON(os.Stdout)       // its result file
//
// It measures the times from a request to its first response, with or without text, and
// to its last response. It counts tokens with the tokenizer, including the special tokens
// around a text. All levels of a run are in one report.
//
// The tool asks for the answers of Triton models that have text_input and
// text_output, over gRPC as a stream of responses or over HTTP as a whole. It
// has no notion of a request that fails: an error ends it, and the report
// with it.
//
// ResultFile reads the tool's results as runs.
package llmperf
