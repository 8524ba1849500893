package recorder

import (
	"strings"
	"time"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/load"
)

// clientStats records how the client itself fared while it sent the load of a level, from which [saturation] judges
// whether the client was the limit. It belongs to the
// collector, which adds requests when they are over and looks at the process a few times
// a second. Use startClientStats.
//
// It covers the requests: turnaround of the slots, lateness against a schedule,
// responses that share a read. It also covers the process: CPU time, memory, file
// descriptors, garbage collections and the waiting of goroutines for a thread.
//
// Nothing here stops the world; Look takes a few microseconds, startClientStats and
// Finish some more. CPU time and memory come from getrusage, descriptors from
// /proc/self/fd or /dev/fd, the rest from the Go runtime. Figures that a system does not
// provide are absent; Windows provides only the runtime's. The figures are of the whole
// process: a simulated server in it counts as client.
type clientStats struct {
	process *processWatch

	turnaround, toStart, lateness stat.Histogram
	// ends holds, for each slot, when its last request ended. It is 0 when the next
	// start says nothing about the client: no request has ended, or it failed and the
	// slot backs off.
	ends       []uint64
	sent       int
	scheduled  int // sent requests of the schedule; the request that closes a sequence is none
	heldBack   int
	compressed int
	firstStart uint64
	lastStart  uint64 // of the schedule
	lastEnd    uint64
	reads      export.ReadMeta
	stamps     export.StampCount
}

// startClientStats begins to gather.
func startClientStats() *clientStats { return &clientStats{process: startProcessWatch()} }

// Look looks at the process.
func (s *clientStats) Look() { s.process.look() }

// countStamps counts the stamps of a request's responses by their source.
func countStamps(x *backend.Exchange) (c export.StampCount) {
	for i := range x.Request.Responses {
		c.Add(x.Request.Responses[i].Source)
	}
	c.Waited = min(uint64(x.Waited), c.User) // an answer may have been cut
	return c
}

// Add adds a request that is over and its stamps. Requests of one slot are added in
// their order.
func (s *clientStats) Add(x *backend.Exchange, stamps export.StampCount) {
	r := &x.Request
	end, answered := r.FinalResponseNS()
	if !answered {
		end = r.FailedNS
	}
	s.lastEnd = max(s.lastEnd, end)
	for len(s.ends) <= r.Worker {
		s.ends = append(s.ends, 0)
	}
	last := s.ends[r.Worker]
	s.ends[r.Worker] = 0
	if r.Status == export.StatusOK && answered {
		s.ends[r.Worker] = end
	}
	if x.HeldBack {
		s.heldBack++
	}
	if x.Compressed {
		s.compressed++
	}
	if r.StartNS != 0 {
		s.sent++
		if s.firstStart == 0 || r.StartNS < s.firstStart {
			s.firstStart = r.StartNS
		}
		if r.ScheduledNS != 0 {
			s.scheduled++
			s.lastStart = max(s.lastStart, r.StartNS)
		}
		connecting := connecting(r)
		if last != 0 && r.ScheduledNS == 0 {
			s.turnaround.Add(time.Duration(r.StartNS-last) - connecting)
		}
		if r.IssuedNS != 0 {
			s.toStart.Add(time.Duration(r.StartNS-r.IssuedNS) - connecting)
		}
		if r.ScheduledNS != 0 && !x.HeldBack {
			s.lateness.Add(time.Duration(r.StartNS-r.ScheduledNS) - connecting)
		}
	}
	s.stamps.Merge(stamps)
	if x.Tokens.N > 0 {
		s.countReads(r.Responses[x.Tokens.First : x.Tokens.Last+1])
	}
}

// connecting returns how long the request waited for its own connection after it was
// issued; 0 when the connection was made before.
func connecting(r *export.Request) time.Duration {
	d := r.DNS + r.Connect + r.TLS
	if r.Reused || r.IssuedNS == 0 || d > time.Duration(r.StartNS-r.IssuedNS) {
		return 0
	}
	return d
}

// countReads counts responses that share a read, from the first token to the last. A
// role event before them or an end event after them often shares a read with them, which
// changes no measured time.
func (s *clientStats) countReads(responses []export.Response) {
	s.reads.Responses += uint64(len(responses))
	for i := 1; i < len(responses); i++ {
		if responses[i].Read == responses[i-1].Read {
			s.reads.Merged++
		}
	}
}

// Limited reports whether the client may be the limit by the figures so far, as
// [saturation] judges them. The rate of a schedule and the open descriptors are not judged.
// typical is a typical latency of the level's requests. It takes some microseconds, and may
// be called a few times a second.
func (s *clientStats) Limited(typical time.Duration) bool {
	m := export.ClientMeta{Turnaround: latencies(&s.turnaround), Lateness: latencies(&s.lateness)}
	s.process.fillTimes(&m)
	for _, why := range saturation(&m, typical) {
		if strings.HasPrefix(why, export.SaturationWarning) {
			return true
		}
	}
	return false
}

// latencies returns the summary of a histogram that an export stores; nil when it is empty.
func latencies(h *stat.Histogram) *export.LatencySummary {
	if h.Len() == 0 {
		return nil
	}
	return &export.LatencySummary{N: h.Len(), P50NS: int64(h.Percentile(50)), P99NS: int64(h.Percentile(99)), MaxNS: int64(h.Max())}
}

// Finish returns the figures. offered is the load that a schedule asked for, nil in a
// closed loop.
func (s *clientStats) Finish(offered *load.Offered) *export.ClientMeta {
	m := &export.ClientMeta{
		Turnaround: latencies(&s.turnaround), IssueToStart: latencies(&s.toStart), Lateness: latencies(&s.lateness),
		HeldBack: s.heldBack, Compressed: s.compressed, Reads: &s.reads, Stamps: &s.stamps,
	}
	if offered != nil {
		n, from := offered.Gaps(offered.Requests, offered.FromNS)
		m.OfferedPerSecond = perSecond(n, from, offered.UntilNS)
		n, from = offered.Gaps(s.scheduled, s.firstStart)
		m.AchievedPerSecond = perSecond(n, from, max(offered.UntilNS, s.lastStart))
	} else {
		m.AchievedPerSecond = perSecond(s.sent, s.firstStart, s.lastEnd)
	}
	s.process.fill(m)
	return m
}

// perSecond returns the rate of n requests; 0 when the time span is empty.
func perSecond(n int, fromNS, untilNS uint64) float64 {
	if untilNS <= fromNS || n < 0 {
		return 0
	}
	return float64(n) / time.Duration(untilNS-fromNS).Seconds()
}
