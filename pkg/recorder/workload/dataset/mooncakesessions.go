package dataset

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// mooncakeMembers are members of rows of Mooncake's traces, as AIPerf extends them, that say how a row belongs to others.
var mooncakeMembers = []string{"message_mode", "assistant_responses", "context_mode", "group_id", "is_restart"}

// fitsMooncake recognizes rows with lengths in place of texts, and rows with messages that say how they belong to the turn before.
func fitsMooncake(r *row, f *file) bool {
	if !hasPrompt(r) {
		return r.has("input_length")
	}
	return r.has("message_mode") || r.has("assistant_responses") || f.named
}

// playsMooncake reports whether rows are turns of sessions.
func playsMooncake(first *row, o *Options) bool {
	return o.Sessions && (first.has("chat_id") || slices.ContainsFunc(sessionColumns, func(name string) bool { return first.get(name) != nil }))
}

// mooncakeGroup connects the rows of a session, and of Bailian a chat with the one before it.
func mooncakeGroup(_ *file, _ *Options, r *row, i int) ([]string, error) {
	if chat := chatID(r, "chat_id"); chat != "" {
		names := []string{"chat " + chat}
		if before := chatID(r, "parent_chat_id"); before != "" {
			names = append(names, "chat "+before)
		}
		return names, nil
	}
	session, err := rowSession(r)
	if err != nil {
		return nil, err
	}
	if session == "" {
		return []string{fmt.Sprintf("row %d", i)}, nil
	}
	return []string{"session " + session}, nil
}

// rowSession returns the session of a row, "" for none.
func rowSession(r *row) (string, error) {
	p := promptReader{row: r, used: map[string]bool{}}
	var e workload.Entry
	err := p.conversation(&e)
	return e.Session, err
}

// chatID returns the id of a chat in Bailian's traces; "" for none, which is −1 there.
func chatID(r *row, member string) string {
	id := strings.Trim(string(r.get(member)), `"`)
	if id == "-1" {
		return ""
	}
	return id
}

// mooncakeSessions returns the sessions of rows that mooncakeGroup connects.
func mooncakeSessions(f *file, o *Options, rows []groupRow) ([]*workload.Session, error) {
	l := mooncake{f, o}
	if rows[0].has("chat_id") {
		return l.chats(rows)
	}
	s, err := l.turns(rows)
	if err != nil {
		return nil, err
	}
	return []*workload.Session{s}, nil
}

// A mooncakeRow is a row while its session is open.
type mooncakeRow struct {
	entry workload.Entry
	text  mooncakeText
	row   int
	whole bool // it holds the history
}

// turns returns the session of rows that follow each other.
//
//	{"session_id": "a", "timestamp": 0, "input_length": 6758, "output_length": 500, "hash_ids": [0, 1, …]}
//	{"session_id": "a", "delay": 900, "message_mode": "delta", "messages": […], "output_length": 40, "extra": {…}}
//
// "delay" is the time after the answer to the row before.
func (l mooncake) turns(rows []groupRow) (*workload.Session, error) {
	all := make([]mooncakeRow, len(rows))
	nodes := make([]workload.Node, len(rows))
	recorded := true
	for k, r := range rows {
		q, err := l.turn(r)
		if err != nil {
			return nil, r.fault("%w", err)
		}
		nodes[k] = workload.Node{Continues: -1}
		if k > 0 {
			nodes[k].After = []workload.Edge{{From: k - 1, Delay: q.entry.Delay}}
			before := &all[k-1].entry
			if gap := q.entry.Offset - before.Offset; q.entry.Timed && before.Timed && gap > 0 && !r.has("delay") {
				l.f.assume("a turn with a \"timestamp\" and no \"delay\" is sent at its recorded distance from the start of the previous turn, but not before the previous answer")
				nodes[k].After = append(nodes[k].After, workload.Edge{From: k - 1, Anchor: workload.AfterStart, Delay: gap})
			}
			if !q.whole {
				nodes[k].Continues = k - 1
				recorded = false
			}
		}
		q.entry.Delay = 0
		all[k] = q
	}
	first := &all[0].entry
	s := &workload.Session{ID: cmp.Or(first.Session, fmt.Sprintf("row %d", rows[0].i+1)), Timed: first.Timed, Offset: first.Offset, Nodes: nodes, Recorded: recorded}
	s.Entry = l.entriesOf(all, recorded)
	return s, nil
}

