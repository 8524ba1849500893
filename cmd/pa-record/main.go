// Pa-record sends load to an LLM inference server and records when each
// response came back, in the profile_export.json format of perf_analyzer. Bare
// pa-record takes perf_analyzer's flags. After a run it reads what it has recorded and
// prints the figures that pa-analyze computes from the export.
//
// Each command has a file: record.go (bare pa-record), sim.go (over package simserver), calibrate.go, recover.go,
// writeinputs.go, foreign.go. The way of a run, each step in a file: settings.go reads the flags, a
// file for each group of them; record.go opens the outputs, the servers (target.go), the inputs
// (data.go) and the other ranks (ranks.go); series.go goes through the runs of repeat.go; run.go
// prepares one run, opens its journal (recording.go) and sends the load; remarks.go and after.go print
// what it found.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"
	"google.golang.org/grpc/grpclog"

	"github.com/pa-tools/pa/cmd/pa-record/frontend"
	"github.com/pa-tools/pa/cmd/pa-record/printer"
	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/disk"
	"github.com/pa-tools/pa/internal/heap"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
)

// version is set when a release is built.
var version = "dev"

func main() {
	version = cmdline.Version(version)
	debug.SetGCPercent(heap.MostGCPercent) // also of the simulator and the calibration
	ignoreFileSizeSignal()
	received := make(chan os.Signal, 2)
	signal.Notify(received, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	env := newEnvironment(os.Getenv, received)
	env.takeLogs, env.steerHeap = takeLogs, heap.Steer
	if fd := int(os.Stderr.Fd()); term.IsTerminal(fd) {
		env.columns = func() int { return columns(fd) }
	}
	env.shown = term.IsTerminal(int(os.Stdout.Fd()))
	os.Exit(run(context.Background(), os.Args, env, os.Stdin, os.Stdout, os.Stderr))
}

// An environment holds the process's inputs besides arguments and streams.
type environment struct {
	getenv  func(string) string
	signals <-chan os.Signal
	// columns asks how wide standard error is; nil when that is no terminal.
	columns func() int
	// shown says that standard output is a terminal, which obeys control characters.
	shown bool
	// takeLogs makes libraries write their logs to w.
	takeLogs func(w io.Writer)
	// freeSpace returns the free space of the file system that holds a folder.
	freeSpace func(dir string) (disk.Space, bool)
	// newClock makes the clock of a run.
	newClock func() *rxclock.Clock
	// steerHeap sets the garbage collector for a load, until stop is called.
	steerHeap func() (stop func())

	relay   *signalRelay // of signals, while the program runs
	journal *openJournal
}

// newEnvironment returns the inputs of a program that leaves the logs of libraries and the
// garbage collector of the process as they are, and has no terminal.
func newEnvironment(getenv func(string) string, signals <-chan os.Signal) environment {
	return environment{
		getenv: getenv, signals: signals, newClock: rxclock.New, journal: &openJournal{}, freeSpace: disk.FreeSpace,
		takeLogs: func(io.Writer) {}, steerHeap: func() func() { return func() {} },
	}
}

// logsTo returns the destination of the libraries' logs. They are discarded, because
// the row of a request holds its error, unless GODEBUG asks for them; then they go to
// stderr.
func logsTo(env environment, stderr io.Writer) io.Writer {
	if strings.Contains(env.getenv("GODEBUG"), "http2debug") {
		return stderr
	}
	return io.Discard
}

// takeLogs makes gRPC and package log (used by net/http) write to w. If they wrote to a
// stopped terminal, they would block a connection.
func takeLogs(w io.Writer) {
	log.SetOutput(w)
	if os.Getenv("GRPC_GO_LOG_SEVERITY_LEVEL") == "" { // the default: errors only
		grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, w))
	}
}

// columns returns the width of a terminal, 80 if it does not say.
func columns(fd int) int {
	n, _, err := term.GetSize(fd)
	if err != nil || n <= 0 {
		return 80
	}
	return n
}

// abandonAfter is how long after a signal pa-record waits for a stage that handles
// no signals itself. A stage that reads a pipe or a terminal cannot be cancelled;
// the program then ends without it.
const abandonAfter = 500 * time.Millisecond

