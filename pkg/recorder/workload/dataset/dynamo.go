package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// dynamoSchema is the version of Dynamo's request traces that is read.
const dynamoSchema = "dynamo.request.trace.v1"

// dynamoBlock is the number of tokens in a block of a trace without hashes, and mostInvented bounds the tokens of a prompt without them, and the blocks of all
// of a session.
const (
	dynamoBlock  = 512
	mostInvented = 1 << 22
)

func fitsDynamo(r *row, _ *file) bool {
	schema, _, err := unwrapDynamo(r).string("schema")
	return err == nil && strings.HasPrefix(schema, "dynamo.request.trace.")
}

// unwrapDynamo returns the record of a row, which may be in an envelope: {"timestamp": MS, "event": {…}}.
func unwrapDynamo(r *row) *row {
	if js := r.get("event"); !r.has("schema") && js != nil && js[0] == '{' {
		if inner, err := parseObject(js); err == nil {
			return inner
		}
	}
	return r
}

// A dynamoFile is what the rows of a request trace must agree on.
type dynamoFile struct {
	contexts map[bool]int // a row that names its session, and one that does not
	block    int          // tokens in a block; 0 for no hashes
}

// A dynamoEvent is a row of Dynamo's request trace.
type dynamoEvent struct {
	row     int
	session string // "" for a request without a context
	parent  string // session
	request bool   // else a tool's event
	id      string // of the request

	wekaRequest
	known  bool // the request has hashes
	block  int  // tokens in a block
	lasted bool // the length of the request is known
}

// dynamoGroup returns the names of the session of a row and of its parent.
func dynamoGroup(f *file, _ *Options, r *row, i int) ([]string, error) {
	e, ok, err := readDynamo(f, groupRow{r, i})
	if err != nil || !ok {
		return nil, err
	}
	if f.dynamo == nil {
		f.dynamo = &dynamoFile{contexts: map[bool]int{}}
	}
	d, named := f.dynamo, e.session != ""
	if other, mixed := d.contexts[!named]; mixed {
		return nil, fmt.Errorf(`has %s "agent_context" with a "session_id", unlike row %d; a file holds requests of agents or single ones`, map[bool]string{true: "an", false: "no"}[named], other+1)
	}
	if _, ok := d.contexts[named]; !ok {
		d.contexts[named] = i
	}
	if e.known {
		if d.block == 0 {
			d.block = e.block
		}
		if d.block != e.block {
			return nil, fmt.Errorf("\"trace_block_size\": %d; the rows before have %d", e.block, d.block)
		}
	}
	if e.request {
		f.startAt(time.Unix(0, 0).Add(e.start))
	}
	switch {
	case !named:
		return []string{fmt.Sprintf("row %d", i)}, nil
	case e.parent != "":
		return []string{"session " + e.session, "session " + e.parent}, nil
	}
	return []string{"session " + e.session}, nil
}

// dynamoSessions returns the sessions of rows of Dynamo's request trace, whose requests have hashes of blocks in place of texts:
//
//	{"schema": "dynamo.request.trace.v1", "event_type": "request_end", "event_time_unix_ms": 1580,
//	 "agent_context": {"session_id": "s", "parent_session_id": "p"},
//	 "request": {"request_id": "r", "output_tokens": 9, "request_received_ms": 1400, "total_time_ms": 180,
//	  "replay": {"trace_block_size": 64, "input_length": 70, "input_sequence_hashes": [811, 812]}}}
//
// A session without a parent in the file is one of ours, and the sessions below it are its agents. A request waits for the requests that had ended
// before it began, and as long as in the recording; one that began while the request before it in its session ran, or the latest
// one of its parent, counts from there. The time of tools is within these waits. A row without a session is a session of one request.
func dynamoSessions(f *file, o *Options, rows []groupRow) ([]*workload.Session, error) {
	if o.Texts == nil {
		return nil, errNoTexts
	}
	var all []dynamoEvent
	seen, parents := map[string]bool{}, map[string]string{}
	for _, r := range rows {
		e, ok, err := readDynamo(f, r)
		if err != nil || !ok {
			return nil, r.fault("%w", cmp.Or(err, errChanged))
		}
		if e.parent != "" && parents[e.session] == "" {
			parents[e.session] = e.parent
		}
		key := e.session + "\x00" + e.id
		switch {
		case !e.request:
			f.leaveOut("an event of a tool, whose time is part of the waits between requests")
		case e.id != "" && seen[key]:
			f.leaveOut("a request that was there before")
		default:
			seen[key] = true
			all = append(all, e)
		}
	}
	roots, err := dynamoRoots(all, parents)
	if err != nil {
		return nil, err
	}
	var names []string // roots, in the order of the file
	trees := map[string][]dynamoEvent{}
	for i, e := range all {
		root := roots[i]
		if trees[root] == nil {
			names = append(names, root)
		}
		trees[root] = append(trees[root], e)
	}
	var sessions []*workload.Session
	for _, root := range names {
		s, err := dynamoTree(f, o, root, trees[root], parents)
		if err != nil {
			return nil, err
		}
		sessions = append(sessions, s)
	}
	return sessions, nil
}

