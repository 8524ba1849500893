package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/backend/kserve"
	"github.com/pa-tools/pa/pkg/recorder/backend/openai"
	"github.com/pa-tools/pa/pkg/recorder/calibrate"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
	"github.com/pa-tools/pa/pkg/recorder/window"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// Services that can be calibrated.
const (
	serviceOpenAI     = "openai"
	serviceTritonGRPC = "triton-grpc"
	serviceBoth       = "both"
)

// calibrateCommand is "pa-record calibrate": how far recorded times are from
// the truth on this machine.
func calibrateCommand(env environment) *cli.Command {
	return &cli.Command{
		Name:  "calibrate",
		Usage: "measure the error of the recorded times on this machine",
		Description: `It starts the simulated server in another process, records streams from it in
turns with the kernel's times and with user-space ones, and compares them with
what the server's kernel says of the same bytes. How large the error is depends
on the load: give the number of streams that you mean to record. To keep the
result in an export, record with pa-record --calibrate.`,
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "streams", Usage: "read `N` answers at a time", Value: calibrate.DefaultStreams},
			&cli.Float64Flag{Name: "rate", Usage: "`TOKENS` per second of each stream", Value: calibrate.DefaultTokensPerSecond},
			&cli.DurationFlag{Name: "duration", Usage: "record for `DURATION` with each kind of times", Value: calibrate.DefaultDuration},
			&cli.IntFlag{Name: "events", Usage: "`N` tokens of each stream, instead of a duration", DefaultText: " "},
			&cli.StringFlag{Name: "service", Usage: "`SERVICE` to record: openai, triton-grpc, or both", Value: serviceOpenAI},
			&cli.StringFlag{Name: "transport", Usage: "how OpenAI requests are sent: `WHICH` is loop, nethttp or auto, as of pa-record", Value: openai.Auto.String()},
			&cli.StringFlag{Name: "format", Usage: "`FORMAT` of the result: table or json", Value: "table"},
			&cli.BoolFlag{Name: "quiet", Usage: "no progress on standard error"},
			cmdline.ConfigFlag(""),
		},
		Action: func(c *cli.Context) error { return calibrateClock(c, env) },
	}
}

func calibrateClock(c *cli.Context, env environment) error {
	k, err := newCalibration(c)
	if err != nil {
		return err
	}
	ctx, stop, interrupted, release := watchSignals(c.Context, env.relay, c.App.ErrWriter)
	defer release()
	k.stop = stop
	result, err := k.run(ctx)
	switch sig := interrupted.get(); {
	case sig != 0:
		return &cmdline.CodeError{Code: 128 + int(sig)}
	case err != nil:
		return err
	}
	result.Host = hostMeta()
	if c.String("format") == "json" {
		return printCalibrationJSON(c.App.Writer, result)
	}
	return printCalibration(c.App.Writer, result)
}

