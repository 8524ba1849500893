// Package frontend reads the command lines of other load generators, and says
// what they stand for in pa-record's own flags.
//
//	cmd, err := frontend.GenAIPerf().Parse([]string{"-m", "gpt2", "--streaming"})
//	if err != nil {
//		return err // a mistake in the command line
//	}
//	fmt.Println(cmd.Tool, cmd.Args) // genai-perf 24.04 [-m gpt2 --service-kind …]
//
// # Terms
//
// A tool has one or more releases, whose command lines differ. A release is a
// table of options and a function that translates what was given. Everything
// that is known of an option stands in its row: its names, what its value is,
// what the tool takes when it is not given, and its fate here. The help page
// and the tables of docs/migrating.md are made of the rows.
//
// Command lines are read by the rules of Python's argparse, by which all of
// these tools read theirs. What follows "--" is passed on as it is: flags of
// pa-record, as GenAI-Perf passes flags of perf_analyzer.
//
// The package records nothing and reads no files: pa-record runs the command
// line that it returns.
package frontend
