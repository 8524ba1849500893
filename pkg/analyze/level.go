package analyze

import (
	"fmt"
	"time"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/spool"
	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// A level collects the requests of one experiment while the run is read.
type level struct {
	collector
	models byModel
	points pointStore           // all requests, where Config.keeps
	span   requestSpan          // of the points
	counts export.RequestCounts // of all requests
	// kept counts the measured requests that the reader did not leave out.
	kept int
}

// atLeast returns levels, extended to at least n elements. Their values share memory, and their
// points share blocks. They are compared with the lengths that the run asked for.
func atLeast(levels []*level, n int, cfg *Config, memory *stat.Store, blocks *spool.Blocks, asked askedLengths) []*level {
	for len(levels) < n {
		l := &level{models: byModel{memory: memory}, points: pointStore{records: spool.Records{Blocks: blocks}}}
		l.useMemory(memory)
		l.lengths.asked = asked
		l.prepare(cfg)
		if cfg.Sessions != nil {
			l.sessions = figure.NewSessionCollector(cfg.Sessions, memory)
		}
		levels = append(levels, l)
	}
	return levels
}

// add counts a request of run, or keeps it to be counted when all are read.
func (l *level) add(cfg *Config, run *export.Run, p *Point) {
	if p.Counted || p.Excluded == answer.ExcludedPaused || p.Class == answer.NoResponse {
		l.kept++
	}
	if cfg.keeps() {
		l.span.add(p)
		l.points.add(p)
		return
	}
	l.collector.add(p)
	if severalModels(run) {
		l.models.add(p)
	}
}

// finish returns the analysis of experiment i. It drops the points.
func (l *level) finish(run *export.Run, i int, cfg Config, memory *stat.Store) Experiment {
	e := &run.Experiments[i]
	if !cfg.keeps() {
		if cfg.Selection.WithoutPauses {
			l.lost = newLostTime(answer.PausesOf(run), l.leftOut, concurrency(e))
		}
		x := l.collector.finish(run, e, cfg, nil, nil)
		if severalModels(run) {
			x.Models = l.models.finish(run.Meta, x.DurationNS)
		}
		l.addPauses(run, e, &x, cfg)
		return x
	}
	defer l.points.records.Release()
	l.latencies = make([]requestLatencies, 0, l.points.records.Len())
	l.points.sort()
	points := l.points.each
	if cfg.Selection.WithoutPauses {
		var out []figure.Span
		points(func(p *Point) bool {
			if p.LeftOut {
				out = append(out, figure.Span{FromNS: p.PlaceNS, ToNS: p.EndNS})
			}
			return true
		})
		l.lost = newLostTime(answer.PausesOf(run), out, concurrency(e))
	}
	if cfg.follows() {
		l.points.number()
	}
	sel, problem := cfg.Selection.apply(e, points, l.span)
	var f *flow
	if sel != nil {
		sel.lost = l.lost
	}
	windows, err := windowTable(e, points, l.span, sel, l.lost, cfg, memory, &l.err)
	if problem == nil {
		problem = err
	}
	if problem == nil {
		problem = partsWithinClocks(run, sel, windows)
	}
	if problem != nil {
		return Experiment{Mode: e.Mode, Value: e.Value, Problem: problem}
	}
	if sel != nil {
		f = &flows(points, []uint64{sel.FromNS, sel.ToNS}, sel.Level.ToNS)[0]
		l.models.sel = sel
	}
	nowhere := 0
	var part []Point
	var keeper pointKeeper // of part
	var done completions   // of the whole level
	points(func(p *Point) bool {
		if sel != nil && p.PlaceNS == 0 {
			nowhere++
		}
		if sel != nil && !sel.has(p) {
			return true
		}
		l.collector.add(p)
		if cfg.Series {
			part = append(part, keeper.clone(p))
		}
		if cfg.Follower != nil {
			cfg.Follower.Request(i, p)
		}
		if severalModels(run) {
			l.models.add(p)
		}
		if sel == nil && cfg.follows() {
			done.add(p)
		}
		return true
	})
	x := l.collector.finish(run, e, cfg, sel, f)
	if severalModels(run) {
		x.Models = l.models.finish(run.Meta, x.DurationNS)
	}
	x.Windows, x.Series = windows, part
	add := func(s Step) {
		if cfg.Series {
			x.Steps = append(x.Steps, s)
		}
		if cfg.Follower != nil {
			cfg.Follower.Step(i, s)
		}
	}
	switch {
	case !cfg.follows() || x.DurationNS <= 0: // no time passed
	case sel != nil:
		stepsWithin(points, sel, add)
	default:
		done.steps(l.lost, add)
	}
	l.addPauses(run, e, &x, cfg)
	if nowhere > 0 {
		x.Warnings = append(x.Warnings, counted(KindMissingTimes, "nowhere", func(n []int64) string {
			return plural.GroupedOf(n[0], "request") + " had no recorded time, so " + plural.Form(n[0], "it belongs to no part of the level and is", "they belong to no part of the level and are") + " left out"
		}, int64(nowhere)))
	}
	return x
}

// finishSessions sets the figures of sessions in the analysis x of the level.
func (l *level) finishSessions(run *export.Run, e *export.Experiment, x *Experiment, cache *figure.PromptCache) (err error) {
	in := func(uint64) bool { return true }
	var counts *export.SessionCounts
	if sel := x.Selected; sel != nil {
		in = sel.holds
	} else if e.Meta != nil {
		counts = e.Meta.Sessions
	}
	x.Sessions, err = l.sessions.Finish(&x.Level, run, l.ratesSpan(x.Selected), in, counts, cache)
	return err
}

// dropPartialRates removes the rates from the analysis x of the level if the file counts more
// measured requests than it holds: the others were removed from it.
func (l *level) dropPartialRates(e *export.Experiment, x *Experiment) {
	if e.Meta == nil || x.Problem != nil || l.kept == 0 || l.kept+l.unreadable >= e.Meta.Measured {
		return
	}
	why := "the file keeps " + plural.Grouped(l.kept) + " of " + plural.GroupedOf(e.Meta.Measured, "request")
	x.DropRates(why)
	x.DropShares(why)
	x.Warnings = append(x.Warnings, newWarning(KindIncomplete, "%s: latencies are of the requests that it keeps, and rates are n/a", why))
}

// addPauses adds the pauses of the level, and warnings about them, to its analysis x.
func (l *level) addPauses(run *export.Run, e *export.Experiment, x *Experiment, cfg Config) {
	part := figure.Span{FromNS: l.firstStart, ToNS: l.lastEnd}
	if m := e.Meta; m != nil && m.StartNS != 0 && m.EndNS != 0 {
		part = figure.Span{FromNS: m.StartNS, ToNS: m.EndNS}
	}
	if x.Selected != nil {
		part = x.Selected.Span
	}
	x.Pauses, x.Paused = pausesIn(run, part), l.paused
	x.Warnings = append(pauseWarnings(x.Pauses, x.Paused, cfg.Selection.WithoutPauses, canLeaveOutPauses(run)), x.Warnings...)
}

// placed returns an error if cfg asks for a part or for windows of a run whose requests
// have no known times, or to leave out the pauses of single ranks.
func placed(run *export.Run, cfg Config) error {
	if cfg.Selection.WithoutPauses && !canLeaveOutPauses(run) {
		return fmt.Errorf("the pause of one rank cannot be left out of a merged run: the other ranks went on; leave out the shard of rank %d instead", run.Meta.Pauses[0].Rank)
	}
	why, lacks := run.Lacks(export.PartStarts)
	if !lacks || cfg.Selection.wholeLevel() && cfg.Windows == (Windows{}) {
		return nil
	}
	return fmt.Errorf("no part of it can be chosen: %s", why)
}

// partsWithinClocks returns the first error of withinClocks for the selected part and the
// windows of a level.
func partsWithinClocks(run *export.Run, sel *Selected, windows []Window) error {
	if sel != nil {
		if err := withinClocks(run, sel.Duration(), "a part"); err != nil {
			return err
		}
	}
	for i := range windows {
		if err := withinClocks(run, windows[i].Duration(), "a window"); err != nil {
			return err
		}
	}
	return nil
}

// dropUnsureRates removes the rates of a level of a merged run that is shorter than the bound
// of its clocks, and says why.
func (x *Experiment) dropUnsureRates(run *export.Run) {
	if run.Meta == nil || run.Meta.Merged == nil || run.Meta.Merged.ClockBoundNS == nil || x.DurationNS <= 0 {
		return
	}
	if err := withinClocks(run, time.Duration(x.DurationNS), "the level"); err != nil {
		x.DropRates(err.Error())
	}
}
