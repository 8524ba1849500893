package progress

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/pa-tools/pa/cmd/pa-record/internal/printer"
	"github.com/pa-tools/pa/cmd/pa-record/internal/runindex"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/internal/sparkline"
	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/window"
)

// plainEvery is the period of progress lines where there is no terminal.
const plainEvery = 10 * time.Second

// A Display shows a run that is under way. A nil Display shows nothing.
type Display struct {
	w io.Writer
	// columns returns the width of the terminal; nil means plain lines.
	columns func() int
	style   style
	now     func() time.Time
	of      runindex.Index

	last    time.Time // of the last plain line
	history history   // for the terminal
	erase   string    // removes what is on a terminal; "" if nothing is
}

// A style says what a terminal shows beside plain ASCII.
type style struct {
	color bool
	// blocks are the characters of a sparkline.
	blocks bool
}

// New returns a display that writes to w. of is the run's number among the runs of --repeat.
// getenv returns environment variables (NO_COLOR, TERM, and the locale). columns returns the width
// of the terminal; nil means plain lines.
func New(w io.Writer, of runindex.Index, getenv func(string) string, columns func() int) *Display {
	p := &Display{
		w: sanitize.Raw(w), style: style{color: getenv("NO_COLOR") == "", blocks: sparkline.Shown(getenv)},
		now: time.Now, of: of,
	}
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
		p.history.add(s)
		p.redraw(p.screen(s))
		return
	}
	if now := p.now(); now.Sub(p.last) >= plainEvery {
		p.last = now
		fmt.Fprint(p.w, "pa-record: "+plainLine(s, p.of)+"\n")
	}
}

// screen returns the lines for a terminal, and what erases them when the cursor is at
// their end.
func (p *Display) screen(s recorder.Progress) (text, erase string) {
	columns := p.columns()
	text, erase = redrawnLine(s, p.of, columns, p.style), "\r\x1b[K"
	if recent := recentLine(s, p.history.rates, columns, p.style); recent != "" {
		text += "\n" + recent
		erase += "\x1b[A\x1b[K"
	}
	return text, erase
}

// redraw shows text in place of the previous one. It drops a text that has not been
// written yet.
func (p *Display) redraw(text, erase string) {
	if w, ok := p.w.(*printer.Stream); ok {
		w.Redraw(text, erase) // it erases, also when something else is printed
	} else {
		fmt.Fprint(p.w, p.erase+text)
	}
	p.erase = erase
}

// Clear removes the lines from the terminal.
func (p *Display) Clear() {
	if p != nil && p.erase != "" {
		p.redraw("", "")
	}
}

// historySeconds is how many seconds a history covers: the columns of the widest sparkline.
const historySeconds = 30

// A history holds the throughput of a stage of a level over its last seconds.
type history struct {
	level  int
	warmup bool
	until  time.Duration // since the level began
	rates  []float64     // one for each second, oldest first: see throughput
}

// add adds a snapshot, once a second.
func (h *history) add(s recorder.Progress) {
	switch {
	case s.Index != h.level || s.Warmup != h.warmup || s.Elapsed < h.until:
		*h = history{level: s.Index, warmup: s.Warmup, until: s.Elapsed}
	case s.Elapsed-h.until < time.Second:
		return
	}
	h.until = s.Elapsed
	h.rates = append(h.rates[max(0, len(h.rates)-historySeconds+1):], throughput(&s))
}

// streams reports whether tokens of streamed requests arrived lately, or such requests ended.
func streams(s *recorder.Progress) bool { return s.Recent.TTFT.P50 > 0 || s.Recent.TokensPerSecond > 0 }

