// Package genaiperf reproduces the reports of GenAI-Perf, from 24.03 to the
// last state of the project, to the character.
//
//	tool := tools.All().Find("genai-perf-25.08")
//	rep, err := dialect.Analyze(ctx, tool, reader, dialect.Config{Tokenizer: tok})
//	err = rep.Console(os.Stdout, 100)
//
// GenAI-Perf reads perf_analyzer's export twice over: it cleans the responses
// of a request (joins what one read had brought together, drops what holds no
// text), then takes times and token counts from what is left. What exactly it
// does changed with nearly every release; [Releases] holds the rules of each,
// as its difference from the one before.
//
// All times are nanoseconds until they are printed. Only requests that
// perf_analyzer would have exported count; one level of the file is reported.
//
// Where a release stops with an exception, [Report.Crash] says which, and
// reading goes on: a response that cannot be read has no text, a metric
// without values is "N/A".
//
// Not reproduced: the arguments that the JSON report repeats (input_config),
// telemetry, plots, and the summaries of the sub-commands analyze and
// process-export-files.
package genaiperf