// newCalibration reads the flags. Its errors are usage errors.
func newCalibration(c *cli.Context) (*calibration, error) {
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
	bad(format != "table" && format != "json", "--format %s: the format is table or json", format)
	k := &calibration{
		config:   calibrate.Config{Streams: c.Int("streams"), TokensPerSecond: c.Float64("rate"), Duration: c.Duration("duration"), Tokens: c.Int("events")},
		progress: c.App.ErrWriter,
	}
	if c.Bool("quiet") {
		k.progress = io.Discard
	}
	switch service := c.String("service"); service {
	case serviceOpenAI, serviceTritonGRPC:
		k.services = []string{service}
	case serviceBoth:
		k.services = []string{serviceOpenAI, serviceTritonGRPC}
	default:
		bad(true, "--service %s: the service is openai, triton-grpc or both", service)
	}
	var err error
	if k.transport, err = openai.ParseTransport(c.String("transport")); err != nil {
		bad(true, "--transport %s: it is auto, loop or nethttp", c.String("transport"))
	}
	bad(c.IsSet("transport") && c.String("service") == serviceTritonGRPC, "--transport %s: gRPC has a transport of its own; drop it", c.String("transport"))
	if errs == nil {
		errs = append(errs, k.config.Validate())
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
	k := &calibration{
		config:   calibrate.Config{Streams: min(s.slots(), calibrate.MaxStreams), Duration: calibrationTime},
		services: []string{serviceOpenAI}, stop: stop, progress: progress,
	}
	if s.Protocol == protocolGRPC {
		k.services[0] = serviceTritonGRPC
	} else if s.Transport == transportNetHTTP {
		k.transport = openai.NetHTTP
	}
	if s.quiet {
		k.progress = io.Discard
	}
	return k.run(ctx)
}

// A calibration is one run of pa-record calibrate.
type calibration struct {
	config    calibrate.Config
	services  []string
	transport openai.Transport
	stop      <-chan struct{} // ends it early
	progress  io.Writer
}

// run starts a simulated server, records from it and compares. An interruption
// is an error too.
func (k *calibration) run(ctx context.Context) (*export.Calibration, error) {
	plan := k.config.Plan()
	srv, err := startCalibrationServer(ctx, plan)
	if err != nil {
		return nil, err
	}
	result := &export.Calibration{
		Schema: export.CalibrationSchema, Tool: "pa-record " + version, StartNS: uint64(time.Now().UnixNano()), Limits: calibrate.Limits(),
	}
	for _, name := range k.services {
		var s export.CalibratedService
		if s, err = k.service(ctx, srv, name, plan); err != nil {
			err = fmt.Errorf("calibrate %s: %w", name, err)
			break
		}
		result.Services = append(result.Services, s)
	}
	result.EndNS = uint64(time.Now().UnixNano())
	if err = errors.Join(err, srv.stop()); err != nil {
		return nil, err
	}
	return result, nil
}

// service calibrates one service.
func (k *calibration) service(ctx context.Context, srv *calibrationServer, name string, plan calibrate.Plan) (export.CalibratedService, error) {
	s := export.CalibratedService{
		Service: name, Streams: plan.Streams, TokensPerSecond: plan.TokensPerSecond, TokensPerRequest: plan.TokensPerRequest, Rounds: calibrate.Rounds,
	}
	kernel, user := calibrate.NewRecording("kernel"), calibrate.NewRecording("user")
	for round := range calibrate.Rounds {
		turns := []*calibrate.Recording{kernel, user}
		if round%2 == 1 {
			turns[0], turns[1] = user, kernel
		}
		for _, r := range turns {
			stamps := "kernel"
			if r == user {
				stamps = "user-space"
			}
			fmt.Fprintf(k.progress, "pa-record: calibrating %s, round %d of %d: %d streams with %s times\n", name, round+1, calibrate.Rounds, plan.Streams, stamps)
			var err error
			if s.Transport, err = k.record(ctx, srv, name, plan, r, r == user); err != nil {
				return s, err
			}
		}
	}
	s.Recordings = []export.CalibratedRecording{kernel.Result(), user.Result()}
	return s, nil
}

// errInterrupted ends a calibration that was interrupted.
var errInterrupted = errors.New("interrupted")

// record is one turn of one recording. It returns the transport's name.
func (k *calibration) record(ctx context.Context, srv *calibrationServer, service string, plan calibrate.Plan, r *calibrate.Recording, userStamps bool) (transport string, err error) {
	clock := rxclock.New()
	var b backend.Backend
	if service == serviceTritonGRPC {
		transport = transportGRPC
		b, err = kserve.New(kserve.Config{
			URL: srv.grpc, Protocol: kserve.GRPC, Model: "vllm", Streaming: true, Reuse: backend.Prewarm, UserStamps: userStamps, Clock: clock,
		})
	} else {
		var o *openai.Backend
		o, err = openai.New(openai.Config{
			URL: srv.openAI, Endpoint: completionsEndpoint, Streaming: true, Transport: k.transport, UserStamps: userStamps, Clock: clock,
		})
		if err == nil {
			b, transport = o, o.Transport().String()
		}
	}
	if err != nil {
		return "", err
	}
	defer b.Close()
	got := &received{service: service}
	res, err := recorder.Run(ctx, recorder.Config{
		Backend: b, Entries: workload.List{calibrationEntry(service, plan)}, Levels: load.Closed(plan.Streams),
		Measure:        window.Measure{Requests: plan.Streams * plan.RequestsPerStream},
		RequestTimeout: time.Minute + 10*time.Duration(plan.TokensPerRequest)*plan.Gap, // a saturated machine takes its time
		Grace:          -1,
		Writer:         got, Run: export.Run{Meta: &export.RunMeta{}}, Clock: clock, Stop: k.stop,
	})
	switch {
	case err != nil:
		return "", err
	case res.Interrupted:
		return "", errInterrupted
	}
	truths, err := srv.truths(ctx)
	if err != nil {
		return "", err
	}
	for i := range got.requests {
		q := &got.requests[i]
		r.Add(q, truths[q.ServerID])
	}
	return transport, nil
}

// calibrationEntry returns the one request of a turn. It fits a segment.
func calibrationEntry(service string, plan calibrate.Plan) workload.Entry {
	if service == serviceTritonGRPC {
		sampling := strconv.Quote(fmt.Sprintf(`{"max_tokens":%d,"ignore_eos":true}`, plan.TokensPerRequest))
		return workload.Entry{Values: export.Fields{
			{Name: "text_input", Value: export.JSON(`["calibrate"]`)},
			{Name: "stream", Value: export.JSON(`[true]`)},
			{Name: "sampling_parameters", Value: export.JSON(`[` + sampling + `]`)},
		}}
	}
	return workload.Entry{Values: export.Fields{
		{Name: "payload", Value: export.JSON(fmt.Sprintf(`[{"prompt":"calibrate","max_tokens":%d,"ignore_eos":true}]`, plan.TokensPerRequest))},
	}}
}

// received keeps the times of what was recorded; [export.Request].ServerID is
// the id of the server's entry.
type received struct {
	service  string
	requests []export.Request
}

var _ export.Writer = (*received)(nil)

// WriteRequest implements [export.Writer].
func (w *received) WriteRequest(r *export.Request) error {
	q := export.Request{StartNS: r.StartNS, StartSource: r.StartSource, Status: r.Status, Responses: make([]export.Response, len(r.Responses))}
	for i := range r.Responses {
		x := &r.Responses[i]
		q.Responses[i] = export.Response{RecvNS: x.RecvNS, Source: x.Source, Read: x.Read}
	}
	if w.service == serviceTritonGRPC {
		q.ServerID = strconv.FormatUint(r.ID, 10)
	} else if len(r.Responses) > 0 {
		text, _ := r.Responses[0].Outputs.Get("response")
		q.ServerID = completionID(text.Data)
	}
	w.requests = append(w.requests, q)
	return nil
}

// BeginExperiment implements [export.Writer].
func (w *received) BeginExperiment(string, string) error { return nil }

// EndExperiment implements [export.Writer].
func (w *received) EndExperiment(*export.Experiment) error { return nil }

// WriteScrape implements export.Writer.
func (w *received) WriteScrape(*export.Scrape) error { return nil }

// Close implements [export.Writer].
func (w *received) Close(*export.Run) error { return nil }

// hostMeta describes this machine.
func hostMeta() *export.HostMeta {
	name, _ := os.Hostname()
	return &export.HostMeta{Name: name, Kernel: kernelRelease(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), GoVersion: runtime.Version()}
}
