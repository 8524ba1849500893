package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/cmd/pa-record/simserver"
	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/backend/openai"
	"github.com/pa-tools/pa/pkg/recorder/calibrate"
	"github.com/pa-tools/pa/pkg/sim"
)

// serviceBoth is the value of --service for all services.
const serviceBoth = "both"

// calibrateCommand is "pa-record calibrate": how far recorded times are from
// the truth on this machine.
func calibrateCommand(env environment) *cli.Command {
	return &cli.Command{
		Name:  "calibrate",
		Usage: "measure the error of the recorded times on this machine",
		Description: `It starts the simulated server in another process, records streams from it in
turns with the kernel's times and with user-space ones, and compares them with
the times at which the server's kernel sent the same bytes. The error depends on
the load: give the number of streams that you mean to record. To keep the result
in an export, record with pa-record --calibrate.`,
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "streams", Usage: "read `N` answers at a time", Value: calibrate.DefaultStreams},
			&cli.Float64Flag{Name: "rate", Usage: "`TOKENS` per second of each stream", Value: calibrate.DefaultTokensPerSecond},
			&cli.DurationFlag{Name: "duration", Usage: "record for `DURATION` with each kind of times", Value: calibrate.DefaultDuration},
			&cli.IntFlag{Name: "events", Usage: "`N` tokens of each stream, instead of a duration", DefaultText: " "},
			&cli.StringFlag{Name: "service", Usage: "`SERVICE` to record: openai, triton-grpc, or both", Value: calibrate.OpenAI},
			&cli.StringFlag{Name: "transport", Usage: "how OpenAI requests are sent: `WHICH` is loop, nethttp or auto, as for a run", Value: openai.Auto.String()},
			&cli.StringFlag{Name: "format", Usage: "`FORMAT` of the result: table or json", Value: "table"},
			&cli.BoolFlag{Name: "quiet", Usage: "print no progress on standard error"},
			cmdline.ConfigFlag(""),
		},
		Action: func(c *cli.Context) error { return calibrateClock(c, env) },
	}
}

// calibrateClock runs the command calibrate: it measures the error of recorded times and prints it.
func calibrateClock(c *cli.Context, env environment) error {
	k, err := newCalibration(c)
	if err != nil {
		return err
	}
	ctx, stop, interrupted, release := watchSignals(c.Context, env.relay, c.App.ErrWriter)
	defer release()
	k.Stop = stop
	result, err := k.Run(ctx)
	switch sig := interrupted.signal(); {
	case sig != 0:
		return &cmdline.CodeError{Code: 128 + int(sig)}
	case err != nil:
		return err
	}
	result.Host = recorder.Host()
	if c.String("format") == "json" {
		return printJSON(c.App.Writer, result)
	}
	return calibrate.WriteTable(c.App.Writer, result)
}

// newCalibration reads the flags. Its errors are usage errors.
func newCalibration(c *cli.Context) (*calibrate.Runner, error) {
	var errs []error
	bad := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(c.Args().Present(), "unexpected argument %q; pa-record calibrate takes flags only", c.Args().First())
	for _, name := range []string{"streams", "events"} {
		bad(c.IsSet(name) && c.Int(name) < 1, "--%s %d: must be at least 1", name, c.Int(name))
	}
	bad(c.IsSet("rate") && !(c.Float64("rate") > 0), "--rate %v: must be above 0", c.Float64("rate"))
	bad(c.IsSet("duration") && c.Duration("duration") <= 0, "--duration %v: must be above 0", c.Duration("duration"))
	bad(c.IsSet("duration") && c.IsSet("events"), "--duration and --events exclude each other; drop one")
	format := c.String("format")
	bad(format != "table" && format != "json", "--format %s: expected table or json", format)
	k := newRunner(c.App.ErrWriter, c.Bool("quiet"))
	k.Config = calibrate.Config{Streams: c.Int("streams"), TokensPerSecond: c.Float64("rate"), Duration: c.Duration("duration"), Tokens: c.Int("events")}
	switch service := c.String("service"); service {
	case calibrate.OpenAI, calibrate.TritonGRPC:
		k.Services = []string{service}
	case serviceBoth:
		k.Services = []string{calibrate.OpenAI, calibrate.TritonGRPC}
	default:
		bad(true, "--service %s: expected openai, triton-grpc or both", service)
	}
	var err error
	if k.Transport, err = openai.ParseTransport(c.String("transport")); err != nil {
		bad(true, "--transport %s: expected auto, loop or nethttp", c.String("transport"))
	}
	bad(c.IsSet("transport") && c.String("service") == calibrate.TritonGRPC, "--transport %s: gRPC has a transport of its own; drop it", c.String("transport"))
	if errs == nil {
		errs = append(errs, k.Config.Validate())
	}
	if err := errors.Join(errs...); err != nil {
		return nil, &cmdline.UsageError{Msg: err.Error()}
	}
	return k, nil
}

