package recorder

import (
	"fmt"
	"time"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/export"
)

// Thresholds above which saturation warns. docs/trust.md explains them.
const (
	busyCPU = 0.9 // of the cores, over a level of at least busyFor
	busyFor = time.Second
	// 99 of 100 turnarounds, from the end of a request to the start of the next one
	// in its slot, may take slowTurnaround, or slowShare of the median latency if that
	// is more.
	slowTurnaround = 10 * time.Millisecond
	slowShare      = 0.01
	// missedShare of a schedule's requests may be unsent, and 99 of 100 may be late by
	// up to lateLimit, which is perf_analyzer's limit.
	missedShare  = 0.01
	lateLimit    = time.Millisecond
	mergedShare  = 0.01 // of the responses with output,
	fewestMerged = 20   // and so many
	longPause    = 10 * time.Millisecond
	fullFDs      = 0.9 // of the limit
	// fewest is the number of values from which their 99th percentile is judged.
	fewest = 100
)

// saturation returns the reasons why the client of m may have been the limit or has lost
// times, each a sentence; nil if there are none. median is the median latency of the
// level's requests.
func saturation(m *export.ClientMeta, median time.Duration) []string {
	var w []string
	say := func(format string, args ...any) {
		w = append(w, export.SaturationWarning+fmt.Sprintf(format, args...))
	}
	if c := m.CPU; c != nil && c.Share >= busyCPU && m.DurationNS >= int64(busyFor) {
		say("it used %.0f%% of the time of its %s; give it more cores, or send less load", 100*c.Share, plural.Of(c.Cores, "core"))
	}
	// With few requests, the last one alone would decide.
	judged := m.HeldBack > 0 || m.Lateness != nil && m.Lateness.N >= fewest
	if judged && m.AchievedPerSecond < (1-missedShare)*m.OfferedPerSecond {
		got := fmt.Sprintf("%.6g of the %.6g "+export.UnsentWarning, m.AchievedPerSecond, m.OfferedPerSecond)
		if m.HeldBack > 0 {
			w = append(w, fmt.Sprintf("%s: %s had to wait, because the most requests allowed were in flight", got, plural.Grouped(m.HeldBack)))
		} else {
			say("%s; give it more cores, or lower the rate", got)
		}
	}
	if t := m.Lateness; t != nil && t.N >= fewest && time.Duration(t.P99NS) > lateLimit {
		say("1 in 100 requests was sent more than %s after it was due (at most %s is expected)", rounded(t.P99NS), plural.Time(lateLimit))
	}
	if t := m.Turnaround; t != nil && t.N >= fewest {
		if most := max(slowTurnaround, time.Duration(slowShare*float64(median))); time.Duration(t.P99NS) > most {
			say("1 in 100 requests was sent more than %s after the previous request had ended (at most %s is expected)", rounded(t.P99NS), rounded(int64(most)))
		}
	}
	if r := m.Reads; r != nil && r.Merged >= fewestMerged && r.MergedShare() > mergedShare {
		w = append(w, fmt.Sprintf("%s of %s arrived together with the previous one, so their gaps are unknown; %s", plural.Grouped(r.Merged), plural.GroupedOf(r.Responses, "token"), m.Together()))
	}
	if s := m.Stamps; s != nil && s.Waited > 0 {
		// The cause is the network, but the kernel's times of these responses are lost.
		w = append(w, fmt.Sprintf("%s of %s waited for a lost or reordered packet; %s when pa-record read %s", plural.Grouped(s.Waited), plural.GroupedOf(s.Kernel+s.User, "response"), plural.Form(s.Waited, "its time is", "their times are"), plural.Form(s.Waited, "it", "them")))
	}
	if m.Compressed > 0 {
		w = append(w, fmt.Sprintf("%s came compressed, which pa-record does not ask for; compression can hold tokens back: switch it off in the server or the proxy", plural.GroupedOf(m.Compressed, "answer")))
	}
	if g := m.GC; g != nil && time.Duration(g.PauseMaxNS) > longPause {
		say("a garbage collection stopped it for %s", rounded(g.PauseMaxNS))
	}
	if f := m.FDs; f != nil && float64(f.Open) >= fullFDs*float64(f.Limit) {
		say("%s of %s file descriptors are open; raise ulimit -n", plural.Grouped(f.Open), plural.Grouped(f.Limit))
	}
	return w
}

// rounded formats a rounded duration for a message.
func rounded(ns int64) string {
	return plural.Time(time.Duration(ns).Round(100 * time.Microsecond))
}
