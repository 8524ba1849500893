package dataset

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// fitsExecution recognizes TensorRT-LLM's execution traces.
func fitsExecution(r *row, _ *file) bool {
	var events []struct {
		Type *string `json:"event_type"`
	}
	js := r.get("events")
	return js != nil && json.Unmarshal(js, &events) == nil && len(events) > 0 && events[0].Type != nil
}

// executionSession returns the session of a row of TensorRT-LLM's execution traces:
//
//	{"trace_id": "r", "events": [
//		{"event_type": "message", "branch_path": [], "conversation_id": 0, "message_index": 0, "role": "system", "tokens": 500},
//		{"event_type": "message", "branch_path": [], "conversation_id": 0, "message_index": 1, "role": "user", "tokens": 40},
//		{"event_type": "message", "branch_path": [], "conversation_id": 0, "message_index": 2, "role": "assistant", "completion_tokens": 90},
//		{"event_type": "tool_call", "branch_path": [], "tool_name": "grep", "duration_ms": 120}, …]}
//
// The messages are made up. The assistant's messages are requests, whose live answers are history. The events of a branch follow each
// other, and a tool takes as long as in the recording. The branches of a parallel region are agents; they begin when the events of their
// parent before it are over, and the events after it wait for them. Instructions with one system_prompt_id begin alike.
func executionSession(f *file, o *Options, rows []groupRow) ([]*workload.Session, error) {
	if o.Texts == nil {
		return nil, errNoTexts
	}
	r := rows[0]
	id, _, err := r.string("trace_id")
	if err != nil {
		return nil, err
	}
	var events []json.RawMessage
	if js := r.get("events"); js == nil || json.Unmarshal(js, &events) != nil {
		return nil, errors.New(`"events": expected an array of objects`)
	}
	x := &execution{f: f, o: o, id: cmp.Or(id, fmt.Sprint(r.i)), step: r.i, agents: []workload.Agent{{Parent: -1}}, ids: agentIDs{}, events: len(events), waits: o.waits()}
	x.branches = map[string]*executionBranch{"": newExecutionBranch(0, nil)}
	for k, js := range events {
		if err := x.event(js, k); err != nil {
			return nil, fmt.Errorf("\"events\": event %d: %w", k, err)
		}
	}
	if len(x.parallel) > 0 {
		return nil, fmt.Errorf("\"events\": %d of \"parallel_start\" without \"parallel_end\"", len(x.parallel))
	}
	x.noteRest(x.branches[""])
	if len(x.nodes) == 0 {
		f.leaveOut("a trace without a message of the assistant")
		return nil, nil
	}
	s := &workload.Session{ID: x.id, Nodes: x.nodes, Entry: x.entry, Recorded: true}
	for _, q := range x.requests {
		s.Recorded = s.Recorded && q.whole
	}
	if len(x.agents) > 1 {
		s.Agents = x.agents
	}
	return []*workload.Session{s}, nil
}

// An execution is an execution trace while it is read, and then its requests.
type execution struct {
	f        *file
	o        *Options
	id       string
	step     int
	nodes    []workload.Node
	requests []executionRequest
	agents   []workload.Agent
	ids      agentIDs
	events   int
	branches map[string]*executionBranch
	parallel []executionRegion
	waits    waitCount
	held     int // parts of the requests
}

// An executionRegion is a parallel region that has begun.
type executionRegion struct {
	parent   string
	children []string
}

// An executionBranch is the state of a branch.
type executionBranch struct {
	agent int
	at    moment        // when the events so far are over, but for
	sleep time.Duration // of tools after it
	early time.Duration // of tools before the first request of the session
	talks map[int]*executionTalk
}

func newExecutionBranch(agent int, at moment) *executionBranch {
	return &executionBranch{agent: agent, at: at, talks: map[int]*executionTalk{}}
}

// over returns when the events of the branch so far are over.
func (b *executionBranch) over() moment {
	at, _ := b.at.plus(b.sleep)
	return at
}

// An executionTalk is the state of a conversation of a branch.
type executionTalk struct {
	parts []executionPart
	last  int // node whose answer ends the conversation so far; −1 for none
	sent  int // parts that it and those before it have
	// changed says that a part which was sent is another one now, so that the next request holds all.
	changed bool
}

// An executionPart is a message, made up of a number of tokens.
type executionPart struct {
	role   string
	name   uint64 // of the text
	tokens int
}

