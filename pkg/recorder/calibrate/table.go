package calibrate

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/export"
)

// WriteTable writes a result as tables for people, 80 columns wide.
func WriteTable(w io.Writer, c *export.Calibration) error {
	var b strings.Builder
	for i := range c.Services {
		s := &c.Services[i]
		fmt.Fprintf(&b, "%s by %s: %s of %v tokens/s, answers of %s, %s\n", s.Service, s.Transport, plural.Of(s.Streams, "stream"), s.TokensPerSecond, plural.Of(s.TokensPerRequest, "token"), plural.Of(s.Rounds, "round"))
		b.WriteString("recorded minus true time in µs: percentiles of the size, median with its sign\n\n")
		fmt.Fprintf(&b, "  %-9s%-7s%8s%9s%9s%9s%9s%9s%9s\n", "", "times", "n", "p50", "p90", "p99", "p99.9", "max", "median")
		for _, what := range []struct {
			name string
			of   func(*export.CalibratedRecording) *export.ClockError
		}{
			{"received", func(r *export.CalibratedRecording) *export.ClockError { return r.Receive }},
			{"started", func(r *export.CalibratedRecording) *export.ClockError { return r.Start }},
		} {
			name := what.name
			for j := range s.Recordings {
				r := &s.Recordings[j]
				fmt.Fprintf(&b, "  %-9s%-7s", name, r.Stamps)
				name = ""
				e := what.of(r)
				if e == nil {
					fmt.Fprintf(&b, "%8d\n", 0)
					continue
				}
				fmt.Fprintf(&b, "%8d", e.N)
				for _, ns := range []int64{e.P50NS, e.P90NS, e.P99NS, e.P999NS, e.MaxNS, e.MedianNS} {
					fmt.Fprintf(&b, "%9s", micros(ns))
				}
				b.WriteByte('\n')
			}
		}
		b.WriteByte('\n')
		for j := range s.Recordings {
			recordingNotes(&b, &s.Recordings[j])
		}
		b.WriteByte('\n')
	}
	b.WriteString("What this cannot show:\n")
	for _, l := range c.Limits {
		wrap(&b, "- ", l)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// micros formats nanoseconds as microseconds with one decimal.
func micros(ns int64) string { return strconv.FormatFloat(float64(ns)/1e3, 'f', 1, 64) }

// recordingNotes writes the numbers of times and the clocks of a recording.
func recordingNotes(b *strings.Builder, r *export.CalibratedRecording) {
	n := r.Sources.Kernel + r.Sources.User
	text := fmt.Sprintf("%s: the kernel took %d of %d times of tokens and %d of %d starts", r.Stamps,
		r.Sources.Kernel, n, r.StartSources.Kernel, r.StartSources.Kernel+r.StartSources.User)
	if n > 0 {
		text += fmt.Sprintf("; %.2f %% of the tokens came in one read with the previous token (the tokens of a read share the time of the last)", 100*float64(r.Merged)/float64(n))
	}
	if e := r.Receive; e != nil && e.Truth.User > 0 {
		text += fmt.Sprintf("; %s %s compared with the server's own clock, because its kernel has no time of %s", plural.GroupedOf(e.Truth.User, "token"), plural.Form(e.Truth.User, "is", "are"), plural.Form(e.Truth.User, "it", "them"))
	}
	if r.Skipped > 0 {
		text += "; left out: " + plural.Of(r.Skipped, "request") + ", failed or not what the server sent"
	}
	wrap(b, "  ", text)
}

// wrap writes text in lines of 80 columns. The first line begins with first, the others
// are indented by its width.
func wrap(b *strings.Builder, first, text string) {
	const width = 80
	line := first
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
			line += word
		case len([]rune(line))+1+len([]rune(word)) > width:
			b.WriteString(line + "\n")
			line = strings.Repeat(" ", len([]rune(first))) + word
		default:
			line += " " + word
		}
	}
	b.WriteString(line + "\n")
}
