package shards

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/pa-tools/pa/pkg/export"
)

// joinLevel returns level i of the run. Its mode, value and further members are copied from e.
func joinLevel(e *export.Experiment, i int, all []*rankShard, n *notes) export.Experiment {
	out := *e
	var parts []levelPart
	for _, s := range all {
		if own := s.part(i); own != nil {
			p := levelPart{rank: s.meta.Rank, clock: s.clock, Experiment: own}
			if own.Meta != nil {
				p.meta = *own.Meta
			}
			if h := metaOf(s).Host; h != nil {
				p.host = h.Name
			}
			parts = append(parts, p)
		}
	}
	name := loadName(e)
	var whole bool // the windows are the windows of each rank
	out.WindowBoundaries, whole = joinWindows(parts, name, n)
	m := &export.ExperimentMeta{}
	out.Meta = m
	stable, rated := true, true
	var warnings []rankWarning
	for k := range parts {
		p := &parts[k]
		x := &p.meta
		if t := p.clock.at(x.StartNS); t != 0 && (m.StartNS == 0 || t < m.StartNS) {
			m.StartNS = t
		}
		m.EndNS = max(m.EndNS, p.clock.at(x.EndNS))
		rated = rated && x.Stable != nil
		stable = stable && x.Stable != nil && *x.Stable
		m.OverLatencyLimit = m.OverLatencyLimit || x.OverLatencyLimit
		m.Interrupted = m.Interrupted || x.Interrupted
		m.Plus(&x.RequestCounts)
		if x.Sessions != nil {
			m.Sessions = cmp.Or(m.Sessions, &export.SessionCounts{})
			m.Sessions.Plus(x.Sessions)
		}
		m.Unreadable += x.Unreadable
		m.Prompts = joinPrompts(m.Prompts, x.Prompts)
		for _, w := range x.Warnings {
			warnings = append(warnings, rankWarning{p.rank, w})
		}
	}
	if rated {
		m.Stable = &stable
	}
	m.Load = joinLoad(parts)
	m.Client = joinClients(parts, n)
	m.ServerStats = joinServerStats(parts, whole, n)
	m.Warnings = ofRanks(warnings, len(all))
	if len(all) < all[0].meta.WorldSize || len(parts) < len(all) {
		m.Share = presentShare(parts)
	}
	if s := sharesOff(e, parts); s != "" && m.Share == nil {
		m.Warnings = append(m.Warnings, s)
	}
	return out
}

// joinPrompts returns the part of the input data that two ranks have sent together.
func joinPrompts(a, b *export.LevelPrompts) *export.LevelPrompts {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	all := *a
	all.Requests = max(a.Requests, b.Requests)
	all.Conversations = max(a.Conversations, b.Conversations)
	return &all
}

// joinLoad returns the description of the load. The ranks' own texts may differ, because each
// describes a part of the load.
func joinLoad(parts []levelPart) string {
	text, same := "", true
	for i := range parts {
		switch own := parts[i].meta.Load; {
		case own == "" || own == text:
		case text == "":
			text = own
			same = i == 0
		default:
			same = false
		}
	}
	if text != "" && !same {
		for i := range parts {
			if own := parts[i].meta.Load; own != "" {
				return fmt.Sprintf("rank %d of %d: %s", parts[i].rank, len(parts), own)
			}
		}
	}
	return text
}

// presentShare returns the part of a level that the shards hold; nil if a shard does not state
// its part.
func presentShare(parts []levelPart) *export.LevelShare {
	var sum float64
	requests, counted := 0, true
	out := &export.LevelShare{}
	for i := range parts {
		own := parts[i].meta.Share
		if own == nil {
			return nil
		}
		v, err := strconv.ParseFloat(own.Value, 64)
		if err != nil {
			return nil
		}
		sum += v
		if own.Requests == nil {
			counted = false
		} else {
			requests += *own.Requests
		}
		out.BeginNS = max(out.BeginNS, own.BeginNS)
	}
	out.Value = strconv.FormatFloat(sum, 'f', -1, 64)
	if counted {
		out.Requests = &requests
	}
	return out
}

