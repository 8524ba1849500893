package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/redact"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/backend"
)

// record is pa-record without a subcommand. reports are named at the end.
func record(c *cli.Context, args []string, env environment, reports [][]string) (err error) {
	s, err := newSettings(c, env.getenv, true)
	if err != nil {
		return err
	}
	if err := s.checkFiles(c); err != nil {
		return err
	}
	stdout, stderr := sanitize.NewWriter(c.App.Writer), c.App.ErrWriter
	if s.dryRun {
		s.printNotes(stderr)
		return printJSON(stdout, dryRun{s, s.worldPlan()})
	}
	if s.world.Several() && s.world.Rank > 0 { // rank 0 speaks for all
		stdout, stderr = sanitize.NewWriter(io.Discard), &rankWriter{stderr, s.world.Rank}
		s.quiet = true
	}
	runs := s.plannedRuns()
	if err := s.makeArtifactDir(); err != nil {
		return err
	}
	if err := checkFiles(runs, s); err != nil {
		return err
	}
	outputs, err := openOutputs(c.Context, s, runs)
	if err != nil {
		return err
	}
	defer outputs.close()
	if err := backend.CheckSources(s.sourceIPs); err != nil {
		return fmt.Errorf("--source-ip: %w; use one that an interface of this machine has", err)
	}
	ctx := c.Context // a signal ends it as long as nothing is sent
	targets, closeTargets, err := openTargets(ctx, s)
	if err != nil {
		return err
	}
	defer closeTargets()
	entries, err := openInputs(c, s, env)
	if err != nil {
		return err
	}
	defer entries.close()
	if limit, ok := fileLimit(); ok {
		s.warnOfFiles(limit)
	}
	if ports, ok := localPorts(); ok && !s.simulated() {
		s.warnOfPorts(ports)
	}
	s.warnOfCPU(runtime.GOMAXPROCS(0))
	s.notes = append(s.notes, entries.notes...)
	if s.world.Rank > 0 {
		s.notes = nil // rank 0 prints the same
	}
	s.printNotes(stderr)
	ranks, leave, err := joinRanks(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = leave(err) }()
	settle(targets, s)
	ctx, stop, interrupted, release := watchSignals(ctx, env.relay, stderr)
	defer release()
	m := &repeatedRun{
		s: s, args: args, env: env, stdout: stdout, stderr: stderr,
		targets: targets, entries: entries, runs: runs, stop: stop, interrupted: interrupted,
		reports: reports, ranks: ranks, outputs: outputs,
	}
	if s.Calibrate {
		m.calibration, err = calibrateFor(ctx, s, stop, stderr)
		if interrupted.signal() != 0 {
			return interrupted.exitError(errNothingSent)
		}
		if err != nil {
			return err
		}
	}
	err = m.record(ctx)
	if pageErr := errors.Join(m.printReport(ctx), m.page(ctx)); pageErr != nil {
		if interrupted.signal() != 0 {
			return interrupted.exitError(errors.Join(withoutBareCode(err), pageErr))
		}
		err = errors.Join(err, pageErr)
	}
	return err
}

// A dryRun is what --dry-run prints.
type dryRun struct {
	*settings
	World *worldPlan `json:"world,omitempty"` // nil for a process that records alone
}

// errNothingSent ends a run that was interrupted before its first request.
var errNothingSent = errors.New("interrupted before the first request")

// explain adds advice to the error of a run in which too many requests failed. It
// gives the error of --max-error-rate its exit code. ifRefused is the advice for a
// server that refuses the first requests, from the checks before the load.
func explain(err error, s *settings, ifRefused []string) error {
	var fe *recorder.FailedError
	var re *recorder.ErrorRateError
	switch {
	case errors.As(err, &re):
		return &cmdline.CodeError{Code: cmdline.ExitGate, Err: checkWhat(err, &re.Common, s, ifRefused)}
	case !errors.As(err, &fe):
		return err
	case fe.OK > 0:
		return fmt.Errorf("%w; is the server still running?", err)
	}
	return checkWhat(err, &recorder.FailureKind{Status: fe.Status, Code: fe.Code, Message: fe.Message}, s, ifRefused)
}

// checkWhat adds to err what to look at when requests fail in this way.
func checkWhat(err error, failure *recorder.FailureKind, s *settings, ifRefused []string) error {
	status, code := failure.Status, failure.Code
	check := "the server's log may say why"
	switch {
	case status == export.StatusConnectError, status == export.StatusProtocolError:
		return err // its message says it
	case status == export.StatusTimeout:
		check = "is --request-timeout long enough?"
	case status == export.StatusTruncated:
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		check = "is the API key right?"
	case code == http.StatusTooManyRequests:
		check = "the server limits the rate; lower the load"
	case (code == http.StatusBadRequest || code == http.StatusUnprocessableEntity) && s.otherLengthField(failure.Message) != "":
		check = "the server may want another member for the length of the answer: --max-tokens-field " + s.otherLengthField(failure.Message)
	case len(ifRefused) > 0:
		check = strings.Join(ifRefused, "; ")
	case status != export.StatusHTTPError && status != export.StatusRPCError:
	case code == http.StatusNotFound && s.Endpoint != "":
		check = "are --endpoint (" + s.Endpoint + ") and the model right?"
	case code >= 300 && code < 400:
		check = "is -u right?"
	case s.madeTensors(), s.ServiceKind == kindTriton && len(s.InputData) == 0 && !s.namesDataset() && s.inputLengths == nil:
		check = "the inputs were made up; --input-data FILE sends real ones"
	case code >= 400 && code < 500 && len(s.InputData) > 0:
		check = "does the server take what --input-data holds?"
	}
	return fmt.Errorf("%w; %s", err, check)
}

// printJSON prints v as indented JSON by [sanitize.JSON].
func printJSON(w io.Writer, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", sanitize.JSON(text))
	return err
}

// exportHeader is the export's header as far as it is known before the run.
func exportHeader(s *settings, args []string, data *export.DatasetMeta) export.Run {
	config, err := json.Marshal(s)
	if err != nil {
		panic(err) // plain data
	}
	kind, endpoint, v := s.ServiceKind, s.Endpoint, version
	var streaming *bool // the recorder looks at the requests, which may say it themselves
	if s.Streaming || kind == kindTriton {
		streaming = &s.Streaming
	}
	return export.Run{
		Version: &v, ServiceKind: &kind, Endpoint: &endpoint,
		Meta: &export.RunMeta{
			Schema: export.Schema, Tool: "pa-record " + version,
			Args: redact.Args(args), Config: config, Models: s.Models, URL: s.URL, URLs: s.URLs, Warnings: slices.Clone(s.warnings), WithoutEffect: s.withoutEffect,
			Protocol: s.Protocol, Streaming: streaming, Seed: s.Seed, Dataset: data, AnalysisHints: s.Hints,
			Host: hostMeta(), Start: export.StartFirstSegment,
		},
	}
}

// gate turns an unstable measurement into its exit code.
func gate(res *recorder.Result) error {
	for i := range res.Levels {
		if res.Levels[i].Unstable() {
			return &cmdline.CodeError{Code: cmdline.ExitGate}
		}
	}
	return nil
}
