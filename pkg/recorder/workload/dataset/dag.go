package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// Members of a conversation and of a turn in dag_jsonl. A turn may have members of requests besides.
var (
	dagMembers     = []string{"session_id", "turns", "orchestrator", "spawns", "rounds", "think_time_ms", "think_time_sigma", "think_time_min_ms", "think_time_max_ms", "context_mode", "pre_session_spawns"}
	dagTurnMembers = []string{"messages", "extra", "forks", "spawns", "delay"}
)

// fitsDAG recognizes AIPerf's dag_jsonl: a conversation that begins others, or whose turns are messages.
func fitsDAG(r *row, _ *file) bool {
	if !r.has("session_id") {
		return false
	}
	if r.has("orchestrator") || r.has("pre_session_spawns") || r.has("context_mode") {
		return true
	}
	var turns []map[string]json.RawMessage
	if js := r.get("turns"); js == nil || json.Unmarshal(js, &turns) != nil {
		return false
	}
	return slices.ContainsFunc(turns, func(t map[string]json.RawMessage) bool {
		return t["messages"] != nil || t["forks"] != nil || t["spawns"] != nil
	})
}

// A dagIndex knows the conversations of a file of dag_jsonl.
type dagIndex struct {
	rows  map[string]int // by the id of the conversation
	child map[int]bool   // rows that another one names
	names [][]string     // the conversations that each row names, until they have been checked
	ids   []string       // by row, until then
}

// dagConversation returns the names of a row of AIPerf's dag_jsonl, a conversation:
//
//	{"session_id": "p", "turns": [{"messages": […], "spawns": [{"children": ["k"], "join_at": 1}]}, {"messages": […], "delay": 200}]}
//	{"session_id": "k", "turns": [{"messages": […], "max_tokens": 20}]}
//
// A conversation that no other one names is a session, and the conversations that it names are agents of it. Several sessions may
// name one conversation, so that each row is a group.
func dagConversation(f *file, _ *Options, r *row, i int) ([]string, error) {
	c, err := readDAGConversation(r)
	if err != nil {
		return nil, err
	}
	for k := range c.turns {
		if _, err := c.turns[k].request(f); err != nil {
			return nil, fmt.Errorf("\"turns\": turn %d: %w", k, err)
		}
	}
	if f.dag == nil {
		f.dag = &dagIndex{rows: map[string]int{}, child: map[int]bool{}}
	}
	if before, ok := f.dag.rows[c.id]; ok {
		return nil, fmt.Errorf("\"session_id\": %q is the session of row %d, too; ids must differ", clip([]byte(c.id)), before+1)
	}
	f.dag.rows[c.id] = i
	for len(f.dag.names) <= i {
		f.dag.names, f.dag.ids = append(f.dag.names, nil), append(f.dag.ids, "")
	}
	f.dag.names[i], f.dag.ids[i] = c.names(), c.id
	return []string{c.id}, nil
}

// check finds the conversations that others name, and cycles.
func (x *dagIndex) check() error {
	if x.names == nil {
		return nil
	}
	children := make([][]int, len(x.names))
	for i, names := range x.names {
		for _, name := range names {
			if k, ok := x.rows[name]; ok {
				children[i] = append(children[i], k)
				x.child[k] = true
			}
		}
	}
	const done = -2
	from := make([]int, len(children)) // 0: not seen; else the next child to look at, from 1; or done
	for i := range children {
		for path := []int{i}; len(path) > 0; {
			at := path[len(path)-1]
			switch k := from[at]; {
			case k == done, k == len(children[at])+1:
				from[at] = done
				path = path[:len(path)-1]
				continue
			case k == 0:
				from[at] = 1
				continue
			}
			next := children[at][from[at]-1]
			from[at]++
			if begin := slices.Index(path, next); from[next] > 0 && begin >= 0 {
				return x.cycle(path[begin:])
			}
			if from[next] == 0 {
				path = append(path, next)
			}
		}
	}
	x.names, x.ids = nil, nil
	return nil
}

