package trace

import "github.com/pa-tools/pa/pkg/analyze/view"

// assignLanes returns the lane of each request of the group, in their order, and the number of lanes. It counts
// the requests with a damaged time as timeless. sessions are the tracks of the same requests by their sessions.
func (t *timeline) assignLanes(g *group) (lane []int32, n int, sessions *sessionTracks) {
	shown := 0
	t.timeless += t.each(g, func(*request) bool {
		shown++
		return true
	})
	assigner := view.NewLaneAssigner(shown)
	lane = make([]int32, 0, shown)
	sessions = &sessionTracks{of: make([]int32, 0, shown)}
	t.each(g, func(q *request) bool {
		lane = append(lane, int32(assigner.Next(view.Span{BeginNS: q.beginNS, EndNS: q.endNS, Slot: q.slot})))
		sessions.add(q)
		return true
	})
	return lane, assigner.Lanes(), sessions
}
