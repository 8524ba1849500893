package analyze

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/extsort"
	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/internal/spool"
	"github.com/pa-tools/pa/pkg/analyze/serverfigures"
	"github.com/pa-tools/pa/pkg/analyze/slo"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// A Config says how to analyze. The zero value is the strict default.
type Config struct {
	// From is the time at which TTFT, TTFAT and E2EL begin.
	From answer.From
	// TokenSource is the source of the number of output tokens; TokenAuto takes the
	// best one of each request. With another source, a request that lacks it has no
	// number of output tokens.
	TokenSource answer.TokenSource
	// Counter counts tokens of texts; nil means that there is no tokenizer.
	Counter answer.TokenCounter
	// Decode decodes the answer to a request in place of the decoder that Run makes; nil means
	// that decoder. Run then reads one request after the other and calls Decode for each. The
	// answer must have the texts if there is a Counter (see [answer.Decoder]), and must stay
	// valid until the next call.
	Decode func(*export.Request) *answer.Answer
	// Tokenizer describes the Counter for reports; nil if there is none.
	Tokenizer *Tokenizer
	// Streaming says whether answers were streamed; nil leaves that to the file.
	Streaming *bool
	// IncludeWarmup counts successful warm-up requests like measured ones.
	IncludeWarmup bool
	// Selection is the part of each level that counts.
	Selection Selection
	// Windows asks for a table over time.
	Windows Windows
	// SLO is the objective of each request; nil means none.
	SLO *slo.Expr
	// SLOTarget is the share of requests that should meet it, for
	// [Report.MaxLoad]; 0 means 0.99.
	SLOTarget float64
	// Series keeps the requests of each experiment in memory and fills
	// Experiment.Series and Experiment.Steps.
	Series bool
	// Follower gets the requests and the Steps of each level in the order of time, without keeping
	// them as Series does; nil means none.
	Follower Follower
	// Verify computes all figures from the recorded times and answers, and none from the derived
	// values of a file, and compares all derived values with them. Ask for it where an exit code or
	// an acceptance depends on the figures. It takes several times as long. Without it, a sample of
	// the derived values is compared.
	Verify bool
	// Quality asks for [Experiment.Quality]; nil means no.
	Quality *QualityConfig
	// Economics asks for [Experiment.Economics]; nil means no.
	Economics *EconomicsConfig
	// Prefix asks for [Experiment.Prefix], and Phases for [Experiment.Phases].
	Prefix, Phases bool
	// Certified asks for [Summary.Certified] of the metrics of whole levels.
	Certified bool
	// Settling asks for [Experiment.Unsettled].
	Settling bool
	// Observer sees each request and each scrape, and asks for [Experiment.FirstTokens]; nil means
	// none.
	Observer Observer
	// Curve asks for [Summary.Curve] of the metrics of whole levels.
	Curve bool
	// MemoryLimit is about the memory that the whole program takes at most, in bytes; 0
	// means DefaultMemoryLimit. Values that do not fit move to a temporary file in
	// [os.TempDir], and percentiles stay exact. So do requests that must be read again when the bounds
	// of their level are known: with Windows, a Follower or a Selection of a part. The limit does not
	// hold with Series.
	MemoryLimit int64
	// ValueMemory is the memory that values take at most before they move to the temporary
	// file, in bytes; 0 means ValueMemory(MemoryLimit). A program that keeps values of its
	// own gives a part of that.
	ValueMemory int64
}

// DefaultMemoryLimit is the default of Config.MemoryLimit. A limit below LeastMemoryLimit
// counts as that. On 16 cores, decoding takes 200 MB whatever the limit is.
const (
	DefaultMemoryLimit = 300e6
	LeastMemoryLimit   = 128e6
)

// The memory of a program that analyzes, beside the values of the metrics: fixedMemory for
// the program and for sorting, and coreMemory for the requests that each core decodes ahead,
// up to mostCores. The values get valueShare of the rest: the garbage collector lets the heap
// grow to twice its content, and each request takes some bytes for good.
const (
	fixedMemory = 60e6
	coreMemory  = 9e6
	mostCores   = 16
	valueShare  = 0.4
	leastValues = 16e6
)

// ValueMemory returns the bytes that values may take before they move to a temporary file if
// the whole program should take about as many bytes as memoryLimit, a Config.MemoryLimit.
func ValueMemory(memoryLimit int64) int64 {
	limit := float64(max(cmp.Or(memoryLimit, DefaultMemoryLimit), LeastMemoryLimit))
	cores := float64(min(runtime.GOMAXPROCS(0), mostCores))
	return int64(max(valueShare*(limit-fixedMemory-coreMemory*cores), leastValues))
}

