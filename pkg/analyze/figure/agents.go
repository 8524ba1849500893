package figure

// An AgentName is an agent of a session, "" for the root, and the agent that began it.
type AgentName struct{ ID, Parent string }

// AgentOrder returns the places of the agents of a session in the order of their tree: the root, and behind each agent its
// sub-agents in the order of the list. An agent whose parent is not in the list stands below the root. Agents that a damaged
// file puts in a ring are the last.
func AgentOrder(agents []AgentName) []int {
	known := make(map[string]bool, len(agents))
	for _, a := range agents {
		known[a.ID] = true
	}
	below := map[string][]int{}
	var stack []int // the next one is the last
	for i := len(agents) - 1; i >= 0; i-- {
		switch a := agents[i]; {
		case a.ID == "":
			stack = append(stack, i)
		case known[a.Parent]:
			below[a.Parent] = append(below[a.Parent], i)
		default:
			below[""] = append(below[""], i)
		}
	}
	if !known[""] {
		stack = below[""]
	}
	order, placed := make([]int, 0, len(agents)), make([]bool, len(agents))
	for next := 0; ; {
		for len(stack) > 0 {
			i := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if placed[i] {
				continue
			}
			order, placed[i] = append(order, i), true
			stack = append(stack, below[agents[i].ID]...)
		}
		for next < len(agents) && placed[next] {
			next++
		}
		if next == len(agents) {
			return order
		}
		stack = append(stack, next)
	}
}
