package llmperf

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze/explain"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// A report is a version's report of the load levels of a run. It is a [dialect.Report].
type report struct {
	release *release
	Levels  []level
	// Crash is the exception that ends the tool at the last level; nil: none.
	Crash error

	args     *arguments
	warnings []error

	explainer *explain.Explainer // nil unless Config.Explain
	uncounted bool               // there was no tokenizer
}

var _ dialect.Report = (*report)(nil)

// Warnings lists where the tool would have stopped, and what the report lacks.
func (r *report) Warnings() []error {
	if r.Crash == nil {
		return r.warnings
	}
	return append([]error{fmt.Errorf("%s itself stops at this file: %w; it prints what comes before, and writes no result", r.release.Name, r.Crash)}, r.warnings...)
}

// CSV returns dialect.ErrNoFormat: the tool writes no such report.
func (r *report) CSV(io.Writer) error { return dialect.ErrNoFormat }

// A result holds the tool's measures of a request. Its float times are seconds.
type result struct {
	id, startNS, endNS uint64
	text               string
	ttft, latency      float64
	whole              bool // over HTTP: ttft is −1
	input, output      int64
	tpot               float64
	crash              error
}

// A level is one level of concurrency. Times are seconds.
type level struct {
	// Concurrency is its name in the run: "8".
	Concurrency string
	Requests    int
	// Wall is how long the level took.
	Wall float64
	// InputTokens, OutputTokens and Latency are sums over the requests.
	InputTokens, OutputTokens int64
	Latency                   float64

	results []*result
	// crash is the exception that ends the tool at this level; nil for none. part says how
	// much of the level's report is printed before.
	crash error
	part  part
}

// add adds a request.
func (l *level) add(o *result) {
	l.results = append(l.results, o)
	l.Requests++
	l.InputTokens += o.input
	l.OutputTokens += o.output
	l.Latency += o.latency
}

// part says how much of a level's report is printed.
type part uint8

const (
	partAll     part = iota
	partName         // the title
	partMetrics      // the title and the metrics
)

// An analysis measures the requests of one run.
type analysis struct {
	version   *release
	args      *arguments
	cfg       dialect.Config
	run       *export.Run
	rep       *report
	special   int64
	at        int
	results   []*result
	leftOut   int
	tokenizer dialect.Tokenizer
}

func (v *release) newAnalysis(in dialect.Input) (*analysis, error) {
	args, warnings, err := v.arguments(in.Run, in.Config)
	if err != nil {
		return nil, err
	}
	a := &analysis{
		version: v, args: args, cfg: in.Config, run: in.Run, tokenizer: in.Tokenizer, special: int64(in.Special),
		rep: &report{release: v, args: args, warnings: warnings, explainer: in.Explainer, uncounted: in.Uncounted},
	}
	return a, a.checkLevels()
}

// checkLevels makes sure that the run is of a service that the tool speaks to, and has
// a level that the arguments name.
func (a *analysis) checkLevels() error {
	kind := cmp.Or(a.cfg.ServiceKind, export.TextOf(a.run.ServiceKind))
	if kind != "" && kind != "triton" {
		return fmt.Errorf("%s measures Triton servers, and this is a run of service kind %q; --service-kind triton treats it as one", a.version.Name, kind)
	}
	for i := range a.run.Experiments {
		if a.wanted(i) {
			return nil
		}
	}
	return dialect.NoSuchLevel(a.run)
}

// wanted reports whether a level is reported. The arguments choose the levels unless
// Config.Level is set.
func (a *analysis) wanted(experiment int) bool {
	return a.cfg.Level != (dialect.Level{}) || a.args.concurrency == nil || slices.ContainsFunc(a.args.concurrency, func(c string) bool {
		return dialect.Level{Value: c}.Matches(&a.run.Experiments[experiment])
	})
}

// Begin starts a level.
func (a *analysis) Begin(experiment int) { a.at, a.results, a.leftOut = experiment, nil, 0 }

// Report returns the report.
func (a *analysis) Report() dialect.Report {
	a.protocol()
	return a.rep
}

// Request measures a request. The tool does not measure warm-up, cancelled and late
// requests.
func (a *analysis) Request(q *export.Request) error {
	if a.rep.Crash != nil || !a.wanted(a.at) {
		return nil
	}
	if reason := q.Excluded(); reason != export.NotExcluded && reason != export.ExcludedFailed {
		a.leftOut++
		return nil
	}
	o := &result{id: q.ID, startNS: q.StartNS}
	a.results = append(a.results, o)
	if a.measure(o, q); o.crash == nil {
		if err := a.count(o, q); err != nil {
			return err
		}
	}
	a.explain(o, q)
	if a.cfg.Explain { // definitions show no texts
		o.text = ""
	}
	return nil
}

