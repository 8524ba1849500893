package shards

import (
	"math"
	"slices"

	"github.com/pa-tools/pa/pkg/export"
)

// joinClients returns the figures of all ranks about themselves; nil if one of them has none.
// Counts, rates, CPU time and memory add up. Percentiles of several ranks, and limits of
// single processes, have no sum: they are left out.
func joinClients(parts []levelPart, n *notes) *export.ClientMeta {
	var clients []*export.ClientMeta
	for i := range parts {
		if c := parts[i].meta.Client; c != nil {
			clients = append(clients, c)
		}
	}
	switch {
	case len(clients) == 0:
		return nil
	case len(clients) < len(parts):
		n.leaveOut("the figures of the clients: some ranks have none")
		return nil
	}
	out := &export.ClientMeta{}
	offered, achieved := true, true
	for i, c := range clients {
		out.DurationNS = max(out.DurationNS, c.DurationNS)
		out.OfferedPerSecond += c.OfferedPerSecond
		out.AchievedPerSecond += c.AchievedPerSecond
		offered = offered && (c.OfferedPerSecond > 0 || parts[i].idle())
		achieved = achieved && (c.AchievedPerSecond > 0 || parts[i].idle())
		out.HeldBack += c.HeldBack
		out.Compressed += c.Compressed
		out.MaxRSSBytes += c.MaxRSSBytes
		if c.Lateness != nil || c.Turnaround != nil || c.IssueToStart != nil || c.SchedLatencyP99NS != 0 {
			n.leaveOut("the clients' lateness, turnaround and scheduling delays: percentiles of several ranks cannot be combined; each shard has its own")
		}
		if c.FDs != nil {
			n.leaveOut("the clients' file descriptors: each process has a limit of its own; each shard has its own")
		}
	}
	if !offered {
		out.OfferedPerSecond = 0
	}
	if !achieved {
		out.AchievedPerSecond = 0
	}
	if slices.ContainsFunc(clients, func(c *export.ClientMeta) bool { return c.MaxRSSBytes == 0 }) {
		out.MaxRSSBytes = 0 // absent, not a part of the sum
	}
	out.GC = joinGC(clients)
	out.CPU = joinCPU(parts, clients, out.DurationNS)
	out.Reads = joined(clients, func(c *export.ClientMeta) *export.ReadMeta { return c.Reads }, func(sum, x *export.ReadMeta) {
		sum.Responses += x.Responses
		sum.Merged += x.Merged
	})
	out.Stamps = joined(clients, func(c *export.ClientMeta) *export.StampCount { return c.Stamps }, func(sum, x *export.StampCount) { sum.Merge(*x) })
	return out
}

// joined adds up a part of all clients; nil if one of them lacks it.
func joined[T any](clients []*export.ClientMeta, of func(*export.ClientMeta) *T, add func(sum, x *T)) *T {
	sum := new(T)
	for _, c := range clients {
		x := of(c)
		if x == nil {
			return nil
		}
		add(sum, x)
	}
	return sum
}

// joinGC adds up the garbage collections.
func joinGC(clients []*export.ClientMeta) *export.GCMeta {
	return joined(clients, func(c *export.ClientMeta) *export.GCMeta { return c.GC }, func(sum, x *export.GCMeta) {
		sum.Cycles += x.Cycles
		sum.PauseTotalNS += x.PauseTotalNS
		sum.PauseMaxNS = max(sum.PauseMaxNS, x.PauseMaxNS)
	})
}

// joinCPU adds up the CPU time. Ranks on one machine share its cores and their container, which count once.
func joinCPU(parts []levelPart, clients []*export.ClientMeta, durationNS int64) *export.CPUMeta {
	cores, throttledNS := map[string]int{}, map[string]int64{}
	unnamed, allThrottledNS := 0, int64(0)
	for i, c := range clients {
		switch host := parts[i].host; {
		case c.CPU == nil:
		case host == "":
			unnamed += c.CPU.Cores
			allThrottledNS += c.CPU.ThrottledNS
		default:
			cores[host] = max(cores[host], c.CPU.Cores)
			throttledNS[host] = max(throttledNS[host], c.CPU.ThrottledNS)
		}
	}
	out := joined(clients, func(c *export.ClientMeta) *export.CPUMeta { return c.CPU }, func(sum, x *export.CPUMeta) {
		sum.UserNS += x.UserNS
		sum.SystemNS += x.SystemNS
		sum.WaitNS += x.WaitNS
		sum.Waits += x.Waits
	})
	if out == nil {
		return nil
	}
	if slices.ContainsFunc(clients, func(c *export.ClientMeta) bool { return c.CPU.Waits == 0 }) {
		out.WaitNS, out.Waits = 0, 0 // absent, not a part of the sum
	}
	out.Cores = unnamed
	for host, n := range cores {
		out.Cores += n
		allThrottledNS += throttledNS[host]
	}
	out.ThrottledNS = allThrottledNS
	if all := float64(out.Cores) * float64(durationNS); all > 0 {
		out.Share = math.Min(1, (float64(out.UserNS)+float64(out.SystemNS))/all)
	}
	return out
}
