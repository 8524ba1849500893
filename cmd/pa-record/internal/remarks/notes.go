package remarks

import (
	"fmt"
	"io"
	"time"

	"github.com/pa-tools/pa/cmd/pa-record/internal/runindex"
	"github.com/pa-tools/pa/cmd/pa-record/internal/settings"
	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/load"
)

// PrintNotes prints what ended the levels of a run early, and what a sweep or a search found.
func PrintNotes(stderr io.Writer, of runindex.Index, s *settings.Settings, res *recorder.Result) {
	for _, note := range []string{sweepNote(s, res), searchNote(s, res), stopNote(s, res)} {
		if note != "" {
			fmt.Fprintf(stderr, "pa-record: note: %s%s\n", of.Prefix(), note)
		}
	}
}

// stopNote says that an unstable level was the last one because of
// --stop-on-unstable; "" if it was the last one anyway.
func stopNote(s *settings.Settings, res *recorder.Result) string {
	n := len(res.Levels)
	if !s.Measure.StopOnUnstable || n == 0 || !res.Levels[n-1].Unstable() || s.LevelPlan == nil && n == len(s.Levels) {
		return ""
	}
	return fmt.Sprintf("%v was not stable, so no more levels were measured (--stop-on-unstable)", res.Levels[n-1].Load)
}

// searchNote says which level a search found; "" if there was no search, or it was
// interrupted.
func searchNote(s *settings.Settings, res *recorder.Result) string {
	if s.LimitMS == 0 || res.Interrupted || len(res.Levels) == 0 || s.LevelPlan == nil && res.Levels[0].Within() {
		return ""
	}
	var best, over *recorder.Level // the highest level within the limit, and the lowest level beyond it
	for i := range res.Levels {
		switch l := &res.Levels[i]; {
		case l.Within():
			if best == nil || amount(l.Load) > amount(best.Load) {
				best = l
			}
		case over == nil || amount(l.Load) < amount(over.Load):
			over = l
		}
	}
	switch limit := s.Measurement.LatencyLimit; {
	case best == nil:
		return fmt.Sprintf("no level is below the latency limit of %v: %v %s", limit, over.Load, cameTo(s, over))
	case over == nil:
		return fmt.Sprintf("all levels are below the latency limit of %v: %v %s", limit, best.Load, cameTo(s, best))
	default:
		return fmt.Sprintf("%v is the highest level that was found below the latency limit of %v: it %s, %v %s", best.Load, limit, cameTo(s, best), over.Load, cameTo(s, over))
	}
}

// cameTo returns the latency of a level as the end of a sentence about the level.
func cameTo(s *settings.Settings, l *recorder.Level) string {
	if l.Reported.Requests == 0 {
		return "gave no answer in time"
	}
	what := "an average"
	if pct := s.Measurement.Percentile; pct > 0 {
		what = fmt.Sprintf("a p%d", pct)
	}
	return fmt.Sprintf("came to %s of %v", what, l.Reported.Latency.Round(time.Microsecond))
}

// amount returns the number by which a search orders its levels.
func amount(level load.Level) float64 {
	switch level := level.(type) {
	case load.Concurrency:
		return float64(level.N)
	case load.Rate:
		return level.PerSecond
	}
	return 0
}

// sweepNote says why an automatic sweep has measured no rates; "" if it has, or if there was no
// sweep.
func sweepNote(s *settings.Settings, res *recorder.Result) string {
	if !s.AutoSweep || len(res.Levels) != 2 || res.Interrupted {
		return ""
	}
	return fmt.Sprintf("%d requests at a time gave hardly more per second than one, so there are no rates to try between", s.SweepConcurrency())
}

// PrintSettings prints the notes and warnings of the settings.
func PrintSettings(stderr io.Writer, s *settings.Settings) {
	for _, n := range s.Notes {
		fmt.Fprintf(stderr, "pa-record: note: %s\n", n)
	}
	for _, w := range s.Warnings {
		fmt.Fprintf(stderr, "pa-record: warning: %s\n", w)
	}
	for i := range s.Servers {
		for _, w := range s.Servers[i].Warnings {
			fmt.Fprintf(stderr, "pa-record: warning: %s: %s\n", s.Servers[i].Label, w)
		}
	}
}
