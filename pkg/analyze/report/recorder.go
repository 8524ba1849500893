package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/export"
)

// clientLine returns what a level says of the recorder: in short if it kept up, else in full; ""
// if it did not measure itself. full asks for the long form.
func clientLine(e *analyze.Experiment, unit TimeUnit, full bool) string {
	if m := e.Client; !full && keptUp(e) {
		text := fmt.Sprintf("client ok (%s CPU", wholePercent(m.CPU.Share))
		if m.MaxRSSBytes > 0 {
			text += ", " + megabytes(m.MaxRSSBytes)
		}
		return text + ")"
	}
	text := client(e.Client, unit)
	if text == "" {
		return ""
	}
	return "client (pa-record): " + text
}

// keptUp reports whether the recorder measured itself and found nothing wrong: it warned of
// nothing, sent what it was to send, and lost no time to packets.
func keptUp(e *analyze.Experiment) bool {
	const leastSent = 0.95 // of the offered rate
	m := e.Client
	return m != nil && m.CPU != nil && m.HeldBack == 0 && m.AchievedPerSecond >= leastSent*m.OfferedPerSecond && m.Stamps.WaitedShare() == 0 &&
		!slices.ContainsFunc(e.Warnings, analyze.AboutClient)
}

// wholePercent formats a fraction without decimals: "12%".
func wholePercent(f float64) string {
	if f > 0 && f < 0.005 {
		return "under 1%"
	}
	return fmt.Sprintf("%.0f%%", 100*f)
}

// megabytes formats a number of bytes.
func megabytes(n int64) string { return fmt.Sprintf("%d MB", (n+1<<19)>>20) }

// client returns a line about the recorder's CPU and memory and its delays; "" if it did
// not measure them.
func client(m *export.ClientMeta, unit TimeUnit) string {
	if m == nil {
		return ""
	}
	var parts []string
	say := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if c := m.CPU; c != nil {
		say("%s of %s", percent(c.Share), plural.Of(c.Cores, "CPU core"))
	}
	if m.MaxRSSBytes > 0 {
		say("%s of memory", megabytes(m.MaxRSSBytes))
	}
	if m.OfferedPerSecond > 0 {
		say("sent %s of the %s requests/s asked for", Number(m.AchievedPerSecond), Number(m.OfferedPerSecond))
	}
	if m.HeldBack > 0 {
		say("%s held back", plural.Of(m.HeldBack, "request"))
	}
	if l := m.Lateness; l != nil {
		say("requests sent late by p99 %s", unit.Span(float64(l.P99NS)))
	}
	if t := m.Turnaround; t != nil {
		say("slots idle between requests for p50 %s, p99 %s", unit.Span(float64(t.P50NS)), unit.Span(float64(t.P99NS)))
	}
	if g := m.GC; g != nil && g.Cycles > 0 {
		say("longest garbage collection %s", unit.Span(float64(g.PauseMaxNS)))
	}
	if r := m.Reads; r != nil && r.Merged > 0 {
		why := m.Crowded()
		if why != "" {
			why = ": " + why
		}
		say("%s of the responses arrived with the previous one%s", percent(r.MergedShare()), why)
	}
	if share := m.Stamps.WaitedShare(); share > 0 {
		say("%s of the responses waited for a lost or reordered packet", percent(share))
	}
	return strings.Join(parts, " · ")
}

// clientTimes returns the times that client shows.
func clientTimes(m *export.ClientMeta) (ns []float64) {
	if m == nil {
		return nil
	}
	if l := m.Lateness; l != nil {
		ns = append(ns, float64(l.P99NS))
	}
	if t := m.Turnaround; t != nil {
		ns = append(ns, float64(t.P50NS), float64(t.P99NS))
	}
	if g := m.GC; g != nil && g.Cycles > 0 {
		ns = append(ns, float64(g.PauseMaxNS))
	}
	return ns
}

// percent formats a fraction: "12.15%".
func percent(f float64) string { return Number(100*f) + "%" }

// calibration calls row with the results of a calibration: for each service the load, and
// the errors of the tokens' times and of the requests' starts by the source of the time.
func calibration(c *export.Calibration, unit TimeUnit, row func(name, value string)) {
	for i := range c.Services {
		s := &c.Services[i]
		how := s.Service
		if s.Transport != "" {
			how += " by " + s.Transport
		}
		row("calibrated with", fmt.Sprintf("%s, %s of %v tokens/s", how, plural.Of(s.Streams, "stream"), s.TokensPerSecond))
		row("error of tokens", p99s(s.Recordings, unit, func(r *export.CalibratedRecording) *export.ClockError { return r.Receive }))
		row("error of starts", p99s(s.Recordings, unit, func(r *export.CalibratedRecording) *export.ClockError { return r.Start }))
	}
}

// p99s returns "p99 19.1 µs from the kernel, 367.8 µs from the program". The function of
// selects the error of a recording; p99s returns "" if no recording has that error.
func p99s(recordings []export.CalibratedRecording, unit TimeUnit, of func(*export.CalibratedRecording) *export.ClockError) string {
	var parts []string
	for i := range recordings {
		r := &recordings[i]
		who := r.Stamps
		switch who {
		case "kernel":
			who = "from the kernel"
		case "user":
			who = "from the program"
		}
		if e := of(r); e != nil {
			parts = append(parts, unit.Span(float64(e.P99NS))+" "+who)
		}
	}
	if parts == nil {
		return ""
	}
	return "p99 " + strings.Join(parts, ", ")
}

// calibrationErrors returns the times that calibration shows.
func calibrationErrors(c *export.Calibration) (ns []float64) {
	for i := range c.Services {
		for j := range c.Services[i].Recordings {
			r := &c.Services[i].Recordings[j]
			for _, e := range []*export.ClockError{r.Receive, r.Start} {
				if e != nil {
					ns = append(ns, float64(e.P99NS))
				}
			}
		}
	}
	return ns
}

// shardRows calls row with how a run was put together from shards, or which shard of a run a
// file is.
func shardRows(m *export.RunMeta, row func(name, value string)) {
	if s := m.Shard; s != nil && s.WorldSize > 1 {
		row("shard", fmt.Sprintf("rank %d of %s", s.Rank, plural.GroupedOf(s.WorldSize, "rank")))
	}
	s := m.Merged
	if s == nil {
		return
	}
	hosts := map[string]bool{}
	for i := range s.Shards {
		hosts[s.Shards[i].Host] = true
	}
	name, text := "shards", fmt.Sprintf("%s of %s", plural.Grouped(len(s.Shards)), plural.GroupedOf(s.WorldSize, "rank"))
	if s.DividedBy == export.DividedByClient {
		name, text = "clients", plural.Grouped(len(s.Shards))
	}
	if !hosts[""] && len(hosts) > 0 {
		text += " on " + plural.GroupedOf(len(hosts), "machine")
	}
	switch {
	case len(s.Shards) < 2:
	case s.ClockBoundNS == nil:
		text += ", not all clocks compared"
	default:
		bound := float64(*s.ClockBoundNS)
		text += ", clocks within " + RequestUnit([]float64{bound}).Span(bound)
	}
	row(name, text)
	row("not merged", strings.Join(s.LeftOut, "; "))
}
