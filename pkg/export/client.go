package export

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/pa-tools/pa/internal/plural"
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
// Cores it may use, from 0 to 1. WaitNS is the time that its threads were ready to run but
// waited for a core, and Waits how often a thread got one; both are lower bounds, because
// threads that ended are missing, and 0 where the system does not count them. ThrottledNS is how long a CPU limit
// stopped the container (cgroup) of the process, over all cores; 0 without a limit.
type CPUMeta struct {
	UserNS   int64   `json:"user_ns"`
	SystemNS int64   `json:"system_ns"`
	Cores    int     `json:"cores"`
	Share    float64 `json:"share"`
	WaitNS   int64   `json:"wait_ns,omitempty"`
	Waits    int64   `json:"waits,omitempty"`

	ThrottledNS int64 `json:"throttled_ns,omitempty"`
}

// Thresholds of [ClientMeta.Crowded]. docs/trust.md explains them.
const (
	crowdedRatio = 1.5  // time of waiting for a core / CPU time
	crowdedShare = 0.01 // of the level, which takes at least crowdedFor
	crowdedFor   = time.Second
)

// What the recorder's warning about tokens that arrived together says of the cause, and what to do. See
// [ClientMeta.Together].
const (
	TogetherUnknown = "either the server sends them together or this machine is overloaded: try a lower load"
	TogetherCrowded = "other programs kept the cores busy, so that pa-record read late: measure from another machine, or give pa-record cores of its own (taskset, or a cpuset)"
	TogetherLimited = limitStopped + ", so that it read late: raise the limit, or measure from another machine"
)

const limitStopped = "the CPU limit of this container (cgroup) stopped pa-record"

// limited reports whether a CPU limit made for at least half of the waiting for a core.
func (m *ClientMeta) limited() bool {
	return m.CPU.ThrottledNS > 0 && 2*m.CPU.ThrottledNS >= m.CPU.WaitNS
}

// Together returns one of [TogetherUnknown], [TogetherCrowded] and [TogetherLimited].
func (m *ClientMeta) Together() string {
	switch {
	case m.Crowded() == "":
		return TogetherUnknown // a server that is late also sends several tokens at once
	case m.limited():
		return TogetherLimited
	}
	return TogetherCrowded
}

