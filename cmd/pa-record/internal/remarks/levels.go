package remarks

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/pa-tools/pa/cmd/pa-record/internal/runindex"
	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder"
)

// A levelWarning is a warning about one or several levels.
type levelWarning struct {
	levels []string
	same   []*analyze.Warning // one for each level
	text   string
}

// mostNamed is the largest number of levels that a warning names one by one.
const mostNamed = 4

// PrintWarnings writes the warnings about levels to w, one a line. Warnings of the recorder
// about the same subject on several levels are one line, which names the levels.
func PrintWarnings(w io.Writer, of runindex.Index, levels []recorder.Level) {
	for _, lw := range levelWarnings(levels) {
		where := strings.Join(lw.levels, ", ")
		switch n := len(lw.levels); {
		case n > 1 && n == len(levels):
			where = fmt.Sprintf("all %d levels", n)
		case n > mostNamed:
			where = fmt.Sprintf("%d of %d levels", n, len(levels))
		}
		fmt.Fprintf(w, "pa-record: warning: %s%s: %s\n", of.Prefix(), where, lw.text)
	}
}

// levelWarnings returns the warnings of all levels in the order of their first level.
func levelWarnings(levels []recorder.Level) []levelWarning {
	var all []levelWarning
	for i := range levels {
		l := &levels[i]
		name := fmt.Sprint(l.Load)
		warn := func(format string, args ...any) {
			all = append(all, levelWarning{levels: []string{name}, text: fmt.Sprintf(format, args...)})
		}
		if n := l.Failed; n > 0 {
			warn("%s of %s failed; pa-analyze report shows why", plural.Grouped(n), plural.GroupedOf(n+l.OK, "request"))
		}
		if n := l.OutputsDropped; n > 0 {
			warn("the disk did not keep up: the outputs of %s are lost, their times are kept", plural.GroupedOf(n, "request"))
		}
		for i := range l.Pauses {
			warn("%s", pauseText(&l.Pauses[i], l.StartNS))
		}
		for _, why := range slices.Concat(l.Warnings, l.Saturated) {
			if !joinWarning(all, name, why) {
				all = append(all, levelWarning{[]string{name}, []*analyze.Warning{analyze.RecorderWarning(why)}, why})
			}
		}
		if l.Unstable() {
			warn("not stable within %s; measure longer (-p, --measurement-request-count), allow more spread (-s) or send a fixed number of requests (--request-count)", plural.GroupedOf(len(l.Windows), "window"))
		}
	}
	return all
}

// joinWarning adds the warning why of a level to the warning in all about the same subject
// on other levels. It returns false if there is no such warning, or if the two warnings have
// numbers that cannot be added.
func joinWarning(all []levelWarning, level, why string) bool {
	w := analyze.RecorderWarning(why)
	for i := range all {
		lw := &all[i]
		if lw.same == nil || lw.same[0].Kind != w.Kind || lw.same[0].Sub != w.Sub || slices.Contains(lw.levels, level) {
			continue
		}
		same := append(slices.Clone(lw.same), w)
		if text, ok := analyze.Together(same); ok {
			lw.levels, lw.same, lw.text = append(lw.levels, level), same, text
			return true
		}
	}
	return false
}

// pauseText returns the warning about a pause in a level that began at startNS.
func pauseText(p *export.Pause, startNS uint64) string {
	what := "this process was stopped"
	if p.Cause == export.PauseSuspended {
		what = "this machine was suspended"
	}
	after := time.Duration(max(p.StartNS, startNS) - startNS)
	return fmt.Sprintf("%s for %.3g s, %.3g s after the start of the level, which distorts its latencies and rates; pa-analyze report --without-pauses leaves out the affected requests",
		what, time.Duration(p.DurationNS).Seconds(), after.Seconds())
}