// cycle returns the error for conversations that begin each other.
func (x *dagIndex) cycle(path []int) error {
	var names []string
	for _, i := range append(path, path[0]) {
		names = append(names, fmt.Sprintf("%q", clip([]byte(x.ids[i]))))
	}
	if len(names) > 12 {
		names = append(names[:11:11], "…", names[len(names)-1])
	}
	return &rowError{path[0], fmt.Errorf("conversations begin each other without end: %s", strings.Join(names, " → "))}
}

// dagSessions returns the session that a row of dag_jsonl is, if no other row names it.
func dagSessions(f *file, o *Options, rows []groupRow) ([]*workload.Session, error) {
	r := rows[0]
	if err := f.dag.check(); err != nil {
		return nil, err
	}
	if f.dag.child[r.i] {
		return nil, nil
	}
	t := &dagTree{f: f, row: r.i, o: o, read: map[string]*dagConv{}, agents: agentIDs{}, waits: o.waits(), s: &workload.Session{Agents: []workload.Agent{{Parent: -1}}}}
	c, err := readDAGConversation(r.row)
	if err != nil {
		return nil, err
	}
	c.row = r.i
	t.s.ID, t.read[c.id] = c.id, c
	if _, err := t.play(c, 0, nil, -1); err != nil {
		return nil, err
	}
	if len(t.s.Agents) == 1 {
		t.s.Agents = nil
	}
	t.s.Recorded = !slices.ContainsFunc(t.nodes, func(n dagNode) bool { return !n.of.whole() })
	t.s.Entry = t.entry
	return []*workload.Session{t.s}, nil
}

// A dagConv is a conversation of dag_jsonl.
type dagConv struct {
	row   int
	id    string
	mode  string // context_mode
	turns []dagTurn
	pre   []string // conversations that begin with it
	// rounds are the stages of an orchestrator, which sends nothing itself; gated says that each waits for the one before. There are
	// as many as times; the ones after the last of rounds are like that one.
	rounds []dagRound
	times  int
	think  thinkTimes
	gated  bool
}

// A dagTurn is a turn of a conversation.
type dagTurn struct {
	row      *row
	model    string
	delay    time.Duration // before the turn
	branches []dagBranch   // after the turn
}

// A dagBranch names conversations that begin after a turn.
type dagBranch struct {
	member   string // for messages
	children []string
	fork     bool // they begin with the messages and the answer of the turn
	joinAt   int  // the turn that waits for them; 0 for none
}

// A dagRound is a stage of an orchestrator.
type dagRound struct {
	children []string
	think    time.Duration // after the last of them
}

// The context modes.
const (
	dagLive     = "deltas_without_responses"     // live answers are history
	dagRecorded = "deltas_with_responses"        // the turns bring the answers
	dagWhole    = "message_array_with_responses" // each turn is the whole prompt
)

// whole reports whether each request of the conversation holds its history itself.
func (c *dagConv) whole() bool { return c.mode != dagLive }

// names returns the conversations that c names.
func (c *dagConv) names() []string {
	all := slices.Clone(c.pre)
	for _, t := range c.turns {
		for _, b := range t.branches {
			all = append(all, b.children...)
		}
	}
	for _, r := range c.rounds {
		all = append(all, r.children...)
	}
	return all
}

