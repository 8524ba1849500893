package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
)

// record is pa-record without a subcommand.
func record(c *cli.Context, args []string, env environment) error {
	s, err := newSettings(c, env.getenv)
	if err != nil {
		return err
	}
	stdout, stderr := c.App.Writer, c.App.ErrWriter
	if s.dryRun {
		return printPlan(stdout, s)
	}
	outputs, err := newOutputs(s.Exports, s.overwrite)
	if err != nil {
		return err
	}
	out, err := newRecording(outputs, s.overwrite)
	if err != nil {
		return err
	}
	ctx, stop, interrupted, release := watchSignals(c.Context, env.signals, stderr)
	defer release()

	clock := rxclock.New()
	url, closeTarget, err := resolveTarget(ctx, s)
	if err != nil {
		return err
	}
	defer closeTarget()
	b, err := newBackend(s, url, clock)
	if err != nil {
		return &cmdline.UsageError{Msg: err.Error()}
	}
	defer b.Close()
	entries, notes, err := newEntries(s)
	if err != nil {
		return err
	}
	for _, n := range notes {
		fmt.Fprintf(stderr, "pa-record: note: %s\n", n)
	}
	header := exportHeader(s, args, asksToStream(s, entries))
	// A second signal ends the run, not the writing of what it gave.
	if err := out.open(context.WithoutCancel(ctx), &header); err != nil {
		return err
	}
	p := newProgress(stderr, env.tty)
	show := p.show
	if s.quiet {
		show = nil
	}
	res, err := recorder.Run(ctx, recorder.Config{
		Backend: b, WaitReady: s.waitReady, Entries: entries, BatchSize: s.BatchSize, Levels: s.Levels, Measure: s.measure, Warmup: s.Warmup,
		RequestTimeout: orNone(s.timeout), Grace: orNone(s.grace),
		Writer: out, Run: header, Clock: clock,
		Stop: stop, StopReason: interrupted.name, Progress: show, Secrets: s.secrets(),
	})
	p.clear()
	if res == nil { // nothing was sent
		out.discard()
		if sig := interrupted.get(); sig != 0 {
			return &cmdline.CodeError{Code: 128 + int(sig), Err: errors.New("interrupted before the first request")}
		}
		return err
	}
	if measured(res) {
		printLevels(stdout, res.Levels, s.measure.Percentile, s.verbose)
	}
	printOutcome(stderr, s, res, out.written)
	switch sig := interrupted.get(); {
	case err != nil:
		return explain(err, s)
	case sig != 0:
		return &cmdline.CodeError{Code: 128 + int(sig)}
	}
	return gate(res)
}

// measured reports whether there is anything to report.
func measured(res *recorder.Result) bool {
	for _, l := range res.Levels {
		if l.OK > 0 {
			return true
		}
	}
	return false
}

// explain adds what to check to the error of a run that only failed.
func explain(err error, s *settings) error {
	var fe *recorder.FailedError
	if !errors.As(err, &fe) {
		return err
	}
	check := "the server's log may say why"
	switch {
	case fe.OK > 0:
		check = "is the server still running?"
	case fe.Status == export.StatusTimeout:
		check = "is --request-timeout long enough?"
	case fe.Status != export.StatusHTTPError && fe.Status != export.StatusRPCError:
	case fe.Code == http.StatusNotFound && s.Endpoint != "":
		check = "are --endpoint (" + s.Endpoint + ") and the model right?"
	case fe.Code == http.StatusUnauthorized || fe.Code == http.StatusForbidden:
		check = "is the API key right?"
	case fe.Code == http.StatusTooManyRequests:
		check = "the server limits the rate; lower --concurrency-range"
	case fe.Code >= 300 && fe.Code < 400:
		check = "is -u right?"
	case fe.Code >= 400 && fe.Code < 500 && len(s.InputData) > 0:
		check = "does the server take what --input-data holds?"
	}
	return fmt.Errorf("%w; %s", err, check)
}

