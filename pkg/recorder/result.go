package recorder

import (
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/pawindow"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/window"
)

// A Result summarizes a run. The measured data is in the export.
type Result struct {
	Levels []Level
	// Interrupted says that the run was stopped before its end.
	Interrupted bool
	// Warnings are about the telemetry of the whole run, each a sentence.
	Warnings []string
	// Next is the position in the data after the last request that was sent, for
	// Config.First of a later run.
	Next int
	// Hash identifies the input data.
	Hash DataHash
	// Submission is of Config.Judge; nil without it.
	Submission *export.Submission
}

// EndedEarly is the prefix of the warning in the export of a run that an error ended. The
// text of the error follows.
const EndedEarly = "ended early: "

// A Level is the outcome of one load level.
type Level struct {
	Load    load.Level
	StartNS uint64 // when the level began, warm-up included
	Windows []window.Window
	// Reported joins the last windows, three at most, as perf_analyzer's report does.
	Reported window.Window
	// Stable says whether the last windows met the stability rule; nil when no rule
	// applied (a request count or a duration), or the run was interrupted.
	Stable *bool
	// OverLimit says that the level did not meet Config.Objective, that the latency of Reported
	// reached Measure.LatencyLimit, or that
	// the latency of a window did, which ended the measurement before it was stable.
	OverLimit bool

	OK, Failed, Warmup, Late, Cancelled int
	// Overflowed counts the requests among Failed, and of the warm-up, that were longer than the context of the model.
	Overflowed int
	// Sessions counts the sessions of the level; nil for a level without sessions.
	Sessions *export.SessionCounts

	// Latency summarizes the latencies of the measured requests.
	Latency window.Latency
	// Streamed says that a measured request had several responses, Sequences that one
	// belonged to a sequence.
	Streamed, Sequences bool
	// Times holds the mean time of each phase of the requests of Reported; nil when
	// there were no requests, or the times are unknown.
	Times *pawindow.MeanTimes

	// Resent counts requests that were sent again: see [export.Request.Resent].
	Resent int
	// OutputsDropped counts requests whose outputs were dropped because the disk was too
	// slow.
	OutputsDropped int
	// Prompts says which part of the data the level sent.
	Prompts *export.LevelPrompts
	// Warnings are further warnings about the load, each a sentence.
	Warnings []string
	// ServerStats holds the server's counters during the level; nil without
	// Config.ServerStats.
	ServerStats *export.ServerStats
	// Client holds the recorder's figures about itself; nil when nothing was measured.
	Client *export.ClientMeta
	// Pauses lists the times during the level in which the recorder could not run.
	Pauses []export.Pause
	// Saturated lists the reasons why the client may have been the limit, each a
	// sentence; nil when it was not.
	Saturated []string
}

// Unstable reports whether the level used up its windows without becoming stable. A level
// that the latency limit ended is not unstable.
func (l *Level) Unstable() bool { return l.Stable != nil && !*l.Stable && !l.OverLimit }

// RequestsPerSecond returns the number of measured requests divided by the time from the
// start of the first window to the end of the last one; 0 when that is 0.
func (l *Level) RequestsPerSecond() float64 {
	if n := len(l.Windows); n > 0 && l.Windows[n-1].EndNS > l.Windows[0].StartNS {
		return float64(l.OK) / time.Duration(l.Windows[n-1].EndNS-l.Windows[0].StartNS).Seconds()
	}
	return 0
}