// readDAGConversation reads a row of dag_jsonl.
func readDAGConversation(r *row) (*dagConv, error) {
	for _, m := range r.fields {
		if !slices.Contains(dagMembers, m.Name) {
			return nil, fmt.Errorf("%q is not a member of a conversation; expected one of %s", clip([]byte(m.Name)), strings.Join(quoteAll(dagMembers), ", "))
		}
	}
	id, err := required(r.string("session_id"))
	if err != nil {
		return nil, err
	}
	if id == "" {
		return nil, errors.New(`"session_id": is empty`)
	}
	c := &dagConv{id: id, mode: dagLive}
	if mode, ok, err := r.string("context_mode"); err != nil {
		return nil, err
	} else if ok {
		if c.mode = strings.ToLower(mode); !slices.Contains([]string{dagLive, dagRecorded, dagWhole}, c.mode) {
			return nil, fmt.Errorf("\"context_mode\": %q; expected %s, %s or %s", clip([]byte(mode)), dagLive, dagRecorded, dagWhole)
		}
	}
	orchestrates, _, err := member(r, "orchestrator", parseBool)
	if err != nil {
		return nil, err
	}
	if orchestrates {
		return c, c.readRounds(r)
	}
	for _, name := range []string{"spawns", "rounds"} {
		if js := r.get(name); js != nil && string(js) != "[]" {
			return nil, fmt.Errorf(`%q: only a conversation with "orchestrator": true has it; a turn has its own "spawns"`, name)
		}
	}
	if c.pre, err = r.nameList("pre_session_spawns"); err != nil {
		return nil, err
	}
	return c, c.readTurns(r)
}

// readTurns reads the turns of a conversation.
func (c *dagConv) readTurns(r *row) error {
	var turns []json.RawMessage
	if js := r.get("turns"); js == nil || json.Unmarshal(js, &turns) != nil {
		return errors.New(`"turns": expected an array of objects`)
	}
	if len(turns) == 0 {
		return errors.New(`"turns" holds no turn`)
	}
	for k, js := range turns {
		t, err := readDAGTurn(js, k, len(turns))
		if err != nil {
			return fmt.Errorf("\"turns\": turn %d: %w", k, err)
		}
		c.turns = append(c.turns, t)
	}
	return nil
}

// readRounds reads the rounds of an orchestrator. Without "rounds" it begins all its conversations at once.
func (c *dagConv) readRounds(r *row) error {
	for _, name := range []string{"turns", "pre_session_spawns"} {
		if js := r.get(name); js != nil && string(js) != "[]" {
			return fmt.Errorf("%q: a conversation with \"orchestrator\": true sends nothing itself; it has \"spawns\" or \"rounds\"", name)
		}
	}
	spawns, err := r.nameList("spawns")
	if err != nil {
		return err
	}
	think, err := readThinkTimes(r)
	if err != nil {
		return err
	}
	js := r.get("rounds")
	switch {
	case js == nil && len(spawns) == 0:
		return errors.New(`"spawns": an orchestrator names at least one conversation, there or in "rounds"`)
	case js == nil:
		c.rounds, c.times = []dagRound{{children: spawns}}, 1
		return nil
	}
	c.gated = true
	if js[0] != '[' {
		n, err := parseCount(js)
		if err != nil || n == 0 || n > mostRequests {
			return fmt.Errorf(`"rounds": expected a number from 1 to %d or an array of rounds, found %s`, mostRequests, clip(js))
		}
		if len(spawns) == 0 {
			return errors.New(`"spawns": an orchestrator with a number of rounds names at least one conversation`)
		}
		c.rounds, c.times, c.think = []dagRound{{spawns, think.median}}, n, think
		return nil
	}
	if len(spawns) > 0 {
		return errors.New(`"spawns": beside an array of rounds, which name their own; drop one`)
	}
	var rounds []json.RawMessage
	if json.Unmarshal(js, &rounds) != nil || len(rounds) == 0 {
		return errors.New(`"rounds": expected an array of at least one round`)
	}
	for k, js := range rounds {
		round, err := readDAGRound(js, think.median)
		if err != nil {
			return fmt.Errorf("\"rounds\": round %d: %w", k, err)
		}
		c.rounds = append(c.rounds, round)
	}
	c.times, c.think = len(c.rounds), think
	return nil
}

// readDAGRound reads a round with a think time of its own, by default the given one.
func readDAGRound(js []byte, think time.Duration) (dagRound, error) {
	round := dagRound{think: think}
	r, err := parseObject(js)
	if err != nil {
		return round, err
	}
	for _, m := range r.fields {
		if m.Name != "spawns" && m.Name != "think_time_ms" {
			return round, fmt.Errorf(`%q is not a member of a round; expected "spawns", "think_time_ms"`, clip([]byte(m.Name)))
		}
	}
	if round.children, err = r.nameList("spawns"); err == nil && len(round.children) == 0 {
		err = errors.New(`"spawns" names no conversation`)
	}
	if err != nil {
		return round, err
	}
	if own, ok, err := r.milliseconds("think_time_ms"); ok || err != nil {
		return dagRound{round.children, own}, err
	}
	return round, nil
}