// An executionRequest is what a node adds to its history, or all if it is whole.
type executionRequest struct {
	parts  []executionPart
	whole  bool
	tokens int // of the answer
}

// event reads event k.
func (x *execution) event(js []byte, k int) error {
	r, err := parseObject(js)
	if err != nil {
		return err
	}
	kind, err := required(r.string("event_type"))
	if err != nil {
		return fmt.Errorf("\"event_type\": %w", err)
	}
	indices, _, err := r.counts("branch_path")
	if err != nil {
		return err
	}
	path := strings.Trim(strings.ReplaceAll(fmt.Sprint(indices), " ", "."), "[]")
	if kind == "parallel_end" {
		return x.end()
	}
	b := x.branches[path]
	if b == nil {
		return fmt.Errorf("\"branch_path\": no \"parallel_start\" has begun the branch %s", clip([]byte(fmt.Sprint(indices))))
	}
	switch kind {
	case "message":
		return x.message(b, r, k)
	case "tool_call":
		d, _, err := r.milliseconds("duration_ms")
		if b.sleep = sum(b.sleep, d); len(b.at) == 0 {
			b.early = sum(b.early, d)
		}
		return err
	case "parallel_start":
		return x.start(path, b, r)
	case "drop_kv_cache":
		x.f.leaveOut("an order to drop a part of the server's cache")
		return nil
	}
	return fmt.Errorf("\"event_type\": %q; expected message, tool_call, parallel_start, parallel_end or drop_kv_cache", clip([]byte(kind)))
}

// fewBranches are allowed in any trace; beyond, a trace has at most as many branches as events.
const fewBranches = 100

// start begins a parallel region of a branch.
func (x *execution) start(path string, b *executionBranch, r *row) error {
	n, err := required(r.count("num_branches"))
	if err != nil {
		return fmt.Errorf("\"num_branches\": %w", err)
	}
	if most := max(x.events, fewBranches); len(x.agents)+n > most {
		return fmt.Errorf("\"num_branches\": %d: a trace of %d events may have %d in all", n, x.events, most)
	}
	region, begin := executionRegion{parent: path}, b.over()
	for i := range n {
		child := strings.TrimPrefix(fmt.Sprintf("%s.%d", path, i), ".")
		if x.branches[child] != nil {
			return fmt.Errorf("\"branch_path\": the branch %s runs already", child)
		}
		x.agents = append(x.agents, workload.Agent{ID: x.ids.next(child), Parent: b.agent, Kind: workload.Spawned})
		x.branches[child] = newExecutionBranch(len(x.agents)-1, begin)
		x.branches[child].early = b.early
		region.children = append(region.children, child)
	}
	x.parallel = append(x.parallel, region)
	return nil
}

// end ends the parallel region that has begun last.
func (x *execution) end() error {
	last := len(x.parallel) - 1
	if last < 0 {
		return errors.New(`"parallel_end" without "parallel_start"`)
	}
	region := x.parallel[last]
	x.parallel = x.parallel[:last]
	parent := x.branches[region.parent]
	ends := []moment{parent.over()}
	for _, path := range region.children {
		child := x.branches[path]
		over := child.over()
		if err := x.waits.add(over); err != nil {
			return err
		}
		ends = append(ends, over)
		x.noteRest(child)
		delete(x.branches, path)
	}
	if parent.at, parent.sleep = latest(ends...), 0; len(parent.at) > 0 {
		parent.early = 0
	}
	return nil
}

// noteRest counts what comes after the last request of a branch, and so has no effect.
func (x *execution) noteRest(b *executionBranch) {
	for _, t := range b.talks {
		if len(t.parts) > t.sent {
			x.f.leaveOut("messages that no request follows")
		}
	}
	if b.agent == 0 && len(b.at) > 0 && b.sleep > 0 {
		x.f.leaveOut("tools after the last request")
	}
}

