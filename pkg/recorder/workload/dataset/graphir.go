package dataset

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// Members of the records of a Graph IR.
var (
	graphMembers   = []string{"kind", "version", "provenance", "system", "state", "nodes", "edges"}
	traceMembers   = []string{"kind", "id", "tags", "graph_ref", "messages", "initial_state", "replay_outputs"}
	nodeMembers    = []string{"node_type", "kind", "prompt", "messages", "output", "streaming", "expected", "extra_body", "metadata", "min_start_delay_us", "arrival_offset_us", "inputs", "model", "max_tokens", "raw_tools", "extra_headers"}
	edgeMembers    = []string{"edge_type", "source", "target", "delay_after_predecessor_us", "delay_after_predecessor_start_us", "delay_after_predecessor_first_token_us", "min_start_delay_us"}
	channelMembers = []string{"type", "reducer"}
	inputMembers   = []string{"channel", "count"}
)

// graphVersion is the version of the Graph IR that is read.
const graphVersion = "2.0"

// fitsGraph recognizes AIPerf's Graph IR: its records, or a document of a graph and its traces.
func fitsGraph(r *row, _ *file) bool {
	switch kind, _, _ := r.string("kind"); kind {
	case "graph":
		return true
	case "trace":
		return r.has("id")
	}
	return r.has("graph") && r.get("graph")[0] == '{' && r.has("traces")
}

// A graphFile is the graph of a file.
type graphFile struct {
	graph *irGraph // nil before its record
	row   int
	trace int   // the first record of a trace; −1 for none
	bytes int64 // of the prompts so far
}

// countPrompt counts the bytes of a prompt while the file is opened: nodes can repeat each other's messages without end.
func (g *graphFile) countPrompt(f *file, maxRow int64, bytes int) error {
	if !f.opening {
		return nil
	}
	most := 8 * maxRow
	if g.bytes += int64(bytes); g.bytes > most {
		return fmt.Errorf("the prompts of the graph are longer than %d bytes together", most)
	}
	return nil
}

// graphSessions returns the sessions of a row of AIPerf's Graph IR: a trace is one, which plays the graph of the file.
//
//	{"kind": "graph", "version": "2.0", "state": {"h": {"type": "messages", "reducer": "add_messages"}}, "nodes": {
//		"a": {"node_type": "llm", "prompt": ["@h"], "output": "h", "max_tokens": 40},
//		"b": {"node_type": "llm", "prompt": ["@h", {"role": "user", "content": "go on"}], "output": "h"}},
//	 "edges": [{"source": "a", "target": "b", "delay_after_predecessor_us": 300000}]}
//	{"kind": "trace", "id": "t", "initial_state": {"h": [{"role": "user", "content": "begin"}]}}
//
// or {"graph": {…}, "traces": [{…}, …]}, also as YAML. A node is a request. "@h" among its messages stands for the messages of a
// channel: the messages of the trace, then the own messages and the answer of each node that has written it. "@h" in a list of texts stands
// for the answer of the one that has written it.
func graphSessions(f *file, o *Options, rows []groupRow) ([]*workload.Session, error) {
	r := rows[0]
	if f.graph == nil {
		f.graph = &graphFile{trace: -1}
	}
	if r.has("graph") || r.has("traces") {
		return graphDocument(f, o, r)
	}
	kind, ok, err := r.string("kind")
	switch {
	case err != nil:
		return nil, err
	case kind == "graph":
		return nil, f.readGraph(r)
	case kind != "trace" && ok:
		return nil, fmt.Errorf("\"kind\": %q; expected graph or trace", clip([]byte(kind)))
	}
	if f.graph.trace < 0 {
		f.graph.trace = r.i
	}
	s, err := f.traceSession(o, r.row, r.i)
	if err != nil {
		return nil, err
	}
	return []*workload.Session{s}, nil
}

// graphDocument returns the sessions of a document of a graph and its traces.
func graphDocument(f *file, o *Options, r groupRow) ([]*workload.Session, error) {
	if err := known(r.row, []string{"graph", "traces"}, "a document"); err != nil {
		return nil, err
	}
	g, err := parseObject(r.get("graph"))
	if err == nil {
		f.graph.graph, err = readIRGraph(f, g)
	}
	if err != nil {
		return nil, fmt.Errorf("\"graph\": %w", err)
	}
	var traces []json.RawMessage
	if js := r.get("traces"); js == nil || json.Unmarshal(js, &traces) != nil {
		return nil, errors.New(`"traces": expected an array of objects`)
	}
	var all []*workload.Session
	for i, js := range traces {
		var s *workload.Session
		t, err := parseObject(js)
		if err == nil {
			s, err = f.traceSession(o, t, r.i)
		}
		if err != nil {
			return nil, fmt.Errorf("\"traces\": element %d: %w", i, err)
		}
		all = append(all, s)
	}
	return all, nil
}