// thinkTimes are the think times of an orchestrator.
type thinkTimes struct {
	median   time.Duration
	sigma    float64 // of the logarithm; 0 for the median itself
	min, max time.Duration
}

func readThinkTimes(r *row) (t thinkTimes, err error) {
	t.max = mostTime
	for _, m := range []struct {
		name string
		to   *time.Duration
	}{{"think_time_ms", &t.median}, {"think_time_min_ms", &t.min}, {"think_time_max_ms", &t.max}} {
		d, ok, err := r.milliseconds(m.name)
		if err != nil {
			return t, err
		}
		if ok {
			*m.to = d
		}
	}
	if t.sigma, _, err = r.number("think_time_sigma"); err == nil && (t.sigma < 0 || t.sigma > 10) {
		err = fmt.Errorf("\"think_time_sigma\": %v: must be from 0 to 10", t.sigma)
	}
	return t, err
}

// draw returns the think time of a round: around a median from a log-normal distribution, by the conversation and the number of
// the round alone.
func (t thinkTimes) draw(id string, round int, median time.Duration) time.Duration {
	if t.sigma == 0 {
		return median
	}
	h := fnv.New64a()
	h.Write([]byte(id))
	factor := math.Exp(t.sigma * rand.New(rand.NewPCG(h.Sum64(), uint64(round))).NormFloat64()) //nolint:gosec // not a secret, and round is not negative
	return max(t.min, min(t.max, time.Duration(min(float64(median)*factor, float64(mostTime)/2))))
}

// readDAGTurn reads turn k of n.
func readDAGTurn(js []byte, k, n int) (t dagTurn, err error) {
	if t.row, err = parseObject(js); err != nil {
		return t, err
	}
	for _, m := range t.row.fields {
		if !slices.Contains(dagTurnMembers, m.Name) && !slices.Contains(lengthColumns, m.Name) && !requestMembers[m.Name] {
			return t, fmt.Errorf(`%q is not a member of a turn; expected one of %s, "model", "max_tokens", "tools"; other members of the request go into "extra"`, clip([]byte(m.Name)), strings.Join(quoteAll(dagTurnMembers), ", "))
		}
	}
	if t.row.get("messages") == nil {
		return t, missing(t.row, "messages")
	}
	if t.model, _, err = t.row.string("model"); err != nil {
		return t, err
	}
	if t.delay, _, err = t.row.milliseconds("delay"); err != nil {
		return t, err
	}
	for _, name := range []string{"forks", "spawns"} {
		js := t.row.get(name)
		if js == nil {
			continue
		}
		var entries []json.RawMessage
		if json.Unmarshal(js, &entries) != nil {
			return t, fmt.Errorf("%q: expected an array, found %s", name, clip(js))
		}
		for i, js := range entries {
			b, err := readDAGBranch(js, name == "forks", k, n)
			if err != nil {
				return t, fmt.Errorf("%q: element %d: %w", name, i, err)
			}
			b.member = name
			t.branches = append(t.branches, b)
		}
	}
	return t, nil
}

