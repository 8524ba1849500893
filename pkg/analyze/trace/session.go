package trace

import (
	"strconv"
	"strings"

	"github.com/pa-tools/pa/pkg/analyze/figure"
)

// sessionTracks are the threads of the process that shows the sessions of a group: a thread for each agent of a session, and
// more for an agent that has several requests in flight. Sessions are in the order of their begins, agents in the order of
// their tree.
type sessionTracks struct {
	sessions map[string]*sessionAgents
	order    []*sessionAgents
	tracks   []*track
	of       []int32 // for each request of the group its track; -1 without a session
}

// sessionAgents are the agents of a session.
type sessionAgents struct {
	id     string
	at     map[string]int // places of the agents
	agents []figure.AgentName
	tracks [][]int32 // of each agent, places in sessionTracks.tracks
}

// A track shows requests that do not overlap.
type track struct {
	untilNS uint64 // end of the latest request
	tid     int
}

// add finds the track of the next request of the group.
func (s *sessionTracks) add(q *request) {
	if q.args.Session == "" {
		s.of = append(s.of, -1)
		return
	}
	x := s.sessions[q.args.Session]
	if x == nil {
		x = &sessionAgents{id: strings.Clone(q.args.Session), at: map[string]int{}}
		if s.sessions == nil {
			s.sessions = map[string]*sessionAgents{}
		}
		s.sessions[x.id], s.order = x, append(s.order, x)
	}
	agent, ok := x.at[q.args.Agent]
	if !ok {
		agent = len(x.agents)
		name := figure.AgentName{ID: strings.Clone(q.args.Agent), Parent: strings.Clone(q.args.ParentAgent)}
		x.at[name.ID] = agent
		x.agents, x.tracks = append(x.agents, name), append(x.tracks, nil)
	}
	found := int32(-1)
	for _, i := range x.tracks[agent] {
		if s.tracks[i].untilNS <= q.sentNS() {
			found = i
			break
		}
	}
	if found < 0 {
		found = int32(len(s.tracks)) //nolint:gosec // fewer than requests
		s.tracks = append(s.tracks, &track{})
		x.tracks[agent] = append(x.tracks[agent], found)
	}
	s.tracks[found].untilNS = q.endNS
	s.of = append(s.of, found)
}

// name writes the names of the tracks, and gives them their numbers.
func (s *sessionTracks) name(w *writer, pid int, level string) {
	w.name("process", pid, 0, level+", sessions", pid)
	tid := 0
	for _, x := range s.order {
		for _, agent := range figure.AgentOrder(x.agents) {
			name := x.id
			if id := x.agents[agent].ID; id != "" {
				name += " › " + id
			}
			for i, at := range x.tracks[agent] {
				tid++
				s.tracks[at].tid = tid
				shown := name
				if i > 0 {
					shown += " (" + strconv.Itoa(i+1) + ")"
				}
				w.name("thread", pid, tid, shown, tid)
			}
		}
	}
}

// sessionArgs are the arguments of a slice of a session.
type sessionArgs struct {
	ID          uint64 `json:"id"`
	Session     string `json:"session"`
	Agent       string `json:"agent,omitempty"`
	ParentAgent string `json:"parent_agent,omitempty"`
	Depth       int    `json:"depth"`
	Turn        int    `json:"turn"`
	times
	Cached *int64 `json:"cached_input_tokens,omitempty"`
	Status string `json:"status"`
}

// write writes request i of the group, from its send to its end: the time between two slices of a track is the time of tools,
// users and the client.
func (s *sessionTracks) write(w *writer, pid, i int, q *request, origin uint64) {
	if s.of[i] < 0 {
		return
	}
	from, a := int64(q.sentNS()-origin), &q.args
	length := int64(q.endNS - q.sentNS())
	dur := micros(length)
	w.add(&event{
		Name: "turn " + strconv.Itoa(a.Turn), Cat: "session", Phase: phaseSlice, Time: micros(from), Dur: &dur, PID: pid, TID: s.tracks[s.of[i]].tid,
		Args: &sessionArgs{
			ID: a.ID, Session: a.Session, Agent: a.Agent, ParentAgent: a.ParentAgent, Depth: a.Depth, Turn: a.Turn, times: times{from, length},
			Cached: a.Cached, Status: a.Status,
		},
	})
}

// sentNS returns when the request was sent; of a request that was not, when it began.
func (q *request) sentNS() uint64 {
	if q.startNS < q.beginNS || q.startNS > q.endNS {
		return q.beginNS
	}
	return q.startNS
}
