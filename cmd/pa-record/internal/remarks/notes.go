package remarks

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/pa-tools/pa/cmd/pa-record/internal/objective"
	"github.com/pa-tools/pa/cmd/pa-record/internal/runindex"
	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/window"
)

// LevelSettings holds the settings of the levels of a run on which its notes depend.
type LevelSettings struct {
	Levels         int  // number of levels; 0 if each level decides about the next one
	StopOnUnstable bool // the first level that is not stable is the last one
	// Measure holds the latency limit of a search, which is 0 without a search, and the
	// percentile that the limit is for.
	Measure window.Measure
	// Judge holds the objective of a search, with a verdict for each level that was measured;
	// nil without an objective.
	Judge *objective.Judge
	// SweepConcurrency is the concurrency of the second level of an automatic sweep; 0 without
	// an automatic sweep.
	SweepConcurrency int
	// Prompts says that the requests hold prompts of files, which a server may cache.
	Prompts bool
}

// PrintNotes prints what ended the levels of a run early, and what a sweep or a search found.
func PrintNotes(stderr io.Writer, of runindex.Index, s *LevelSettings, res *recorder.Result) {
	for _, note := range []string{sweepNote(s, res), searchNote(s, res), stopNote(s, res), againNote(s, res)} {
		if note != "" {
			fmt.Fprintf(stderr, "pa-record: note: %s%s\n", of.Prefix(), note)
		}
	}
}

// againNote says which levels sent prompts of files that an earlier level or run had sent,
// because there were no others; "" if none did.
func againNote(s *LevelSettings, res *recorder.Result) string {
	if !s.Prompts {
		return ""
	}
	var names []string
	again, last := 0, &export.LevelPrompts{}
	for i := range res.Levels {
		p := res.Levels[i].Prompts
		if p == nil || p.Restart || p.MadeUp || p.First == 0 || p.Again() == 0 {
			continue
		}
		names = append(names, fmt.Sprint(res.Levels[i].Load))
		again += p.Again()
		last = p
	}
	what := "prompt"
	if last.Conversations > 0 {
		what = "conversation"
	}
	switch {
	case len(names) == 0:
		return ""
	case len(names) > mostNamed:
		names = []string{fmt.Sprintf("%d levels", len(names))}
	}
	return fmt.Sprintf("the input data has only %s and began again: %s sent %s again, which the server may have cached; give more data, or --cache-bust",
		plural.GroupedOf(last.Of, what), strings.Join(names, ", "), plural.GroupedOf(again, what))
}

// stopNote says that an unstable level was the last one because of
// --stop-on-unstable; "" if it was the last one anyway.
func stopNote(s *LevelSettings, res *recorder.Result) string {
	n := len(res.Levels)
	if !s.StopOnUnstable || n == 0 || !res.Levels[n-1].Unstable() || n == s.Levels {
		return ""
	}
	return fmt.Sprintf("%v was not stable, so no more levels were measured (--stop-on-unstable)", res.Levels[n-1].Load)
}

// searchNote says which level a search found; "" if there was no search, or it was
// interrupted.
func searchNote(s *LevelSettings, res *recorder.Result) string {
	if s.Measure.LatencyLimit == 0 && s.Judge == nil || res.Interrupted || len(res.Levels) == 0 || s.Levels > 0 && res.Levels[0].Within() {
		return ""
	}
	var best, over *recorder.Level // the highest level within the limit, and the lowest level beyond it
	for i := range res.Levels {
		switch l := &res.Levels[i]; {
		case l.Within():
			if best == nil || l.Load.Traits().Amount > best.Load.Traits().Amount {
				best = l
			}
		case over == nil || l.Load.Traits().Amount < over.Load.Traits().Amount:
			over = l
		}
	}
	if s.Judge != nil {
		return objectiveNote(s, res, best, over)
	}
	switch limit := s.Measure.LatencyLimit; {
	case best == nil:
		return fmt.Sprintf("no level is below the latency limit of %v: %v %s", limit, over.Load, cameTo(s, over))
	case over == nil:
		return fmt.Sprintf("all levels are below the latency limit of %v: %v %s", limit, best.Load, cameTo(s, best))
	default:
		return fmt.Sprintf("%v is the highest level that was found below the latency limit of %v: it %s, %v %s", best.Load, limit, cameTo(s, best), over.Load, cameTo(s, over))
	}
}

// objectiveNote says which level a search found that meets its objective. best is the highest
// level that does, over the lowest that does not; nil for none.
func objectiveNote(s *LevelSettings, res *recorder.Result, best, over *recorder.Level) string {
	verdicts := s.Judge.Verdicts()
	had := func(l *recorder.Level) string {
		for i := range res.Levels {
			if l == &res.Levels[i] && i < len(verdicts) {
				return "had " + verdicts[i].Figures
			}
		}
		return "was not judged"
	}
	note := ""
	switch {
	case best == nil:
		note = fmt.Sprintf("no level meets %s: %v %s", s.Judge, over.Load, had(over))
	case over == nil:
		note = fmt.Sprintf("all levels meet %s: %v %s", s.Judge, best.Load, had(best))
	default:
		note = fmt.Sprintf("%v is the highest level that was found to meet %s: it %s; %v %s", best.Load, s.Judge, had(best), over.Load, had(over))
	}
	mode, loads := export.ModeConcurrency, []analyze.LoadLevel(nil)
	for i := range res.Levels {
		l := &res.Levels[i]
		named := l.Load.Traits().Amount
		sent := named
		if _, ok := l.Load.(load.Rate); ok {
			mode = export.ModeRequestRate
			if l.Client != nil && l.Client.AchievedPerSecond > 0 {
				sent = l.Client.AchievedPerSecond
			}
		}
		loads = append(loads, analyze.LoadLevel{Load: sent, Value: strconv.FormatFloat(named, 'f', -1, 64)})
	}
	if m := s.Judge.MaxLoad(mode, loads); m != nil {
		note += "; " + report.MaxLoad(m)
	}
	return note
}

// cameTo returns the latency of a level as the end of a sentence about the level.
func cameTo(s *LevelSettings, l *recorder.Level) string {
	if l.Reported.Requests == 0 {
		return "gave no answer in time"
	}
	what := "an average"
	if pct := s.Measure.Percentile; pct > 0 {
		what = fmt.Sprintf("a p%d", pct)
	}
	return fmt.Sprintf("came to %s of %v", what, l.Reported.Latency.Round(time.Microsecond))
}

// sweepNote says why an automatic sweep has measured no rates; "" if it has, or if there was no
// sweep.
func sweepNote(s *LevelSettings, res *recorder.Result) string {
	if s.SweepConcurrency == 0 || len(res.Levels) != 2 || res.Interrupted {
		return ""
	}
	return fmt.Sprintf("%d requests at a time gave hardly more per second than one, so there are no rates to try between", s.SweepConcurrency)
}