// readDAGBranch reads a fork or a spawn of turn k of n: "x", {"child": "x"} or {"children": ["x", "y"]}.
func readDAGBranch(js []byte, fork bool, k, n int) (dagBranch, error) {
	b := dagBranch{fork: fork}
	if !fork && k+1 < n {
		b.joinAt = k + 1
	}
	if js[0] == '"' {
		id, err := parseString(js)
		b.children = []string{id}
		return b, err
	}
	r, err := parseObject(js)
	if err != nil {
		return b, err
	}
	known := []string{"child", "children", "background"}
	if !fork {
		known = append(known, "join_at")
	}
	for _, m := range r.fields {
		if !slices.Contains(known, m.Name) {
			return b, fmt.Errorf("%q is not known; expected one of %s", clip([]byte(m.Name)), strings.Join(quoteAll(known), ", "))
		}
	}
	for _, name := range known[:2] {
		all, err := r.nameList(name)
		if err != nil {
			return b, err
		}
		b.children = append(b.children, all...)
	}
	if len(b.children) == 0 {
		return b, errors.New(`"children" names no conversation`)
	}
	background, _, err := member(r, "background", parseBool)
	if err != nil {
		return b, err
	}
	at, ok, err := r.count("join_at")
	switch {
	case err != nil:
		return b, err
	case ok && background:
		return b, errors.New(`"join_at" and "background": the parent waits for its children or does not; drop one`)
	case ok && (at <= k || at >= n):
		return b, fmt.Errorf("\"join_at\": %d is not a later turn; turn %d of %d can wait at %s", at, k, n, laterTurns(k, n))
	case ok:
		b.joinAt = at
	case background:
		b.joinAt = 0
	}
	return b, nil
}

// laterTurns names the turns after turn k of n, for messages.
func laterTurns(k, n int) string {
	switch {
	case k+1 == n:
		return "none, as the last one"
	case k+2 == n:
		return fmt.Sprintf("turn %d", k+1)
	}
	return fmt.Sprintf("turns %d to %d", k+1, n-1)
}

// A dagTree makes the session of a conversation that no other one names.
type dagTree struct {
	f      *file
	row    int // of the session
	o      *Options
	read   map[string]*dagConv
	agents agentIDs
	waits  waitCount
	s      *workload.Session
	nodes  []dagNode
}

// A dagNode is a turn of a conversation.
type dagNode struct {
	of    *dagConv
	turn  int
	tools []byte // of the nearest request before it, if it has none itself
}

// play adds the requests of a conversation that begins at a moment, after the messages and the answer of a node or −1. It returns
// when the last of them has ended.
func (t *dagTree) play(c *dagConv, agent int, begin moment, from int) (end moment, err error) {
	if c.turns == nil {
		return t.playRounds(c, agent, begin)
	}
	if _, err := t.begin(c, c.pre, "pre_session_spawns", agent, workload.Spawned, begin, -1); err != nil {
		return nil, err
	}
	joins := map[int][]moment{}
	for k, turn := range c.turns {
		at := begin
		if k > 0 {
			at = latest(append([]moment{after(from)}, joins[k]...)...)
		}
		at, ok := at.plus(turn.delay)
		if !ok {
			t.f.leaveOut("a delay before the first turn of a session")
		}
		before := from
		if c.whole() {
			before = -1
		}
		node := len(t.nodes)
		if node == t.o.mostRequests() {
			return nil, &rowError{t.row, fmt.Errorf("session %q has more than %d requests, since its conversations begin others again and again", clip([]byte(t.s.ID)), node)}
		}
		if err := t.f.countPlayed(t.o); err != nil {
			return nil, &rowError{t.row, err}
		}
		if err := t.waits.add(at); err != nil {
			return nil, &rowError{t.row, err}
		}
		t.s.Nodes = append(t.s.Nodes, workload.Node{After: at, Agent: agent, Continues: before, Model: turn.model})
		t.nodes = append(t.nodes, dagNode{c, k, t.toolsAfter(before)})
		from = node
		for _, b := range turn.branches {
			kind, seed := workload.Spawned, -1
			if b.fork {
				kind, seed = workload.Forked, node
			}
			ends, err := t.begin(c, b.children, fmt.Sprintf("turn %d: %q", k, b.member), agent, kind, after(node), seed)
			if err != nil {
				return nil, err
			}
			if b.joinAt > 0 {
				joins[b.joinAt] = append(joins[b.joinAt], ends)
			}
		}
	}
	return after(from), nil
}