// Crowded returns why and how the threads of the client waited for a core if they waited much longer than they ran:
// "other programs kept the cores busy, and pa-record waited for a core 4.8 times as long as it ran, 612 µs at a time".
// It returns "" if they did not, or if that is not known. By itself it is no reason to warn: it may not have changed
// any time.
func (m *ClientMeta) Crowded() string {
	if m == nil || m.CPU == nil || m.CPU.Waits <= 0 || m.DurationNS < int64(crowdedFor) {
		return ""
	}
	ran, waited := float64(m.CPU.UserNS)+float64(m.CPU.SystemNS), float64(m.CPU.WaitNS)
	if ran <= 0 || waited <= crowdedRatio*ran || waited <= crowdedShare*float64(m.DurationNS) {
		return ""
	}
	mean := time.Duration(m.CPU.WaitNS / m.CPU.Waits).Round(time.Microsecond)
	cause := "other programs kept the cores busy"
	if m.limited() {
		cause = limitStopped
	}
	return fmt.Sprintf(cause+", and pa-record waited for a core %.1f times as long as it ran, %s at a time", waited/ran, plural.Time(mean))
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

// LongestNS is the longest time that figures of a run can take, a year. A longer one shows a damaged or made up
// file.
const LongestNS = int64(366 * 24 * time.Hour)

// mostPerSecond is above all rates of requests.
const mostPerSecond = 1e12

// mostThings is above the number of anything that a client counts, and mostCores above its cores.
const (
	mostThings = 1 << 50
	mostCores  = 1 << 20
)

// mostCPUTime is above the CPU time that a client takes; twice as much is still a time.
const mostCPUTime = 128 * LongestNS

// mostWait is above the time that all threads of a client wait for a core; a hundred times as much is still a time.
const mostWait = 1 << 56

// mostCPU is the greatest CPUMeta.Share: CPU time is counted in ticks, so that it can be a little above 1.
const mostCPU = 1.1

// Possible returns the figures of m that can be true, and a text about each of the others: "cpu.cores is 0". It
// returns m itself if all can be true.
func (m *ClientMeta) Possible() (p *ClientMeta, wrong []string) {
	if m == nil {
		return nil, nil
	}
	c := *m
	say := func(name string, v any) { wrong = append(wrong, fmt.Sprintf("%s is %v", name, v)) }
	whole := func(name string, v *int64, most int64) {
		if *v < 0 || *v > most {
			say(name, *v)
			*v = 0
		}
	}
	rate := func(name string, v *float64) {
		if !(*v >= 0 && *v <= mostPerSecond) {
			say(name, *v)
			*v = 0
		}
	}
	latency := func(name string, l **LatencySummary) {
		if x := *l; x != nil {
			for _, v := range []int64{int64(x.N), x.P50NS, x.P99NS, x.MaxNS} {
				if v < 0 || v > LongestNS {
					say(name, v)
					*l = nil
					return
				}
			}
		}
	}
	whole("duration_ns", &c.DurationNS, LongestNS)
	rate("offered_requests_per_s", &c.OfferedPerSecond)
	rate("achieved_requests_per_s", &c.AchievedPerSecond)
	for _, count := range [...]struct {
		name string
		n    *int
	}{{"held_back", &c.HeldBack}, {"compressed", &c.Compressed}} {
		if *count.n < 0 || *count.n > mostThings {
			say(count.name, *count.n)
			*count.n = 0
		}
	}
	latency("lateness", &c.Lateness)
	latency("turnaround", &c.Turnaround)
	latency("issue_to_start", &c.IssueToStart)
	if g := c.GC; g != nil && (g.Cycles < 0 || g.Cycles > mostThings || !possibleSpans(g.PauseTotalNS, g.PauseMaxNS)) {
		say("gc", fmt.Sprintf("%d cycles, %d ns in all, %d ns at most", g.Cycles, g.PauseTotalNS, g.PauseMaxNS))
		c.GC = nil
	}
	whole("sched_latency_p99_ns", &c.SchedLatencyP99NS, LongestNS)
	if x := c.CPU; x != nil {
		switch {
		case x.Cores <= 0 || x.Cores > mostCores:
			say("cpu.cores", x.Cores)
			c.CPU = nil
		case !(x.Share >= 0 && x.Share <= mostCPU):
			say("cpu.share", x.Share)
			c.CPU = nil
		case x.UserNS < 0 || x.SystemNS < 0 || x.UserNS > mostCPUTime || x.SystemNS > mostCPUTime:
			say("cpu", fmt.Sprintf("%d ns and %d ns", x.UserNS, x.SystemNS))
			c.CPU = nil
		default:
			kept := *x
			if x.WaitNS < 0 || x.WaitNS > mostWait || x.Waits < 0 || x.Waits > mostThings {
				say("cpu.wait_ns", fmt.Sprintf("%d in %d waits", x.WaitNS, x.Waits))
				kept.WaitNS, kept.Waits = 0, 0
			}
			if x.ThrottledNS < 0 || x.ThrottledNS > mostWait {
				say("cpu.throttled_ns", x.ThrottledNS)
				kept.ThrottledNS = 0
			}
			c.CPU = &kept
		}
	}
	whole("max_rss_bytes", &c.MaxRSSBytes, mostThings)
	if f := c.FDs; f != nil && (f.Open < 0 || f.Open > mostThings) {
		say("fds.open", f.Open)
		c.FDs = nil
	}
	if r := c.Reads; r != nil && (r.Merged > r.Responses || r.Responses > mostThings) {
		say("reads", fmt.Sprintf("%d merged of %d", r.Merged, r.Responses))
		c.Reads = nil
	}
	if s := c.Stamps; s != nil && (s.Waited > s.User || s.Kernel > mostThings || s.User > mostThings) {
		say("stamps", fmt.Sprintf("%d waited of %d", s.Waited, s.User))
		c.Stamps = nil
	}
	if wrong == nil {
		return m, nil
	}
	return &c, wrong
}

// Possible returns the errors of c that can be true, and a text about each of the others. It returns c itself if
// all can be true.
func (c *Calibration) Possible() (p *Calibration, wrong []string) {
	if c == nil {
		return nil, nil
	}
	for i := range c.Services {
		s := &c.Services[i]
		for j := range s.Recordings {
			r := &s.Recordings[j]
			for k, e := range []*ClockError{r.Receive, r.Start} {
				if e == nil || possibleSpans(e.P50NS, e.P90NS, e.P99NS, e.P999NS, e.MaxNS) && e.MedianNS >= -LongestNS && e.MedianNS <= LongestNS {
					continue
				}
				if p == nil {
					p = c.clone()
				}
				to := &p.Services[i].Recordings[j]
				if k == 0 {
					to.Receive = nil
				} else {
					to.Start = nil
				}
				wrong = append(wrong, fmt.Sprintf("the p99 error of %s with %s stamps is %d ns", s.Service, r.Stamps, e.P99NS))
			}
		}
	}
	for i := range c.Services {
		s := &c.Services[i]
		ok := s.TokensPerSecond >= 0 && s.TokensPerSecond <= mostPerSecond
		for _, n := range []int{s.Streams, s.TokensPerRequest, s.Rounds} {
			ok = ok && n >= 0 && n <= mostThings
		}
		if ok {
			continue
		}
		wrong = append(wrong, fmt.Sprintf("the load of %s is %d streams of %v tokens/s, %d tokens a request, %d rounds", s.Service, s.Streams, s.TokensPerSecond, s.TokensPerRequest, s.Rounds))
		if p == nil {
			p = c.clone()
		}
		at := i - (len(c.Services) - len(p.Services)) // some before it are left out
		p.Services = slices.Delete(p.Services, at, at+1)
	}
	if p == nil {
		return c, nil
	}
	return p, wrong
}

// clone returns a copy of c with recordings of its own.
func (c *Calibration) clone() *Calibration {
	p := *c
	p.Services = slices.Clone(c.Services)
	for i := range p.Services {
		p.Services[i].Recordings = slices.Clone(p.Services[i].Recordings)
	}
	return &p
}

// possibleSpans reports whether times can be true.
func possibleSpans(ns ...int64) bool {
	return !slices.ContainsFunc(ns, func(v int64) bool { return v < 0 || v > LongestNS })
}

// A Calibration holds the errors of the recorder's times on the machine that recorded. It
// compares the times recorded with a simulated server in another process with the
// server's own kernel stamps. All errors are in nanoseconds, recorded time minus true
// time.
type Calibration struct {
	Schema   string              `json:"schema"`
	Tool     string              `json:"tool"`
	StartNS  uint64              `json:"start_ns"`
	EndNS    uint64              `json:"end_ns"`
	Host     *HostMeta           `json:"host,omitempty"` // nil within a run, which has its own
	Services []CalibratedService `json:"services"`
	// Limits are sentences about what these figures cannot show.
	Limits []string `json:"limits"`
}

// A CalibratedService is one protocol under one load.
type CalibratedService struct {
	Service   string `json:"service"` // "openai" or "triton-grpc"
	Transport string `json:"transport,omitempty"`
	// Streams is the number of answers read at a time. Each answer has
	// TokensPerRequest tokens, sent at TokensPerSecond.
	Streams          int     `json:"streams"`
	TokensPerSecond  float64 `json:"tokens_per_second"`
	TokensPerRequest int     `json:"tokens_per_request"`
	// Recordings holds the ways of taking times. They took turns in Rounds rounds.
	Rounds     int                   `json:"rounds"`
	Recordings []CalibratedRecording `json:"recordings"`
}

// A CalibratedRecording holds the result of one way of taking times.
type CalibratedRecording struct {
	// Stamps names the intended source of the times: "kernel" or "user".
	Stamps string `json:"stamps"`
	// Requests is the number of compared requests. Skipped is the number of others:
	// they failed, or differ from the server's record.
	Requests int `json:"requests"`
	Skipped  int `json:"skipped,omitempty"`
	// Sources counts the tokens by the source of their time, StartSources the
	// requests by the source of their start time.
	Sources      StampCount `json:"sources"`
	StartSources StampCount `json:"start_sources"`
	// Merged counts the tokens that came in the same read as the previous token of
	// their answer, and so have the same time.
	Merged int `json:"merged"`
	// Receive is the error of the tokens' times, and Start the error of the requests'
	// start times; nil if there was nothing to compare.
	Receive *ClockError `json:"receive_error,omitempty"`
	Start   *ClockError `json:"start_error,omitempty"`
}

// A ClockError is a distribution of errors. Percentiles are of type 7, of the
// absolute values, in whole nanoseconds.
type ClockError struct {
	N int `json:"n"`
	// Truth counts the true times by source: the server's kernel or, where its stamp is
	// missing, the server's own clock before it called the kernel.
	Truth StampCount `json:"truth"`
	// MedianNS is the median of the signed errors; above 0, recorded times were late.
	MedianNS int64 `json:"median_ns"`
	P50NS    int64 `json:"p50_ns"`
	P90NS    int64 `json:"p90_ns"`
	P99NS    int64 `json:"p99_ns"`
	P999NS   int64 `json:"p99.9_ns"`
	MaxNS    int64 `json:"max_ns"`
}

// HostMeta describes the machine that recorded.
type HostMeta struct {
	Name      string `json:"name,omitempty"`
	OS        string `json:"os"`
	Arch      string `json:"arch"`
	Kernel    string `json:"kernel,omitempty"`
	CPUs      int    `json:"cpus"`
	GoVersion string `json:"go_version"`
}

// StampCount counts stamps by source.
type StampCount struct {
	Kernel uint64 `json:"kernel"`
	User   uint64 `json:"user"`
	// Waited counts the responses within User whose bytes may have waited for a lost or
	// overtaken segment, so that the kernel's time would be too early.
	Waited uint64 `json:"waited,omitempty"`
}

// WaitedShare returns Waited / (Kernel + User), 0 for none.
func (c *StampCount) WaitedShare() float64 {
	if c == nil || c.Waited == 0 {
		return 0
	}
	return float64(c.Waited) / float64(c.Kernel+c.User)
}

// Add counts a stamp; one of an unknown source is none.
func (c *StampCount) Add(s StampSource) {
	switch s {
	case SourceKernel:
		c.Kernel++
	case SourceUser:
		c.User++
	}
}

// Merge adds the counts of o.
func (c *StampCount) Merge(o StampCount) {
	c.Kernel += o.Kernel
	c.User += o.User
	c.Waited += o.Waited
}

// CalibrationSchema is the value of Calibration.Schema that this version of
// the project writes.
const CalibrationSchema = "pa-calibration/1"
