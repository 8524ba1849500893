package export

import (
	"fmt"
	"math"
)

// ClientMeta holds the recorder's figures about itself during one load level. They
// tell whether the client, and not the server, was the limit. A figure that the
// operating system does not give is absent, never 0.
type ClientMeta struct {
	// DurationNS is the length of the level without its warm-up.
	DurationNS int64 `json:"duration_ns"`
	// OfferedPerSecond is the rate of requests that the load schedule asked for:
	// the number of gaps between scheduled instants, divided by their time; 0 in a closed
	// loop, which has no schedule. The gap between the start of the measurement and the
	// first instant is one of them, except in a rank's share.
	// AchievedPerSecond is the rate of requests that were sent: with a schedule, the same
	// gaps up to the last start or instant; in a closed loop, the requests from the first
	// start to the last end.
	OfferedPerSecond  float64 `json:"offered_requests_per_s,omitempty"`
	AchievedPerSecond float64 `json:"achieved_requests_per_s,omitempty"`
	// HeldBack counts the requests that were due but had to wait, because the maximum
	// number of requests was in flight.
	HeldBack int `json:"held_back,omitempty"`
	// Compressed counts the answers that were compressed, which pa-record never asks for.
	Compressed int `json:"compressed,omitempty"`
	// Lateness is start − scheduled of the requests that were not held back, without
	// the time of connecting; nil in a closed loop.
	Lateness *LatencySummary `json:"lateness,omitempty"`
	// Turnaround is, in a closed loop, a request's start − the end of the previous
	// request in the same slot. IssueToStart is start − issued. Both exclude the time
	// of connecting.
	Turnaround   *LatencySummary `json:"turnaround,omitempty"`
	IssueToStart *LatencySummary `json:"issue_to_start,omitempty"`
	GC           *GCMeta         `json:"gc,omitempty"`
	// SchedLatencyP99NS is the 99th percentile of the time that a runnable goroutine
	// waited for a thread.
	SchedLatencyP99NS int64    `json:"sched_latency_p99_ns,omitempty"`
	CPU               *CPUMeta `json:"cpu,omitempty"`
	// MaxRSSBytes is the peak resident memory of the process so far in the run.
	MaxRSSBytes int64 `json:"max_rss_bytes,omitempty"`
	// FDs are the file descriptors at the end of the level.
	FDs    *FDMeta     `json:"fds,omitempty"`
	Reads  *ReadMeta   `json:"reads,omitempty"`
	Stamps *StampCount `json:"stamps,omitempty"`
}

// UnsentWarning is part of the recorder's warning that requests of a schedule were not sent.
const UnsentWarning = "requests per second that were asked for were sent"

// rateOff is the least relative distance between the named and the sent rate of a level for
// which SentWarning warns.
const rateOff = 0.05

// SentWarning returns a warning if the requests per second that a level sent are more than
// 5 % off the rate that the level names; "" if they are not, or if either is 0.
func SentWarning(named, sent float64) string {
	if named <= 0 || sent <= 0 || math.Abs(sent/named-1) <= rateOff {
		return ""
	}
	side := "below"
	if sent > named {
		side = "above"
	}
	return fmt.Sprintf("%.4g requests/s were sent, %.3g %% %s the named rate of %.6g; compare levels by the rate that was sent", sent, 100*math.Abs(sent/named-1), side, named)
}

// A LatencySummary summarizes durations, in nanoseconds. P50 and P99 are rounded
// up by at most 1/64.
type LatencySummary struct {
	N     int   `json:"n"`
	P50NS int64 `json:"p50_ns"`
	P99NS int64 `json:"p99_ns"`
	MaxNS int64 `json:"max_ns"`
}

// A GCMeta describes garbage collections. A pause is the time for which one collection
// stopped the whole program.
type GCMeta struct {
	Cycles       int   `json:"cycles"`
	PauseTotalNS int64 `json:"pause_total_ns"`
	PauseMaxNS   int64 `json:"pause_max_ns"`
}

// A CPUMeta is CPU time of the process. Share is the part of the time of all
// Cores it may use, from 0 to 1.
type CPUMeta struct {
	UserNS   int64   `json:"user_ns"`
	SystemNS int64   `json:"system_ns"`
	Cores    int     `json:"cores"`
	Share    float64 `json:"share"`
}

// An FDMeta counts file descriptors.
type FDMeta struct {
	Open  int    `json:"open"`
	Limit uint64 `json:"limit"`
}

// A ReadMeta counts the responses of requests, from the first one that adds output to
// the last one. Merged counts the responses that came in the same read of the socket as
// the previous one and therefore have the same time.
type ReadMeta struct {
	Responses uint64 `json:"responses"`
	Merged    uint64 `json:"merged"`
}

// MergedShare returns Merged / Responses, 0 for none.
func (m *ReadMeta) MergedShare() float64 {
	if m == nil || m.Responses == 0 {
		return 0
	}
	return float64(m.Merged) / float64(m.Responses)
}
