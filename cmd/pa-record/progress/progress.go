package progress

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/forecast"
	"github.com/pa-tools/pa/pkg/recorder/window"
)

// plainEvery is the period of progress lines where there is no terminal.
const plainEvery = 10 * time.Second

// A Display shows a run that is under way. A nil Display shows nothing.
type Display struct {
	w io.Writer
	// columns returns the width of the terminal; nil means plain lines.
	columns func() int
	style   displayStyle
	now     func() time.Time
	run     Run

	after recorder.Figure // time of the runs after this one, in seconds

	last    time.Time   // of the last plain line
	history rateHistory // for the terminal
	erase   string      // removes what is on a terminal; "" if nothing is
}

// A Run names a run among several. The zero value is an only run.
type Run struct {
	Prefix string // of a plain line: "run 2 of 3: "
	Short  string // on a terminal: "run 2/3"
}

// A redrawer keeps a text last on a terminal, as a stream of package printer does.
type redrawer interface{ Redraw(text, erase string) }

// A displayStyle says what a terminal shows beside plain ASCII.
type displayStyle struct {
	color bool
	// blocks are the characters of a sparkline.
	blocks bool
}

// New returns a display that writes to w, for a run among the runs of --repeat.
// getenv returns environment variables (NO_COLOR, TERM, and the locale). columns returns the width
// of the terminal; nil means plain lines.
func New(w io.Writer, run Run, getenv func(string) string, columns func() int) *Display {
	p := &Display{
		w: sanitize.Raw(w), style: displayStyle{color: getenv("NO_COLOR") == "", blocks: sheet.ShowsSparklines(getenv)},
		now: time.Now, run: run,
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

// RunsAfter sets the time of the runs after this one, in seconds.
func (p *Display) RunsAfter(time recorder.Figure) {
	if p != nil {
		p.after = time
	}
}

func (p *Display) show(s recorder.Progress) {
	s.Later = s.Later.Add(p.after)
	if p.columns != nil {
		p.history.add(s)
		p.redraw(p.screen(s))
		return
	}
	if now := p.now(); now.Sub(p.last) >= plainEvery {
		p.last = now
		fmt.Fprint(p.w, "pa-record: "+plainLine(s, p.run)+"\n")
	}
}

// screen returns the lines for a terminal, and what erases them when the cursor is at
// their end.
func (p *Display) screen(s recorder.Progress) (text, erase string) {
	columns := p.columns()
	text, erase = redrawnLine(s, p.run, columns, p.style), "\r\x1b[K"
	if recent := recentLine(s, p.history.rates, columns, p.style); recent != "" {
		text += "\n" + recent
		erase += "\x1b[A\x1b[K"
	}
	return text, erase
}

// redraw shows text in place of the previous one. It drops a text that has not been
// written yet.
func (p *Display) redraw(text, erase string) {
	if w, ok := p.w.(redrawer); ok {
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

// A rateHistory holds the throughput of a stage of a level over its last seconds.
type rateHistory struct {
	level  int
	warmup bool
	until  time.Duration // since the level began
	rates  []float64     // one for each second, oldest first: see throughput
}

// add adds a snapshot, once a second.
func (h *rateHistory) add(s recorder.Progress) {
	switch {
	case s.Index != h.level || s.Warmup != h.warmup || s.Elapsed < h.until:
		*h = rateHistory{level: s.Index, warmup: s.Warmup, until: s.Elapsed}
	case s.Elapsed-h.until < time.Second:
		return
	}
	h.until = s.Elapsed
	h.rates = append(h.rates[max(0, len(h.rates)-historySeconds+1):], throughput(&s))
}

// showsStreams reports whether tokens of streamed requests arrived lately, or such requests ended.
func showsStreams(s *recorder.Progress) bool {
	return s.Recent.TTFT.P50 > 0 || s.Recent.TokensPerSecond > 0
}

// throughput returns the output tokens per second; the requests per second where none was
// streamed.
func throughput(s *recorder.Progress) float64 {
	if showsStreams(s) {
		return s.Recent.TokensPerSecond
	}
	return s.Recent.RequestsPerSecond
}

// plainLine returns a line that says how far the run is.
func plainLine(s recorder.Progress, run Run) string {
	line := run.Prefix + levelText(s, " (level %d of %d)") + ": "
	if s.Warmup {
		line += "warming up: "
	}
	line += requestsDone(s)
	for _, part := range []string{failedText(s), fmt.Sprintf("%d in flight", s.InFlight), latencyText(s), tokenRateText(s), timeLeftText(s, run)} {
		if part != "" {
			line += ", " + part
		}
	}
	return line + ", " + forecast.BriefTime(s.Elapsed) + " so far"
}

// levelText returns the load of the level under way and its number. many is the format of the number
// among several levels.
func levelText(s recorder.Progress, many string) string {
	switch {
	case s.Levels > 1:
		return s.Load.String() + fmt.Sprintf(many, s.Index+1, s.Levels)
	case s.Levels == 0:
		return s.Load.String() + fmt.Sprintf(" (level %d)", s.Index+1)
	}
	return s.Load.String()
}

// Bounds of the bar's inside, in columns.
const (
	widestBar    = 30
	narrowestBar = 8
)

// A linePart is a piece of a line on a terminal. If there is no room for all parts, the one with
// the lowest rank is left out first.
type linePart struct {
	rank  int
	text  string
	color lineColor
}

// A lineColor is the parameter of the escape sequence that selects it; 0 for none.
type lineColor int

const (
	red    lineColor = 31 // failures
	yellow lineColor = 33 // a measurement that is in doubt
)

// redrawnLine returns the line for a terminal of that many columns that says how far the
// run is. It never fills the last column, where some terminals wrap.
func redrawnLine(s recorder.Progress, run Run, columns int, style displayStyle) string {
	level := levelText(s, " (%d/%d)")
	if s.Warmup {
		level += " warm-up"
	}
	done := fmt.Sprintf("%d done", s.Done)
	if s.Target > 0 {
		done = fmt.Sprintf("%d/%d", s.Done, s.Target)
	}
	parts := []linePart{
		{4, run.Short, 0},
		{9, level, 0},
		{5, "", 0}, // the bar
		{8, done, 0},
		{7, failedText(s), red},
		{1, fmt.Sprintf("%d in flight", s.InFlight), 0},
		{6, timeLeftText(s, run), 0},
	}
	if s.Fraction > 0 || s.Target > 0 {
		bar := &parts[2].text
		*bar = drawBar(s.Fraction, narrowestBar)
		fitParts(parts, columns-1)
		if room := columns - 1 - partsWidth(parts); *bar != "" && room > 0 {
			*bar = drawBar(s.Fraction, min(narrowestBar+room, widestBar))
		}
	} else {
		fitParts(parts, columns-1)
	}
	return joinParts(parts, style)
}

// shortestSparkline is the least number of columns of a sparkline.
const shortestSparkline = 8

// recentLine returns the line for a terminal of that many columns with the figures of the
// last five seconds; "" if there are none. rates are the throughputs of the sparkline. A
// terminal echoes Ctrl-C behind the line as two characters, which must not wrap.
func recentLine(s recorder.Progress, rates []float64, columns int, style displayStyle) string {
	r, room := &s.Recent, columns-3
	parts := []linePart{
		{2, "last 5 s:", 0},
		{5, percentilesText("TTFT", r.TTFT), 0},
		{4, percentilesText("ITL", r.ITL), 0},
		{5, "", 0}, // E2EL
		{3, tokenRateText(s), 0},
		{1, requestRateText(s), 0},
		{6, "", yellow},
	}
	if !showsStreams(&s) {
		parts[3].text = percentilesText("E2EL", r.E2EL)
	}
	if s.ClientLimited {
		parts[6].text = "client may be the limit"
	}
	if r.RequestsPerSecond == 0 && r.TokensPerSecond == 0 && !s.ClientLimited {
		return ""
	}
	fitParts(parts, room)
	rate := &parts[4]
	if !showsStreams(&s) {
		rate = &parts[5]
	}
	if free := room - partsWidth(parts) - 2; style.blocks && rate.text != "" && len(rates) > 1 && free >= shortestSparkline {
		rate.text += "  " + sheet.Sparkline(rates, min(free, historySeconds))
	}
	return joinParts(parts, style)
}

// joinParts joins the parts of a line, in color if style has it.
func joinParts(parts []linePart, style displayStyle) string {
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

// fitParts removes parts, and cuts the last one, until their width is at most room.
func fitParts(parts []linePart, room int) {
	for partsWidth(parts) > max(room, 0) {
		var lowest *linePart
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

// partsWidth returns the number of columns of the parts, with two blanks between them. All
// parts are ASCII but the sparkline, which is added last.
func partsWidth(parts []linePart) int {
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

func failedText(s recorder.Progress) string {
	if s.Failed == 0 {
		return ""
	}
	return fmt.Sprintf("%d failed", s.Failed)
}

// latencyText returns the median TTFT of streamed requests, or the E2EL if none are streamed.
func latencyText(s recorder.Progress) string {
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

// percentilesText returns "TTFT p50 45.2 p99 80.1 ms"; "" if there are none.
func percentilesText(name string, p window.Percentiles) string {
	if p.P50 == 0 {
		return ""
	}
	ms := func(d time.Duration) string { return forecast.ThreeDigits(float64(d) / float64(time.Millisecond)) }
	return fmt.Sprintf("%s p50 %s p99 %s ms", name, ms(p.P50), ms(p.P99))
}

func tokenRateText(s recorder.Progress) string {
	switch v := s.Recent.TokensPerSecond; {
	case v == 0:
		return ""
	case v < 9999.5:
		return fmt.Sprintf("%.0f tok/s", v)
	default:
		return fmt.Sprintf("%.1fk tok/s", v/1000)
	}
}

func requestRateText(s recorder.Progress) string {
	if s.Recent.RequestsPerSecond == 0 {
		return ""
	}
	return forecast.ThreeDigits(s.Recent.RequestsPerSecond) + " req/s"
}

// timeLeftText returns how much of the level is left, and of all levels or runs if that is known
// and more.
func timeLeftText(s recorder.Progress, run Run) string {
	if s.Left < time.Second {
		return ""
	}
	text := forecast.BoundedTime(s.Left, s.AtMost) + " left"
	if later := s.Later; later.Known() && later.Value >= 1 {
		of := "all levels"
		if run.Prefix != "" {
			of = "all runs"
		}
		all := s.Left + time.Duration(min(later.Value, forecast.MaxSeconds/2)*float64(time.Second))
		text += " (" + of + ": " + forecast.BoundedTime(all, s.AtMost || later.Bound == recorder.AtMost) + ")"
	}
	return text
}
