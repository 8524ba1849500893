// Pa-analyze reads recorded runs of LLM inference benchmarks: files of pa-record, of every release of
// perf_analyzer, and of other tools. It reports latencies, tokens and throughputs of each load level and of
// single requests, draws them, compares runs, and judges them. It counts tokens as Hugging Face does. Its only
// connections go to the Hugging Face hub, for a --tokenizer that is not in the cache.
//
//	pa-analyze profile_export.json
//	pa-analyze report --format json run.json | jq .experiments[].metrics.ttft_ns.p99
//	pa-analyze avg-first-token
//	pa-analyze tokenize --tokenizer Qwen/Qwen2.5-0.5B prompts.txt
//
// Results go to standard output; warnings and errors to standard error. Exit
// codes: 0 ok, 1 the analysis failed, or the input was cut short or damaged (what
// could be read is still printed) or runs cannot be compared, 2 wrong usage, 3 a
// gate was not met, 4 a gate cannot tell, 130 interrupted.
//
// Each command has a file of its name; average.go has avg-first-token and avg-token-to-token. The way of a
// command, each step in a file: flags.go declares the flags that commands share (tokenizer.go and dialect.go two
// groups of them); call.go checks the flags and then calls the command; arguments.go says which files its
// arguments name; runs.go makes runs of them (a file, or shards), which open.go opens; levels.go analyzes them and
// chooses levels (compare.go for comparisons); output.go writes the report and prints warnings. hints.go reads
// the settings that a file has for the report of another tool.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
)

// version is set by the linker in releases.
var version = "dev"

// readsFiles tells people who give pa-analyze the URL of a server what to do instead.
const readsFiles = "pa-analyze reads recorded files; pa-record sends load to a server"

func main() {
	version = cmdline.Version(version)
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		cancel(cmdline.SignalError{Signal: <-signals})
		// The command may wait for a pipe or a disk. The second signal does not rely on the
		// signal's default, which is to ignore it in a shell script's background job.
		os.Exit(cmdline.SignalError{Signal: <-signals}.Code())
	}()
	os.Exit(run(ctx, os.Args, os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole program: it executes args and returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return analyzeApp().Run(ctx, args, stdin, stdout, stderr)
}

// analyzeApp returns the program with its commands.
func analyzeApp() cmdline.App {
	app := cmdline.App{
		Name:    "pa-analyze",
		Usage:   "read recorded runs of LLM benchmarks",
		Version: version,
		Examples: []cmdline.Example{
			{Does: "latencies and throughputs of a run, for each load level", Line: "pa-analyze profile_export.json"},
			{Does: "the same for a program, several files at once", Line: "pa-analyze report --format json old.json new.json.gz"},
			{Does: "what changed from one run to another, and fail CI on a regression", Line: "pa-analyze diff old.json new.json --fail-on 'ttft_p99>+5%' --single-run"},
			{Does: "how many requests met an objective", Line: "pa-analyze run.json --slo 'ttft<=200ms && itl_p99<=50ms'"},
			{Does: "the line that calculate_avg_first_token_latency.py prints", Line: "pa-analyze avg-first-token profile_export.json"},
		},
		CommonFlags: commonFlags,
		Unsupported: map[string]string{"u": readsFiles, "url": readsFiles},
		Renamed: map[string]string{
			"html": "--format html -o FILE", "json": "--format json", "csv": "--format csv",
			"level": "--experiment LEVEL", "concurrency": "--experiment N", "request-rate": "--experiment request_rate:N",
		},
		Default: "report",
		Commands: []*cli.Command{
			reportCommand(),
			diffCommand(),
			rigCommand(),
			planCommand(),
			trendCommand(),
			checkCommand(),
			paretoCommand(),
			plotCommand(),
			avgFirstToken(),
			avgTokenToToken(),
			requestsCommand(),
			validateCommand(),
			definitionsCommand(),
			convertCommand(),
			mergeCommand(),
			sqlCommand(),
			htmlCommand(),
			traceCommand(),
			writeCommand(),
			tokenizeCommand(),
		},
	}
	for _, c := range app.Commands {
		c.Flags = append(c.Flags, cmdline.ConfigFlag("Common"))
		c.Action = cmdline.WithSignals(c.Action)
	}
	return app
}