// readGraph reads the record of the graph.
func (f *file) readGraph(r groupRow) error {
	switch {
	case f.graph.graph != nil && f.graph.row != r.i:
		return fmt.Errorf("a second graph; the first one is row %d", f.graph.row+1)
	case f.graph.trace >= 0 && f.graph.trace < r.i:
		return fmt.Errorf("the graph comes after the trace of row %d; it must come before", f.graph.trace+1)
	}
	g, err := readIRGraph(f, r.row)
	f.graph.graph, f.graph.row = g, r.i
	return err
}

// known returns an error for a member of a record that its kind does not have.
func known(r *row, members []string, kind string) error {
	for _, m := range r.fields {
		if !slices.Contains(members, m.Name) {
			return fmt.Errorf("%q is not a member of %s; expected one of %s", clip([]byte(m.Name)), kind, strings.Join(quoteAll(members), ", "))
		}
	}
	return nil
}

// An irGraph is a graph whose nodes are in an order in which each comes after the nodes that it waits for.
type irGraph struct {
	nodes   []*irNode
	number  map[string]int
	writers map[string][]int // nodes by the channel that they write
	edges   int              // of inputs
	// ended says of each node which others have ended when it begins.
	ended []nodeSet
	// leads says of each node what the channel that its prompt begins with holds.
	leads []irLead
}

// An irLead is a channel that a prompt begins with.
type irLead struct {
	last int // the node that has written it last; −1 for none, or if the prompt begins with a message
	// goesOn says that the channel holds the messages of the last node and its answer; ifUnset, that they are if the trace has none.
	goesOn, ifUnset bool
	err             error
}

// mostGraphNodes bounds the nodes of a graph, since ended grows with their square.
const mostGraphNodes = 10_000

// mostGraphSteps bounds the edges that are looked at to put the nodes into an order, and mostGraphEdges the edges of a graph.
const (
	mostGraphSteps = 200_000_000
	mostGraphEdges = 1_000_000
)

// A nodeSet is a set of nodes: bit i of its words is node i.
type nodeSet []uint64

func (s nodeSet) has(i int) bool { return i/64 < len(s) && s[i/64]>>(i%64)&1 == 1 }

func (s nodeSet) add(i int) { s[i/64] |= 1 << (i % 64) }

func (s nodeSet) addAll(other nodeSet) {
	for k, word := range other {
		s[k] |= word
	}
}

// An irNode is a node of a graph.
type irNode struct {
	id     string
	output string
	prompt []irItem
	model  string
	extra  export.Fields
	max    int
	inputs []irInput
	after  []irEdge
	delay  time.Duration // after all that it waits for
	begins time.Duration // after the beginning of the trace
}

// An irItem is an element of a prompt: a channel, or a message.
type irItem struct {
	channel string   // "" for a message
	js      []byte   // the message, if it has no parts
	role    string   // of a message with parts
	more    []byte   // further members of it, each after a comma
	parts   []irPart // texts and channels
}

// An irPart is a part of a text: a channel, or a text.
type irPart struct{ channel, text string }

// An irInput makes a node wait for a number of writes to a channel, 0 for all.
type irInput struct {
	channel string
	count   int
}

// An irEdge is an edge from a node.
type irEdge struct {
	from   string
	anchor workload.Anchor
	delay  time.Duration
}

// readIRGraph reads a graph.
func readIRGraph(f *file, r *row) (*irGraph, error) {
	if err := known(r, graphMembers, "a graph"); err != nil {
		return nil, err
	}
	version, ok, err := r.string("version")
	if err != nil {
		return nil, err
	}
	if ok && version != graphVersion {
		return nil, fmt.Errorf("\"version\": %q; expected %s", clip([]byte(version)), graphVersion)
	}
	reducers, err := readChannels(r)
	if err != nil {
		return nil, err
	}
	nodes, err := readIRNodes(f, r)
	if err != nil {
		return nil, err
	}
	if len(nodes) == 0 {
		if nodes, err = linearChat(r); err != nil {
			return nil, err
		}
	}
	if err := readIREdges(f, r, nodes); err != nil {
		return nil, err
	}
	return orderGraph(nodes, reducers)
}

