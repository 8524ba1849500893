package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

// Selected describes the part of a level that figures are about: "window: 30 s to 90 s of
// 120 s".
func Selected(s *analyze.Selected) string {
	unit := scaleFor(float64(s.Level.Duration()))
	since := func(ns uint64) string { return short(float64(ns-s.Level.FromNS)/unit.per) + " " + unit.name }
	name := map[string]string{"window": "window", "trim": "trimmed", "steady_state": "steady state"}[s.How]
	text := fmt.Sprintf("%s: %s to %s of %s", name, since(s.FromNS), since(s.ToNS), since(s.Level.ToNS))
	if x := s.Steady; x != nil {
		text += fmt.Sprintf(", with %d or more of %d in flight for %s of it", x.Threshold, x.Concurrency, percent(x.AtPlateau))
	}
	return text
}

// short formats v as number does, without zeros at the end: 30, 12.5.
func short(v float64) string {
	text := Number(v)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// offset formats nanoseconds as seconds, with at most three decimals if whole is a second
// or longer.
func offset(ns int64, whole time.Duration) string {
	if whole >= time.Second {
		ns = int64(math.Round(float64(ns)/1e6)) * 1e6
	}
	return strconv.FormatFloat(float64(ns)/1e9, 'f', -1, 64)
}

// windows returns one line per window of a level.
func windows(e *analyze.Experiment, u *timeUnits) sheet.Table {
	return compared("from", "s", windowLines(e), u)
}

// windowLines returns a line for each window.
func windowLines(e *analyze.Experiment) []line {
	lines := make([]line, 0, len(e.Windows))
	for i := range e.Windows {
		w := &e.Windows[i]
		lines = append(lines, line{name: offset(w.OffsetNS, windowed(e)), throughput: &w.Throughput, metric: w.Metric, ok: w.OK, failed: w.Failed})
	}
	return lines
}

// windowed returns the time from the start of the first window to the end of the last.
func windowed(e *analyze.Experiment) time.Duration {
	return analyze.Span{FromNS: e.Windows[0].FromNS, ToNS: e.Windows[len(e.Windows)-1].ToNS}.Duration()
}

// windowNote returns a description of the windows.
func windowNote(e *analyze.Experiment) string {
	n := len(e.Windows)
	first, last := e.Windows[0].Duration(), e.Windows[n-1].Duration()
	note := "windows of " + offset(int64(first), windowed(e)) + " s, by the start of requests"
	for i := range e.Windows[:n-1] {
		if e.Windows[i].Duration().Round(time.Millisecond) != first.Round(time.Millisecond) {
			return "windows of different lengths, by the start of requests"
		}
	}
	if text := offset(int64(last), windowed(e)); text != offset(int64(first), windowed(e)) {
		note += "; the last one is " + text + " s"
	}
	return note
}
