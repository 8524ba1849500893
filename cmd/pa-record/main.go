// Pa-record sends load to an LLM inference server and records when each
// response came back, in the profile_export.json format of perf_analyzer. Bare
// pa-record takes perf_analyzer's flags. It computes no metrics: pa-analyze
// does, from the file.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"golang.org/x/term"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
)

// version is set when a release is built.
var version = "dev"

func main() {
	// The heap is small and short-lived: fewer collections disturb less.
	debug.SetGCPercent(400)
	ignoreFileSizeSignal()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	env := environment{getenv: os.Getenv, signals: signals}
	if fd := int(os.Stderr.Fd()); term.IsTerminal(fd) {
		env.columns = func() int { return columns(fd) }
	}
	os.Exit(run(context.Background(), os.Args, env, os.Stdin, os.Stdout, os.Stderr))
}

// An environment is what the process gets from outside besides arguments and
// streams.
type environment struct {
	getenv  func(string) string
	signals <-chan os.Signal
	// columns asks how wide standard error is; nil when that is no terminal.
	columns func() int
}

// columns returns the width of a terminal, 80 if it does not say.
func columns(fd int) int {
	n, _, err := term.GetSize(fd)
	if err != nil || n <= 0 {
		return 80
	}
	return n
}

// run is the whole program; args[0] is its name.
func run(ctx context.Context, args []string, env environment, stdin io.Reader, stdout, stderr io.Writer) int {
	app := recordApp(args, env, nil)
	app.Commands = append([]*cli.Command{simCommand(env), calibrateCommand(env), recoverCommand(), inputsCommand(env)}, foreignCommands(env)...)
	return app.Run(ctx, args, stdin, stdout, stderr)
}

// recordApp is the program without subcommands, for the command line args; reports
// are arguments of pa-analyze to name at the end of a run, beside the plain report.
func recordApp(args []string, env environment, reports [][]string) cmdline.App {
	return cmdline.App{
		Name:    "pa-record",
		Usage:   "send load to an LLM server and record raw timestamps",
		Version: version,
		Examples: []cmdline.Example{
			{Does: "try it without a server: the built-in simulated one answers", Line: "pa-record -u sim:// --concurrency-range 1,4 --request-count 40"},
			{Does: "an OpenAI-compatible server, 8 requests in flight for a minute", Line: "pa-record --service-kind openai -u localhost:8000 --streaming \\\n  --concurrency-range 8 --duration 1m"},
			{Does: "Triton over gRPC, with perf_analyzer's flags", Line: "pa-record -m vllm -i grpc --async --streaming --input-data prompts.json \\\n  --profile-export-file profile_export.json --concurrency-range 1:16:5"},
		},
		Flags:       recordFlags(),
		Unsupported: notSupported,
		GetoptForms: true,
		Action: func(c *cli.Context) error {
			return record(c, args, env, reports)
		},
	}
}
