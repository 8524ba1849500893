// Package genaiperf reproduces the reports of GenAI-Perf, from 24.03 to the
// last state of the project, to the character.
//
//	t := tool.Dialects().Find("genai-perf-25.08")
//	rep, err := dialect.Analyze(ctx, t, reader, dialect.Config{Tokenizer: tok})
//	err = rep.Console(os.Stdout, 100)
//
// GenAI-Perf reads perf_analyzer's export in two steps. It cleans the responses of a
// request: it joins the events of one read and drops responses without text. Then it
// measures times and counts tokens of the remaining responses. The details changed with
// nearly every release; history holds the changes of each.
//
// All times are nanoseconds until they are printed. Only requests that perf_analyzer
// would have exported count. The report covers one level of the file.
//
// If a release stops with an exception, the report holds it, and reading goes on: an
// unreadable response has no text, and a metric without values is "N/A".
//
// Not reproduced: the arguments that the JSON report repeats (input_config),
// telemetry, plots, and the summaries of the sub-commands analyze and
// process-export-files.
package genaiperf
