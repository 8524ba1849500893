package export

import (
	"fmt"
	"slices"
	"time"
)

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
	for name, n := range map[string]*int{"held_back": &c.HeldBack, "compressed": &c.Compressed} {
		if *n < 0 || *n > mostThings {
			say(name, *n)
			*n = 0
		}
	}
	latency("lateness", &c.Lateness)
	latency("turnaround", &c.Turnaround)
	latency("issue_to_start", &c.IssueToStart)
	if g := c.GC; g != nil && (g.Cycles < 0 || g.Cycles > mostThings || !possibleSpans(g.PauseTotalNS, g.PauseMaxNS)) {
		say("gc", *g)
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
		case x.UserNS < 0 || x.SystemNS < 0:
			say("cpu", fmt.Sprintf("%d ns and %d ns", x.UserNS, x.SystemNS))
			c.CPU = nil
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
