// Package dialect reports runs as other tools do: the same choice of responses, the same
// formulas, rounding and layout, to the character, mistakes included.
//
// A dialect is one release of one tool, a [Tool]: its name, the flags it takes, how it
// analyzes a run and which result file it keeps. [Analyze] reads a run once, chooses
// its load levels and hands each request to the tool's [Analysis]:
//
//	t := tool.Dialects().Find("vllm")
//	rep, err := dialect.Analyze(ctx, t, reader, dialect.Config{Tokenizer: tok})
//	err = rep.Console(os.Stdout, 100)
//
// Each family of tools has a package under pkg/tool, and tool.Dialects lists them. A new
// dialect is one package and one line in that list. Package explain says why a tool's
// figures differ from the strict ones.
//
// If a release would have stopped at a file with an exception, the report warns about it
// and applies the release's rules anyway.
package dialect
