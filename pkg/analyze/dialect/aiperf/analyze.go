package aiperf

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/dialect"
	"github.com/pa-tools/pa/pkg/analyze/dialect/explain"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// Version is the release of AIPerf that is reproduced.
const Version = "0.13.0"

// A Report is what AIPerf says about one load level. It is a [dialect.Report].
type Report struct {
	Level dialect.Level
	// Metrics are those that have values, in the order of the console.
	Metrics []Metric
	// Errors are the kinds of failures, in the order of their first.
	Errors []Failure

	cancelled bool
	// startNS and endNS are those of the phase; 0: not known.
	startNS, endNS uint64

	hint      bool   // usage without cached tokens
	uncounted bool   // there was no tokenizer
	fromUsage bool   // tokens are the server's
	lacks     string // why metrics are left out that the file cannot give
	explainer *explain.Explainer
	warnings  []error
}

// A Failure is a kind of failure.
type Failure struct {
	Code          int // 0: none
	Type, Message string
	// Cause and Chain are what led to it, as AIPerf states it.
	Cause string
	Chain []string
	Count int
}

var _ dialect.Report = (*Report)(nil)

// Metric returns the metric of that tag; nil when it has no values.
func (r *Report) Metric(tag string) *Metric {
	for i := range r.Metrics {
		if r.Metrics[i].Tag == tag {
			return &r.Metrics[i]
		}
	}
	return nil
}

// Warnings are what a reader must know to trust the report.
func (r *Report) Warnings() []error { return r.warnings }

// An analysis is the reading of one file.
type analysis struct {
	cfg   dialect.Config
	run   *export.Run
	rep   *Report
	level int
	meter *answer.Meter
	text  texts
	// fromUsage counts tokens as the server did (--use-server-token-count).
	fromUsage bool
	// startNS and endNS are those of the phase; 0: not known.
	startNS, endNS uint64

	c          collector
	sweeps     sweeps
	one        record
	cachedSeen bool
	skipped    int
}

// Analyze reads a run to its end and returns the report of one of its levels.
//
// The error is that of the reader, in which case the report is of what could be
// read, or says why there is no report: no such level, an argument that is none,
// or dialect.ErrNoTokenizer.
//
// Of Config.Args it knows use_server_token_count ("true"), was_cancelled
// ("true"), start_time and end_time, as they stand in profile_export_aiperf.json
// or in Unix nanoseconds.
func Analyze(ctx context.Context, r export.Reader, cfg dialect.Config) (*Report, error) {
	a := &analysis{cfg: cfg, run: r.Run(), rep: &Report{explainer: dialect.NewExplainer(r.Run(), cfg)}, meter: dialect.Meter(r.Run())}
	if cfg.Tokenizer == nil && cfg.Explain {
		a.cfg.Tokenizer, a.rep.uncounted = dialect.Uncounted(), true
	}
	if err := a.arguments(); err != nil {
		return nil, err
	}
	if err := checkGoodput(cfg.Goodput); err != nil {
		return nil, err
	}
	var err error
	if a.level, err = pickLevel(a.run, cfg.Level); err != nil {
		return nil, err
	}
	e := &a.run.Experiments[a.level]
	a.rep.Level = dialect.Level{Mode: e.Mode, Value: e.Value}
	a.c = newCollector()
	for n := 0; err == nil && r.Next(); n++ {
		if n&1023 == 0 && ctx.Err() != nil {
			err = context.Cause(ctx)
			break
		}
		if r.Experiment() == a.level {
			err = a.request(r.Request())
		}
	}
	if err == nil {
		err = r.Err()
	}
	if errors.Is(err, dialect.ErrNoTokenizer) {
		return nil, fmt.Errorf("%w; AIPerf's --use-server-token-count is --arg use_server_token_count=true", err)
	}
	a.finish()
	return a.rep, err
}

