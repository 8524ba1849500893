package recorder

import (
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/pawindow"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/window"
)

// A Result says how a run went. The measured data is in the export.
type Result struct {
	Levels []Level
	// Interrupted says that the run was stopped before its end.
	Interrupted bool
	// Warnings are about the whole run, each a sentence: telemetry that did not
	// come.
	Warnings []string
}

// EndedEarly begins the warning in the export of a run that an error ended; the
// error's text follows.
const EndedEarly = "ended early: "

// A Level is the outcome of one load level.
type Level struct {
	Load    load.Level
	StartNS uint64 // when the level began, warm-up included
	Windows []window.Window
	// Reported is what the level comes to as perf_analyzer reports it: its last
	// windows together, three at the most.
	Reported window.Window
	// Stable is whether the last windows met the stability rule; nil when no
	// rule applied (a request count or a duration), or the run was interrupted.
	Stable *bool
	// OverLimit says that the latency was over Measure.LatencyLimit: that of
	// Reported was as much or more, or that of a window, which ended the
	// measurement before it was stable.
	OverLimit bool

	OK, Failed, Warmup, Late, Cancelled int

	// Latency summarizes the latencies of the measured requests.
	Latency window.Latency
	// Responses counts the responses of the measured requests.
	Responses int
	// Streamed says that one of them had several responses, Sequences that they
	// were of sequences.
	Streamed, Sequences bool
	// Times is where the time of the requests of Reported went; nil when there were
	// none, or it is not known.
	Times *pawindow.MeanTimes

	// Resent counts requests that were sent again: see [export.Request.Resent].
	Resent int
	// OutputsDropped counts requests whose outputs the disk had no room for.
	OutputsDropped int
	// Warnings is what else is to be said of the load, each in a sentence.
	Warnings []string
	// ServerStats is what the server counted meanwhile; nil when it was not asked.
	ServerStats *export.ServerStats
	// Client is what the recorder saw of itself; nil when nothing was measured.
	Client *export.ClientMeta
	// Pauses lists the times during the level in which the recorder could not run.
	Pauses []export.Pause
	// Saturated says why the client may have been the limit, each reason in a
	// sentence; nil when it was not.
	Saturated []string
}

// Unstable reports whether the windows were used up before they were stable. A
// level that the latency limit ended is not unstable.
func (l *Level) Unstable() bool { return l.Stable != nil && !*l.Stable && !l.OverLimit }

// RequestsPerSecond returns the measured requests over the time of the
// measurement, 0 where there was none.
func (l *Level) RequestsPerSecond() float64 {
	elapsed := l.Elapsed()
	if elapsed <= 0 {
		return 0
	}
	return float64(l.OK) / elapsed.Seconds()
}

// Elapsed returns the time from the first window's start to the last one's
// end.
func (l *Level) Elapsed() time.Duration {
	if len(l.Windows) == 0 {
		return 0
	}
	return time.Duration(l.Windows[len(l.Windows)-1].EndNS - l.Windows[0].StartNS)
}

// Progress is a snapshot of a run under way.
type Progress struct {
	Index, Levels int // of the present level, and how many there are; 0: not known
	Load          load.Level
	Warmup        bool
	Windows       int // closed so far at this level
	OK, Failed    int // at this level
	InFlight      int
	Elapsed       time.Duration // since the level began
	// Done counts the requests of the present stage (warm-up or measurement)
	// that are over, Target those that were asked for; 0 when time decides.
	Done, Target int
	// Fraction is how much of the stage is over, 0 to 1, and Left how long the
	// rest of the measurement will take, 0 when that is not known. With AtMost
	// it can be over sooner.
	Fraction float64
	Left     time.Duration
	AtMost   bool
	// TTFT is the median time to the first token of the requests that ended in
	// the last five seconds and were streamed, 0 when none did; TokensPerSecond
	// are the tokens of those.
	TTFT            time.Duration
	TokensPerSecond float64
	// E2EL is the median latency of the requests that ended in the last five
	// seconds and were not streamed; 0 when none did.
	E2EL time.Duration
}
