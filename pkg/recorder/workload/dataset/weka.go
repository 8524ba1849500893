package dataset

import (
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"hash/fnv"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// wekaBlock is the usual number of tokens in a block of a WEKA trace.
const wekaBlock = 64

func fitsWeka(r *row, _ *file) bool {
	return r.has("requests") && (r.has("hash_id_scope") || r.has("block_size") || r.has("models"))
}

// wekaSession returns the session of a row of a WEKA trace: the requests of an agent and its sub-agents, with hash ids in place
// of texts.
//
//	{"id": "a", "block_size": 64, "hash_id_scope": "local", "tool_tokens": 0, "system_tokens": 128, "requests": [
//		{"t": 0, "type": "s", "model": "m", "in": 200, "out": 70, "hash_ids": [1, 2, 3], "api_time": 2.5, "ttft": 0.6},
//		{"t": 3, "type": "subagent", "agent_id": "x", "duration_ms": 900, "status": "completed", "requests": […]},
//		…]}
//
// Each request is sent whole: the texts of its blocks, which depend on the trace and the id, and tokens to fill it up. The
// answers in it are made up, too.
func wekaSession(f *file, o *Options, rows []groupRow) ([]*workload.Session, error) {
	if o.Texts == nil {
		return nil, errNoTexts
	}
	w := &weka{f: f, o: o, step: rows[0].i}
	if err := w.read(rows[0]); err != nil {
		return nil, err
	}
	if len(w.requests) == 0 {
		f.leaveOut("a trace without requests")
		return nil, nil
	}
	w.chooseReading()
	w.place(&w.root)
	w.agents, w.ids = []workload.Agent{{Parent: -1}}, agentIDs{"": 1}
	w.edges = make([][]workload.Edge, len(w.requests))
	w.build(&w.root, 0, -1)
	for _, s := range w.streams {
		w.write(s)
	}
	s := w.session()
	if s == nil {
		f.leaveOut("a trace without requests")
		return nil, nil
	}
	return []*workload.Session{s}, nil
}

// A weka is a row of a WEKA trace while it is read.
type weka struct {
	f        *file
	o        *Options
	step     int
	id       string
	scope    string
	block    int
	root     wekaAgent
	requests []wekaRequest // of all agents, in the order of the file
	// endings says that the time of a sub-agent is when it ended.
	endings bool

	agents  []workload.Agent
	ids     agentIDs
	edges   [][]workload.Edge
	streams []wekaStream

	invented int // blocks that the trace does not name
}

// A wekaStream is a list of requests that follow each other: an agent's, or some that run beside them.
type wekaStream struct {
	requests []int
	head     int // tokens of the tools and the system prompt
}

// A wekaAgent is a list of requests, and of sub-agents.
type wekaAgent struct {
	id       string
	head     int // tokens of the tools and the system prompt
	requests []int
	subs     []*wekaAgent

	// Of a sub-agent:
	at       time.Duration // its time in the file
	start    time.Duration
	length   time.Duration // 0 if unknown
	launched bool          // nobody waits for it
	relative bool          // the times of its requests count from its start
}

// A wekaRequest is a request of a WEKA trace.
type wekaRequest struct {
	model      string
	start, end time.Duration
	token      time.Duration // when its first token came
	ended      bool          // end is known
	streamed   bool          // token is known
	in, out    int
	ids        []int64
	full       int // number of ids of full blocks

	dropped bool
	agent   int
	text    wekaText
}

// A wekaText says what the prompt of a request is made of: the blocks of another prompt, or a part of them, and new ones.
type wekaText struct {
	before int // request that the prompt begins like; −1 for none
	keep   int // number of blocks that it has in common with it
	ids    []int64
	full   int // number of blocks
	head   int // blocks of the system prompt, if before is −1
	answer int // of the blocks after keep, the ones that the assistant has said
	rest   int // tokens after the blocks
}

// read reads the members of a row.
func (w *weka) read(r groupRow) (err error) {
	if w.id, err = rowName(r.row, r.i); err != nil {
		return fmt.Errorf("\"id\": %w", err)
	}
	if r.get("id") == nil { // the ids of blocks of another file are others
		w.id = fmt.Sprintf("%s %d", filepath.Base(w.f.src.name), r.i+1)
	}
	switch scope, _, err := r.string("hash_id_scope"); {
	case err != nil:
		return err
	case scope != "" && scope != "local" && scope != "global":
		return fmt.Errorf("\"hash_id_scope\": expected \"local\" or \"global\", found %q", clip([]byte(scope)))
	case scope != "global":
		w.scope = w.id
	}
	block, ok, err := r.count("block_size")
	switch {
	case err != nil:
		return err
	case w.o.BlockTokens != 0:
		block = w.o.BlockTokens
	case !ok:
		block = wekaBlock
	case block == 0:
		return errors.New("\"block_size\": 0: must be at least 1")
	}
	w.block = block
	if err := w.readHead(&w.root, r.row); err != nil {
		return err
	}
	return w.readList(&w.root, r.row, 0)
}

// readHead reads how long the constant head of an agent's prompts is.
func (w *weka) readHead(a *wekaAgent, r *row) error {
	for _, name := range []string{"tool_tokens", "system_tokens"} {
		n, _, err := r.count(name)
		if err != nil {
			return err
		}
		a.head += n
	}
	return nil
}

// mostDepth bounds how deep sub-agents are within each other, since each is read as a part of all around it.
const mostDepth = 20

// readList reads "requests" of an agent, which is at a depth; the root is at 0.
func (w *weka) readList(a *wekaAgent, r *row, depth int) error {
	if depth > mostDepth {
		return fmt.Errorf("sub-agents are more than %d deep within each other", mostDepth)
	}
	js := r.get("requests")
	all, ok := parseElements(js)
	if !ok {
		return fmt.Errorf("\"requests\": expected an array of requests, found %s", clip(js))
	}
	for i, js := range all {
		r, err := parseObject(js)
		if err == nil {
			err = w.readElement(a, r, i, depth)
		}
		if err != nil {
			return fmt.Errorf("\"requests\": element %d: %w", i, err)
		}
	}
	return nil
}

// readElement reads a request or a sub-agent.
func (w *weka) readElement(a *wekaAgent, r *row, i, depth int) error {
	kind, given, err := r.string("type")
	switch {
	case err != nil:
		return err
	case kind == "subagent" || !given && r.has("requests"):
		sub, err := w.readSub(r, i, depth+1)
		if err == nil {
			a.subs = append(a.subs, sub)
		}
		return err
	case given && kind != "n" && kind != "s":
		return fmt.Errorf("\"type\": expected \"n\", \"s\" or \"subagent\", found %q", clip([]byte(kind)))
	}
	q, err := w.readRequest(r, kind == "s")
	if err == nil {
		a.requests = append(a.requests, len(w.requests))
		w.requests = append(w.requests, q)
	}
	return err
}

// readSub reads a sub-agent, the i-th element of its list, at a depth.
func (w *weka) readSub(r *row, i, depth int) (*wekaAgent, error) {
	a := &wekaAgent{}
	var err error
	if a.id, _, err = r.string("agent_id"); err != nil {
		return nil, err
	}
	a.id = cmp.Or(a.id, fmt.Sprintf("subagent %d", i))
	if a.at, err = timeOf(r); err != nil {
		return nil, err
	}
	ms, _, err := r.number("duration_ms")
	if err == nil {
		a.length, err = duration(max(ms, 0), time.Millisecond)
	}
	if err != nil {
		return nil, err
	}
	status, _, err := r.string("status")
	if err != nil {
		return nil, err
	}
	a.launched = status == "async_launched"
	if err := w.readHead(a, r); err != nil {
		return nil, err
	}
	before := len(w.requests)
	if err := w.readList(a, r, depth); err != nil {
		return nil, err
	}
	for k := range w.requests[before:] {
		a.relative = a.relative || w.requests[before+k].start < a.at
	}
	return a, nil
}

// timeOf returns the time of a request or a sub-agent.
func timeOf(r *row) (time.Duration, error) {
	s, err := requiredMember(r, "t", parseNumber)
	if err != nil {
		return 0, err
	}
	d, err := duration(s, time.Second)
	if err != nil {
		err = fmt.Errorf("\"t\": %w", err)
	}
	return d, err
}

// seconds returns a member with a time in seconds. ok is false if it is absent, null or negative.
func seconds(r *row, name string) (d time.Duration, ok bool, err error) {
	s, ok, err := r.number(name)
	if !ok || err != nil || s < 0 {
		return 0, false, err
	}
	if d, err = duration(s, time.Second); err != nil {
		err = fmt.Errorf("%q: %w", name, err)
	}
	return d, true, err
}

// readRequest reads a request.
func (w *weka) readRequest(r *row, streamed bool) (q wekaRequest, err error) {
	if q.start, err = timeOf(r); err != nil {
		return q, err
	}
	if q.model, _, err = r.string("model"); err != nil {
		return q, err
	}
	in, err := requiredCount(r, "in")
	switch q.in = in; {
	case err != nil:
		return q, err
	case in > mostTokens:
		return q, fmt.Errorf(`"in": %d: must be at most %d`, in, mostTokens)
	case in == 0:
		w.f.assume("requests of 0 tokens are sent with 1")
		q.in = 1
	}
	if q.out, _, err = r.count("out"); err != nil {
		return q, err
	}
	if q.ids, err = r.hashIDs(); err != nil {
		return q, err
	}
	q.full = min(len(q.ids), q.in/w.block)
	took, ended, err := seconds(r, "api_time")
	if err != nil {
		return q, err
	}
	q.end, q.ended = sum(q.start, took), ended
	ttft, known, err := seconds(r, "ttft")
	if err != nil {
		return q, err
	}
	q.token, q.streamed = sum(q.start, ttft), known && streamed && ended && ttft <= took
	return q, nil
}

// afterAnswer bounds the time from an answer to the start of a sub-agent that it has called.
const afterAnswer = 1100 * time.Millisecond

// chooseReading finds out if the times of sub-agents say when these began or when they ended: traces of both kinds exist. A
// sub-agent begins shortly after an answer of its parent, and the parent sends nothing until it ends.
func (w *weka) chooseReading() {
	starts, ends := 0, 0
	for _, s := range w.root.subs {
		if !s.relative || s.launched || s.length == 0 || len(s.requests) == 0 {
			continue
		}
		asStart, asEnd := w.fits(s.at, sum(s.at, s.length)), w.fits(s.at-s.length, s.at)
		switch {
		case asStart > asEnd:
			starts++
		case asEnd > asStart:
			ends++
		}
	}
	w.endings = ends > starts
	switch {
	case w.endings:
		w.f.assume("\"t\" of sub-agents is taken for their end, which fits the turns of their parents")
	case starts > 0:
		w.f.assume("\"t\" of sub-agents is taken for their start, which fits the turns of their parents")
	}
}

// fits returns how well a sub-agent from one time to another fits the requests of the root: a point if one of these ended shortly
// before, and one if none begins between.
func (w *weka) fits(from, to time.Duration) int {
	near, alone := 0, 1
	for _, i := range w.root.requests {
		q := &w.requests[i]
		if q.end <= from && from-q.end <= afterAnswer {
			near = 1
		}
		if q.start > from && q.start < to {
			alone = 0
		}
	}
	return near + alone
}

// place makes the times of the sub-agents of a, and of their requests, count from the start of the trace, as the times of a do.
func (w *weka) place(a *wekaAgent) {
	for _, s := range a.subs {
		s.start = s.at
		if s.relative {
			if w.endings && !s.launched {
				s.start = max(0, s.at-s.length)
			}
			w.shift(s, s.start)
		}
		w.place(s)
	}
}

// shift makes the requests of a and its sub-agents later.
func (w *weka) shift(a *wekaAgent, by time.Duration) {
	for _, i := range a.requests {
		q := &w.requests[i]
		q.start, q.end, q.token = sum(q.start, by), sum(q.end, by), sum(q.token, by)
	}
	for _, s := range a.subs {
		s.at = sum(s.at, by)
		w.shift(s, by)
	}
}

// build makes the edges to the requests of a, which is an agent of the session, and to its sub-agents. Its first ones
// wait for the request spawn of the parent, −1 for none. It returns the last requests of a and of its streams.
func (w *weka) build(a *wekaAgent, agent, spawn int) (last []int) {
	streams := wekaStreams(w.requests, a.requests)
	if len(streams) == 0 {
		streams = [][]int{nil}
	}
	main := streams[0]
	for k, stream := range streams {
		if len(stream) == 0 {
			continue
		}
		of, from, head := agent, spawn, a.head
		if k > 0 {
			of, head = w.newAgent(fmt.Sprintf("%s:%d", cmp.Or(a.id, "root"), k), agent), 0
			if from < 0 {
				from = w.latest(main, w.requests[stream[0]].start)
			}
		}
		w.streams = append(w.streams, wekaStream{stream, head})
		for j, i := range stream {
			w.requests[i].agent = of
			switch {
			case j > 0:
				w.wait(stream[j-1], i)
			case from >= 0:
				w.spawn(from, i)
			}
		}
		end := stream[len(stream)-1]
		if spawn >= 0 || k == 0 {
			last = append(last, end)
		} else if !w.join([]int{end}, main, from, w.requests[end].end) {
			w.f.assume("requests beside the root's that no later turn waits for run in the background")
		}
	}
	for _, s := range a.subs {
		w.buildSub(s, agent, main)
	}
	return last
}

// buildSub makes the agent of a sub-agent of an agent whose own requests are main.
func (w *weka) buildSub(s *wekaAgent, parent int, main []int) {
	all := s.all()
	if len(all) == 0 {
		w.f.leaveOut("a sub-agent without requests")
		return
	}
	spawn := w.latest(main, s.start)
	if spawn < 0 && len(main) > 0 && w.requests[main[0]].start <= s.at {
		spawn = main[0]
	}
	if spawn < 0 {
		w.f.leaveOut("a sub-agent before the first request of its parent")
		for _, i := range all {
			w.requests[i].dropped = true
		}
		return
	}
	last := w.build(s, w.newAgent(s.id, parent), spawn)
	if s.launched || !w.join(last, main, spawn, s.at) {
		w.f.assume("sub-agents that no later turn waits for run in the background")
	}
}

// all returns the requests of a and of its sub-agents.
func (a *wekaAgent) all() []int {
	all := slices.Clone(a.requests)
	for _, s := range a.subs {
		all = append(all, s.all()...)
	}
	return all
}

// newAgent adds an agent to the session, under an id that no other has.
func (w *weka) newAgent(id string, parent int) int {
	w.agents = append(w.agents, workload.Agent{ID: w.ids.next(id), Parent: parent, Kind: workload.Spawned})
	return len(w.agents) - 1
}

// latest returns the last of requests in order of time that had begun at a time, −1 for none.
func (w *weka) latest(requests []int, at time.Duration) int {
	found := -1
	for _, i := range requests {
		if w.requests[i].start <= at {
			found = i
		}
	}
	return found
}

// join makes the first request of main after request from that begins at a time or later wait for the requests last. It returns
// false if there is none.
func (w *weka) join(last, main []int, from int, at time.Duration) bool {
	for _, i := range main[slices.Index(main, from)+1:] {
		if w.requests[i].start >= at {
			for _, l := range last {
				w.wait(l, i)
			}
			return true
		}
	}
	return false
}

// wait makes a request wait for the end of another one, and as long after it as in the recording. If that end is not known, the
// time counts from its start.
func (w *weka) wait(from, to int) {
	a, b := &w.requests[from], &w.requests[to]
	if a.ended {
		w.edges[to] = append(w.edges[to], workload.Edge{From: from, Delay: max(0, b.start-a.end)})
		return
	}
	w.edges[to] = append(w.edges[to], workload.Edge{From: from})
	if gap := b.start - a.start; gap > 0 {
		w.f.assume(`the time after a request without "api_time" counts from its start, and the next one waits for its end`)
		w.edges[to] = append(w.edges[to], workload.Edge{From: from, Anchor: workload.AfterStart, Delay: gap})
	}
}

// spawn makes the first request of a stream wait for a request of the parent, which may still run then.
func (w *weka) spawn(from, to int) {
	a, b := &w.requests[from], &w.requests[to]
	e := workload.Edge{From: from, Anchor: workload.AfterStart, Delay: max(0, b.start-a.start)}
	switch {
	case !a.ended || b.start >= a.end:
		w.wait(from, to)
		return
	case a.streamed && b.start >= a.token:
		e.Anchor, e.Delay = workload.AfterFirstToken, b.start-a.token
	}
	w.edges[to] = append(w.edges[to], e)
}

// write says what the prompts of a stream are made of.
func (w *weka) write(s wekaStream) {
	for j, i := range s.requests {
		q := &w.requests[i]
		if q.dropped {
			return
		}
		t := &q.text
		*t = wekaText{before: -1, full: q.full, rest: q.in - q.full*w.block}
		switch {
		case j > 0:
			t.before = s.requests[j-1]
			before := &w.requests[t.before]
			t.answer = (before.out + w.block - 1) / w.block
		case s.head > 0:
			t.head = (s.head + w.block - 1) / w.block
		default:
			t.before = w.alike(i)
		}
		if t.before >= 0 {
			t.keep = w.common(t.before, i)
			t.before = w.source(t.before, t.keep)
		}
		t.ids = slices.Clone(q.ids[t.keep:])
	}
}

// source returns the request that the first keep blocks of the prompt of request i come from, so that lines of requests stay short: i, or
// one that i has them from. A prompt that adds nothing to its own source changes the role of its last message, so that it is one.
func (w *weka) source(i, keep int) int {
	for {
		t := &w.requests[i].text
		if t.before < 0 || t.keep < keep || t.full == t.keep && t.rest == 0 {
			return i
		}
		i = t.before
	}
}

// common returns the number of full blocks that the prompts of two requests have in common.
func (w *weka) common(a, b int) int {
	x, y := &w.requests[a], &w.requests[b]
	return commonPrefix(x.ids[:x.full], y.ids[:y.full])
}

// commonPrefix returns the number of equal ids that a and b begin with.
func commonPrefix(a, b []int64) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// alike returns the request before request i whose prompt has the most blocks in common with it, −1 if none has any.
func (w *weka) alike(i int) int {
	found, most := -1, 0
	for k := range w.requests {
		if w.requests[k].dropped || compareRequests(w.requests, k, i) >= 0 {
			continue
		}
		if n := w.common(k, i); n > most {
			found, most = k, n
		}
	}
	return found
}

// A wekaNode is what is kept of a request while its session is open.
type wekaNode struct {
	text    wekaText
	in, out int
	number  int // in the file

	prompt *wekaPrompt // kept for the prompts that are built from it; nil for most
}

// A wekaPrompt is what a prompt was built to be.
type wekaPrompt struct {
	messages []wekaMessage
	ids      []int64
}

// mostLinks is the largest number of prompts that one is built from, one on the other: each of a long session would
// otherwise be built from all before it.
const mostLinks = 64

// A wekaTexts makes the prompts of an open session.
type wekaTexts struct {
	o     *Options
	scope string
	block int
	fill  uint64 // number of the first filling
	nodes []wekaNode
}

// session returns the session of the requests; nil if all of them were dropped.
func (w *weka) session() *workload.Session {
	order := w.order()
	if len(order) == 0 {
		return nil
	}
	place := make([]int, len(w.requests))
	for n, i := range order {
		place[i] = n
	}
	first := w.requests[order[0]].start
	for _, i := range order { // one may wait for a request that began later
		first = min(first, w.requests[i].start)
	}
	s := &workload.Session{ID: w.id, Recorded: true}
	if len(w.agents) > 1 {
		s.Agents = w.agents
	}
	h := fnv.New64a()
	h.Write([]byte(w.id))
	texts := &wekaTexts{o: w.o, scope: w.scope, block: w.block, fill: h.Sum64()}
	for _, i := range order {
		q := &w.requests[i]
		n := workload.Node{
			Agent: q.agent, Continues: -1, Model: q.model,
			Past: workload.Span{Known: true, Start: q.start - first, Ended: q.ended, End: q.end - first},
		}
		for _, e := range w.edges[i] {
			e.From = place[e.From]
			n.After = append(n.After, e)
		}
		t := q.text
		if t.before >= 0 {
			t.before = place[t.before]
		}
		s.Nodes = append(s.Nodes, n)
		texts.nodes = append(texts.nodes, wekaNode{text: t, in: q.in, out: q.out, number: i})
	}
	texts.keepPrompts()
	s.Blocks = texts.blocks
	step := w.step
	opening := w.f.opening // only what is asked for counts
	s.Entry = func(i int) (e workload.Entry, err error) {
		messages := []byte(`[{"role":"user","content":""}]`)
		if !opening {
			messages, err = texts.messages(i)
		}
		return workload.Entry{
			Step: step, Whole: true,
			Prompt: &workload.Prompt{Messages: messages, MaxTokens: max(texts.nodes[i].out, 1), Exact: true},
		}, err
	}
	return s
}

// order returns the requests in order of time, but each after the requests that it waits for.
func (w *weka) order() []int {
	waits, next := make([]int, len(w.requests)), make([][]int, len(w.requests))
	ready := &requestQueue{all: w.requests}
	for i := range w.requests {
		for _, e := range w.edges[i] {
			next[e.From] = append(next[e.From], i)
			waits[i]++
		}
		if waits[i] == 0 && !w.requests[i].dropped {
			heap.Push(ready, i)
		}
	}
	var order []int
	for len(ready.requests) > 0 {
		i := heap.Pop(ready).(int)
		order = append(order, i)
		for _, k := range next[i] {
			if waits[k]--; waits[k] == 0 {
				heap.Push(ready, k)
			}
		}
	}
	return order
}

// keepPrompts keeps one of mostLinks prompts that are built on each other.
func (x *wekaTexts) keepPrompts() {
	const unknown = -1
	links := slices.Repeat([]int{unknown}, len(x.nodes))
	var waiting []int
	for i := range x.nodes {
		for k := i; k >= 0 && links[k] == unknown; k = x.nodes[k].text.before {
			waiting = append(waiting, k)
		}
		for _, k := range slices.Backward(waiting) {
			n := &x.nodes[k]
			if links[k] = 0; n.text.keep > 0 {
				links[k] = links[n.text.before] + 1
			}
			if links[k] == mostLinks {
				p, line := x.line(k)
				n.prompt, links[k] = &wekaPrompt{x.said(p.messages, line), x.ids(p.ids, line)}, 0
			}
		}
		waiting = waiting[:0]
	}
}

// line returns what the prompt of node i is built from: a prompt that is kept, and the nodes after it, in order. i is the last one.
func (x *wekaTexts) line(i int) (from wekaPrompt, line []int) {
	for {
		n := &x.nodes[i]
		if n.prompt != nil {
			from = *n.prompt
			break
		}
		line = append(line, i)
		if n.text.keep == 0 {
			break
		}
		i = n.text.before
	}
	slices.Reverse(line)
	return from, line
}

// ids returns the ids of the blocks of a line that begins with the blocks of a prompt.
func (x *wekaTexts) ids(from []int64, line []int) []int64 {
	ids := slices.Clone(from)
	for _, k := range line {
		t := &x.nodes[k].text
		ids = append(ids[:t.keep], t.ids...)
	}
	return ids
}

// said returns the messages of a line that begins with the messages of a prompt.
func (x *wekaTexts) said(from []wekaMessage, line []int) []wekaMessage {
	all := slices.Clone(from)
	for _, k := range line {
		all = x.nodes[k].text.appendTo(all)
	}
	return all
}

// blocks implements workload.Session.Blocks.
func (x *wekaTexts) blocks(i int) workload.Blocks {
	p, line := x.line(i)
	return workload.Blocks{Scope: x.scope, Size: x.block, IDs: x.ids(p.ids, line), Tokens: x.nodes[i].in}
}

// A wekaMessage is a message of some of the blocks of a prompt.
type wekaMessage struct {
	role   string
	blocks int
}

// messages returns the messages of node i as JSON.
func (x *wekaTexts) messages(i int) ([]byte, error) {
	p, line := x.line(i)
	all, ids, t := x.said(p.messages, line), x.ids(p.ids, line), &x.nodes[i].text
	var out []byte
	for n, m := range all {
		rest := 0
		if n == len(all)-1 {
			rest = t.rest
		}
		text, tokens, err := x.o.Texts.Scoped(x.scope, ids[:m.blocks], x.block, x.fill+uint64(x.nodes[i].number), rest)
		if err = noIDs(text, tokens, err); err != nil {
			return nil, err
		}
		ids = ids[m.blocks:]
		out = append(out, `,{"role":"`+m.role+`","content":`...)
		if out, err = jsontext.AppendQuote(out, text); err != nil {
			return nil, err
		}
		out = append(out, '}')
	}
	out[0] = '['
	return append(out, ']'), nil
}

// The roles of messages.
const (
	roleSystem    = "system"
	roleUser      = "user"
	roleAssistant = "assistant"
)

// appendTo turns the messages of the prompt before into the messages of t. The last one is the user's, and holds the rest.
func (t *wekaText) appendTo(all []wekaMessage) []wekaMessage {
	have, asked := 0, false
	kept := all[:0]
	for _, m := range all {
		m.blocks = min(m.blocks, t.keep-have)
		if m.blocks > 0 {
			have += m.blocks
			asked = asked || m.role == roleUser
			kept = append(kept, m)
		}
	}
	all = kept
	add := func(role string, blocks int) {
		if blocks > 0 {
			all = append(all, wekaMessage{role, blocks})
		}
	}
	left := t.full - t.keep
	head, answer := min(t.head, left), 0
	if asked {
		answer = min(t.answer, left)
	}
	if t.rest == 0 && left > 0 && head+answer == left { // head is 0 after another prompt, answer without one
		head, answer = max(head-1, 0), max(answer-1, 0)
	}
	add(roleSystem, head)
	add(roleAssistant, answer)
	user := left - head - answer
	switch last := len(all) - 1; {
	case user > 0 || t.rest > 0:
		return append(all, wekaMessage{roleUser, user})
	case all[last].role == roleUser:
	case all[last].blocks == 1: // nothing is new
		all[last].role = roleUser
	default:
		all[last].blocks--
		add(roleUser, 1)
	}
	return all
}