// A Tokenizer describes a tokenizer in reports.
type Tokenizer struct {
	Name   string // as the user named it
	SHA256 string // of its file, in hex
}

// defaultSLOTarget is the share of requests that should meet an objective.
const defaultSLOTarget = 0.99

// PerRequest returns the part of c that a [answer.Meter] needs.
func (c *Config) PerRequest() answer.Config {
	hash := ""
	if c.Tokenizer != nil {
		hash = c.Tokenizer.SHA256
	}
	return answer.Config{
		Tokenizer: hash, From: c.From, TokenSource: c.TokenSource, Counter: c.Counter, Streaming: c.Streaming,
		IncludeWarmup: c.IncludeWarmup, WithoutPauses: c.Selection.WithoutPauses,
	}
}

// keeps reports whether the requests must be kept until all are read, because the
// bounds of a level are known only then.
func (c *Config) keeps() bool {
	return !c.Selection.wholeLevel() || c.Windows != Windows{} || c.follows()
}

// follows reports whether the requests and steps are wanted in the order of time.
func (c *Config) follows() bool { return c.Series || c.Follower != nil }

// A Follower gets the requests of each level in the order of time when all are read, with less memory than
// Config.Series takes. [Run] calls the methods one after the other, and never two at a time.
type Follower interface {
	// Begin is called before the first request of the run is read, and again if the file turns out to
	// have an unusual layout and is read anew: all that came before is void then.
	Begin(run *export.Run)
	// Request is called for each request of the part that is analyzed, in the order of their starts,
	// including excluded ones. level is its index in Run.Experiments. p is valid until the method returns.
	Request(level int, p *Point)
	// Step is called for each step of the level, in their order, after its requests.
	Step(level int, s Step)
}

// pointShare is the share of the memory for values that kept requests take.
const pointShare = 0.25

// A Report is the analysis of one run.
type Report struct {
	Run  *export.Run
	From answer.From
	// SLO and SLOTarget are from the Config, with the default target filled in; nil
	// and 0 without an objective.
	SLO       *slo.Expr
	SLOTarget float64
	// Model is the model's name, from the run's metadata or the first payload;
	// "" if neither names it. Several models are joined by commas.
	Model string
	// Tokenizer is from the Config.
	Tokenizer *Tokenizer
	// ByRecorder says that requests have members that only pa-record writes, even if the
	// file breaks off before it names its tool. Cut says that it breaks off.
	ByRecorder, Cut bool
	// Stamps counts the responses by the source of their timestamps.
	Stamps Stamps
	// Requests is the number of requests read, of all kinds. FirstNS is the first start
	// among them; 0 if there is none.
	Requests int
	FirstNS  uint64
	// Experiments are in the order of the file and include levels without requests.
	Experiments []Experiment
	// Unavailable lists the metrics that a file of another tool cannot give.
	Unavailable []Unavailable
	// Warnings are about the whole run.
	Warnings []error
}

// FromRecorder reports whether pa-record wrote the file. If so, a message may name a flag of pa-record as the remedy.
func (r *Report) FromRecorder() bool {
	if m := r.Run.Meta; m != nil {
		return m.Import == nil
	}
	return r.ByRecorder
}

// Calibration returns the errors of the recorder's times that can be true; nil if the file has none.
func (r *Report) Calibration() *export.Calibration {
	if r.Run.Meta == nil {
		return nil
	}
	c, _ := r.Run.Meta.Calibration.Possible()
	return c
}