// throughput returns the output tokens per second; the requests per second where none was
// streamed.
func throughput(s *recorder.Progress) float64 {
	if streams(s) {
		return s.Recent.TokensPerSecond
	}
	return s.Recent.RequestsPerSecond
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

// A part is a piece of a line on a terminal. If there is no room for all parts, the one with
// the lowest rank is left out first.
type part struct {
	rank  int
	text  string
	color color
}

// A color is the parameter of the escape sequence that selects it; 0 for none.
type color int

const (
	red    color = 31 // failures
	yellow color = 33 // a measurement that is in doubt
)

// redrawnLine returns the line for a terminal of that many columns that says how far the
// run is. It never fills the last column, where some terminals wrap.
func redrawnLine(s recorder.Progress, of runindex.Index, columns int, style style) string {
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
		{4, of.Short(), 0},
		{9, level, 0},
		{5, "", 0}, // the bar
		{8, done, 0},
		{7, failed(s), red},
		{1, fmt.Sprintf("%d in flight", s.InFlight), 0},
		{6, timeLeft(s), 0},
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
	return join(parts, style)
}

// shortestSparkline is the least number of columns of a sparkline.
const shortestSparkline = 8

// recentLine returns the line for a terminal of that many columns with the figures of the
// last five seconds; "" if there are none. rates are the throughputs of the sparkline. A
// terminal echoes Ctrl-C behind the line as two characters, which must not wrap.
func recentLine(s recorder.Progress, rates []float64, columns int, style style) string {
	r, room := &s.Recent, columns-3
	parts := []part{
		{2, "last 5 s:", 0},
		{5, percentiles("TTFT", r.TTFT), 0},
		{4, percentiles("ITL", r.ITL), 0},
		{5, "", 0}, // E2EL
		{3, tokenRate(s), 0},
		{1, requestRate(s), 0},
		{6, "", yellow},
	}
	if !streams(&s) {
		parts[3].text = percentiles("E2EL", r.E2EL)
	}
	if s.ClientLimited {
		parts[6].text = "client may be the limit"
	}
	if r.RequestsPerSecond == 0 && r.TokensPerSecond == 0 && !s.ClientLimited {
		return ""
	}
	fit(parts, room)
	rate := &parts[4]
	if !streams(&s) {
		rate = &parts[5]
	}
	if free := room - width(parts) - 2; style.blocks && rate.text != "" && len(rates) > 1 && free >= shortestSparkline {
		rate.text += "  " + sparkline.Line(rates, min(free, historySeconds))
	}
	return join(parts, style)
}

// join joins the parts of a line, in color if style has it.
func join(parts []part, style style) string {
	var b strings.Builder
	for _, p := range parts {
		if p.text == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("  ")
		}
		if p.color != 0 && style.color {
			p.text = fmt.Sprintf("\x1b[%dm%s\x1b[0m", p.color, p.text)
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
// parts are ASCII but the sparkline, which is added last.
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

// latency returns the median TTFT of streamed requests, or the E2EL if none are streamed.
func latency(s recorder.Progress) string {
	name, d := "TTFT", s.Recent.TTFT.P50
	if d == 0 {
		name, d = "E2EL", s.Recent.E2EL.P50
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

// percentiles returns "TTFT p50 45.2 p99 80.1 ms"; "" if there are none.
func percentiles(name string, p window.Percentiles) string {
	if p.P50 == 0 {
		return ""
	}
	ms := func(d time.Duration) string { return threeDigits(float64(d) / float64(time.Millisecond)) }
	return fmt.Sprintf("%s p50 %s p99 %s ms", name, ms(p.P50), ms(p.P99))
}

// threeDigits formats a number with three significant digits, or as a whole number.
func threeDigits(v float64) string {
	switch {
	case v < 9.995:
		return fmt.Sprintf("%.2f", v)
	case v < 99.95:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

func tokenRate(s recorder.Progress) string {
	switch v := s.Recent.TokensPerSecond; {
	case v == 0:
		return ""
	case v < 9999.5:
		return fmt.Sprintf("%.0f tok/s", v)
	default:
		return fmt.Sprintf("%.1fk tok/s", v/1000)
	}
}

func requestRate(s recorder.Progress) string {
	if s.Recent.RequestsPerSecond == 0 {
		return ""
	}
	return threeDigits(s.Recent.RequestsPerSecond) + " req/s"
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
