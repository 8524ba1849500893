package analyze

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

func analyzed(t *testing.T, r export.Reader, cfg Config) *Report {
	t.Helper()
	rep, err := Run(context.Background(), r, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

func warningTexts(errs []error) string {
	var s []string
	for _, err := range errs {
		s = append(s, err.Error())
	}
	return strings.Join(s, "\n")
}

func TestRun(t *testing.T) {
	status := func(s export.Status, p export.Phase, msg string) export.Request {
		r := openaiRequest(delta("never counted"))
		r.StartNS = 1 // before all others: must not move the duration
		r.HasMeta, r.Status, r.Phase, r.Message = true, s, p, msg
		return r
	}
	second := openaiRequest(role, delta("a"), usage5, done)
	second.StartNS = 900
	r := reader("openai",
		[]export.Request{
			openaiRequest(role, delta("a"), delta("b"), usage5, done),
			second,
			status(export.StatusTimeout, export.PhaseMeasured, "after 30 s"),
			status(export.StatusHTTPError, export.PhaseMeasured, "busy"),
			status(export.StatusHTTPError, export.PhaseMeasured, "busier"),
			status(export.StatusOK, export.PhaseWarmup, ""),
			status(export.StatusCancelled, export.PhaseMeasured, ""),
		},
		nil,
	)
	rep := analyzed(t, r, Config{})
	if len(rep.Experiments) != 2 {
		t.Fatalf("%d experiments, want 2", len(rep.Experiments))
	}
	e := &rep.Experiments[0]
	if diff := cmp.Diff([]figure.Count{{Name: "http_error", N: 2}, {Name: "timeout", N: 1}}, e.Failed); diff != "" {
		t.Errorf("failed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]figure.Count{{Name: "cancelled", N: 1}, {Name: "warmup", N: 1}}, e.Excluded); diff != "" {
		t.Errorf("excluded (-want +got):\n%s", diff)
	}
	if e.OK != 2 || e.FailedRequests() != 3 || e.ExcludedRequests() != 2 {
		t.Errorf("ok, failed, excluded = %d, %d, %d, want 2, 3, 2", e.OK, e.FailedRequests(), e.ExcludedRequests())
	}
	if e.DurationNS != 150 { // from 900 to 1050
		t.Errorf("duration %d ns, want 150", e.DurationNS)
	}
	if e.TokenSource != answer.TokenUsage || e.TokenEvents != 3 {
		t.Errorf("%d token events, tokens from %v, want 3 and usage", e.TokenEvents, e.TokenSource)
	}
	wantRates := figure.Throughput{
		Requests:            figure.PerSecond(2 / 150e-9),
		OutputTokens:        figure.PerSecond(10 / 150e-9),
		TotalTokens:         figure.PerSecond(28 / 150e-9),
		OutputTokensPerUser: figure.PerSecond(10 / 150e-9),
	}
	for _, x := range []struct {
		name      string
		got, want figure.Rate
	}{
		{"requests", e.Throughput.Requests, wantRates.Requests},
		{"output", e.Throughput.OutputTokens, wantRates.OutputTokens},
		{"total", e.Throughput.TotalTokens, wantRates.TotalTokens},
		{"per user", e.Throughput.OutputTokensPerUser, wantRates.OutputTokensPerUser},
	} {
		if x.got.OK != x.want.OK || !close12(x.got.PerSecond, x.want.PerSecond) {
			t.Errorf("%s: %v, want %v", x.name, x.got, x.want)
		}
	}
	var keys []string
	for _, m := range e.Metrics {
		keys = append(keys, m.Definition.Key())
	}
	if want := metricsBut(answer.TTFAT); !slices.Equal(keys, want) {
		t.Errorf("metrics %s, want %s", keys, want)
	}
	if s := e.Metric(answer.TTFT); s.N != 2 || s.Mean != 70 || s.Min != 20 || s.Max != 120 {
		t.Errorf("TTFT %+v, want 20 and 120", s)
	}
	if want := `1 of 5 requests failed: timeout; the first message: "after 30 s"`; !strings.Contains(warningTexts(e.Warnings), want) {
		t.Errorf("warnings\n%s\nwithout %q", warningTexts(e.Warnings), want)
	}
	empty := &rep.Experiments[1]
	if empty.OK != 0 || len(empty.Metrics) != 0 || empty.Throughput != (figure.Throughput{}) || empty.Metric(answer.TTFT) != nil || len(empty.Warnings) != 1 {
		t.Errorf("an experiment without requests: %+v", empty)
	}
}

func TestRunWarnings(t *testing.T) {
	backward := tensors(text("a"), text("b"), text("c"))
	backward.Responses[2].RecvNS = 1015
	early := tensors(text("a"))
	early.StartNS = 2000
	sooner := tensors(text("a"))
	sooner.SentNS = 2000
	for _, tt := range []struct {
		name string
		cfg  Config
		r    []export.Request
		want string // "" for no warning
	}{
		{"nothing to say", Config{}, []export.Request{tensors(text("a"), text("b"))}, ""},
		{"no outputs", Config{}, []export.Request{at(1000, 1010, 1020)}, "the file holds no outputs of 1 request: each response counts as a token"},
		{"no response", Config{}, []export.Request{at(1000)}, "1 of 1 request failed: no_response"},
		{"no token", Config{}, []export.Request{tensors(text(""))}, "1 of 1 request had no output in any response"},
		{"negative gap", Config{}, []export.Request{backward}, "1 of 2 gaps between tokens was below 0"},
		{"response before the start", Config{}, []export.Request{early}, "1 of 1 request got a response before the start"},
		{"response before the last byte", Config{From: answer.FromSent}, []export.Request{sooner}, `1 of 1 request got a response before the last byte was sent, so times from "sent" are negative`},
		{"time not recorded", Config{From: answer.FromIssued}, []export.Request{tensors(text("a"))}, `1 of 1 request had no "issued" time recorded`},
		{"no usage", Config{TokenSource: answer.TokenUsage}, []export.Request{tensors(text("a"))}, "1 of 1 request had no number of tokens from usage"},
		{"mixed sources", Config{}, []export.Request{openaiRequest(delta("a"), usage5), openaiRequest(delta("a"))}, "by the server's usage in 1 request,"},
		{"usage above the events", Config{}, []export.Request{openaiRequest(delta("a"), delta("b"), usage5)}, "the server counts more tokens than it sent chunks in 1 of 1 request (3 tokens in 2 chunks)"},
		{"usage below the events", Config{}, []export.Request{openaiRequest(delta("a"), delta("b"), delta("c"), delta("d"), delta("e"), delta("f"), usage5)}, "the server counts fewer tokens than it sent chunks of output in 1 of 1 request (5 tokens in 6 chunks)"},
		{"not JSON", Config{}, []export.Request{openaiRequest(delta("a"), "data: {oops\n\n")}, "1 event or body broke the protocol"},
		{"damaged times", Config{}, []export.Request{at(1, math.MaxUint64)}, "1 of 1 request started or ended at an impossible time, such as 18446744073709551615"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rep := analyzed(t, reader("", tt.r), tt.cfg)
			got := warningTexts(rep.Experiments[0].Warnings)
			if !strings.Contains(got, tt.want) || tt.want == "" && got != "" {
				t.Errorf("warnings %q, want %q", got, tt.want)
			}
		})
	}
}

// A request without a response is a failure, and in no rate.
func TestRunNoResponse(t *testing.T) {
	said := at(1000)
	said.Status, said.Phase, said.HasMeta = export.StatusOK, export.PhaseMeasured, true
	for name, silent := range map[string]export.Request{"perf_analyzer": at(1000), "pa-record": said} {
		r := reader("", []export.Request{at(1000, 2000), silent, at(1000, 1000+1e9)})
		e := &analyzed(t, r, Config{}).Experiments[0]
		if diff := cmp.Diff([]figure.Count{{Name: answer.NoResponse, N: 1}}, e.Failed); diff != "" || e.OK != 2 || e.Throughput.Requests.PerSecond != 2 {
			t.Errorf("%s: %d ok at %v/s, failed (-want +got):\n%s", name, e.OK, e.Throughput.Requests.PerSecond, diff)
		}
	}
	late := at(1000)
	late.Phase = export.PhaseCooldown
	if e := &analyzed(t, reader("", []export.Request{late}), Config{}).Experiments[0]; e.FailedRequests() != 0 || e.ExcludedRequests() != 1 {
		t.Errorf("a late request without a response: %+v, want it excluded", e)
	}
}

// Requests that the reader left out are counted by experiment.
func TestRunUnreadable(t *testing.T) {
	r := reader("", []export.Request{at(1000, 2000)}, []export.Request{at(1000, 2000)})
	r.Unread = []int{0, 3}
	rep := analyzed(t, r, Config{})
	if a, b := rep.Experiments[0].Unreadable, rep.Experiments[1].Unreadable; a != 0 || b != 3 || rep.Experiments[1].OK != 1 {
		t.Errorf("%d and %d unreadable, want 0 and 3", a, b)
	}
}

// growing is a reader that finds its second experiment while it reads.
type growing struct{ *memrun.Reader }

func (g growing) Next() bool {
	if len(g.Header.Experiments) == 1 {
		g.Header.Experiments = append(g.Header.Experiments, export.Experiment{Mode: export.ModeConcurrency, Value: "2"})
	}
	return g.Reader.Next()
}

func TestRunGrows(t *testing.T) {
	r := reader("", []export.Request{at(1000, 2000)}, []export.Request{at(1000, 2000)})
	r.Header.Experiments = r.Header.Experiments[:1]
	if rep := analyzed(t, growing{r}, Config{}); len(rep.Experiments) != 2 || rep.Experiments[1].OK != 1 {
		t.Errorf("%d experiments, want both", len(rep.Experiments))
	}
}

func TestRunStamps(t *testing.T) {
	r := tensors(text("a"), text("b"), text("c"))
	r.Responses[0].Source, r.Responses[1].Source = export.SourceKernel, export.SourceUser
	rep := analyzed(t, reader("", []export.Request{r, tensors(text("a"))}), Config{})
	if diff := cmp.Diff(Stamps{Kernel: 1, User: 1, Unknown: 2, Mixed: 1}, rep.Stamps); diff != "" {
		t.Errorf("stamps (-want +got):\n%s", diff)
	}
	if !strings.Contains(warningTexts(rep.Warnings), "1 request had some times from the kernel and some from the program") {
		t.Errorf("warnings %q do not name the mixed request", warningTexts(rep.Warnings))
	}
}

// Tokens per user need a known number of users.
func TestPerUser(t *testing.T) {
	for _, tt := range []struct {
		e    export.Experiment
		want float64
	}{
		{export.Experiment{Mode: "concurrency", Value: "8"}, 8},
		{export.Experiment{Mode: "request_rate", Value: "8.0"}, 0},
		{export.Experiment{Mode: "concurrency", Value: "1", WindowBoundaries: []uint64{0, math.MaxUint64}}, 0}, // periodic
		{export.Experiment{Mode: "concurrency", Value: "1", WindowBoundaries: []uint64{5, 9}}, 1},
		{export.Experiment{Mode: "concurrency", Value: "x"}, 0},
		{export.Experiment{}, 0},
	} {
		if got := concurrency(&tt.e); got != tt.want {
			t.Errorf("%+v: %v users, want %v", tt.e, got, tt.want)
		}
	}
}

// After an error the report covers what was readable.
func TestRunErrors(t *testing.T) {
	r := reader("", []export.Request{tensors(text("a"))})
	r.Failure = errors.New("cut")
	rep, err := Run(context.Background(), r, Config{})
	if err == nil || rep == nil || len(rep.Experiments) != 1 || rep.Experiments[0].OK != 1 {
		t.Errorf("report %+v, error %v, want one request and the reader's error", rep, err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("enough")
	cancel(why)
	if _, err := Run(ctx, reader("", []export.Request{tensors(text("a"))}), Config{}); !errors.Is(err, why) {
		t.Errorf("error %v, want the cause of the context", err)
	}
	rep, err = Run(context.Background(), reader("", []export.Request{openaiRequest(delta("!"))}), Config{Counter: memrun.Words{}})
	if err != nil || rep.Experiments[0].OK != 1 || rep.Experiments[0].Metric(answer.E2EL) == nil {
		t.Errorf("report %+v, error %v, want one request with its latency: the tokenizer's error is about the count alone", rep, err)
	}
}

func TestModel(t *testing.T) {
	payload := func(s string) *memrun.Reader {
		r := tensors(text("a"))
		r.Inputs = export.Fields{{Name: "payload", Value: export.Text(s)}}
		return reader("openai", []export.Request{r})
	}
	meta := payload(`{"model":"m"}`)
	meta.Header.Meta = &export.RunMeta{Model: "from the run"}
	for _, tt := range []struct {
		r    *memrun.Reader
		want string
	}{
		{payload(`{"model":"m","stream":true}`), "m"},
		{payload(`{"model":5}`), ""},
		{payload(`oops`), ""},
		{reader("", []export.Request{tensors(text("a"))}), ""},
		{meta, "from the run"},
	} {
		if got := analyzed(t, tt.r, Config{}).Model; got != tt.want {
			t.Errorf("model %q, want %q", got, tt.want)
		}
	}
}

// Each definition is in the place of its metric and has all that a report prints.
func TestStrict(t *testing.T) {
	seen := map[string]bool{}
	for i, d := range answer.StrictMetrics {
		if int(d.Metric) != i || d.Label() == "" || d.Formula == "" || seen[d.Key()] {
			t.Errorf("definition %d: %+v is in the wrong place, not complete, or not the only one of its key", i, d)
		}
		seen[d.Key()] = true
		if unit := d.Unit(); (unit == answer.Nanoseconds) != strings.HasSuffix(d.Key(), "_ns") || unit != answer.Nanoseconds && unit != answer.Tokens {
			t.Errorf("%s: the unit is %v", d.Key(), unit)
		}
	}
}
