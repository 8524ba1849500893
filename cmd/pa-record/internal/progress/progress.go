package progress

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/pa-tools/pa/cmd/pa-record/internal/printer"
	"github.com/pa-tools/pa/cmd/pa-record/internal/runindex"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/recorder"
)

// plainEvery is the period of progress lines where there is no terminal.
const plainEvery = 10 * time.Second

// A Display shows a run that is under way. A nil Display shows nothing.
type Display struct {
	w io.Writer
	// columns returns the width of the terminal; nil means plain lines.
	columns func() int
	color   bool
	now     func() time.Time
	of      runindex.Index

	last  time.Time // of the last plain line
	drawn bool
}

// New returns a display that writes to w. of is the run's number among the runs of --repeat.
// getenv returns environment variables (NO_COLOR, TERM). columns returns the width of the
// terminal; nil means plain lines.
func New(w io.Writer, of runindex.Index, getenv func(string) string, columns func() int) *Display {
	p := &Display{w: sanitize.Raw(w), color: getenv("NO_COLOR") == "", now: time.Now, of: of}
	if columns != nil && getenv("TERM") != "dumb" {
		p.columns = columns
	}
	p.last = p.now()
	return p
}

// Callback returns the function that shows a snapshot of the run; nil for a nil Display.
func (p *Display) Callback() func(recorder.Progress) {
	if p == nil {
		return nil
	}
	return p.show
}

func (p *Display) show(s recorder.Progress) {
	if p.columns != nil {
		p.draw("\r\x1b[K" + redrawnLine(s, p.of, p.columns(), p.color))
		p.drawn = true
		return
	}
	if now := p.now(); now.Sub(p.last) >= plainEvery {
		p.last = now
		p.draw("pa-record: " + plainLine(s, p.of) + "\n")
	}
}

// draw writes a line. It drops an older line that has not been written yet.
func (p *Display) draw(line string) {
	if w, ok := p.w.(*printer.Stream); ok {
		w.WriteLatest([]byte(line))
		return
	}
	fmt.Fprint(p.w, line)
}

// Clear removes the line from the terminal, before something else is printed.
func (p *Display) Clear() {
	if p != nil && p.drawn {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.drawn = false
	}
}

// plainLine returns a line that says how far the run is.
func plainLine(s recorder.Progress, of runindex.Index) string {
	line := of.Prefix() + s.Load.String()
	switch {
	case s.Levels > 1:
		line += fmt.Sprintf(" (level %d of %d)", s.Index+1, s.Levels)
	case s.Levels == 0:
		line += fmt.Sprintf(" (level %d)", s.Index+1)
	}
	line += ": "
	if s.Warmup {
		line += "warming up: "
	}
	line += requestsDone(s)
	for _, part := range []string{failed(s), fmt.Sprintf("%d in flight", s.InFlight), latency(s), tokenRate(s), timeLeft(s)} {
		if part != "" {
			line += ", " + part
		}
	}
	return line + ", " + brief(s.Elapsed) + " so far"
}

// Bounds of the bar's inside, in columns.
const (
	widestBar    = 30
	narrowestBar = 8
)

// A part is a piece of the redrawn line. If there is no room for all parts, the one with
// the lowest rank is left out first.
type part struct {
	rank int
	text string
	red  bool
}

