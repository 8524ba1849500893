package analyze

import (
	"fmt"
	"strings"
	"time"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/shards"
)

// shardWarning returns the warning that a file is one shard of a run; nil if it is a whole run.
func shardWarning(run *export.Run) error {
	if run.Meta == nil || run.Meta.Shard == nil || run.Meta.Shard.WorldSize == 1 {
		return nil
	}
	s := run.Meta.Shard
	if err := shards.Check(s); err != nil {
		return said(KindUnreadable, "%v", err)
	}
	part := shards.ShareOf(run)
	if part == "" {
		part = "a part of the load"
	}
	return said(KindIncomplete, "this file is the shard of rank %d of %s: %s; give the files of all ranks, or a glob, for the figures of the run", s.Rank, plural.GroupedOf(s.WorldSize, "rank"), part)
}

// shardsWarning returns the warning kind of a text that merging shards wrote into a run.
func shardsWarning(text string) (WarningKind, bool) {
	switch {
	case strings.HasPrefix(text, shards.IncompleteWarning):
		return KindIncomplete, true
	case strings.HasPrefix(text, shards.UnknownClocksWarning), strings.HasPrefix(text, shards.ClockContradictionWarning):
		return KindClock, true
	}
	return "", false
}

// withinClocks returns an error if a part of a run that was merged from shards is too short
// for what is known about the ranks' clocks: it may hold requests of one rank that another
// rank's clock would put elsewhere.
func withinClocks(run *export.Run, part time.Duration, what string) error {
	if run.Meta == nil || run.Meta.Merged == nil || len(run.Meta.Merged.Shards) < 2 {
		return nil
	}
	bound := run.Meta.Merged.ClockBoundNS
	switch {
	case bound == nil:
		return fmt.Errorf("%s is n/a: the clocks of the ranks were not compared, so the requests of different machines cannot be put in the order of time; each shard alone has such parts", what)
	case part < time.Duration(*bound):
		return fmt.Errorf("%s of %s is n/a: the clocks of the ranks agree only within %s", what, seconds(part), seconds(time.Duration(*bound)))
	}
	return nil
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
		x.dropRates(err.Error())
	}
}

// dropShares removes the shares of requests that met an objective, and says why.
func (x *Experiment) dropShares(why string) {
	if x.SLO == nil {
		return
	}
	x.SLO.Share = figure.Share{NA: why}
	for i := range x.SLO.Conditions {
		x.SLO.Conditions[i].Share = figure.Share{NA: why}
	}
}

// dropRates removes the rates of a level, and says why.
func (x *Experiment) dropRates(why string) {
	x.Throughput = figure.Throughput{}
	if x.SLO != nil {
		x.SLO.Requests, x.SLO.OutputTokens = figure.Rate{}, figure.Rate{}
		for i := range x.SLO.Conditions {
			c := &x.SLO.Conditions[i]
			c.Requests, c.OutputTokens = figure.Rate{}, figure.Rate{}
		}
	}
	x.Unavailable = append(x.Unavailable, figure.Unavailable{Key: "throughput", Name: "rates", Why: why})
}