// linearChat returns the node of a graph without any: it asks what the trace says.
func linearChat(r *row) ([]*irNode, error) {
	n := &irNode{id: "_llm", output: "messages"}
	system, ok, err := r.string("system")
	if err != nil {
		return nil, err
	}
	if ok {
		js, err := json.Marshal(system)
		if err != nil {
			return nil, err
		}
		n.prompt = append(n.prompt, irItem{js: slices.Concat([]byte(`{"role":"system","content":`), js, []byte("}"))})
	}
	n.prompt = append(n.prompt, irItem{channel: "messages"})
	return []*irNode{n}, nil
}

// readChannels returns the reducers of the channels that a graph declares.
func readChannels(r *row) (map[string]string, error) {
	reducers := map[string]string{}
	js := r.get("state")
	if js == nil {
		return reducers, nil
	}
	state, err := parseObject(js)
	if err != nil {
		return nil, fmt.Errorf("\"state\": %w", err)
	}
	for _, m := range state.fields {
		c, err := parseObject(m.Value.Data)
		if err == nil {
			err = known(c, channelMembers, "a channel")
		}
		if err == nil {
			err = oneOf(c, "type", "text", "messages")
		}
		if err == nil {
			err = oneOf(c, "reducer", irOverwrite, "add_messages")
		}
		if err != nil {
			return nil, fmt.Errorf("\"state\": %q: %w", clip([]byte(m.Name)), err)
		}
		reducer, ok, _ := c.string("reducer") // checked
		if !ok {
			reducer = irOverwrite
		}
		reducers[m.Name] = reducer
	}
	return reducers, nil
}

// irOverwrite is the reducer of a channel that holds what was written last.
const irOverwrite = "overwrite"

// oneOf returns an error if a member of a row is none of these.
func oneOf(r *row, name string, allowed ...string) error {
	s, ok, err := r.string(name)
	if err == nil && ok && !slices.Contains(allowed, s) {
		err = fmt.Errorf("%q: %q; expected %s", name, clip([]byte(s)), strings.Join(allowed, " or "))
	}
	return err
}

// readIRNodes reads the nodes of a graph.
func readIRNodes(f *file, r *row) ([]*irNode, error) {
	js := r.get("nodes")
	if js == nil {
		return nil, nil
	}
	all, err := parseObject(js)
	if err != nil {
		return nil, fmt.Errorf("\"nodes\": %w", err)
	}
	var nodes []*irNode
	seen := map[string]bool{}
	for _, m := range all.fields {
		n := &irNode{id: m.Name}
		err := n.read(f, m.Value.Data)
		switch {
		case seen[m.Name]:
			err = errors.New("is there twice")
		case m.Name == irStart || m.Name == irEnd || m.Name == "" || strings.HasPrefix(m.Name, "_aiperf"):
			err = errors.New("is a reserved name")
		}
		if err != nil {
			return nil, fmt.Errorf("\"nodes\": %q: %w", clip([]byte(m.Name)), err)
		}
		seen[m.Name] = true
		if nodes = append(nodes, n); len(nodes) > mostGraphNodes {
			return nil, fmt.Errorf("\"nodes\": more than %d", mostGraphNodes)
		}
	}
	return nodes, nil
}

// The ends of a graph.
const (
	irStart = "START"
	irEnd   = "END"
)

// read reads a node.
func (n *irNode) read(f *file, js []byte) error {
	r, err := parseObject(js)
	if err != nil {
		return err
	}
	if err := known(r, nodeMembers, "a node"); err != nil {
		return err
	}
	for _, name := range []string{"node_type", "kind"} {
		if err := oneOf(r, name, "llm"); err != nil {
			return err
		}
	}
	if n.output, err = required(r.string("output")); err != nil {
		return fmt.Errorf("\"output\": %w", err)
	}
	if err := n.readPrompt(r); err != nil {
		return err
	}
	if n.delay, err = microseconds(r, "min_start_delay_us"); err != nil {
		return err
	}
	if n.max, _, err = member(r, "max_tokens", parseLength); err != nil {
		return err
	}
	for _, name := range []string{"arrival_offset_us", "extra_headers"} {
		if r.get(name) != nil {
			f.ignore(name)
		}
	}
	if err := n.readInputs(r); err != nil {
		return err
	}
	return n.readExtra(r)
}