// sharesOff returns a warning if the shares of all ranks are not the whole level; "" if they
// are, or if they are not known.
func sharesOff(e *export.Experiment, parts []levelPart) string {
	sum := 0.0
	for i := range parts {
		v, ok := share(e, parts[i].Experiment)
		if !ok {
			return ""
		}
		sum += v
	}
	if len(parts) == 0 || math.Abs(sum-1) < 1e-6 {
		return ""
	}
	return fmt.Sprintf("the shares of the ranks are %s of the load of %s together; the shards may be of different settings", percent(sum), loadName(e))
}

// windowTolerance is how much the bounds of windows may differ between ranks, as a share of
// the shortest window. The ranks' timers end a window at the same planned instant.
const windowTolerance = 0.01

// joinWindows returns the window boundaries of a level. whole reports that all ranks have these
// windows. Otherwise the result is one window over the windows of all ranks, or nil.
func joinWindows(parts []levelPart, level string, n *notes) (bounds []uint64, whole bool) {
	var with []*levelPart
	lacking := -1
	for i := range parts {
		switch p := &parts[i]; {
		case len(p.WindowBoundaries) > 1:
			with = append(with, p)
		case !p.idle():
			lacking = p.rank
		}
	}
	if len(with) == 0 {
		return nil, true
	}
	if lacking >= 0 {
		n.leaveOut(fmt.Sprintf("the measurement windows of %s: rank %d has none", level, lacking))
		return nil, false
	}
	first := shifted(with[0].clock, with[0].WindowBoundaries)
	from, to := first[0], first[len(first)-1]
	same := true
	shortest, spread := uint64(math.MaxUint64), uint64(0)
	bounds = slices.Clone(first)
	for _, p := range with {
		own := shifted(p.clock, p.WindowBoundaries)
		from, to = min(from, own[0]), max(to, own[len(own)-1])
		same = same && len(own) == len(first)
		for k := range own {
			if k > 0 && own[k] > own[k-1] {
				shortest = min(shortest, own[k]-own[k-1])
			}
			if same {
				spread = max(spread, max(own[k], first[k])-min(own[k], first[k]))
			}
		}
	}
	bounds[0], bounds[len(bounds)-1] = from, to
	if len(bounds) == 2 && same {
		return bounds, true
	}
	if same && float64(spread) <= windowTolerance*float64(shortest) {
		return bounds, true
	}
	n.leaveOut("the measurement windows of " + level + ": the ranks have different ones, which one window from the first beginning to the last end replaces")
	return []uint64{from, to}, false
}

// shifted returns times on rank 0's clock.
func shifted(c clock, times []uint64) []uint64 {
	out := make([]uint64, len(times))
	for i, t := range times {
		out[i] = c.at(t)
	}
	return out
}

// joinServerStats returns the counters of the server from the first rank that has some. The
// server counts the requests of all ranks, so the counters of several ranks must not be
// added.
func joinServerStats(parts []levelPart, whole bool, n *notes) *export.ServerStats {
	for i := range parts {
		s := parts[i].meta.ServerStats
		if s == nil {
			continue
		}
		if !whole {
			n.leaveOut("the counters of the server: the measurement windows to which they belong were not joined")
			return nil
		}
		if i < len(parts)-1 && slices.ContainsFunc(parts[i+1:], func(p levelPart) bool { return p.meta.ServerStats != nil }) {
			n.leaveOut(fmt.Sprintf("the counters of the server that further ranks read: rank %d read them too, and a server counts the requests of all ranks", parts[i].rank))
		}
		out := *s
		out.Snapshots = slices.Clone(s.Snapshots)
		for k := range out.Snapshots {
			x := &out.Snapshots[k]
			x.StartNS, x.EndNS = parts[i].clock.at(x.StartNS), parts[i].clock.at(x.EndNS)
		}
		return &out
	}
	return nil
}
