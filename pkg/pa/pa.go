package pa

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/formats"
	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/backend/openai"
	"github.com/pa-tools/pa/pkg/recorder/journal"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/window"
	"github.com/pa-tools/pa/pkg/recorder/workload"
	"github.com/pa-tools/pa/pkg/recorder/workload/render"
	"github.com/pa-tools/pa/pkg/tool"
)

// A Load is what [Record] sends to a server with an OpenAI-compatible API. It needs a URL, and
// Requests or For.
type Load struct {
	// URL is host:port or http(s)://host:port. Endpoint is the path of the requests; "" means
	// chats: v1/chat/completions.
	URL, Endpoint string
	// Model is the model of the requests; "" means the only one that the server lists.
	Model string
	// APIKey is sent as a bearer token, if it is not empty. It is in no file.
	APIKey string
	// MaxTokens is the number of output tokens at which an answer ends, unless a prompt of Prompts has
	// another; 0 leaves it to the prompts and the server. Whole requests cannot take it, which is an error.
	MaxTokens int
	// Streaming asks for answers that come token by token. Without it there is no TTFT and no ITL.
	Streaming bool
	// Concurrency is the number of requests in flight; 0 means 1. Levels, if there are any, are
	// recorded instead, one after the other.
	Concurrency int
	Levels      []load.Level
	// Requests is the number of measured requests of each level; For is the time of each level.
	Requests int
	For      time.Duration
	// Warmup is the number of requests of each level that come before the measured ones.
	Warmup int
	// Prompts is the input data; nil means the prompts that pa-record has built in.
	Prompts workload.Source
}

// levels returns the levels to record.
func (l *Load) levels() []load.Level {
	if len(l.Levels) > 0 {
		return l.Levels
	}
	return load.Closed(max(l.Concurrency, 1))
}

// entries returns the input data.
func (l *Load) entries() workload.Source {
	if l.Prompts == nil {
		builtin := workload.Builtin()
		for i := range builtin {
			builtin[i].Prompt.MaxTokens = cmp.Or(l.MaxTokens, builtin[i].Prompt.MaxTokens)
		}
		return builtin
	}
	if l.MaxTokens == 0 {
		return l.Prompts
	}
	return workload.Map(l.Prompts, workload.WithOutputLength(func(int) int { return l.MaxTokens }, false))
}

// backend returns the client of the server.
func (l *Load) backend() (*openai.Backend, error) {
	c := openai.Config{
		URL: l.URL, Endpoint: l.Endpoint, Model: l.Model, Streaming: l.Streaming,
		Render: render.Options{Usage: l.Streaming},
	}
	if l.APIKey != "" {
		c.Headers = []openai.Header{{Name: "Authorization", Value: "Bearer " + l.APIKey}}
	}
	return openai.New(c)
}

// Record sends the load and writes what it measured to file. The end of the name is the format:
// .json, .json.gz, .json.zst, .parquet or .arrow; an existing file is not replaced. A journal beside
// the file, which Record removes at the end, keeps what was measured if the process is killed.
//
// If ctx ends, Record ends the run early, and the file has the requests that were answered.
// Requests that failed are no error, see Level.Failed of the result and of [Report], unless the first
// ones all fail: the error is then a [*recorder.FailedError], and the file has them. Other errors are
// about the Load, the server's readiness, or the file; with a nil result nothing was sent, and there
// is no file.
func Record(ctx context.Context, l Load, file string) (res *recorder.Result, err error) {
	defer func() {
		if named, ok := errors.AsType[*journal.FileError](err); ok && named.Path == file {
			err = fmt.Errorf("record %w", err)
		} else if err != nil {
			err = fmt.Errorf("record %s: %w", file, err)
		}
	}()
	switch {
	case l.Concurrency < 0:
		return nil, fmt.Errorf("concurrency %d: must not be negative", l.Concurrency)
	case l.MaxTokens < 0:
		return nil, fmt.Errorf("max tokens %d: must not be negative", l.MaxTokens)
	case l.Requests == 0 && l.For == 0:
		return nil, errors.New("a Load needs Requests or For, or it would not end")
	case len(l.Levels) > 0 && l.Concurrency > 0:
		return nil, errors.New("a Load has Concurrency or Levels, not both")
	}
	out, err := journal.NewExport(file, false)
	if err != nil {
		return nil, err
	}
	b, err := l.backend()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	w, err := journal.NewWriter(journal.Config{Exports: []*journal.Export{out}})
	if err != nil {
		return nil, err
	}
	cfg := recorder.Config{
		Backend: b, Writer: w,
		Entries: l.entries(), Levels: l.levels(), Warmup: l.Warmup,
		Measure: window.Measure{Requests: l.Requests, Duration: l.For},
		Run:     export.Run{Meta: &export.RunMeta{Schema: export.Schema}},
	}
	if err := w.Open(ctx, &cfg.Run); err != nil {
		return nil, err
	}
	if res, err = recorder.Run(ctx, cfg); res == nil {
		w.Discard() // nothing was sent
	}
	return res, err
}