// entriesOf returns the Entry of a session of these rows.
func (l mooncake) entriesOf(all []mooncakeRow, recorded bool) func(i int) (workload.Entry, error) {
	return func(i int) (workload.Entry, error) {
		q := &all[i]
		e := q.entry
		p := *e.Prompt
		e.Prompt, e.Step, e.Whole = &p, q.row, q.whole || recorded
		return e, l.addText(&e, q.text, q.row)
	}
}

// turn reads a row.
func (l mooncake) turn(r groupRow) (q mooncakeRow, err error) {
	q.row = r.i
	if q.entry, q.text, err = l.read(r.row, r.i); err != nil {
		return q, err
	}
	mode, err := historyMode(r.row)
	switch {
	case err != nil:
		return q, err
	case q.entry.Prompt.Body != nil, mode == RowsWhole:
		q.whole = true
	case mode == RowsNew:
	case q.text.tokens > 0:
		q.whole = q.entry.Whole
	default:
		q.whole = q.entry.Prompt.Messages != nil
	}
	return q, nil
}

// historyMode returns what a row says of its messages: whole, new, or "" for nothing.
func historyMode(r *row) (mode TraceRows, err error) {
	for _, m := range []struct {
		name  string
		modes map[string]TraceRows
	}{
		{"message_mode", map[string]TraceRows{"history": RowsWhole, "delta": RowsNew}},
		{"assistant_responses", map[string]TraceRows{"recorded": RowsWhole, "live": RowsNew}},
		{"context_mode", map[string]TraceRows{"message_array_with_responses": RowsWhole, "deltas_without_responses": RowsNew}},
	} {
		text, ok, err := r.string(m.name)
		if err != nil {
			return "", err
		}
		if !ok {
			continue
		}
		found := m.modes[text]
		switch {
		case found == "":
			names := make([]string, 0, len(m.modes))
			for name := range m.modes {
				names = append(names, fmt.Sprintf("%q", name))
			}
			slices.Sort(names)
			return "", fmt.Errorf("%q: expected %s, found %q", m.name, strings.Join(names, " or "), clip([]byte(text)))
		case mode != "" && mode != found:
			return "", fmt.Errorf("%q: %q contradicts another member of the row, which says that it holds the %s", m.name, text, map[TraceRows]string{RowsWhole: "whole history", RowsNew: "new messages alone"}[mode])
		}
		mode = found
	}
	return mode, nil
}