// readExtra reads the members of the request.
func (n *irNode) readExtra(r *row) error {
	var err error
	if n.model, _, err = r.string("model"); err != nil {
		return err
	}
	streams, ok, err := member(r, "streaming", parseBool)
	if err != nil {
		return err
	}
	if ok && !streams {
		n.extra = append(n.extra, export.Field{Name: "stream", Value: export.JSON("false")})
	}
	if tools := r.get("raw_tools"); tools != nil {
		n.extra = append(n.extra, export.Field{Name: "tools", Value: export.Value{Data: tools}})
	}
	js := r.get("extra_body")
	if js == nil {
		return nil
	}
	body, err := parseObject(js)
	if err != nil {
		return fmt.Errorf("\"extra_body\": %w", err)
	}
	n.extra = append(n.extra, body.fields...)
	return nil
}

// microseconds returns a time of at least 0; 0 if it is absent or null.
func microseconds(r *row, name string) (time.Duration, error) {
	return r.duration(name, time.Microsecond)
}

// readInputs reads the writes that a node waits for.
func (n *irNode) readInputs(r *row) error {
	js := r.get("inputs")
	if js == nil {
		return nil
	}
	list, err := parseList(js, parseObject)
	if err != nil {
		return fmt.Errorf("\"inputs\": %w", err)
	}
	for i, one := range list {
		in := irInput{}
		err := known(one, inputMembers, "an input")
		if err == nil {
			if in.channel, err = required(one.string("channel")); err != nil {
				err = fmt.Errorf("\"channel\": %w", err)
			}
		}
		if count := one.get("count"); err == nil && count != nil && string(count) != `"all"` {
			if in.count, err = parseLength(count); err != nil {
				err = fmt.Errorf("\"count\": expected a number from 1 or \"all\", found %s", clip(count))
			}
		} else if err == nil && count == nil {
			in.count = 1
		}
		if err != nil {
			return fmt.Errorf("\"inputs\": element %d: %w", i, err)
		}
		n.inputs = append(n.inputs, in)
	}
	return nil
}

// readPrompt reads the prompt of a node.
func (n *irNode) readPrompt(r *row) error {
	name := "prompt"
	if r.get("messages") != nil {
		if name = "messages"; r.get("prompt") != nil {
			return errors.New(`both "prompt" and "messages"; drop one`)
		}
	}
	js := r.get(name)
	if js == nil {
		return missing(r, "prompt")
	}
	items, err := parseList(js, readIRItem)
	if err == nil && len(items) == 0 {
		err = errors.New("is empty")
	}
	if err != nil {
		return fmt.Errorf("%q: %w", name, err)
	}
	n.prompt = items
	return nil
}

// readIRItem reads an element of a prompt.
func readIRItem(js []byte) (item irItem, err error) {
	if js[0] == '"' {
		text, err := parseString(js)
		if err == nil && (len(text) < 2 || text[0] != '@' || text[1] == '@') {
			err = fmt.Errorf("%q is neither a message nor \"@\" and the name of a channel", clip([]byte(text)))
		}
		return irItem{channel: strings.TrimPrefix(text, "@")}, err
	}
	r, err := parseObject(js)
	if err != nil {
		return item, err
	}
	if item.role, err = required(r.string("role")); err != nil {
		return item, fmt.Errorf("\"role\": %w", err)
	}
	content := r.get("content")
	if content == nil || content[0] != '[' || !elementsStartWith(content, '"') {
		v := jsontext.Value(slices.Clone(js))
		if err := v.Compact(rowOptions...); err != nil {
			return item, syntaxError(err)
		}
		return irItem{js: v}, nil
	}
	texts, err := parseStrings(content)
	if err != nil {
		return item, fmt.Errorf("\"content\": %w", err)
	}
	for _, text := range texts {
		switch {
		case strings.HasPrefix(text, "@@"):
			item.parts = append(item.parts, irPart{text: text[1:]})
		case len(text) > 1 && text[0] == '@':
			item.parts = append(item.parts, irPart{channel: text[1:]})
		default:
			item.parts = append(item.parts, irPart{text: text})
		}
	}
	for _, m := range r.fields {
		if m.Name == "role" || m.Name == "content" {
			continue
		}
		if item.more, err = jsontext.AppendQuote(append(item.more, ','), m.Name); err != nil {
			return item, err
		}
		item.more = append(append(item.more, ':'), m.Value.Data...)
	}
	return item, nil
}

