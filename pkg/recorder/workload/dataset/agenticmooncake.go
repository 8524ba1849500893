package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

func fitsAgenticMooncake(r *row, _ *file) bool {
	return r.has("request_id", "hash_ids") && (r.has("output_length") || r.has("output_tokens"))
}

// An agenticRow is a row of agentic Mooncake.
type agenticRow struct {
	groupRow
	id      string
	session string   // "" if the row names none
	waitFor []string // requests
	wait    time.Duration
	start   time.Duration // since the start of the trace; meaningful without waitFor
	timed   bool
}

// agenticMooncakeGroup returns names for the request, its session, and the requests that it waits for.
func agenticMooncakeGroup(_ *file, _ *Options, r *row, i int) ([]string, error) {
	a, err := readAgenticRow(groupRow{r, i})
	if err != nil {
		return nil, err
	}
	names := []string{"request " + a.id}
	if a.session != "" {
		names = append(names, "session "+a.session)
	}
	for _, id := range a.waitFor {
		names = append(names, "request "+id)
	}
	return names, nil
}

// readAgenticRow reads what a row says about its place in the graph.
func readAgenticRow(r groupRow) (a agenticRow, err error) {
	a.groupRow = r
	if r.get("dependencies") != nil || r.get("not_before_ms") != nil {
		return a, errors.New(`"dependencies" and "not_before_ms" are of a later version of agentic Mooncake, which is not read; expected "wait_for"`)
	}
	if a.id, err = requiredName(r.row, "request_id"); err != nil {
		return a, err
	}
	if r.get("session_id") != nil {
		if a.session, err = requiredName(r.row, "session_id"); err != nil {
			return a, err
		}
	}
	if js := r.get("wait_for"); js != nil {
		if a.waitFor, err = parseList(js, parseString); err != nil {
			return a, fmt.Errorf("\"wait_for\": %w", err)
		}
	}
	for _, name := range []string{"delay", "delay_ms", "tool_wait_ms"} {
		d, err := r.duration(name, time.Millisecond)
		if err != nil {
			return a, err
		}
		if a.wait > mostTime-d {
			return a, fmt.Errorf("%q: the delays together are longer than %v", name, mostTime)
		}
		a.wait += d
	}
	if r.get("delay") != nil && r.get("delay_ms") != nil {
		return a, errors.New(`both "delay" and "delay_ms"; drop one`)
	}
	for _, name := range []string{"timestamp", "created_time"} {
		if r.get(name) != nil {
			a.timed = true
			a.start, err = r.duration(name, time.Millisecond)
		}
		if err != nil {
			return a, err
		}
	}
	return a, nil
}

// agenticMooncakeSessions returns the session of rows of agentic Mooncake that wait for each other, or have one session_id. They are whole
// requests by their lengths and hash ids:
//
//	{"request_id": "a", "session_id": "s", "input_length": 900, "output_length": 20, "hash_ids": [1, 2], "timestamp": 0}
//	{"request_id": "b", "session_id": "s", "input_length": 1400, "output_length": 5, "hash_ids": [1, 3, 4], "wait_for": ["a"],
//	 "delay": 10, "tool_wait_ms": 250}
//
// A request begins when all that it waits for have ended, and its delay and the time of its tools are over. Each further session_id is an
// agent of its own.
func agenticMooncakeSessions(f *file, o *Options, rows []groupRow) ([]*workload.Session, error) {
	all, err := agenticOrder(rows)
	if err != nil {
		return nil, err
	}
	s := &workload.Session{ID: all[0].session, Nodes: make([]workload.Node, len(all)), Recorded: true}
	if s.ID == "" {
		s.ID = all[0].id
	}
	number, agents := map[string]int{}, map[string]int{}
	ordered := make([]groupRow, len(all))
	root := -1 // the first request that waits for none
	for i, a := range all {
		number[a.id], ordered[i] = i, a.groupRow
		n := workload.Node{Continues: -1}
		for _, id := range a.waitFor {
			n.After = append(n.After, workload.Edge{From: number[id], Delay: a.wait})
		}
		agent, known := agents[a.session]
		if a.session == "" && len(s.Agents) > 0 { // one without a name belongs to an agent that is there
			agent, known = 0, true
			if len(n.After) > 0 {
				agent = s.Nodes[n.After[0].From].Agent
			}
		}
		if !known {
			agent = len(s.Agents)
			agents[a.session] = agent
			next := workload.Agent{ID: a.session, Kind: workload.Spawned}
			switch {
			case agent == 0:
				next = workload.Agent{Parent: -1}
			case len(n.After) > 0:
				next.Parent = s.Nodes[n.After[0].From].Agent
			}
			s.Agents = append(s.Agents, next)
		}
		n.Agent = agent
		switch {
		case len(n.After) > 0:
		case root < 0:
			root, s.Timed, s.Offset = i, a.timed, a.start
		case a.start > all[root].start:
			n.After = []workload.Edge{{From: root, Anchor: workload.AfterStart, Delay: a.start - all[root].start}}
		}
		s.Nodes[i] = n
	}
	if f.opening {
		for _, r := range ordered {
			if _, _, _, err := agenticLengths(o, r.row); err != nil {
				return nil, r.fault("%w", err)
			}
			if _, err := f.recordedTokens(r.row, "output_length", "output_tokens"); err != nil {
				return nil, r.fault("%w", err)
			}
		}
	}
	if err := nameModels(s, ordered); err != nil {
		return nil, err
	}
	s.Entry = f.reread(ordered, func(f *file, r *row) (workload.Entry, error) { return agenticMooncakeRequest(f, o, r) })
	return []*workload.Session{s}, nil
}