// redrawnLine returns the line for a terminal of that many columns. It never fills the
// last column, where some terminals wrap.
func redrawnLine(s recorder.Progress, of runindex.Index, columns int, color bool) string {
	level := s.Load.String()
	switch {
	case s.Levels > 1:
		level += fmt.Sprintf(" (%d/%d)", s.Index+1, s.Levels)
	case s.Levels == 0:
		level += fmt.Sprintf(" (level %d)", s.Index+1)
	}
	if s.Warmup {
		level += " warm-up"
	}
	done := fmt.Sprintf("%d done", s.Done)
	if s.Target > 0 {
		done = fmt.Sprintf("%d/%d", s.Done, s.Target)
	}
	parts := []part{
		{4, of.Short(), false},
		{9, level, false},
		{5, "", false}, // the bar
		{8, done, false},
		{7, failed(s), true},
		{1, fmt.Sprintf("%d in flight", s.InFlight), false},
		{3, latency(s), false},
		{2, tokenRate(s), false},
		{6, timeLeft(s), false},
	}
	if s.Fraction > 0 || s.Target > 0 {
		bar := &parts[2].text
		*bar = drawBar(s.Fraction, narrowestBar)
		fit(parts, columns-1)
		if room := columns - 1 - width(parts); *bar != "" && room > 0 {
			*bar = drawBar(s.Fraction, min(narrowestBar+room, widestBar))
		}
	} else {
		fit(parts, columns-1)
	}
	var b strings.Builder
	for _, p := range parts {
		if p.text == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("  ")
		}
		if p.red && color {
			p.text = "\x1b[31m" + p.text + "\x1b[0m"
		}
		b.WriteString(p.text)
	}
	return b.String()
}

// fit removes parts, and cuts the last one, until their width is at most room.
func fit(parts []part, room int) {
	for width(parts) > max(room, 0) {
		var lowest *part
		n := 0
		for i := range parts {
			p := &parts[i]
			if p.text == "" {
				continue
			}
			n++
			if lowest == nil || p.rank < lowest.rank {
				lowest = p
			}
		}
		if n == 1 {
			lowest.text = lowest.text[:max(room, 0)]
			return
		}
		lowest.text = ""
	}
}

// width returns the number of columns of the parts, with two blanks between them. All
// parts are ASCII.
func width(parts []part) int {
	n := 0
	for _, p := range parts {
		if p.text != "" {
			n += len(p.text) + 2
		}
	}
	return max(n-2, 0)
}

// drawBar draws a bar with an inside of n columns.
func drawBar(fraction float64, n int) string {
	full := int(fraction * float64(n))
	return "[" + strings.Repeat("#", full) + strings.Repeat("-", n-full) + "]"
}

func requestsDone(s recorder.Progress) string {
	if s.Target > 0 {
		return fmt.Sprintf("%d of %d done", s.Done, s.Target)
	}
	return fmt.Sprintf("%d done", s.Done)
}

func failed(s recorder.Progress) string {
	if s.Failed == 0 {
		return ""
	}
	return fmt.Sprintf("%d failed", s.Failed)
}

// latency returns the TTFT of streamed requests, or the E2EL if none are streamed.
func latency(s recorder.Progress) string {
	name, d := "TTFT", s.TTFT
	if d == 0 {
		name, d = "E2EL", s.E2EL
	}
	ms := float64(d) / float64(time.Millisecond)
	switch {
	case d == 0:
		return ""
	case ms < 9.995:
		return fmt.Sprintf("%s %.2f ms", name, ms)
	case ms < 999.5:
		return fmt.Sprintf("%s %.0f ms", name, ms)
	}
	return fmt.Sprintf("%s %.1f s", name, ms/1000)
}

func tokenRate(s recorder.Progress) string {
	switch {
	case s.TokensPerSecond == 0:
		return ""
	case s.TokensPerSecond < 9999.5:
		return fmt.Sprintf("%.0f tok/s", s.TokensPerSecond)
	}
	return fmt.Sprintf("%.1fk tok/s", s.TokensPerSecond/1000)
}

func timeLeft(s recorder.Progress) string {
	switch {
	case s.Left < time.Second:
		return ""
	case s.AtMost:
		return "at most " + brief(s.Left) + " left"
	}
	return brief(s.Left) + " left"
}

// brief formats a span for people: "12 s", "3m05s", "2h00m".
func brief(d time.Duration) string {
	s := int64(d / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%d s", s)
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	}
	return fmt.Sprintf("%dh%02dm", s/3600, s/60%60)
}