// readIREdges reads the edges of a graph.
func readIREdges(f *file, r *row, nodes []*irNode) error {
	js := r.get("edges")
	if js == nil {
		return nil
	}
	list, err := parseList(js, parseObject)
	if err != nil {
		return fmt.Errorf("\"edges\": %w", err)
	}
	byID := map[string]*irNode{}
	for _, n := range nodes {
		byID[n.id] = n
	}
	for i, one := range list {
		if err := readIREdge(f, one, byID); err != nil {
			return fmt.Errorf("\"edges\": element %d: %w", i, err)
		}
	}
	return nil
}

// readIREdge reads an edge.
func readIREdge(f *file, r *row, nodes map[string]*irNode) error {
	if err := known(r, edgeMembers, "an edge"); err != nil {
		return err
	}
	if err := oneOf(r, "edge_type", "static"); err != nil {
		return err
	}
	source, err := required(r.string("source"))
	if err != nil {
		return fmt.Errorf("\"source\": %w", err)
	}
	target, err := required(r.string("target"))
	if err != nil {
		return fmt.Errorf("\"target\": %w", err)
	}
	e := irEdge{from: source}
	delays := map[string]time.Duration{}
	for _, name := range edgeMembers[3:] {
		if delays[name], err = microseconds(r, name); err != nil {
			return err
		}
	}
	afterEnd, afterStart, afterToken := edgeMembers[3], edgeMembers[4], edgeMembers[5]
	has := func(name string) bool { return r.get(name) != nil }
	switch {
	case has(afterStart) && has(afterEnd):
		return fmt.Errorf("both %q and %q; drop one", afterEnd, afterStart)
	case has(afterToken) && !has(afterStart):
		return fmt.Errorf("%q without %q, which holds if no token comes", afterToken, afterStart)
	case has(afterStart) && source == irStart:
		return fmt.Errorf("%q: %s sends nothing; use \"min_start_delay_us\"", afterStart, irStart)
	case has(afterToken):
		e.anchor, e.delay = workload.AfterFirstToken, delays[afterToken]
	case has(afterStart):
		e.anchor, e.delay = workload.AfterStart, delays[afterStart]
	default:
		e.delay = delays[afterEnd]
	}
	if source != irStart && nodes[source] == nil {
		return fmt.Errorf("\"source\": no node is %q", clip([]byte(source)))
	}
	to := nodes[target]
	switch {
	case target == irEnd:
		if e.delay > 0 || delays["min_start_delay_us"] > 0 {
			f.leaveOut("a delay before the end of a graph")
		}
		return nil
	case to == nil:
		return fmt.Errorf("\"target\": no node is %q", clip([]byte(target)))
	case source == irStart:
		to.begins = max(to.begins, sum(e.delay, delays["min_start_delay_us"]))
		return nil
	}
	to.delay = max(to.delay, delays["min_start_delay_us"])
	to.after = append(to.after, e)
	return nil
}

// orderGraph puts the nodes into an order in which each comes after the nodes that it waits for, and checks the channels.
func orderGraph(nodes []*irNode, reducers map[string]string) (*irGraph, error) {
	g := &irGraph{number: map[string]int{}, writers: map[string][]int{}}
	slices.SortStableFunc(nodes, func(a, b *irNode) int { // the request that begins first comes first
		switch x, y := a.isRoot(), b.isRoot(); {
		case x && y:
			return cmp.Compare(sum(a.begins, a.delay), sum(b.begins, b.delay))
		case x:
			return -1
		case y:
			return 1
		}
		return 0
	})
	writers := map[string][]string{}
	for _, n := range nodes {
		writers[n.output] = append(writers[n.output], n.id)
	}
	for channel, ids := range writers {
		if reducers[channel] == irOverwrite && len(ids) > 1 {
			return nil, fmt.Errorf("\"nodes\": %q and %q write the channel %q; only one may write a channel of the reducer overwrite", clip([]byte(ids[0])), clip([]byte(ids[1])), clip([]byte(channel)))
		}
	}
	for _, n := range nodes {
		for _, in := range n.inputs {
			switch all := len(writers[in.channel]); {
			case all == 0:
				return nil, fmt.Errorf("\"nodes\": %q waits for the channel %q, which no node writes", clip([]byte(n.id)), clip([]byte(in.channel)))
			case in.count > all:
				return nil, fmt.Errorf("\"nodes\": %q waits for %d writes of the channel %q, which has %d", clip([]byte(n.id)), in.count, clip([]byte(in.channel)), all)
			}
		}
	}
	for left, steps := nodes, 0; len(left) > 0; {
		var later []*irNode
		for _, n := range left {
			steps += 1 + len(n.after) + len(n.inputs)
			if !g.ready(n, writers) {
				later = append(later, n)
				continue
			}
			if err := g.add(n); err != nil {
				return nil, err
			}
		}
		switch {
		case len(later) == len(left):
			return nil, fmt.Errorf("\"nodes\": %q waits for itself, or for writes that never come", clip([]byte(later[0].id)))
		case steps > mostGraphSteps:
			return nil, fmt.Errorf("\"nodes\": %q and %d others stand before nodes that they wait for; put each node after the nodes that it waits for", clip([]byte(later[0].id)), len(later)-1)
		}
		left = later
	}
	for _, n := range nodes {
		if err := g.checkInputs(n); err != nil {
			return nil, err
		}
	}
	for i := range g.nodes {
		g.leads = append(g.leads, g.lead(i))
	}
	return g, nil
}

