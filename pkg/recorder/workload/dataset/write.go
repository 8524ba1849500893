package dataset

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// A SessionFile says what [WriteSessions] writes.
type SessionFile struct {
	Sessions workload.Sessions
	Order    workload.Order
	N        int // number of sessions, in this order
	// Body returns the request of an entry, a chat as JSON. What the flags of each run say is left out: whether it is streamed, and the
	// model unless Models is set.
	Body   func(*workload.Entry) ([]byte, error)
	Models bool // requests name their models
}

// WriteSessions writes sessions in a layout that Open reads as the same sessions: conversations with recorded history as rows of
// LMCache, others, and agents, as AIPerf's dag_jsonl. notes say what the rows leave out. What the layout cannot say is an error
// that names the session and the request.
func WriteSessions(ctx context.Context, out io.Writer, f SessionFile) (notes []string, err error) {
	w := &sessionWriter{SessionFile: f, out: bufio.NewWriterSize(out, 64<<10), ids: map[string]bool{}, sessions: map[string]bool{}}
	if total := f.Sessions.Sessions(); f.N > total {
		return nil, fmt.Errorf("expected at least %d sessions, found %d; no session can be written twice", f.N, total)
	}
	write := w.lmcache
	err = w.each(ctx, func(s *workload.Session) error {
		w.sessions[s.ID] = true
		if !s.Recorded || !isLine(s.Nodes) {
			write = w.dag
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	timed := 0
	err = w.each(ctx, func(s *workload.Session) error {
		if s.Timed {
			timed++
		}
		return write(s)
	})
	if err != nil {
		return nil, err
	}
	if timed > 0 {
		notes = append(notes, fmt.Sprintf("the layout cannot hold the start times of %s", plural.GroupedOf(timed, "session")))
	}
	return notes, w.out.Flush() // what could not be written shows here
}

// A sessionWriter writes a SessionFile.
type sessionWriter struct {
	SessionFile

	out      *bufio.Writer
	ids      map[string]bool // of the conversations so far
	sessions map[string]bool // ids of all sessions
}

// each calls do for each session.
func (w *sessionWriter) each(ctx context.Context, do func(s *workload.Session) error) error {
	for i := range w.N {
		if err := ctx.Err(); err != nil {
			return err
		}
		s, err := w.Sessions.Open(w.Order.Index(i, w.Sessions.Sessions()))
		if err != nil {
			return err
		}
		if err := do(s); err != nil {
			return fmt.Errorf("session %s: %w", s.ID, err)
		}
	}
	return nil
}

// isLine reports whether each node but the first waits for the end of the one before, and for nothing else.
func isLine(nodes []workload.Node) bool {
	for i, n := range nodes {
		if n.Agent != 0 || i == 0 && len(n.After) > 0 || i > 0 && (len(n.After) != 1 || n.After[0].From != i-1 || n.After[0].Anchor != workload.AfterEnd) {
			return false
		}
	}
	return true
}

// A sessionRequest is what a request of a session holds.
type sessionRequest struct {
	whole    bool
	think    time.Duration // after its answer
	model    string        // "" if it names none
	messages json.RawMessage
	length   json.RawMessage            // of its answer; nil if it asks for none
	extra    map[string]json.RawMessage // the other members
}

// request returns request i of a session. Its body is a chat, without what the flags of a run say: whether it is streamed, and a sole model.
func (w *sessionWriter) request(s *workload.Session, i int) (r sessionRequest, err error) {
	e, err := s.Entry(i)
	if err != nil {
		return r, err
	}
	body, err := w.Body(&e)
	if err != nil {
		return r, err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(body, &all); err != nil || all["messages"] == nil {
		return r, fmt.Errorf("%s: only chats can be written as sessions; use --endpoint v1/chat/completions", e.Place())
	}
	r = sessionRequest{whole: e.Whole, think: e.Delay, extra: all}
	take := func(name string) json.RawMessage {
		v := r.extra[name]
		delete(r.extra, name)
		return v
	}
	r.messages, r.length = take("messages"), take("max_tokens")
	if length := take("max_completion_tokens"); r.length == nil {
		r.length = length
	}
	for _, name := range []string{"stream", "stream_options"} {
		take(name)
	}
	if model := take("model"); w.Models && model != nil {
		if err := json.Unmarshal(model, &r.model); err != nil {
			return r, fmt.Errorf("%s: \"model\": %w", e.Place(), jsonscan.InWords(err))
		}
	}
	return r, nil
}

// A jsonMembers is a JSON object that is being written.
type jsonMembers struct{ text []byte }

func (m *jsonMembers) add(name string, value any) {
	js, ok := value.(json.RawMessage)
	if !ok {
		js = marshalPlain(value)
	}
	if m.text != nil {
		m.text = append(m.text, ", "...)
	}
	m.text = append(append(append(m.text, marshalPlain(name)...), ": "...), js...)
}

func (m *jsonMembers) addAll(all map[string]json.RawMessage) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		m.add(name, all[name])
	}
}

func (m *jsonMembers) object() json.RawMessage {
	return append(append([]byte{'{'}, m.text...), '}')
}

// marshalPlain returns plain data as JSON that leaves texts as they are.
func marshalPlain(v any) json.RawMessage {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // plain data
	}
	return json.RawMessage(strings.TrimSpace(b.String()))
}

// row writes a line.
func (w *sessionWriter) row(m *jsonMembers) { fmt.Fprintf(w.out, "%s\n", m.object()) }

// lmcache writes a conversation with recorded history, a row for each request.
func (w *sessionWriter) lmcache(s *workload.Session) error {
	gap := time.Duration(0)
	for i, n := range s.Nodes {
		r, err := w.request(s, i)
		if err != nil {
			return err
		}
		if i > 0 {
			gap += n.After[0].Delay
		}
		var m jsonMembers
		m.add("session_id", s.ID)
		if model := cmp.Or(r.model, n.Model); model != "" {
			m.add("model", model)
		}
		m.add("input", r.messages)
		if r.length != nil {
			m.add("output_length", r.length)
		}
		m.add("pre_gap", gap.Seconds())
		for name := range r.extra {
			if !requestMembers[name] {
				return fmt.Errorf("request %d: a row of lmcache cannot hold %q; give it to the run that sends the rows", i, clip([]byte(name)))
			}
		}
		m.addAll(r.extra)
		w.row(&m)
		gap = r.think
	}
	return nil
}

// A writtenAgent is an agent of a session as a conversation of dag_jsonl.
type writtenAgent struct {
	id    string
	nodes []int // its requests, in their order
	turns []writtenTurn
	whole bool
	pre   []string // conversations that begin with it
}

// A writtenTurn is a request of a writtenAgent, with the conversations that begin after it.
type writtenTurn struct {
	sessionRequest
	delay         time.Duration
	forks, spawns []any
}

// A writtenChild is an element of the "forks" or "spawns" of a turn.
type writtenChild struct {
	Children   []string `json:"children"`
	JoinAt     int      `json:"join_at,omitempty"`
	Background bool     `json:"background,omitempty"`
}

// dag writes a session as conversations that begin each other, a row for each agent.
func (w *sessionWriter) dag(s *workload.Session) error {
	agents, err := w.agents(s)
	if err != nil {
		return err
	}
	for _, a := range agents {
		var m jsonMembers
		m.add("session_id", a.id)
		if a.whole {
			m.add("context_mode", "message_array_with_responses")
		}
		if a.pre != nil {
			m.add("pre_session_spawns", a.pre)
		}
		var turns []json.RawMessage
		for _, t := range a.turns {
			var turn jsonMembers
			turn.add("messages", t.messages)
			if t.length != nil {
				turn.add("max_tokens", t.length)
			}
			if t.model != "" {
				turn.add("model", t.model)
			}
			if tools := t.extra["tools"]; tools != nil {
				turn.add("tools", tools)
				delete(t.extra, "tools")
			}
			if len(t.extra) > 0 {
				var extra jsonMembers
				extra.addAll(t.extra)
				turn.add("extra", extra.object())
			}
			if t.delay > 0 {
				turn.add("delay", float64(t.delay)/float64(time.Millisecond))
			}
			if t.forks != nil {
				turn.add("forks", t.forks)
			}
			if t.spawns != nil {
				turn.add("spawns", t.spawns)
			}
			turns = append(turns, turn.object())
		}
		m.add("turns", turns)
		w.row(&m)
	}
	return nil
}

// errNoDAG is the reason why a session cannot be written. All of these can be said in Graph IR, whose edges and prompts are of single
// requests.
func errNoDAG(agent, turn int, format string, args ...any) error {
	return fmt.Errorf("request %d of agent %d "+format+": dag_jsonl cannot say that; Graph IR can, but is only read", append([]any{turn, agent}, args...)...)
}

// agents returns the agents of a session as conversations. The error says what conversations cannot be.
func (w *sessionWriter) agents(s *workload.Session) ([]*writtenAgent, error) {
	agents := make([]*writtenAgent, max(1, len(s.Agents)))
	for i := range agents {
		id := s.ID
		if i > 0 {
			if id = s.Agents[i].ID; w.ids[id] || w.sessions[id] {
				id = s.ID + "/" + id
			}
		}
		if w.ids[id] {
			return nil, fmt.Errorf("there are two conversations %q", id)
		}
		w.ids[id] = true
		agents[i] = &writtenAgent{id: id}
	}
	turnOf := make([]int, len(s.Nodes))
	for i, n := range s.Nodes {
		a := agents[n.Agent]
		turnOf[i] = len(a.nodes)
		r, err := w.request(s, i)
		if err != nil {
			return nil, err
		}
		if turnOf[i] > 0 && a.whole != r.whole {
			return nil, errNoDAG(n.Agent, turnOf[i], "holds its history itself unlike the one before, or the other way round")
		}
		if len(n.Quotes) > 0 {
			return nil, errNoDAG(n.Agent, turnOf[i], "quotes the answer to another one")
		}
		a.whole = r.whole
		a.nodes, a.turns = append(a.nodes, i), append(a.turns, writtenTurn{sessionRequest: r})
	}
	for number, a := range agents {
		if len(a.nodes) == 0 {
			return nil, fmt.Errorf("agent %d sends nothing, which dag_jsonl cannot say", number)
		}
		if err := w.place(s, agents, number, turnOf); err != nil {
			return nil, err
		}
	}
	for number := range agents {
		if number > 0 {
			if err := beginAgent(s, agents, number, turnOf); err != nil {
				return nil, err
			}
		}
	}
	return agents, nil
}

// place sets the delays of an agent's turns, and checks what they wait for.
func (w *sessionWriter) place(s *workload.Session, agents []*writtenAgent, number int, turnOf []int) error {
	a := agents[number]
	for k, i := range a.nodes {
		n := s.Nodes[i]
		var delays []string // of all that it waits for
		history := n.Continues < 0
		if k > 0 {
			history = a.whole && n.Continues < 0 || !a.whole && n.Continues == a.nodes[k-1]
		} else if number > 0 && s.Agents[number].Kind == workload.Forked && !a.whole {
			history = n.Continues >= 0 && len(n.After) == 1 && n.After[0].From == n.Continues
		}
		if !history {
			return errNoDAG(number, k, "has another history than the messages before it")
		}
		follows, differ := k == 0, false
		for j, e := range n.After {
			from := s.Nodes[e.From]
			switch {
			case e.Anchor != workload.AfterEnd:
				return errNoDAG(number, k, "waits for the start or the first token of another one")
			case k > 0 && e.From == a.nodes[k-1]:
				follows = true
			case k == 0:
			case from.Agent == number || s.Agents[from.Agent].Parent != number || agents[from.Agent].nodes[len(agents[from.Agent].nodes)-1] != e.From:
				return errNoDAG(number, k, "waits for request %d of agent %d, which is not the last one of an agent that it began", turnOf[e.From], from.Agent)
			}
			think := agents[from.Agent].turns[turnOf[e.From]].think
			delay := e.Delay + think
			differ = differ || j > 0 && delay != a.turns[k].delay
			a.turns[k].delay = delay
			delays = append(delays, fmt.Sprintf("%v after request %d of agent %d", delay, turnOf[e.From], from.Agent))
		}
		switch {
		case !follows:
			return errNoDAG(number, k, "does not wait for the one before")
		case differ:
			return errNoDAG(number, k, "begins %s, and not at one time after all", strings.Join(delays, " and "))
		}
	}
	return nil
}

// beginAgent makes the parent of an agent begin it, and wait for it where a turn does.
func beginAgent(s *workload.Session, agents []*writtenAgent, number int, turnOf []int) error {
	a, kind := agents[number], s.Agents[number].Kind
	parent := agents[s.Agents[number].Parent]
	after := s.Nodes[a.nodes[0]].After
	joinAt := 0
	for k, i := range parent.nodes {
		for _, e := range s.Nodes[i].After {
			if e.From != a.nodes[len(a.nodes)-1] {
				continue
			}
			if joinAt > 0 {
				return errNoDAG(number, len(a.nodes)-1, "is waited for by two requests of its parent")
			}
			joinAt = k
		}
	}
	switch {
	case len(after) == 0 && len(s.Nodes[parent.nodes[0]].After) == 0 && kind == workload.Spawned && joinAt == 0:
		parent.pre = append(parent.pre, a.id)
		return nil
	case len(after) != 1 || s.Nodes[after[0].From].Agent != s.Agents[number].Parent:
		return errNoDAG(number, 0, "does not begin after one request of its parent")
	case kind == workload.Forked && joinAt > 0:
		return errNoDAG(s.Agents[number].Parent, joinAt, "waits for a fork")
	}
	turn := &parent.turns[turnOf[after[0].From]]
	if kind == workload.Forked {
		turn.forks = append(turn.forks, a.id)
		return nil
	}
	if joinAt > 0 && joinAt <= turnOf[after[0].From] {
		return errors.New("an agent is waited for before it begins")
	}
	turn.spawns = append(turn.spawns, writtenChild{[]string{a.id}, joinAt, joinAt == 0})
	return nil
}
