// Package dialect is what the reports of other tools have in common: what they
// need to know that a file does not say, and what they can be asked for.
//
// A dialect is one release of one tool: which responses count, which formula,
// which rounding and which layout, to the character, its mistakes included.
// Each family of tools has a package below this one: genaiperf, perfanalyzer,
// serving, llmperf, …
//
//	r, err := genaiperf.Analyze(ctx, release, run, dialect.Config{Tokenizer: tok})
//	err = r.Console(os.Stdout, 100)
//
// Where a release would have stopped at a file with an exception, the report
// says so in a warning and holds what the release's rules give all the same.
package dialect