// lead returns what the channel that the prompt of node i begins with holds.
func (g *irGraph) lead(i int) irLead {
	channel := g.nodes[i].prompt[0].channel
	if channel == "" {
		return irLead{last: -1}
	}
	chain, err := g.chain(i, channel)
	if err != nil || len(chain) == 0 {
		return irLead{last: -1, err: err}
	}
	last := chain[len(chain)-1]
	if g.nodes[last].prompt[0].channel != channel {
		return irLead{last: last, ifUnset: len(chain) == 1}
	}
	before, err := g.chain(last, channel)
	return irLead{last: last, goesOn: err == nil && slices.Equal(before, chain[:len(chain)-1])}
}

// isRoot reports whether a node waits for no other.
func (n *irNode) isRoot() bool { return len(n.after)+len(n.inputs) == 0 }

// ready reports whether all that a node waits for is in the order.
func (g *irGraph) ready(n *irNode, writers map[string][]string) bool {
	for _, e := range n.after {
		if _, ok := g.number[e.from]; !ok {
			return false
		}
	}
	for _, in := range n.inputs {
		there := len(g.writers[in.channel]) // n itself is not among them
		if there < len(writers[in.channel]) && (in.count == 0 || there < in.count) {
			return false
		}
	}
	return true
}

// add adds a node that is ready.
func (g *irGraph) add(n *irNode) error {
	i := len(g.nodes)
	g.nodes, g.number[n.id] = append(g.nodes, n), i
	ended := make(nodeSet, i/64+1)
	for _, e := range n.after {
		j := g.number[e.from]
		if e.anchor == workload.AfterEnd {
			ended.add(j)
		}
		ended.addAll(g.ended[j])
	}
	for _, in := range n.inputs {
		for _, j := range g.inputWriters(in) {
			ended.add(j)
			ended.addAll(g.ended[j])
			n.after = append(n.after, irEdge{from: g.nodes[j].id})
			if g.edges++; g.edges > mostGraphEdges {
				return fmt.Errorf("\"nodes\": their \"inputs\" wait for more than %d writes together", mostGraphEdges)
			}
		}
	}
	g.ended = append(g.ended, ended)
	g.writers[n.output] = append(g.writers[n.output], i)
	return nil
}

// inputWriters returns the nodes in the order so far whose writes an input waits for.
func (g *irGraph) inputWriters(in irInput) []int {
	all := g.writers[in.channel]
	if in.count > 0 {
		all = all[:min(in.count, len(all))]
	}
	return all
}

// checkInputs returns an error if it is not known before which writes a node waits for.
func (g *irGraph) checkInputs(n *irNode) error {
	for _, in := range n.inputs {
		first := g.writers[in.channel]
		for k := 1; k < len(first) && in.count > 0; k++ {
			if !g.ended[first[k]].has(first[min(k, in.count)-1]) {
				return fmt.Errorf("\"nodes\": %q: \"inputs\": which %d of the %d writes of the channel %q come first is not known before; use \"all\", or make its writers follow each other",
					clip([]byte(n.id)), in.count, len(first), clip([]byte(in.channel)))
			}
		}
	}
	return nil
}

// An irTrace is a graph with the values of a trace.
type irTrace struct {
	*irGraph
	init map[string][]byte // values of channels
	most int64             // bytes of a prompt
}