// dynamoRoots returns the session without a parent among the requests that each request is below.
func dynamoRoots(all []dynamoEvent, parents map[string]string) ([]string, error) {
	there := map[string]bool{}
	for _, e := range all {
		there[e.session] = true
	}
	roots := make([]string, len(all))
	for i, e := range all {
		at := e.session
		for steps := 0; there[parents[at]] && parents[at] != ""; steps++ {
			if at = parents[at]; steps > len(parents) {
				return nil, &rowError{e.row, fmt.Errorf("session %q is its own ancestor; check \"parent_session_id\"", clip([]byte(e.session)))}
			}
		}
		roots[i] = at
	}
	return roots, nil
}

// dynamoTree returns the session of the requests of a session of the trace and those below it.
func dynamoTree(f *file, o *Options, root string, all []dynamoEvent, parents map[string]string) (*workload.Session, error) {
	slices.SortStableFunc(all, func(a, b dynamoEvent) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end))
	})
	w := &weka{f: f, o: o, step: all[0].row, id: root, block: cmp.Or(f.dynamo.block, dynamoBlock), agents: []workload.Agent{{Parent: -1}}, ids: agentIDs{"": 1}}
	if root == "" {
		w.id = cmp.Or(all[0].id, fmt.Sprint(all[0].row))
	}
	agents := map[string]int{root: 0}
	var agentOf func(session string) int
	agentOf = func(session string) int {
		if a, ok := agents[session]; ok {
			return a
		}
		parent := agentOf(parents[session])
		agents[session] = w.newAgent(session, parent)
		return agents[session]
	}
	streams, order := map[string][]int{}, []string(nil)
	w.edges = make([][]workload.Edge, len(all))
	var ends endings
	for i, e := range all {
		e.agent = agentOf(e.session)
		w.requests = append(w.requests, e.wekaRequest)
		stream := streams[e.session]
		if stream == nil {
			order = append(order, e.session)
		}
		cause := -1 // the request that may have run when this one began
		if len(stream) > 0 {
			cause = stream[len(stream)-1]
		} else if above := streams[parents[e.session]]; e.agent > 0 && len(above) > 0 {
			cause = above[len(above)-1]
		}
		if !e.known {
			f.assume(`prompts without hashes begin like those before them in their session`)
			if err := w.inventBlocks(i, stream); err != nil {
				return nil, &rowError{e.row, err}
			}
		}
		switch {
		case cause >= 0 && e.start < w.requests[cause].end:
			w.spawn(cause, i)
		default:
			before := ends.before(w.requests, i)
			if len(before) >= mostBefore {
				f.assume(fmt.Sprintf("a request waits for at most %d others, the last to end", mostBefore))
			}
			for _, j := range before {
				w.wait(j, i)
			}
			if len(stream) > 0 && !slices.Contains(before, cause) {
				w.edges[i] = append(w.edges[i], workload.Edge{From: cause}) // what came between need not have waited for it
			}
		}
		f.atLeastOne(e.out)
		if !e.lasted {
			f.assume("a request of unknown duration begins and ends at the time of its event")
		}
		ends.add(w.requests, i)
		streams[e.session] = append(stream, i)
	}
	for _, session := range order {
		w.streams = append(w.streams, wekaStream{streams[session], 0})
	}
	for _, s := range w.streams {
		w.write(s)
	}
	s := w.session()
	s.Timed, s.Offset = true, all[0].start-f.start.Sub(time.Unix(0, 0))
	return s, nil
}

