// Package frontend translates the command lines of other load generators into
// pa-record's own flags.
//
//	cmd, err := frontend.GenAIPerf().Parse([]string{"-m", "gpt2", "--streaming"})
//	if err != nil {
//		return err // a mistake in the command line
//	}
//	fmt.Println(cmd.Tool, cmd.Args) // genai-perf 24.04 [-m gpt2 --service-kind …]
//
// # Terms
//
// A tool has one or more releases with different command lines. A release is a
// table of options and a function that translates the given ones. A row of the
// table describes one option: its names, type and default, and how pa-record
// supports it. The help page and the tables of docs/tools come from the
// rows.
//
// The package parses command lines by the rules of Python's argparse, as these
// tools do. It passes what follows "--" to pa-record unchanged.
//
// Each tool has a file of its own, GenAI-Perf one for each release. A new tool is
// one new file with its table and its translation, and a line in [Tools].
//
// The package records nothing and reads no files: pa-record runs the command
// line that [Tool.Parse] returns.
package frontend