// traceSession returns the session of a trace.
func (f *file) traceSession(o *Options, r *row, step int) (*workload.Session, error) {
	if err := known(r, traceMembers, "a trace"); err != nil {
		return nil, err
	}
	id, err := required(r.string("id"))
	if err != nil {
		return nil, fmt.Errorf("\"id\": %w", err)
	}
	if r.get("graph_ref") != nil {
		return nil, errors.New(`"graph_ref": a file has one graph; leave it out`)
	}
	g := f.graph.graph
	if g == nil {
		if g, err = readIRGraph(f, &row{}); err != nil {
			return nil, err
		}
	}
	t := &irTrace{irGraph: g, init: map[string][]byte{}, most: o.maxRow()}
	if js := r.get("initial_state"); js != nil {
		state, err := parseObject(js)
		if err != nil {
			return nil, fmt.Errorf("\"initial_state\": %w", err)
		}
		for _, m := range state.fields {
			t.init[m.Name] = m.Value.Data
		}
	}
	if js := r.get("messages"); js != nil && t.init["messages"] == nil {
		t.init["messages"] = js
	}
	if r.get("replay_outputs") != nil {
		f.ignore("replay_outputs")
	}
	s, waits := &workload.Session{ID: id, Recorded: true}, o.waits()
	for i := range g.nodes {
		if err := f.countPlayed(o); err != nil {
			return nil, err
		}
		n, messages, err := t.node(i)
		if err != nil {
			return nil, err
		}
		if err := f.graph.countPrompt(f, t.most, len(messages)); err != nil {
			return nil, err
		}
		if err := waits.add(n.After); err != nil {
			return nil, err
		}
		s.Recorded = s.Recorded && n.Continues < 0 && len(n.Quotes) == 0
		s.Nodes = append(s.Nodes, n)
	}
	if max(g.nodes[0].begins, g.nodes[0].delay) > 0 {
		f.leaveOut("a delay before the first request of a trace")
	}
	s.Entry = func(i int) (workload.Entry, error) {
		n, messages, err := t.node(i)
		p := &workload.Prompt{Messages: messages, MaxTokens: g.nodes[i].max, Extra: slices.Clone(g.nodes[i].extra)}
		if p.MaxTokens > 0 {
			p.LengthField = ownField("max_tokens")
		}
		return workload.Entry{Step: step, Prompt: p, Whole: n.Continues < 0}, err
	}
	return s, nil
}

// node returns node i of the session, and the messages of its request.
func (t *irTrace) node(i int) (workload.Node, []byte, error) {
	n := t.nodes[i]
	x := &irPrompt{irTrace: t, out: []byte{'['}}
	items, continues := n.prompt, -1
	switch lead := t.leads[i]; {
	case lead.err != nil:
		return workload.Node{}, nil, n.fault(lead.err)
	case lead.goesOn, lead.ifUnset && t.init[items[0].channel] == nil:
		items, continues = items[1:], lead.last
	}
	for _, item := range items {
		if err := x.item(i, item); err != nil {
			return workload.Node{}, nil, n.fault(err)
		}
	}
	all := moment{}
	for _, e := range n.after {
		all = append(all, workload.Edge{From: t.number[e.from], Anchor: e.anchor, Delay: sum(e.delay, n.delay)})
	}
	at := latest(all, nil)
	first := t.nodes[0]
	if begins := n.begins - sum(first.begins, first.delay); i > 0 && n.isRoot() {
		if begins = sum(begins, n.delay); begins > 0 {
			at = moment{{Anchor: workload.AfterStart, Delay: begins}}
		}
	} else if i > 0 && begins > 0 {
		at = latest(at, moment{{Anchor: workload.AfterStart, Delay: begins}})
	}
	if continues >= 0 {
		at = latest(at, after(continues))
	}
	return workload.Node{After: at, Continues: continues, Quotes: x.quotes, Model: n.model}, append(x.out, ']'), nil
}

// fault returns an error of the prompt of a node.
func (n *irNode) fault(err error) error {
	return fmt.Errorf("\"nodes\": %q: \"prompt\": %w", clip([]byte(n.id)), err)
}

