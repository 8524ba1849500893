package analyze

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/internal/spool"
	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// Run analyzes all requests of r by pa-analyze's own definitions.
//
// The report is never nil and covers the readable part; it has no levels after an
// [export.ErrContradiction]. The error comes from the
// reader (see [export.Reader.Err]), from ctx, or from reading back values that were moved to
// a temporary file (see Config.MemoryLimit); the metrics of such values are then missing.
// Problems of the data, and texts that the tokenizer could not count, are warnings in the
// report.
func Run(ctx context.Context, r export.Reader, cfg Config) (*Report, error) {
	return readAgain(func(found *contradiction) (*Report, error) { return runOnce(ctx, r, cfg, found) })
}

// runOnce reads r from the beginning. contradicted is what another runOnce found in the derived values of
// r, which are then not used; nil for nothing. The error is a *contradiction if runOnce finds that.
func runOnce(ctx context.Context, r export.Reader, cfg Config, contradicted *contradiction) (_ *Report, err error) {
	a := newAnalysis(ctx, r, cfg, contradicted)
	defer func() {
		if e := errors.Join(a.memory.Close(), a.blocks.Close()); e != nil {
			err = errors.Join(err, e)
		}
	}()
	if stop, err := a.read(ctx); stop {
		return a.rep, err
	}
	a.queue.End()
	if cfg.Observer != nil {
		cfg.Observer.End()
	}
	a.finishLevels()
	addCached(&a.prompts, a.rep)
	if err := addServerFigures(ctx, r, a.rep, cfg.Observer); a.err == nil {
		a.err = err
	}
	if unread := a.blocks.Err(); unread != nil {
		a.err = errors.Join(a.err, unread)
	}
	a.warn(contradicted)
	return a.rep, a.err
}

// An analysis is the state of a Run: what it reads, the levels that gather the requests, and the report.
type analysis struct {
	r      export.Reader
	cfg    Config
	run    *export.Run
	source *requestSource
	memory *stat.Store   // of the values of all levels
	blocks *spool.Blocks // of the requests that are kept
	rep    *Report
	err    error // from the reader, or from reading values back

	levels  []*level // grows with the run: a reader may find more
	asked   askedLengths
	prompts figure.Prompts
	cache   *figure.PromptCache // nil: not asked for
	queue   *answer.StreamQueue[*Point]
	checked contradiction // in the derived values
	wrong   []string      // impossible facts of the run, which are left out
}

// newAnalysis begins to read r.
func newAnalysis(ctx context.Context, r export.Reader, cfg Config, contradicted *contradiction) *analysis {
	run := export.Preview(r)
	valueMemory, pointMemory := cmp.Or(cfg.ValueMemory, ValueMemory(cfg.MemoryLimit)), int64(0)
	if cfg.keeps() {
		pointMemory = int64(pointShare * float64(valueMemory))
		valueMemory -= pointMemory
	}
	a := &analysis{
		r: r, cfg: cfg, run: run, asked: askedOf(run),
		rep:    &Report{Run: run, From: cfg.From, SLO: cfg.SLO, Unavailable: figure.UnavailableIn(run), Tokenizer: cfg.Tokenizer},
		memory: stat.NewStore(valueMemory, ""), blocks: spool.NewBlocks(pointMemory, "", "requests"),
	}
	if cfg.Sessions != nil {
		a.cache = figure.NewPromptCache(cfg.Sessions, cmp.Or(cfg.MemoryLimit, DefaultMemoryLimit))
	}
	a.source = newRequestSource(ctx, r, &a.cfg, contradicted != nil, a.cache)
	a.queue = answer.NewStreamQueue(a.use)
	if a.rep.SLO != nil {
		a.rep.SLOTarget = cmp.Or(cfg.SLOTarget, defaultSLOTarget)
	}
	if run.Meta != nil {
		a.rep.Model = run.Meta.Model
		if severalModels(run) {
			a.rep.Model = strings.Join(run.Meta.Models, ", ")
		}
	}
	if model, ok := a.source.stored.storedModel(); ok && a.rep.Model == "" {
		a.rep.Model = model
	}
	if cfg.Follower != nil {
		cfg.Follower.Begin(run)
	}
	if cfg.Observer != nil {
		cfg.Observer.Begin(run)
	}
	return a
}

// use counts a request of level i. Whether the request was streamed has been decided.
func (a *analysis) use(i int, p *Point) {
	if a.cfg.Observer != nil {
		a.cfg.Observer.Request(i, p)
	}
	if p.session != nil {
		a.levels[i].sessions.Add(p.sessionRequest())
	}
	a.levels[i].add(&a.cfg, a.run, p)
}

// read reads all requests. stop says that there are no figures, for the reason err.
func (a *analysis) read(ctx context.Context) (stop bool, err error) {
	rep := a.rep
	for b := a.source.next(); b != nil; b = a.source.next() {
		if a.checked.add(&b.contradicted); a.source.mustRestart(b) {
			return true, &a.checked
		}
		i := a.source.Experiment()
		a.growLevels()
		if i < 0 || i >= len(a.levels) {
			return true, fmt.Errorf("request %d belongs to experiment %d, but the file has %d", rep.Requests, i, len(a.levels))
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
			a.prompts.Add(i, &p.Measured, p.prompt)
			if p.session != nil {
				p.place(a.cache)
			}
			if a.queue.Pass(i, &p.Measured) {
				a.use(i, p)
			} else {
				a.queue.Hold(i, &p.Measured, p.held)
			}
		}
		a.levels[i].counts.Plus(&b.counts)
		rep.Requests += len(b.requests)
		if b.cut {
			a.err = context.Cause(ctx)
			break
		}
	}
	if a.err == nil {
		a.err = a.r.Err()
		rep.Cut = a.err != nil
	}
	return errors.Is(a.err, export.ErrRunChanged) || errors.Is(a.err, export.ErrContradiction), a.err
}

