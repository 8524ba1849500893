package drive

import (
	"strconv"
	"strings"

	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// playID counts a play of session k and returns its id, which no other play of the run has: "s" of the first
// play of session s, then "s#2", "s#3". The first play of a session whose own id has such an ending gets "#1". Calls never
// overlap.
func (s *RequestSet) playID(k int, session string) string {
	if s.plays == nil {
		s.plays = make([]uint32, s.sessions.Sessions())
	}
	s.plays[k]++
	n := s.plays[k]
	if n == 1 && !endsLikePlay(session) {
		return session
	}
	return session + "#" + strconv.FormatUint(uint64(n), 10)
}

// endsLikePlay reports whether an id ends with "#" and digits.
func endsLikePlay(id string) bool {
	rest := strings.TrimRight(id, "0123456789")
	return len(rest) < len(id) && strings.HasSuffix(rest, "#")
}

// A playAgent is an agent of a session that is played.
type playAgent struct {
	id, parent string // as in export.Request
	depth      int
	line       backend.Line
}

// playAgents returns the agents of a session.
func playAgents(s *workload.Session) []playAgent {
	all := make([]playAgent, max(len(s.Agents), 1))
	for i := 1; i < len(s.Agents); i++ {
		a := &all[i]
		a.id, a.parent, a.depth = s.Agents[i].ID, s.Agents[s.Agents[i].Parent].ID, s.Depth(i)
	}
	return all
}