// chain returns the nodes that have written a channel when node i reads it, in the order of their writes.
func (g *irGraph) chain(i int, channel string) ([]int, error) {
	var all []int
	for _, w := range g.writers[channel] {
		switch {
		case w == i || g.ended[w].has(i):
		case g.ended[i].has(w):
			all = append(all, w)
		default:
			return nil, fmt.Errorf("the channel %q is written by %q, which neither ends before nor begins after", clip([]byte(channel)), clip([]byte(g.nodes[w].id)))
		}
	}
	for k := 1; k < len(all); k++ {
		if !g.ended[all[k]].has(all[k-1]) {
			return nil, fmt.Errorf("the channel %q is written by %q and %q in an order that is not known before", clip([]byte(channel)), clip([]byte(g.nodes[all[k-1]].id)), clip([]byte(g.nodes[all[k]].id)))
		}
	}
	return all, nil
}

// An irPrompt are the messages of a prompt while they are put together.
type irPrompt struct {
	*irTrace
	out    []byte // an array without its end
	quotes []int  // nodes whose answers have a place in it
}

// item adds an element of the prompt of node i.
func (x *irPrompt) item(i int, item irItem) error {
	if int64(len(x.out)) > x.most {
		return fmt.Errorf("is longer than %d bytes", x.most)
	}
	switch {
	case item.channel != "":
		return x.channel(i, item.channel)
	case item.parts == nil:
		x.out = appendElement(x.out, item.js)
		return nil
	}
	var text strings.Builder
	for _, p := range item.parts {
		part, err := x.text(i, p)
		if err != nil {
			return err
		}
		text.WriteString(part)
	}
	return x.message(item.role, text.String(), item.more)
}

// message adds a message.
func (x *irPrompt) message(role, text string, more []byte) error {
	js, err := jsontext.AppendQuote([]byte(`{"role":`), role)
	if err == nil {
		js, err = jsontext.AppendQuote(append(js, `,"content":`...), text)
	}
	if err != nil {
		return err
	}
	x.out = appendElement(x.out, append(append(js, more...), '}'))
	return nil
}

// text returns a part of a text of node i.
func (x *irPrompt) text(i int, p irPart) (string, error) {
	if p.channel == "" {
		return p.text, nil
	}
	chain, err := x.chain(i, p.channel)
	switch js := x.init[p.channel]; {
	case err != nil:
		return "", err
	case len(chain) > 1:
		return "", fmt.Errorf("the channel %q has %d answers; a text takes one", clip([]byte(p.channel)), len(chain))
	case len(chain) == 1:
		return x.quote(chain[0]), nil
	case js == nil:
		return "", x.noValue(p.channel)
	case js[0] != '"':
		return "", fmt.Errorf("\"initial_state\": %q: expected a text, found %s", clip([]byte(p.channel)), clip(js))
	default:
		return parseString(js)
	}
}

// noValue returns the error for a channel that is read before it is written.
func (x *irPrompt) noValue(channel string) error {
	return fmt.Errorf("no node has written the channel %q before, and the trace has no value of it in \"initial_state\"", clip([]byte(channel)))
}

// quote returns the place of an answer.
func (x *irPrompt) quote(node int) string {
	if !slices.Contains(x.quotes, node) {
		x.quotes = append(x.quotes, node)
	}
	return workload.AnswerPlace(node)
}

// channel adds the messages of a channel that node i reads: the messages of the trace, then the own messages and the answer of each node
// that has written it.
func (x *irPrompt) channel(i int, channel string) error {
	chain, err := x.chain(i, channel)
	if err != nil {
		return err
	}
	js := x.init[channel]
	if js == nil && len(chain) == 0 {
		return x.noValue(channel)
	}
	if js != nil {
		if err := x.initial(js); err != nil {
			return fmt.Errorf("\"initial_state\": %q: %w", clip([]byte(channel)), err)
		}
	}
	for _, w := range chain {
		items := x.nodes[w].prompt
		if items[0].channel == channel {
			items = items[1:]
		}
		for _, item := range items {
			if err := x.item(w, item); err != nil {
				return err
			}
		}
		if err := x.message(roleAssistant, x.quote(w), nil); err != nil {
			return err
		}
	}
	return nil
}

// initial adds the messages that a trace has for a channel.
func (x *irPrompt) initial(js []byte) error {
	items, err := parseList(js, readIRItem)
	if err != nil {
		return err
	}
	for k, item := range items {
		if item.channel != "" || slices.ContainsFunc(item.parts, func(p irPart) bool { return p.channel != "" }) {
			return fmt.Errorf("element %d: expected a message without channels", k)
		}
		if err := x.item(0, item); err != nil {
			return err
		}
	}
	return nil
}