// playRounds adds the requests of the conversations that an orchestrator begins.
func (t *dagTree) playRounds(c *dagConv, agent int, begin moment) (moment, error) {
	at := begin
	for k := range c.times {
		round := c.rounds[min(k, len(c.rounds)-1)]
		ends, err := t.begin(c, round.children, fmt.Sprintf("round %d: %q", k, "spawns"), agent, workload.Spawned, at, -1)
		if err != nil {
			return nil, err
		}
		if !c.gated {
			return begin, nil
		}
		at, _ = ends.plus(c.think.draw(c.id, k, round.think))
	}
	return at, nil
}

// begin adds the requests of conversations that c names in a member. It returns when all have ended.
func (t *dagTree) begin(c *dagConv, names []string, member string, agent int, kind workload.AgentKind, at moment, from int) (moment, error) {
	var ends []moment
	for _, name := range names {
		child, err := t.conversation(name)
		if err != nil {
			return nil, err
		}
		if child == nil {
			return nil, &rowError{c.row, fmt.Errorf("%s: no conversation has the \"session_id\" %q", member, clip([]byte(name)))}
		}
		t.s.Agents = append(t.s.Agents, workload.Agent{ID: t.agents.next(name), Parent: agent, Kind: kind})
		end, err := t.play(child, len(t.s.Agents)-1, at, from)
		if err != nil {
			return nil, err
		}
		ends = append(ends, end)
	}
	return latest(ends...), nil
}

// conversation returns the conversation of an id; nil if there is none.
func (t *dagTree) conversation(id string) (*dagConv, error) {
	if c := t.read[id]; c != nil {
		return c, nil
	}
	i, ok := t.f.dag.rows[id]
	if !ok {
		return nil, nil
	}
	r, err := t.f.rows.row(i)
	if err != nil {
		return nil, &rowError{i, err}
	}
	c, err := readDAGConversation(r)
	if err != nil {
		return nil, &rowError{i, err}
	}
	c.row, t.read[id] = i, c
	return c, nil
}

// entry returns the request of node i. A request without tools has the tools of the nearest request before it.
func (t *dagTree) entry(i int) (workload.Entry, error) {
	n := t.nodes[i]
	e, err := n.of.turns[n.turn].request(t.f)
	if err != nil {
		return e, err
	}
	e.Step, e.Whole = n.of.row, n.of.whole()
	if n.of.mode == dagRecorded {
		e.Prompt.Messages = n.of.upTo(n.turn)
	}
	if n.tools != nil && n.of.turns[n.turn].row.get("tools") == nil {
		e.Prompt.Extra = append(e.Prompt.Extra, export.Field{Name: "tools", Value: export.Value{Data: n.tools}})
	}
	return e, nil
}

// toolsAfter returns the tools that a request after a node has, or after −1 none.
func (t *dagTree) toolsAfter(node int) []byte {
	if node < 0 {
		return nil
	}
	n := &t.nodes[node]
	if tools := n.of.turns[n.turn].row.get("tools"); tools != nil {
		return tools
	}
	return n.tools
}

// request returns the request that a turn adds to its history.
func (t *dagTurn) request(f *file) (workload.Entry, error) {
	p := promptReader{row: t.row, file: f, used: map[string]bool{"messages": true, "model": true, "forks": true, "spawns": true, "delay": true}}
	e := workload.Entry{Prompt: &p.prompt}
	if err := p.messages(t.row.get("messages")); err != nil {
		return e, fmt.Errorf("\"messages\": %w", err)
	}
	if err := p.output(&e); err != nil {
		return e, err
	}
	if err := p.extra(&e); err != nil {
		return e, err
	}
	p.passOn()
	return e, nil
}

// upTo returns the messages of the turns up to turn k.
func (c *dagConv) upTo(k int) []byte {
	all := []byte{'['}
	for _, t := range c.turns[:k+1] {
		if messages := t.row.get("messages"); len(messages) > 2 {
			all = appendElement(all, messages[1:len(messages)-1])
		}
	}
	return append(all, ']')
}

// appendElement appends elements to an unfinished array.
func appendElement(array, elements []byte) []byte {
	if len(array) > 1 {
		array = append(array, ',')
	}
	return append(array, elements...)
}