// inventBlocks gives request i the blocks of the last one of the stream, and new ones for the rest.
func (w *weka) inventBlocks(i int, stream []int) error {
	q := &w.requests[i]
	q.full = q.in / w.block
	if w.invented += q.full; w.invented > mostInvented {
		return fmt.Errorf("\"request\": prompts without \"replay\" have more than %d blocks together; record the hashes", mostInvented)
	}
	if len(stream) > 0 {
		before := w.requests[stream[len(stream)-1]].ids
		q.ids = append(q.ids, before[:min(len(before), q.full)]...)
	}
	for k := len(q.ids); k < q.full; k++ {
		q.ids = append(q.ids, int64(partName(w.id, i, k))) //nolint:gosec // the bits
	}
	return nil
}

// mostBefore bounds the requests that one waits for: as many as run beside each other could be as many again.
const mostBefore = 100

// endings are the requests of a tree so far, in the order of their ends.
type endings struct {
	all    []int
	latest []int // of the requests up to each of them, the one that began last
}

// add adds request i, which begins after the requests that were added before it.
func (x *endings) add(requests []wekaRequest, i int) {
	at, _ := slices.BinarySearchFunc(x.all, i, func(j, i int) int {
		return cmp.Or(cmp.Compare(requests[j].end, requests[i].end), cmp.Compare(j, i))
	})
	x.all = slices.Insert(x.all, at, i)
	x.latest = append(x.latest, i)
	for k := at; k < len(x.all); k++ {
		last := x.all[k]
		if k > 0 {
			last = max(last, x.latest[k-1])
		}
		x.latest[k] = last
	}
}

// before returns the requests that had ended when request i began, without the ones that others of them had waited for.
func (x *endings) before(requests []wekaRequest, i int) (all []int) {
	n, _ := slices.BinarySearchFunc(x.all, requests[i].start, func(j int, at time.Duration) int {
		if requests[j].end <= at {
			return -1
		}
		return 1
	})
	if n == 0 {
		return nil
	}
	last := x.latest[n-1]
	for k := n - 1; k >= 0 && requests[x.all[k]].end > requests[last].start && len(all) < mostBefore; k-- {
		all = append(all, x.all[k])
	}
	if !slices.Contains(all, last) {
		all = append(all, last)
	}
	slices.Sort(all)
	return all
}

// readDynamo reads a row. ok is false for one that is left out.
func readDynamo(f *file, r groupRow) (e dynamoEvent, ok bool, err error) {
	e.row = r.i
	in := unwrapDynamo(r.row)
	schema, there, err := in.string("schema")
	switch {
	case err != nil:
		return e, false, err
	case !there:
		f.leaveOut("a row that is not a record")
		return e, false, nil
	case schema != dynamoSchema:
		return e, false, fmt.Errorf("\"schema\": %q; expected %s", clip([]byte(schema)), dynamoSchema)
	}
	kind, err := required(in.string("event_type"))
	if err != nil {
		return e, false, fmt.Errorf("\"event_type\": %w", err)
	}
	if err := e.readContext(in); err != nil {
		return e, false, err
	}
	switch {
	case kind == "request_end":
		e.request = true
		return e, true, e.readRequest(r.row, in)
	case !strings.HasPrefix(kind, "tool_"):
		f.leaveOut("an event of a type that is not known")
		return e, false, nil
	case e.session == "":
		f.leaveOut("an event of a tool without a session")
		return e, false, nil
	}
	return e, true, nil
}

// readContext reads whose event it is.
func (e *dynamoEvent) readContext(r *row) (err error) {
	if e.session, _, err = r.string("session_id"); err != nil { // as tools send it
		return err
	}
	js := r.get("agent_context")
	if js == nil {
		return nil
	}
	c, err := parseObject(js)
	if err != nil {
		return fmt.Errorf("\"agent_context\": %w", err)
	}
	for _, m := range []struct {
		to    *string
		names []string
	}{{&e.session, []string{"session_id"}}, {&e.parent, []string{"parent_trajectory_id", "parent_session_id"}}} {
		for _, name := range m.names {
			value, _, err := c.string(name)
			if err != nil {
				return fmt.Errorf("\"agent_context\": %w", err)
			}
			if value != "" {
				*m.to = value
				break
			}
		}
	}
	if e.session == "" {
		return fmt.Errorf("\"agent_context\": no \"session_id\": it has %s", columnNames(c))
	}
	if e.parent == e.session {
		e.parent = ""
	}
	return nil
}

