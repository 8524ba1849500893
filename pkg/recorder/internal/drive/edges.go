package drive

import (
	"time"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// edges finds the edges of a session by the node that they lead from. Use newEdges.
type edges struct {
	nodes []workload.Node
	// of node i are all[from[i]:from[i+1]]; from is nil for a chain, whose nodes each wait for the end of the node before
	from []int32
	all  []outEdge
}

// An outEdge is an edge as the node sees it that it leads from.
type outEdge struct {
	to     int
	anchor workload.Anchor
	delay  time.Duration
}

// newEdges returns the edges of nodes. It takes time and memory for each edge, and none for a chain.
func newEdges(nodes []workload.Node) edges {
	g := edges{nodes: nodes}
	if isChain(nodes) {
		return g
	}
	g.from = make([]int32, len(nodes)+1)
	for i := range nodes {
		for _, e := range nodes[i].After {
			g.from[e.From+1]++
		}
	}
	for i := range nodes {
		g.from[i+1] += g.from[i]
	}
	g.all = make([]outEdge, g.from[len(nodes)])
	next := make([]int32, len(nodes))
	copy(next, g.from)
	for i := range nodes {
		for _, e := range nodes[i].After {
			g.all[next[e.From]] = outEdge{i, e.Anchor, e.Delay}
			next[e.From]++
		}
	}
	return g
}

// isChain reports whether each node but the first waits for the end of the one before, and for nothing else.
func isChain(nodes []workload.Node) bool {
	for i := range nodes {
		switch after := nodes[i].After; {
		case i == 0:
		case len(after) != 1 || after[0].From != i-1 || after[0].Anchor != workload.AfterEnd:
			return false
		}
	}
	return true
}

// each calls f for each edge from node i, in the order of the nodes that they lead to, until f returns false.
func (g *edges) each(i int, f func(outEdge) bool) {
	if g.from == nil {
		if i+1 < len(g.nodes) {
			f(outEdge{i + 1, workload.AfterEnd, g.nodes[i+1].After[0].Delay})
		}
		return
	}
	for _, e := range g.all[g.from[i]:g.from[i+1]] {
		if !f(e) {
			return
		}
	}
}