// chats returns the sessions of rows of Bailian's traces, one for each chat that has no chat before it:
//
//	{"chat_id": 159, "parent_chat_id": -1, "timestamp": 61.114, "input_length": 521, "output_length": 132, "turn": 1, "hash_ids": […]}
//
// Each row is a whole prompt, and waits for the row of its parent.
func (l mooncake) chats(rows []groupRow) ([]*workload.Session, error) {
	c := chatFinder{rows: rows, before: make([]int, len(rows)), turn: make([]int, len(rows)), root: make([]int, len(rows)), state: make([]byte, len(rows))}
	if err := c.find(); err != nil {
		return nil, err
	}
	if l.f.opening {
		l.f.facts.TraceWhole += len(rows) - c.roots
		if c.missing > 0 {
			l.f.assume("a chat whose \"parent_chat_id\" is not in the file begins a session")
		}
	}
	members := make([][]int, c.roots) // rows of each session
	for _, k := range c.order {
		n := c.number[c.root[k]]
		members[n] = append(members[n], k)
	}
	var all []*workload.Session
	for _, of := range members {
		s, err := l.chat(&c, of)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// chat returns the session of some rows, each after its parent.
func (l mooncake) chat(c *chatFinder, members []int) (*workload.Session, error) {
	all := make([]mooncakeRow, len(members))
	place := map[int]int{}
	s := &workload.Session{ID: chatID(c.rows[members[0]].row, "chat_id"), Recorded: l.o.TraceRows != RowsNew || len(members) == 1}
	for n, k := range members {
		place[k] = n
		r := c.rows[k]
		e, text, err := l.read(r.row, r.i)
		if err != nil {
			return nil, r.fault("%w", err)
		}
		e.Delay = 0
		all[n] = mooncakeRow{entry: e, text: text, row: r.i, whole: l.o.TraceRows != RowsNew}
		node := workload.Node{Continues: -1}
		if n == 0 {
			s.Timed, s.Offset = e.Timed, e.Offset
		} else {
			from := place[c.before[k]]
			node.After = []workload.Edge{{From: from}}
			if gap := e.Offset - all[from].entry.Offset; gap > 0 {
				l.f.assume("a chat is sent at its recorded distance from the start of the previous chat, but not before the previous answer")
				node.After = append(node.After, workload.Edge{From: from, Anchor: workload.AfterStart, Delay: gap})
			}
			if !all[n].whole {
				node.Continues = from
			}
		}
		if e.Timed {
			node.Past = workload.Span{Known: true, Start: max(0, e.Offset-s.Offset)}
		}
		s.Nodes = append(s.Nodes, node)
	}
	s.Entry = l.entriesOf(all, s.Recorded)
	return s, nil
}

// A chatFinder finds the chat before each chat.
type chatFinder struct {
	rows   []groupRow
	before []int       // row of the parent of each row, −1 for none
	turn   []int       // of each row
	root   []int       // of each row
	number map[int]int // of the session of each root

	state   []byte // of each row: 1 while it is placed, 2 from then on
	order   []int  // rows, each after its parent, else by turn and in the order of the file
	roots   int
	missing int // roots with a parent that is not there
}

func (c *chatFinder) find() error {
	byID := map[string][]int{}
	for k, r := range c.rows {
		id := chatID(r.row, "chat_id")
		byID[id] = append(byID[id], k)
		var err error
		if c.turn[k], _, err = r.count("turn"); err != nil {
			return r.fault("%w", err)
		}
	}
	for k, r := range c.rows {
		c.before[k] = -1
		id, parent := chatID(r.row, "chat_id"), chatID(r.row, "parent_chat_id")
		if parent == "" || parent == id {
			continue
		}
		for _, p := range byID[parent] { // the last one before, or the first of all
			if c.before[k] < 0 || p < k {
				c.before[k] = p
			}
		}
		if c.before[k] < 0 {
			c.missing++
		}
	}
	sorted := make([]int, len(c.rows))
	for k := range sorted {
		sorted[k] = k
	}
	slices.SortStableFunc(sorted, func(a, b int) int { return cmp.Compare(c.turn[a], c.turn[b]) })
	c.number = map[int]int{}
	for _, k := range sorted {
		if err := c.place(k); err != nil {
			return err
		}
	}
	return nil
}

// place puts a row into the order, after its parent.
func (c *chatFinder) place(k int) error {
	var line []int // the row and those before it
	for c.state[k] != 2 {
		if c.state[k] == 1 {
			return c.rows[k].fault(`"parent_chat_id": the chat is its own ancestor`)
		}
		c.state[k] = 1
		line = append(line, k)
		if c.before[k] < 0 {
			break
		}
		k = c.before[k]
	}
	for _, k := range slices.Backward(line) {
		c.state[k], c.root[k] = 2, k
		if before := c.before[k]; before >= 0 {
			c.root[k] = c.root[before]
		} else {
			c.number[k] = c.roots
			c.roots++
		}
		c.order = append(c.order, k)
	}
	return nil
}