// calibrationTime is how long a calibration before a run records with each kind
// of times.
const calibrationTime = 2 * time.Second

// calibrateFor calibrates before a run, at its highest concurrency and with the
// service that is most like its own.
func calibrateFor(ctx context.Context, s *settings, stop <-chan struct{}, progress io.Writer) (*export.Calibration, error) {
	k := newRunner(progress, s.quiet)
	k.Config = calibrate.Config{Streams: min(s.slots(), calibrate.MaxStreams), Duration: calibrationTime}
	k.Services, k.Stop = []string{calibrate.OpenAI}, stop
	if s.Protocol == protocolGRPC {
		k.Services[0] = calibrate.TritonGRPC
	} else if s.Transport == transportNetHTTP {
		k.Transport = openai.NetHTTP
	}
	return k.Run(ctx)
}

// newRunner returns a calibration with "pa-record sim" as its server, which prints its
// progress to w unless quiet.
func newRunner(w io.Writer, quiet bool) *calibrate.Runner {
	k := &calibrate.Runner{Tool: "pa-record " + version, Simulator: calibrate.Simulator{Command: simServerCommand, ReadLedger: readLedger}}
	if !quiet {
		k.Progress = func(text string) { fmt.Fprintf(w, "pa-record: %s\n", text) }
	}
	return k
}

// simServerCommand returns the command that starts this program again as a server. The
// streams' first tokens come at random times, so that the streams do not keep step.
func simServerCommand(ctx context.Context, plan calibrate.Plan) (*exec.Cmd, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	spread := min(plan.Gap, 100*time.Millisecond)
	args := append([]string{"sim", "--stop-at-eof"}, simserver.Addresses("openai-addr", "triton-grpc-addr")...)
	args = append(args, "--kernel-sends", "--ledger-content", "times",
		"--ttft", fmt.Sprintf("normal:%v,%v", 4*spread, spread), "--itl", plan.Gap.String())
	cmd := exec.CommandContext(ctx, program, args...) //nolint:gosec // G204: the program is this one
	cmd.Args[0] = "pa-record"
	// Variables that set flags are meant for this process.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PA_RECORD_") })
	return cmd, nil
}

// readLedger reads entries of the simulated server's ledger.
func readLedger(r io.Reader, each func(index uint64, id string, t *calibrate.Truth)) error {
	for dec := json.NewDecoder(r); ; {
		var e sim.Entry
		if err := dec.Decode(&e); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		for i, w := range e.Writes {
			if w.Events > maxEventsOfWrite {
				return fmt.Errorf("ledger, request %d, write %d: %d events; a write has at most %d", e.Index, i, w.Events, maxEventsOfWrite)
			}
		}
		each(e.Index, e.ID, truthOf(&e))
	}
}

// maxEventsOfWrite is the most events of a write in a ledger, far more than a server sends at once.
const maxEventsOfWrite = 1 << 16

// truthOf returns the calibration's part of a ledger entry.
func truthOf(e *sim.Entry) *calibrate.Truth {
	t := &calibrate.Truth{ReceivedNS: e.ReceivedKernelNS}
	for _, w := range e.Writes {
		for range w.Events { // one, except where a fault joins several
			t.Events = append(t.Events, calibrate.Event{KernelNS: w.KernelNS, UserNS: w.SentNS, Tokens: w.Tokens})
		}
	}
	return t
}