// orNone makes 0 on the command line mean 0 for the recorder, whose 0 means
// its default.
func orNone[T ~int64](d T) T {
	if d == 0 {
		return -1
	}
	return d
}

// secrets lists what must not reach a file.
func (s *settings) secrets() []string {
	var all []string
	for _, h := range s.headers {
		value := strings.TrimSpace(strings.TrimPrefix(h.value, "Bearer "))
		// Short values ("1", "en") are no secrets, and would mangle messages.
		if len(value) >= 8 {
			all = append(all, value)
		}
	}
	return all
}

// printPlan is --dry-run.
func printPlan(w io.Writer, s *settings) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", text)
	return err
}

// exportHeader is the export's header as far as it is known before the run.
func exportHeader(s *settings, args []string, streaming bool) export.Run {
	config, err := json.Marshal(s)
	if err != nil {
		panic(err) // plain data
	}
	host, _ := os.Hostname()
	kind, endpoint, v := s.ServiceKind, s.Endpoint, version
	return export.Run{
		Version: &v, ServiceKind: &kind, Endpoint: &endpoint,
		Meta: &export.RunMeta{
			Schema: export.Schema, Tool: "pa-record " + version,
			Args: redactArgs(args), Config: config, URL: s.URL,
			Protocol: s.Protocol, Streaming: streaming, Seed: s.Seed,
			Host: &export.HostMeta{Name: host, Kernel: kernelRelease(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), GoVersion: runtime.Version()},
		},
	}
}

// kernelRelease returns what uname -r prints, "" where that is not Linux.
func kernelRelease() string {
	text, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// printOutcome says on standard error what went wrong and where the data is.
func printOutcome(w io.Writer, s *settings, res *recorder.Result, written []string) {
	for _, l := range res.Levels {
		if n := l.Failed; n > 0 {
			fmt.Fprintf(w, "pa-record: warning: concurrency %d: %d of %d requests failed; pa-analyze report shows why\n", l.Concurrency, n, n+l.OK)
		}
		if l.Stable != nil && !*l.Stable {
			fmt.Fprintf(w, "pa-record: warning: concurrency %d: not stable within %d windows; measure longer (-p, --measurement-request-count) or allow more spread (-s)\n", l.Concurrency, len(l.Windows))
		}
	}
	if !s.quiet && len(written) > 0 {
		fmt.Fprintf(w, "pa-record: wrote %s; read it with: pa-analyze report %s\n", strings.Join(written, ", "), written[0])
	}
}

// gate turns an unstable measurement into its exit code.
func gate(res *recorder.Result) error {
	for _, l := range res.Levels {
		if l.Stable != nil && !*l.Stable {
			return &cmdline.CodeError{Code: cmdline.ExitGate}
		}
	}
	return nil
}

// An interruption is the signal that ended the run, 0 for none.
type interruption struct{ sig atomic.Int32 }

func (i *interruption) get() syscall.Signal { return syscall.Signal(i.sig.Load()) }

func (i *interruption) name() string {
	switch i.get() {
	case syscall.SIGINT:
		return "SIGINT"
	case syscall.SIGTERM:
		return "SIGTERM"
	case syscall.SIGHUP:
		return "SIGHUP"
	}
	return "stopped"
}

// watchSignals turns the first signal into a closed stop channel and the
// second into the end of the context. release ends the watching.
func watchSignals(parent context.Context, signals <-chan os.Signal, stderr io.Writer) (ctx context.Context, stop <-chan struct{}, i *interruption, release func()) {
	ctx, cancel := context.WithCancel(parent)
	stopped := make(chan struct{})
	i = &interruption{}
	done := make(chan struct{})
	go func() { // ends with the context
		defer close(done)
		select {
		case sig := <-signals:
			if s, ok := sig.(syscall.Signal); ok {
				i.sig.Store(int32(s))
			}
			fmt.Fprintln(stderr, "\npa-record: stopping; waiting for the requests in flight (again to stop at once)")
			close(stopped)
		case <-ctx.Done():
			return
		}
		select {
		case <-signals:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, stopped, i, func() {
		cancel()
		<-done
	}
}
