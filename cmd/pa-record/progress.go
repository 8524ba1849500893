package main

import (
	"fmt"
	"io"
	"time"

	"github.com/pa-tools/pa/pkg/recorder"
)

// plainEvery is the period of progress lines where there is no terminal.
const plainEvery = 10 * time.Second

// A progress shows a run under way on standard error: one line that is redrawn
// on a terminal, a line every ten seconds elsewhere.
type progress struct {
	w     io.Writer
	tty   bool
	last  time.Time
	drawn bool
}

func newProgress(w io.Writer, tty bool) *progress {
	return &progress{w: w, tty: tty, last: time.Now()}
}

// show takes the recorder's snapshot.
func (p *progress) show(s recorder.Progress) {
	if p.tty {
		fmt.Fprintf(p.w, "\r\x1b[K%s", progressLine(s))
		p.drawn = true
		return
	}
	if now := time.Now(); now.Sub(p.last) >= plainEvery {
		p.last = now
		fmt.Fprintln(p.w, "pa-record: "+progressLine(s))
	}
}

// clear takes the line away before something else is printed.
func (p *progress) clear() {
	if p.drawn {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.drawn = false
	}
}

func progressLine(s recorder.Progress) string {
	line := fmt.Sprintf("concurrency %d", s.Concurrency)
	if s.Levels > 1 {
		line += fmt.Sprintf(" (level %d of %d)", s.Level+1, s.Levels)
	}
	if s.Warmup {
		line += ", warming up"
	}
	line += fmt.Sprintf(": %d", s.OK)
	if s.Target > 0 {
		line += fmt.Sprintf(" of %d", s.Target)
	}
	line += " requests done"
	if s.Failed > 0 {
		line += fmt.Sprintf(", %d failed", s.Failed)
	}
	line += fmt.Sprintf(", %d in flight", s.InFlight)
	if s.Windows > 0 {
		line += fmt.Sprintf(", %d windows", s.Windows)
	}
	return line + fmt.Sprintf(", %.0f s", s.Elapsed.Seconds())
}