// A Report has the figures of a file that people look at first.
type Report struct {
	Levels []Level         // in the order of the file
	Full   *analyze.Report // everything else, with the warnings
}

// A Level is a load level of a [Report].
type Level struct {
	Load     string // "concurrency 4"
	Requests int    // measured successfully
	Failed   int
	// TTFT is the time to first token, ITL the gaps between tokens, TPOT the mean time per output
	// token after the first of each request, and E2EL the time to the last token.
	TTFT, ITL, TPOT, E2EL Latency
	// RequestsPerSecond and OutputTokensPerSecond are not OK if they are not known.
	RequestsPerSecond, OutputTokensPerSecond figure.Rate
}

// A Latency is a distribution of times. With N 0 there is none, and Why says why.
type Latency struct {
	N                             int
	Mean, P50, P90, P95, P99, Max time.Duration
	Why                           string
}

// String returns the mean and the tail for people, or n/a with the reason.
func (l Latency) String() string {
	if l.N == 0 {
		return "n/a (" + l.Why + ")"
	}
	return fmt.Sprintf("mean %v, p50 %v, p99 %v (n %d)", l.Mean, l.P50, l.P99, l.N)
}

// Analyze reads a file of [Record], of any release of perf_analyzer or GenAI-Perf, or of another
// tool that pa-analyze reads, and computes the figures from the recorded times. Definitions are in
// docs/reference/metrics.md. The error names the file and what is wrong in it; the Report is then
// nil.
func Analyze(ctx context.Context, file string) (rep *Report, err error) {
	r, err := (&export.Opener{Formats: append(formats.Readers(), tool.Formats()...)}).Open(ctx, file)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	full, err := analyze.Run(ctx, r, analyze.Config{})
	if err != nil {
		return nil, err
	}
	rep = &Report{Full: full}
	for i := range full.Experiments {
		e := &full.Experiments[i]
		rep.Levels = append(rep.Levels, Level{
			Load: analyze.LevelName(e.Mode, e.Value, e.Load), Requests: e.OK, Failed: e.FailedRequests(),
			TTFT: latency(full, e, answer.TTFT), ITL: latency(full, e, answer.ITL),
			TPOT: latency(full, e, answer.TPOT), E2EL: latency(full, e, answer.E2EL),
			RequestsPerSecond: e.Throughput.Requests, OutputTokensPerSecond: e.Throughput.OutputTokens,
		})
	}
	return rep, nil
}

// latency returns the distribution of a metric of times.
func latency(rep *analyze.Report, e *analyze.Experiment, m answer.Metric) Latency {
	if s := e.Metric(m); s != nil {
		ns := func(x float64) time.Duration { return time.Duration(x) }
		return Latency{
			N: s.N, Mean: ns(s.Mean), P50: ns(s.P(50)), P90: ns(s.P(90)), P95: ns(s.P(95)), P99: ns(s.P(99)), Max: ns(s.Max),
		}
	}
	key := m.Key()
	for _, all := range [][]figure.Unavailable{e.Unavailable, rep.Unavailable} {
		for _, u := range all {
			if u.Key == key {
				return Latency{Why: u.Why}
			}
		}
	}
	return Latency{Why: "no request has one"}
}
