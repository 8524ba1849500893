package calibrate

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/backend/kserve"
	"github.com/pa-tools/pa/pkg/recorder/backend/openai"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/window"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// Services that can be calibrated.
const (
	OpenAI     = "openai"
	TritonGRPC = "triton-grpc"
)

// A Runner performs a calibration. It starts a simulated server in another process,
// records the same load in turns with kernel times and with user-space times, and compares
// both with the server's times.
type Runner struct {
	Config   Config
	Services []string // OpenAI, TritonGRPC or both, in this order
	// Transport sends the requests to the OpenAI service.
	Transport openai.Transport
	Simulator Simulator
	Tool      string            // name and version of the program, for the result
	Stop      <-chan struct{}   // closing it interrupts the calibration; may be nil
	Progress  func(text string) // called at the start of each turn; may be nil
}

// Run performs the calibration. An interruption by Stop or ctx is an error.
func (k *Runner) Run(ctx context.Context) (*export.Calibration, error) {
	plan := k.Config.plan()
	srv, err := k.Simulator.start(ctx, plan)
	if err != nil {
		return nil, err
	}
	result := &export.Calibration{
		Schema: export.CalibrationSchema, Tool: k.Tool, StartNS: uint64(time.Now().UnixNano()), Limits: Limits(),
	}
	for _, name := range k.Services {
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
func (k *Runner) service(ctx context.Context, srv *server, name string, plan Plan) (export.CalibratedService, error) {
	s := export.CalibratedService{
		Service: name, Streams: plan.Streams, TokensPerSecond: plan.TokensPerSecond, TokensPerRequest: plan.TokensPerRequest, Rounds: rounds,
	}
	kernel, user := newRecording("kernel"), newRecording("user")
	for round := range rounds {
		turns := []*Recording{kernel, user}
		if round%2 == 1 {
			turns[0], turns[1] = user, kernel
		}
		for _, r := range turns {
			stamps := "kernel"
			if r == user {
				stamps = "user-space"
			}
			if k.Progress != nil {
				k.Progress(fmt.Sprintf("calibrating %s, round %d of %d: %s with %s times", name, round+1, rounds, plural.Of(plan.Streams, "stream"), stamps))
			}
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

// record makes one turn of a recording. It returns the transport's name.
func (k *Runner) record(ctx context.Context, srv *server, service string, plan Plan, r *Recording, userStamps bool) (transport string, err error) {
	var b backend.Backend
	if service == TritonGRPC {
		transport = "grpc"
		b, err = kserve.New(kserve.Config{
			URL: srv.grpc, Protocol: kserve.GRPC, Model: "vllm", Streaming: true, Reuse: backend.Prewarm, UserStamps: userStamps,
		})
	} else {
		var o *openai.Backend
		o, err = openai.New(openai.Config{
			URL: srv.openAI, Endpoint: "v1/completions", Streaming: true, Transport: k.Transport, UserStamps: userStamps,
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
		Backend: b, Entries: workload.List{entryOf(service, plan)}, Levels: load.Closed(plan.Streams),
		Measure:        window.Measure{Requests: plan.Streams * plan.RequestsPerStream},
		RequestTimeout: time.Minute + 10*time.Duration(plan.TokensPerRequest)*plan.Gap, // a saturated machine takes its time
		Grace:          -1,
		Writer:         got, Run: export.Run{Meta: &export.RunMeta{}}, Stop: k.Stop,
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

// entryOf returns the entry that all requests of a turn send. It fits in a TCP segment.
func entryOf(service string, plan Plan) workload.Entry {
	if service == TritonGRPC {
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

// received keeps the times of the recorded requests. [export.Request].ServerID is the id
// of the entry in the server's ledger.
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
	if w.service == TritonGRPC {
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

var idMember = regexp.MustCompile(`"id": ?"([^"]+)"`)

// completionID returns the id in an event of a completion, "" if there is none.
func completionID(event []byte) string {
	if m := idMember.FindSubmatch(event); m != nil {
		return string(m[1])
	}
	return ""
}