// run is the whole program; args[0] is its name.
func run(ctx context.Context, args []string, env environment, stdin io.Reader, stdout, stderr io.Writer) int {
	p := printer.New(stdout, stderr)
	env.takeLogs(logsTo(env, p.Err))
	env.relay = newSignalRelay(env.signals, p.Hurry)
	code := runCommand(ctx, args, env, stdin, p)
	whole, err := p.Close()
	env.relay.Close()
	switch {
	case err != nil:
		return max(code, cmdline.ExitError)
	case !whole && code == cmdline.ExitOK:
		return cmdline.SignalError{Signal: env.relay.last()}.Code()
	}
	return code
}

// runCommand runs the command line. After a signal that no stage claimed, it cancels
// the context and returns within abandonAfter. After the second signal for a stage that
// claimed them, it returns within a second, whatever the stage does.
func runCommand(ctx context.Context, args []string, env environment, stdin io.Reader, p *printer.Printer) int {
	app := wholeApp(args, env)
	app.Action = cmdline.WithSignals(app.Action)
	for _, c := range app.Commands {
		c.Action = cmdline.WithSignals(c.Action)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	abandoned := false
	defer func() {
		if !abandoned { // else the command would print that it was cancelled
			cancel(nil)
		}
	}()
	ended := make(chan int, 1)
	go func() { ended <- app.Run(ctx, args, stdin, p.Out, p.Err) }() // may be left behind after a signal
	select {
	case code := <-ended:
		return code
	case <-env.relay.overdue:
		abandoned = true
		cause := cmdline.SignalError{Signal: env.relay.last()}
		fmt.Fprintf(p.Err, "pa-record: %v%s\n", cause, env.journal.advice())
		return cause.Code()
	case sig := <-env.relay.unclaimed:
		cause := cmdline.SignalError{Signal: sig}
		cancel(cause)
		select {
		case code := <-ended:
			return code
		case <-time.After(abandonAfter):
			fmt.Fprintf(p.Err, "pa-record: %v\n", cause)
			return cause.Code()
		}
	}
}

// wholeApp is the program with its subcommands, for the command line args.
func wholeApp(args []string, env environment) cmdline.App {
	app := recordApp(args, env, nil)
	app.Commands = append([]*cli.Command{simCommand(env), calibrateCommand(env), recoverCommand(), inputsCommand(env)}, foreignCommands(env)...)
	return app
}

// recordApp is the program without subcommands, for the command line args; reports
// are arguments of pa-analyze to name at the end of a run, beside the plain report.
func recordApp(args []string, env environment, reports [][]string) cmdline.App {
	s := &settings{}
	return cmdline.App{
		Name:    "pa-record",
		Usage:   "send load to an LLM server and record raw timestamps",
		Version: version,
		Examples: []cmdline.Example{
			{Does: "try it without a server: the built-in simulated one answers", Line: "pa-record -u sim:// --concurrency-range 1,4 --request-count 40"},
			{Does: "an OpenAI-compatible server, 8 requests in flight for a minute", Line: "pa-record --service-kind openai -u localhost:8000 --streaming \\\n  --concurrency-range 8 --duration 1m --profile-export-file own.json"},
			{Does: "10 requests per second, prompts of 500 tokens, answers of 100", Line: "pa-record --service-kind openai -u localhost:8000 --streaming \\\n  --request-rate-range 10 --synthetic-input-tokens-mean 500 \\\n  --output-tokens-mean 100 --profile-export-file rate.json"},
			{Does: "Triton over gRPC, with perf_analyzer's flags", Line: "pa-record -m vllm -i grpc --async --streaming --input-data prompts.json \\\n  --concurrency-range 1:16:5 --profile-export-file triton.json"},
			{Does: "see what would be sent, and send nothing", Line: "pa-record -u sim:// --concurrency-range 1,4 --dry-run"},
		},
		CommonFlags: map[string][]cmdline.CommonFlag{"": commonFlags, "inputs": commonInputFlags},
		Flags:       s.flags(),
		Unsupported: unsupportedFlags,
		Renamed:     renamedFlags,
		OtherFlags:  frontend.CommandOfFlags,
		OwnFlags:    frontend.Flags,
		GetoptForms: true,
		Bare:        bareFlags(),
		Action: func(c *cli.Context) error {
			return s.record(c, args, env, reports)
		},
	}
}