// An Experiment is the analysis of one load level.
type Experiment struct {
	Mode  string
	Value string
	// Load describes the load if the file says more about it than mode and value.
	Load string

	OK       int
	Failed   []Count // by class, most frequent first
	Excluded []Count // by reason, most frequent first
	// Unreadable counts requests that the reader had to leave out: see
	// [export.Skipper]. They are in no other count.
	Unreadable int
	// Resent counts the requests of all kinds that were sent again: see
	// [export.Request.Resent].
	Resent int

	// DurationNS is the time of the rates: the selected part, or for a whole level the time
	// from the first start to the last response of the successful requests. It excludes
	// pauses that were left out and is 0 if the time is unknown.
	DurationNS int64
	// Sent is the rate of requests that a level of a named rate sent, whether or not they
	// succeeded: pa-record's own figure for a whole level, else the gaps between the starts.
	Sent Rate
	// TokenSource is the source of the numbers of output tokens.
	TokenSource answer.TokenSource
	// Metrics holds the metrics that have a value, in the order of [answer.StrictMetrics].
	Metrics    []MetricSummary
	Throughput Throughput
	// TokenEvents counts token events. SharedStamps counts the token events with the
	// same time as the previous one in their choice.
	TokenEvents  int
	SharedStamps int
	// Backward counts gaps between token events below 0: the clock was set back.
	Backward int
	// Hidden counts the output tokens that servers counted and did not send; nil for none.
	Hidden *Hidden
	// Stamps counts the responses, and Starts the requests, by the source of their time
	// stamps.
	Stamps, Starts Stamps
	// Selected is the part of the level that all figures are about; nil for the whole
	// level.
	Selected *Selected
	// Windows are the windows that Config.Windows asked for.
	Windows []Window
	// Models are the parts of a level whose requests went to several models.
	Models []ModelPart
	// SLO counts the requests that met Config.SLO; nil without an objective.
	SLO *Attainment
	// Quality says how smoothly tokens came; nil unless Config.Quality asks for it.
	Quality *Quality
	// Economics says what the tokens cost; nil unless Config.Economics asks for it.
	Economics *Economics
	// Cached says which input tokens the server had in its cache; nil if no answer states
	// them.
	Cached *Cached
	// Prefix says how the prefix cache of the server and the first tokens are related; nil unless
	// Config.Prefix asks for it.
	Prefix *Prefix
	// Phases says where the time of requests went at the server; nil unless Config.Phases asks for it.
	Phases *Phases
	// Series holds the requests of the part in the order of their starts, including
	// excluded ones, if Config.Series asked for them.
	Series []Point
	// Steps divide the time of the rates, if Config.Series asked for them.
	Steps []Step
	// FirstTokens holds the first tokens of the requests that count, in the order of their starts, if
	// there is a Config.Observer.
	FirstTokens []FirstToken
	// Unsteady holds the reasons why the load or the server may not have been in a
	// steady state. They are also among the Warnings.
	Unsteady []*Unsteady
	// Unsettled holds further such reasons, which take longer to find and are not among the Warnings: few
	// first requests that took longer, and latencies that drift during the level. nil unless
	// Config.Settling asked for them.
	Unsettled []*Unsteady
	// Problem is the reason why the level lacks the selected part or the windows. The
	// level then has no figures.
	Problem error
	// Pauses lists the times in which the recorder could not run during the level.
	// Paused counts the requests that they touched: successful requests, or the requests that
	// Selection.WithoutPauses left out.
	Pauses []export.Pause
	Paused int
	// Unavailable lists the metrics that have no value because the answers of the
	// level were not streamed, or because nothing shows whether they were.
	Unavailable []Unavailable
	// Client holds the recorder's figures about itself; nil if it measured none.
	Client *export.ClientMeta
	// Server holds the figures of servers and GPUs during the level; nil without
	// telemetry.
	Server []serverfigures.Figure
	// SeveralResponses says that streamed requests had more than one response. A Triton
	// model that sends several is decoupled.
	SeveralResponses bool
	Warnings         []error
}

// Metric returns the summary of a metric; nil if it has no values.
func (e *Experiment) Metric(m answer.Metric) *Summary { return metricOf(e.Metrics, m) }

func metricOf(all []MetricSummary, m answer.Metric) *Summary {
	for i := range all {
		if all[i].Definition.Metric == m {
			return all[i].Summary
		}
	}
	return nil
}

// FailedRequests returns the number of failed requests of all classes.
func (e *Experiment) FailedRequests() int { return total(e.Failed) }

// ExcludedRequests returns the number of requests that were left out for a reason other
// than failure.
func (e *Experiment) ExcludedRequests() int { return total(e.Excluded) }

// A MetricSummary is a definition with the summary of its values.
type MetricSummary struct {
	Definition *answer.Definition
	Summary    *Summary
}

// Throughput holds rates per second over DurationNS, or over the length of a Window. A
// rate that is not known is 0 and not OK.
type Throughput struct {
	Requests     Rate
	OutputTokens Rate
	// TotalTokens counts input and output tokens; not OK unless the number of input
	// tokens of every request is known.
	TotalTokens Rate
	// OutputTokensPerUser is OutputTokens divided by the concurrency; not OK
	// at other kinds of load.
	OutputTokensPerUser Rate
}