// arguments reads Config.Args.
func (a *analysis) arguments() error {
	for key, value := range a.cfg.Args {
		var err error
		switch key {
		case "use_server_token_count":
			a.fromUsage, err = strconv.ParseBool(value)
		case "was_cancelled":
			a.rep.cancelled, err = strconv.ParseBool(value)
		case "start_time":
			a.startNS, err = instant(value)
		case "end_time":
			a.endNS, err = instant(value)
		default:
			return fmt.Errorf("AIPerf has no argument %q that matters here; there are use_server_token_count, was_cancelled, start_time, end_time", key)
		}
		if err != nil {
			return fmt.Errorf("argument %s=%q: expected true or false, or a time such as 2026-11-21T11:59:16.222704", key, value)
		}
	}
	if a.startNS == 0 && a.endNS == 0 && a.imported() { // the summary of its folder, if it was read
		a.startNS, a.endNS = a.run.Meta.StartNS, a.run.Meta.EndNS
	}
	return nil
}

// imported reports whether the run is of AIPerf's own records.
func (a *analysis) imported() bool {
	m := a.run.Meta
	return m != nil && m.Import != nil && strings.HasPrefix(m.Tool, "AIPerf")
}

// instant reads a time as AIPerf writes it, in UTC, or Unix nanoseconds.
func instant(text string) (uint64, error) {
	if ns, err := strconv.ParseUint(text, 10, 64); err == nil {
		return ns, nil
	}
	t, err := time.Parse("2006-01-02T15:04:05.999999999", text)
	if err != nil || t.UnixNano() < 0 {
		return 0, errors.New("no time")
	}
	return uint64(t.UnixNano()), nil
}

// pickLevel returns the index of the experiment that is reported: the only one,
// or the last one that was asked for.
func pickLevel(run *export.Run, want dialect.Level) (int, error) {
	all := run.Experiments
	if len(all) == 0 {
		return 0, errors.New("the file holds no experiment: nothing was measured")
	}
	if want == (dialect.Level{}) && len(all) == 1 {
		return 0, nil
	}
	var names []string
	for i := len(all) - 1; i >= 0; i-- {
		if want != (dialect.Level{}) && want.Matches(&all[i]) {
			return i, nil
		}
		names = append([]string{all[i].Mode + ":" + all[i].Value}, names...)
	}
	if want == (dialect.Level{}) {
		return 0, fmt.Errorf("there are several load levels, and AIPerf reports each by itself; choose one with --experiment: %s", sanitize.Text(strings.Join(names, ", ")))
	}
	return 0, fmt.Errorf("no such load level; choose one with --experiment: %s", sanitize.Text(strings.Join(names, ", ")))
}

// request takes one request of the level.
func (a *analysis) request(q *export.Request) error {
	switch q.Excluded() {
	case "":
	case "failed":
		a.failed(q)
		return nil
	default:
		a.skipped++
		return nil
	}
	m := a.meter.Measure(q)
	if m.Answer.Failure != "" { // an error in the stream
		a.failed(q)
		return nil
	}
	a.rep.explainer.Request(q)
	r := &a.one
	if !r.read(q, m) {
		a.rep.explainer.Empty()
		a.failed(q)
		return nil
	}
	if err := a.count(r, q, m); err != nil {
		return err
	}
	a.besides(r, q, m)
	a.cachedSeen = a.cachedSeen || r.cached
	a.c.streamed = a.streamed(q)
	a.c.add(r)
	if len(a.cfg.Goodput) > 0 && a.good(r) {
		a.c.good++
	}
	a.sweeps.add(r, a.c.streamed, len(a.c.chunks))
	a.explain(r, q)
	return nil
}

// streamed reports whether a request asked for a stream, or got one.
func (a *analysis) streamed(q *export.Request) bool {
	if a.cfg.Streaming != nil {
		return *a.cfg.Streaming
	}
	if a.c.streamed || len(q.Responses) > 1 || a.run.Meta != nil && a.run.Meta.Streaming != nil && *a.run.Meta.Streaming {
		return true
	}
	return false
}