// count sets the token counts and the time per output token of a request.
func (a *analysis) count(o *result, q *export.Request) error {
	if s := q.Stated; s != nil && s.InputTokens != nil && s.OutputTokens != nil {
		o.input, o.output = *s.InputTokens, *s.OutputTokens
	} else {
		if a.tokenizer == nil {
			return dialect.ErrNoTokenizer
		}
		v, _ := q.Inputs.Get("text_input")
		o.input = int64(a.tokenizer.Count(text(v))) + a.special
		o.output = int64(a.tokenizer.Count(o.text)) + a.special
	}
	o.tpot = math.NaN()
	if o.output != 1 {
		o.tpot = (o.latency - o.ttft) / float64(o.output-1)
	}
	return nil
}

// End computes the figures of the current level.
func (a *analysis) End() {
	if a.rep.Crash != nil || !a.wanted(a.at) {
		return
	}
	e := &a.run.Experiments[a.at]
	results := dialect.InOrder(a.results, func(o *result) uint64 { return o.id }, func(o *result) uint64 { return o.startNS })
	l := level{Concurrency: e.Value, Wall: a.wall(e)}
	for _, o := range results {
		l.add(o)
	}
	l.part, l.crash = a.version.crash(&l)
	a.rep.Crash = l.crash
	a.explainLevel(&l)
	a.rep.Levels = append(a.rep.Levels, l)
	if a.leftOut > 0 {
		a.rep.warnings = append(a.rep.warnings, fmt.Errorf("concurrency %s: left out of the report: %s of the warm-up, late or cancelled", e.Value, plural.Of(a.leftOut, "request")))
	}
	if math.IsNaN(l.Wall) {
		a.rep.warnings = append(a.rep.warnings, fmt.Errorf("concurrency %s: the file does not say how long the level took; give it with --arg 'wall_ns %s=NANOSECONDS'", e.Value, e.Value))
	}
}

// crash returns the exception that ends the tool at a level, and how much of the level's
// report it prints before.
func (v *release) crash(l *level) (part, error) {
	for i, o := range l.results {
		if o.crash != nil {
			return partName, fmt.Errorf("%w (request %d)", o.crash, i)
		}
	}
	if !v.table {
		switch {
		case len(l.results) == 0:
			return partName, errors.New("ZeroDivisionError: division by zero (no requests)")
		case l.Latency == 0:
			return partName, errors.New("ZeroDivisionError: float division by zero (no request takes any time)")
		}
	} else {
		for i, o := range l.results {
			if math.IsNaN(o.tpot) {
				return partName, fmt.Errorf("ZeroDivisionError: float division by zero (the answer to request %d is one token)", i)
			}
		}
		if len(l.results) == 0 {
			return partName, errors.New("ValueError: min() arg is an empty sequence (no requests)")
		}
	}
	if l.Wall == 0 {
		return partMetrics, errors.New("ZeroDivisionError: float division by zero (the level takes no time)")
	}
	return partAll, nil
}

// wall returns the duration of a level in seconds. It comes from the arguments, else from
// the windows, else from the first start and the last end; NaN if unknown.
func (a *analysis) wall(e *export.Experiment) float64 {
	if ns, ok := a.args.wallNS[e.Value]; ok {
		return float64(ns) / 1e9
	}
	if w := e.WindowBoundaries; len(w) > 1 {
		return dialect.Seconds(w[0], w[len(w)-1])
	}
	if _, lacks := a.run.Lacks(export.PartStarts); lacks {
		return math.NaN()
	}
	if len(a.results) == 0 {
		return 0
	}
	first, last := a.results[0].startNS, uint64(0)
	for _, o := range a.results {
		first, last = min(first, o.startNS), max(last, o.startNS, o.endNS)
	}
	return dialect.Seconds(first, last)
}

// protocol infers the protocol from the requests if no argument names it.
func (a *analysis) protocol() {
	if a.args.protocol != "" {
		return
	}
	a.args.protocol = "grpc"
	for i := range a.rep.Levels {
		for _, o := range a.rep.Levels[i].results {
			if o.whole {
				a.args.protocol = "http"
			}
		}
	}
}