// A Rate is a number per second that may be missing.
type Rate struct {
	PerSecond float64
	OK        bool
}

// Run analyzes all requests of r under the strict definitions.
//
// The report is never nil and covers the readable part; it has no levels after an
// [export.ErrContradiction]. The error comes from the
// reader (see [export.Reader.Err]), from ctx, or from reading back values that were moved to
// a temporary file (see Config.MemoryLimit); the metrics of such values are then missing.
// Problems of the data, and texts that the tokenizer could not count, are warnings in the
// report.
func Run(ctx context.Context, r export.Reader, cfg Config) (*Report, error) {
	rep, err := runOnce(ctx, r, cfg, nil)
	var found *contradiction
	switch {
	case errors.Is(err, export.ErrRunChanged):
		rep, err = runOnce(ctx, r, cfg, nil)
	case errors.As(err, &found):
		r.(export.CheckingReader).Restart()
		rep, err = runOnce(ctx, r, cfg, found)
	}
	return rep, err
}

// runOnce reads r from the beginning. contradicted is what another runOnce found in the derived values of
// r, which are then not used; nil for nothing. The error is a *contradiction if runOnce finds that.
func runOnce(ctx context.Context, r export.Reader, cfg Config, contradicted *contradiction) (_ *Report, err error) {
	run := export.Preview(r)
	rep := &Report{Run: run, From: cfg.From, SLO: cfg.SLO, Unavailable: unavailable(run), Tokenizer: cfg.Tokenizer}
	if rep.SLO != nil {
		rep.SLOTarget = cmp.Or(cfg.SLOTarget, defaultSLOTarget)
	}
	if run.Meta != nil {
		rep.Model = run.Meta.Model
		if severalModels(run) {
			rep.Model = strings.Join(run.Meta.Models, ", ")
		}
	}
	if several, ok := r.(export.MultiReader); ok {
		several.ByFile() // the order does not matter; see pointStore.sort
	}
	source := newRequestSource(ctx, r, &cfg, contradicted != nil)
	if d, ok := source.stored.storedModel(); ok && rep.Model == "" {
		rep.Model = d
	}
	var checked contradiction
	valueMemory, pointMemory := cmp.Or(cfg.ValueMemory, ValueMemory(cfg.MemoryLimit)), int64(0)
	if cfg.keeps() {
		pointMemory = int64(pointShare * float64(valueMemory))
		valueMemory -= pointMemory
	}
	memory, blocks := extsort.NewMemory(valueMemory, ""), spool.NewBlocks(pointMemory, "", "requests")
	defer func() {
		if e := errors.Join(memory.Close(), blocks.Close()); e != nil {
			err = errors.Join(err, e)
		}
	}()
	if cfg.Follower != nil {
		cfg.Follower.Begin(run)
	}
	if cfg.Observer != nil {
		cfg.Observer.Begin(run)
	}
	var prompts promptLevels
	var all []*level // grows with the run: a reader may find more
	asked := askedOf(run)
	use := func(i int, p *Point) {
		if cfg.Observer != nil {
			cfg.Observer.Request(i, p)
		}
		all[i].add(&cfg, run, p)
	}
	queue := answer.NewStreamQueue(use)
	for b := source.next(); b != nil; b = source.next() {
		if checked.add(&b.contradicted); source.mustRestart(b) {
			return rep, &checked
		}
		i := r.Experiment()
		all = atLeast(all, len(run.Experiments), &cfg, memory, blocks, asked)
		if i < 0 || i >= len(all) {
			return rep, fmt.Errorf("request %d belongs to experiment %d, but the file has %d", rep.Requests, i, len(all))
		}
		if rep.Model == "" && rep.Requests == 0 {
			rep.Model = b.model
		}
		for k := range b.requests {
			p := &b.requests[k]
			rep.ByRecorder = rep.ByRecorder || p.Numbered
			if rep.FirstNS == 0 || p.StartNS != 0 && p.StartNS < rep.FirstNS {
				rep.FirstNS = p.StartNS
			}
			prompts.add(i, p)
			if queue.Pass(i, &p.Measured) {
				use(i, p)
			} else {
				queue.Hold(i, &p.Measured, p.held)
			}
		}
		all[i].counts.Plus(&b.counts)
		rep.Requests += len(b.requests)
		if b.cut {
			err = context.Cause(ctx)
			break
		}
	}
	if err == nil {
		err = r.Err()
		rep.Cut = err != nil
	}
	if errors.Is(err, export.ErrRunChanged) || errors.Is(err, export.ErrContradiction) {
		return rep, err
	}
	queue.End()
	if cfg.Observer != nil {
		cfg.Observer.End()
	}
	all = atLeast(all, len(run.Experiments), &cfg, memory, blocks, asked)
	rep.Experiments = make([]Experiment, 0, len(all))
	sent := make([][]timed, len(all))
	for i, l := range all {
		all[i] = nil // the memory of a finished level is for the analyses of the next ones
		l.wants(cfg.Certified, cfg.Curve)
		counted, excluded := export.Skipped(r, i)
		l.unreadable = counted + excluded
		if m := run.Experiments[i].Meta; m != nil { // of the file that this one was made of
			l.unreadable += m.Unreadable
		}
		e := &run.Experiments[i]
		if err := placed(run, cfg); err != nil {
			rep.Experiments = append(rep.Experiments, Experiment{Mode: e.Mode, Value: e.Value, Problem: err})
			continue
		}
		_, l.startsUnknown = run.LevelLacks(e.Mode, e.Value, export.PartStarts)
		x := l.finish(run, i, cfg, memory)
		x.dropUnsureRates(run)
		if why, partial := run.LevelLacks(e.Mode, e.Value, export.PartRequests); partial {
			x.dropShares(why)
		}
		if !rep.Cut {
			l.dropPartialRates(e, &x)
		}
		if unread := errors.Join(l.err, l.models.err); unread != nil {
			err = errors.Join(err, unread)
		}
		x.Unavailable = slices.DeleteFunc(x.Unavailable, func(u Unavailable) bool { // said once for the run
			return slices.ContainsFunc(rep.Unavailable, func(o Unavailable) bool { return o.Key == u.Key })
		})
		if err == nil && counted+excluded == 0 { // else requests are missing for another reason
			x.Warnings = append(x.Warnings, countWarnings(&run.Experiments[i], &l.counts)...)
		}
		var doubts []error
		x.Client, doubts = checkClient(x.Client, run.Meta != nil && run.Meta.Merged != nil)
		x.Warnings = append(x.Warnings, doubts...)
		x.SeveralResponses = queue.SeveralResponses(i)
		rep.Experiments = append(rep.Experiments, x)
		rep.Stamps.plus(l.stamps)
		sent[i] = l.timed
	}
	(&adviser{run, cfg, sent, rep}).advise()
	prompts.addCached(rep)
	if serr := addServerFigures(ctx, r, rep, cfg.Observer); serr != nil && err == nil {
		err = serr
	}
	if unread := blocks.Err(); unread != nil {
		err = errors.Join(err, unread)
	}
	if full := cmp.Or(memory.Full(), blocks.Full()); full != nil {
		rep.Warnings = append(rep.Warnings, said(KindOther, "the values of the metrics take more memory than the limit: %v", full))
	}
	switch {
	case contradicted != nil:
		rep.Warnings = append(rep.Warnings, contradicted.warning(source.stored.timesOnly, false))
	case checked.found > 0:
		rep.Warnings = append(rep.Warnings, checked.warning(source.stored.timesOnly, cfg.Verify))
	}
	if source.stored.timesOnly && source.stored.reader != nil {
		rep.Warnings = append(rep.Warnings, unverified())
	}
	if w := shardWarning(run); w != nil {
		rep.Warnings = append(rep.Warnings, w)
	}
	if m := r.Run().Meta; m != nil {
		if _, wrong := m.Calibration.Possible(); wrong != nil {
			rep.Warnings = append(rep.Warnings, impossibleFigures(SubCalibration, "errors of the calibration", wrong))
		}
		for _, w := range m.Warnings {
			rep.Warnings = append(rep.Warnings, RecorderWarning(w))
		}
		for _, w := range m.WithoutEffect {
			text := sanitize.Clip(w.String(), maxNoEffectBytes)
			rep.Warnings = append(rep.Warnings, &Warning{Kind: KindNoEffect, Sub: text, text: text})
		}
	}
	for _, w := range r.Warnings() {
		rep.Warnings = append(rep.Warnings, said(KindUnreadable, "%s", w.String()))
	}
	if rep.Stamps.Mixed > 0 {
		rep.Warnings = append(rep.Warnings, counted(KindClock, "mixed", func(n []int64) string {
			return plural.GroupedOf(n[0], "request") + " had some times from the kernel and some from the program, which are taken at different places"
		}, int64(rep.Stamps.Mixed)))
	}
	return rep, err
}