// growLevels makes a level for each experiment of the run.
func (a *analysis) growLevels() {
	a.levels = atLeast(a.levels, len(a.run.Experiments), &a.cfg, a.memory, a.blocks, a.asked)
}

// finishLevels computes the figures of all levels.
func (a *analysis) finishLevels() {
	a.growLevels()
	a.run, a.wrong = a.run.Possible() // now that the end of the file has been read
	a.rep.Run = a.run
	a.rep.Experiments = make([]Experiment, 0, len(a.levels))
	sent := make([][]requestLatencies, len(a.levels))
	if a.cache != nil {
		var all []*figure.SessionCollector
		for _, l := range a.levels {
			all = append(all, l.sessions)
		}
		a.cache.Compute(all)
	}
	for i, l := range a.levels {
		a.levels[i] = nil // the memory of a finished level is for the analyses of the next ones
		e := &a.run.Experiments[i]
		if err := placed(a.run, a.cfg); err != nil {
			a.rep.Experiments = append(a.rep.Experiments, Experiment{Mode: e.Mode, Value: e.Value, Problem: err})
			continue
		}
		a.rep.Experiments = append(a.rep.Experiments, a.finishLevel(i, e, l))
		a.rep.Stamps.plus(l.stamps)
		sent[i] = l.latencies
	}
	(&adviser{a.run, a.cfg, sent, a.rep}).advise()
}

// finishLevel returns the figures of level i, the experiment e.
func (a *analysis) finishLevel(i int, e *export.Experiment, l *level) Experiment {
	l.wants(&a.cfg)
	unread, excluded := a.r.Skipped(i)
	l.unreadable = unread + excluded
	if e.Meta != nil { // of the file that this one was made of
		l.unreadable += e.Meta.Unreadable
	}
	_, l.startsUnknown = a.run.LevelLacks(e.Mode, e.Value, export.PartStarts)
	x := l.finish(a.run, i, a.cfg, a.memory)
	if l.startsUnknown && x.Selected == nil && x.Problem == nil {
		x.Stated = figure.NewStated(a.run.Totals(i))
	}
	if l.sessions != nil && x.Problem == nil {
		a.err = errors.Join(a.err, l.finishSessions(a.run, e, &x, a.cache))
	}
	x.dropUnsureRates(a.run)
	if why, partial := a.run.LevelLacks(e.Mode, e.Value, export.PartRequests); partial {
		x.DropShares(why)
	}
	if !a.rep.Cut {
		l.dropPartialRates(e, &x)
	}
	if err := errors.Join(l.err, l.models.err); err != nil {
		a.err = errors.Join(a.err, err)
	}
	x.Unavailable = slices.DeleteFunc(x.Unavailable, func(u figure.Unavailable) bool { // said once for the run
		return slices.ContainsFunc(a.rep.Unavailable, func(o figure.Unavailable) bool { return o.Key == u.Key })
	})
	if a.err == nil && unread+excluded == 0 { // else requests are missing for another reason
		x.Warnings = append(x.Warnings, countWarnings(e, &l.counts)...)
	}
	var doubts []error
	x.Client, doubts = checkClient(x.Client, a.run.Meta != nil && a.run.Meta.Merged != nil)
	x.Warnings = append(x.Warnings, doubts...)
	x.SeveralResponses = a.queue.SeveralResponses(i)
	return x
}

// warn adds the warnings about the whole run.
func (a *analysis) warn(contradicted *contradiction) {
	add := func(w error) { a.rep.Warnings = append(a.rep.Warnings, w) }
	if full := cmp.Or(a.memory.Full(), a.blocks.Full()); full != nil {
		add(newWarning(KindOther, "the values of the metrics take more memory than the limit: %v", full))
	}
	stored := &a.source.stored
	switch {
	case contradicted != nil:
		add(contradicted.warning(stored.timesOnly, false))
	case a.checked.found > 0:
		add(a.checked.warning(stored.timesOnly, a.cfg.Verify))
	}
	if stored.timesOnly && stored.replaces() {
		add(unverified())
	}
	if w := shardWarning(a.run); w != nil {
		add(w)
	}
	if a.wrong != nil {
		add(impossibleFigures(SubRun, "facts of the run", a.wrong))
	}
	if m := a.r.Run().Meta; m != nil {
		if _, wrong := m.Calibration.Possible(); wrong != nil {
			add(impossibleFigures(SubCalibration, "errors of the calibration", wrong))
		}
		for _, w := range m.Warnings {
			add(RecorderWarning(w))
		}
		for _, w := range m.WithoutEffect {
			text := sanitize.Clip(w.String(), maxNoEffectBytes)
			add(&Warning{Kind: KindNoEffect, Sub: text, text: text})
		}
	}
	for _, w := range a.r.Warnings() {
		add(newWarning(KindUnreadable, "%s", w.String()))
	}
	if mixed := a.rep.Stamps.Mixed; mixed > 0 {
		add(counted(KindClock, "mixed", func(n []int64) string {
			return plural.GroupedOf(n[0], "request") + " had some times from the kernel and some from the program, which are taken at different places"
		}, int64(mixed)))
	}
}