// agenticOrder returns the rows so that each comes after the rows that it waits for: first the requests that wait for none, by their
// times, then the requests whose last predecessor comes first.
func agenticOrder(rows []groupRow) ([]agenticRow, error) {
	all, number := make([]agenticRow, len(rows)), map[string]int{}
	var roots []int
	for i, r := range rows {
		a, err := readAgenticRow(r)
		if err == nil {
			if _, twice := number[a.id]; twice {
				err = fmt.Errorf("\"request_id\": %q is the id of an earlier row, too; ids must differ", clip([]byte(a.id)))
			}
		}
		if err != nil {
			return nil, r.fault("%w", err)
		}
		all[i], number[a.id] = a, i
		if len(a.waitFor) == 0 {
			roots = append(roots, i)
		}
	}
	waits, later := make([]int, len(all)), make([][]int, len(all))
	for i, a := range all {
		waits[i] = len(a.waitFor)
		for _, id := range a.waitFor {
			k, ok := number[id]
			if !ok {
				return nil, a.fault("\"wait_for\": no row has the request_id %q", clip([]byte(id)))
			}
			later[k] = append(later[k], i)
		}
	}
	slices.SortStableFunc(roots, func(a, b int) int { return cmp.Compare(all[a].start, all[b].start) })
	var ordered []agenticRow
	for next := roots; len(next) > 0; next = next[1:] {
		ordered = append(ordered, all[next[0]])
		for _, k := range later[next[0]] {
			if waits[k]--; waits[k] == 0 {
				next = append(next, k)
			}
		}
	}
	if len(ordered) < len(all) {
		for i, n := range waits {
			if n > 0 {
				return nil, all[i].fault("\"wait_for\": the request %q waits for itself", clip([]byte(all[i].id)))
			}
		}
	}
	return ordered, nil
}

// agenticLengths returns the tokens of the request of a row, its hash ids, and the tokens of a block.
func agenticLengths(o *Options, r *row) (tokens int, ids []int64, block int, err error) {
	if ids, err = r.hashIDs(); err != nil {
		return 0, nil, 0, err
	}
	block = mooncake{o: o}.blockTokens(r)
	tokens = len(ids) * block
	for _, name := range []string{"input_length", "input_tokens"} {
		n, ok, err := r.count(name)
		if err != nil {
			return 0, nil, 0, err
		}
		if ok {
			tokens = n
		}
	}
	switch {
	case tokens == 0:
		err = errors.New(`neither an "input_length" nor "hash_ids" of at least 1`)
	case tokens > mostTokens:
		err = tooLong(tokens)
	case ids != nil:
		err = checkBlocks(tokens, ids, block)
	}
	return tokens, ids, block, err
}

func agenticMooncakeRequest(f *file, o *Options, r *row) (workload.Entry, error) {
	tokens, ids, block, err := agenticLengths(o, r)
	if err != nil {
		return workload.Entry{}, err
	}
	id, err := requiredName(r, "request_id")
	if err != nil {
		return workload.Entry{}, err
	}
	e := workload.Entry{Whole: true, Prompt: &workload.Prompt{}}
	if e.Prompt.MaxTokens, err = f.recordedTokens(r, "output_length", "output_tokens"); err != nil {
		return e, err
	}
	switch {
	case o.Texts == nil:
		err = errNoTexts
	case ids == nil:
		e.Prompt.Text, e.Prompt.IDs, err = o.Texts.Text(partName(id, 0, 0), tokens)
	default:
		e.Prompt.Text, e.Prompt.IDs, err = o.Texts.Blocks(ids, block, tokens)
	}
	return e, err
}