// message reads a message of a branch, event k.
func (x *execution) message(b *executionBranch, r *row, k int) error {
	number, err := required(r.count("conversation_id"))
	if err != nil {
		return fmt.Errorf("\"conversation_id\": %w", err)
	}
	role, err := required(r.string("role"))
	if err != nil {
		return fmt.Errorf("\"role\": %w", err)
	}
	t := b.talks[number]
	if t == nil {
		t = &executionTalk{last: -1}
		b.talks[number] = t
	}
	index, ok, err := r.count("message_index")
	if err != nil {
		return err
	}
	if !ok {
		index = len(t.parts)
	}
	name := partName(x.id, k, 0)
	switch role {
	case roleAssistant:
		return x.request(b, t, r, executionPart{role: role, name: name}, index)
	case roleSystem:
		template, ok, err := r.string("system_prompt_id")
		if err != nil {
			return err
		}
		if name = partName("system prompt "+template, 0, 0); !ok {
			name = partName("conversation of "+x.id, number, 0)
		}
	case roleUser, "tool":
		role = roleUser // the results of made-up calls have no ids of calls
	default:
		return fmt.Errorf("\"role\": %q; expected system, user, tool or assistant", clip([]byte(role)))
	}
	tokens, err := required(r.count("tokens"))
	if err != nil {
		return fmt.Errorf("\"tokens\": %w", err)
	}
	t.set(index, executionPart{role, name, tokens})
	return nil
}

// set makes a part the one of an index, or a further one.
func (t *executionTalk) set(index int, p executionPart) {
	if index >= len(t.parts) {
		t.parts = append(t.parts, p)
		return
	}
	if index < t.sent && t.parts[index] != p {
		t.changed = true
	}
	t.parts[index] = p
}

// request adds the request of a message of the assistant.
func (x *execution) request(b *executionBranch, t *executionTalk, r *row, answer executionPart, index int) error {
	q := executionRequest{}
	var err error
	if q.tokens, err = required(r.count("completion_tokens")); err != nil {
		return fmt.Errorf("\"completion_tokens\": %w", err)
	}
	if q.tokens == 0 {
		return errors.New(`"completion_tokens": 0: must be at least 1`)
	}
	reasoning, _, err := r.count("reasoning_tokens")
	if err != nil {
		return err
	}
	from := t.sent
	if t.changed {
		x.f.assume("where a sent message has changed, the answers before it are generated")
		q.whole, from = true, 0
	}
	tokens := 0
	for _, p := range t.parts[from:] {
		tokens += p.tokens
		q.parts = append(q.parts, p)
	}
	if tokens > mostTokens {
		return tooLong(tokens)
	}
	if tokens == 0 {
		if t.last < 0 || q.whole {
			return errors.New("expected a message with tokens before the message of the assistant")
		}
		x.f.assume("a request that adds nothing to the answer before it adds a message of one token")
		q.parts = []executionPart{{roleUser, answer.name, 1}}
	}
	node := workload.Node{After: b.over(), Agent: b.agent, Continues: t.last}
	if q.whole {
		node.Continues = -1
	} else if t.last >= 0 {
		node.After = latest(node.After, after(t.last))
	}
	if len(b.at) == 0 && b.early > 0 {
		x.f.leaveOut("tools before the first request")
	}
	if err := x.waits.add(node.After); err != nil {
		return err
	}
	if x.held += len(q.parts); x.held > x.waits.most {
		return fmt.Errorf("the requests of a trace hold more than %d messages together, since it changes messages that were sent again and again", x.waits.most)
	}
	x.nodes, x.requests = append(x.nodes, node), append(x.requests, q)
	b.at, b.sleep, b.early = after(len(x.nodes)-1), 0, 0
	answer.tokens = max(0, q.tokens-reasoning)
	t.set(index, answer)
	t.last, t.sent, t.changed = len(x.nodes)-1, len(t.parts), false
	return nil
}

// entry returns the request of node i. Messages of one role that follow each other become one.
func (x *execution) entry(i int) (workload.Entry, error) {
	q := x.requests[i]
	p := &workload.Prompt{MaxTokens: q.tokens, Exact: true}
	e := workload.Entry{Step: x.step, Prompt: p, Whole: q.whole}
	var out []byte
	for k := 0; k < len(q.parts); {
		role := q.parts[k].role
		var parts workload.TextParts
		for ; k < len(q.parts) && q.parts[k].role == role; k++ {
			parts.Add(q.parts[k].name, q.parts[k].tokens)
		}
		if len(parts.Names) == 0 {
			continue
		}
		text, ids, err := x.o.Texts.Parts(parts.Names, parts.Tokens)
		if err = noIDs(text, ids, err); err != nil {
			return e, err
		}
		out = append(out, `,{"role":"`+role+`","content":`...)
		if out, err = jsontext.AppendQuote(out, text); err != nil {
			return e, err
		}
		out = append(out, '}')
	}
	out[0] = '['
	out = append(out, ']')
	p.Messages = out
	return e, nil
}
