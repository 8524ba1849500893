package report

import (
	"fmt"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/export"
)

// client returns a line about the recorder's CPU and memory and its delays; "" if it did
// not measure them.
func client(m *export.ClientMeta, unit scale) string {
	if m == nil {
		return ""
	}
	var parts []string
	say := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if c := m.CPU; c != nil {
		say("%s of %s", percent(c.Share), plural.Of(c.Cores, "CPU core"))
	}
	if m.MaxRSSBytes > 0 {
		say("%d MB of memory", (m.MaxRSSBytes+1<<19)>>20)
	}
	if m.OfferedPerSecond > 0 {
		say("%s of %s requests/s sent", number(m.AchievedPerSecond), number(m.OfferedPerSecond))
	}
	if m.HeldBack > 0 {
		say("%s held back", plural.Of(m.HeldBack, "request"))
	}
	if l := m.Lateness; l != nil {
		say("sent late by p99 %s", unit.span(float64(l.P99NS)))
	}
	if t := m.Turnaround; t != nil {
		say("from the end of a request to the next one p50 %s, p99 %s", unit.span(float64(t.P50NS)), unit.span(float64(t.P99NS)))
	}
	if g := m.GC; g != nil && g.Cycles > 0 {
		say("longest garbage collection %s", unit.span(float64(g.PauseMaxNS)))
	}
	if r := m.Reads; r != nil && r.Merged > 0 {
		say("%s of the responses arrived with the previous one", percent(r.MergedShare()))
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
func percent(f float64) string { return number(100*f) + "%" }