// readRequest reads the request of a record, which is in a row.
func (e *dynamoEvent) readRequest(outer, record *row) error {
	js := record.get("request")
	if js == nil {
		return missing(record, "request")
	}
	r, err := parseObject(js)
	if err == nil {
		err = e.readMembers(r)
	}
	if err == nil {
		err = e.readTimes(outer, record, r)
	}
	if err != nil {
		return fmt.Errorf("\"request\": %w", err)
	}
	return nil
}

// readMembers reads what a request is.
func (e *dynamoEvent) readMembers(r *row) (err error) {
	if e.id, _, err = r.string("request_id"); err != nil {
		return err
	}
	if e.model, _, err = r.string("model"); err != nil {
		return err
	}
	if e.out, err = requiredCount(r, "output_tokens"); err != nil {
		return err
	}
	js := r.get("replay")
	if js == nil {
		if e.in, err = requiredCount(r, "input_tokens"); err == nil && (e.in == 0 || e.in > mostInvented) {
			err = fmt.Errorf("\"input_tokens\": %d: must be from 1 to %d without \"replay\"", e.in, mostInvented)
		}
		return err
	}
	replay, err := parseObject(js)
	if err == nil {
		err = e.readHashes(replay)
	}
	if err != nil {
		return fmt.Errorf("\"replay\": %w", err)
	}
	return nil
}

// readHashes reads the hashes of a prompt. The hash of a last block that is not full is dropped: no other prompt has that block.
func (e *dynamoEvent) readHashes(r *row) (err error) {
	e.known = true
	if e.block, err = requiredCount(r, "trace_block_size"); err == nil && e.block == 0 {
		err = errors.New(`"trace_block_size": 0: must be at least 1`)
	}
	if err != nil {
		return err
	}
	if e.in, err = requiredCount(r, "input_length"); err == nil && (e.in == 0 || e.in > mostTokens) {
		err = fmt.Errorf("\"input_length\": %d: must be from 1 to %d", e.in, mostTokens)
	}
	if err != nil {
		return err
	}
	js := r.get("input_sequence_hashes")
	ids, ok := parseIDs(js)
	if !ok {
		return fmt.Errorf("\"input_sequence_hashes\": expected an array of whole numbers, found %s", clip(js))
	}
	if (e.in+e.block-1)/e.block != len(ids) {
		return fmt.Errorf("\"input_length\": %d tokens are not the %d blocks of %d that \"input_sequence_hashes\" names", e.in, len(ids), e.block)
	}
	e.full = e.in / e.block
	e.ids = ids[:e.full]
	return nil
}

// readTimes reads when a request was sent and answered. One whose duration is not known has begun and ended at the time of its
// event.
func (e *dynamoEvent) readTimes(outer, record, r *row) error {
	event, timed, err := record.milliseconds("event_time_unix_ms")
	if err == nil && !timed {
		event, timed, err = outer.milliseconds("timestamp")
	}
	if err != nil {
		return err
	}
	received, begun, err := r.milliseconds("request_received_ms")
	if err != nil {
		return err
	}
	total, lasted, err := r.milliseconds("total_time_ms")
	if err != nil {
		return err
	}
	switch {
	case !timed && !begun:
		return errors.New(`neither "request_received_ms" nor the time of the event, "event_time_unix_ms", is there`)
	case !begun:
		received = max(0, event-total)
	case !lasted && timed:
		total, lasted = max(0, event-received), true
	}
	e.start, e.end, e.ended, e.lasted = received, sum(received, total), true, lasted
	ttft, known, err := r.milliseconds("ttft_ms")
	if err != nil {
		return err
	}
	e.token, e.streamed = sum(e.start, ttft), known && lasted && ttft <= total
	return nil
}
