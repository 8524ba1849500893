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
		rep, err = runOnce(ctx, r, cfg, found)
	}
	return rep, err
}

// runOnce reads r from the beginning. contradicted is what another runOnce found in the derived values of
// r, which are then not used; nil for nothing. The error is a *contradiction if runOnce finds that.
func runOnce(ctx context.Context, r export.Reader, cfg Config, contradicted *contradiction) (_ *Report, err error) {
	run := export.Preview(r)
	rep := &Report{Run: run, From: cfg.From, SLO: cfg.SLO, Unavailable: figure.UnavailableIn(run), Tokenizer: cfg.Tokenizer}
	if rep.SLO != nil {
		rep.SLOTarget = cmp.Or(cfg.SLOTarget, defaultSLOTarget)
	}
	if run.Meta != nil {
		rep.Model = run.Meta.Model
		if severalModels(run) {
			rep.Model = strings.Join(run.Meta.Models, ", ")
		}
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
	memory, blocks := stat.NewStore(valueMemory, ""), spool.NewBlocks(pointMemory, "", "requests")
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
	var prompts figure.Prompts
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
		i := source.Experiment()
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
			prompts.Add(i, &p.Measured, p.prompt)
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
		counted, excluded := r.Skipped(i)
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
			x.DropShares(why)
		}
		if !rep.Cut {
			l.dropPartialRates(e, &x)
		}
		if unread := errors.Join(l.err, l.models.err); unread != nil {
			err = errors.Join(err, unread)
		}
		x.Unavailable = slices.DeleteFunc(x.Unavailable, func(u figure.Unavailable) bool { // said once for the run
			return slices.ContainsFunc(rep.Unavailable, func(o figure.Unavailable) bool { return o.Key == u.Key })
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
	addCached(&prompts, rep)
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
	if source.stored.timesOnly && source.stored.replaces() {
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
