package figure

import (
	"cmp"
	"slices"

	"github.com/pa-tools/pa/pkg/export"
)

// A SessionTree is a session and its requests by agent.
type SessionTree struct {
	Session
	// Agents are in the order of [AgentOrder].
	Agents []AgentRequests
	// LeftOut counts the requests that are not in Agents, the latest ones of the session.
	LeftOut int
}

// AgentRequests are the requests of an agent in the order of their starts.
type AgentRequests struct {
	AgentName
	Depth    int
	Requests []TurnTimes
}

// TurnTimes are the times and tokens of a request of a session.
type TurnTimes struct {
	Turn                  int
	StartNS, EndNS        uint64
	Failed                bool
	TTFT                  export.Int
	Input, Cached, Output export.Int
	Possible              export.Int
}

// A level has mostTrees sessions in Sessions.Trees, with mostTreeRequests requests. The levels of a run share treesOfRun and
// treeRequestsOfRun, but each has at least leastTrees and leastTreeRequests.
const (
	mostTrees, treesOfRun, leastTrees                      = 200, 2000, 10
	mostTreeRequests, treeRequestsOfRun, leastTreeRequests = 5000, 10_000, 100
)

// drawn returns the trees for Sessions.Trees: all, or half of the bound the slowest ones and the other half at equal distances
// among the others. If there are too many requests, the slowest sessions keep theirs, and then the first of the sample.
func (c *SessionCollector) drawn(trees []*sessionTree, levels int) []SessionTree {
	most := min(max(treesOfRun/max(levels, 1), leastTrees), mostTrees)
	left := min(max(treeRequestsOfRun/max(levels, 1), leastTreeRequests), mostTreeRequests)
	places := make([]int, len(trees)) // of trees, the first to keep their requests first
	for i := range places {
		places[i] = i
	}
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(trees[b].whole.JobNS, trees[a].whole.JobNS) })
	if len(places) > most {
		slow := (most + 1) / 2
		rest := slices.Clone(places[slow:])
		slices.Sort(rest)
		places = places[:slow]
		for i := range most - slow {
			places = append(places, rest[i*len(rest)/(most-slow)])
		}
	}
	kept := make(map[int]SessionTree, len(places))
	for _, i := range places {
		x := SessionTree{Session: trees[i].whole}
		n := min(left, len(trees[i].requests))
		x.LeftOut = len(trees[i].requests) - n
		left -= n
		x.Agents = c.byAgent(trees[i].requests[:n])
		kept[i] = x
	}
	slices.Sort(places)
	all := make([]SessionTree, 0, len(places))
	for _, i := range places {
		all = append(all, kept[i])
	}
	return all
}

// byAgent divides requests of a session, which are in the order of their starts, by agent.
func (c *SessionCollector) byAgent(requests []*sessionRequest) []AgentRequests {
	at := map[int32]int{}
	var agents []AgentRequests
	var names []AgentName
	for _, r := range requests {
		i, ok := at[r.agent]
		if !ok {
			i = len(agents)
			at[r.agent] = i
			name := AgentName{c.names[r.agent], c.names[r.parent]}
			agents, names = append(agents, AgentRequests{AgentName: name, Depth: int(r.depth)}), append(names, name)
		}
		agents[i].Requests = append(agents[i].Requests, TurnTimes{
			Turn: int(r.turn), StartNS: r.start, EndNS: max(r.start, r.end), Failed: !r.succeeded, TTFT: valueOf(r.ttft),
			Input: valueOf(r.input), Cached: valueOf(r.cached), Output: valueOf(r.output), Possible: valueOf(r.possible()),
		})
	}
	sorted := make([]AgentRequests, 0, len(agents))
	for _, i := range AgentOrder(names) {
		sorted = append(sorted, agents[i])
	}
	return sorted
}

// valueOf is the inverse of [export.Int.OrMissing].
func valueOf(v int64) export.Int { return export.Int{V: v, OK: v != export.Missing} }
