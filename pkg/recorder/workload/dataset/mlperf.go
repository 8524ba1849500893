package dataset

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// mlperfMetadata is the "_type" of a row about the data set.
const mlperfMetadata = "dataset_metadata"

func fitsMLPerf(r *row, _ *file) bool {
	return r.has("conversation_id", "turn", "role") && !hasPrompt(r) || isMLPerfMetadata(r)
}

func isMLPerfMetadata(r *row) bool {
	kind, _, err := r.string("_type")
	return err == nil && kind == mlperfMetadata
}

// mlperfGroup returns the conversation of a row; none for a row about the data set.
func mlperfGroup(f *file, _ *Options, r *row, _ int) ([]string, error) {
	if isMLPerfMetadata(r) {
		f.leaveOut("a row about the data set")
		return nil, nil
	}
	name, err := requiredName(r, "conversation_id")
	return []string{name}, err
}

// mlperfLengths are the names of the length of an answer in rows of MLPerf.
var mlperfLengths = []string{"max_new_tokens", "max_completion_tokens", "max_tokens"}

// mlperfMembers are the members of a row of MLPerf that are no parameters of its request.
var mlperfMembers = append([]string{
	"conversation_id", "turn", "role", "content", "name", "system", "tools", "tool_calls", "tool_results", "reasoning_content", "delay_seconds",
}, mlperfLengths...)

// mlperfSessions returns the session of rows of MLPerf's agentic data, each a message:
//
//	{"conversation_id": "c", "turn": 1, "role": "user", "content": "…", "system": "…", "tools": […]}
//	{"conversation_id": "c", "turn": 2, "role": "assistant", "tool_calls": […]}
//	{"conversation_id": "c", "turn": 3, "role": "tool", "tool_results": [{"tool_call_id": "…", "content": "…"}], "delay_seconds": 0.4}
//
// A row of the user or of tools is a request, with all messages before it; the recorded answers are part of them. The instructions and the
// tools hold from their row on; other parameters only for their row.
func mlperfSessions(f *file, _ *Options, rows []groupRow) ([]*workload.Session, error) {
	id, err := requiredName(rows[0].row, "conversation_id")
	if err != nil {
		return nil, err
	}
	c := mlperfConversation{file: f}
	if rows, err = mlperfTurns(f, rows); err != nil {
		return nil, err
	}
	for _, r := range rows {
		if err := c.add(r); err != nil {
			return nil, r.fault("%w", err)
		}
	}
	waits := make([]time.Duration, len(c.requests))
	for i, q := range c.requests {
		waits[i] = q.wait
	}
	s := &workload.Session{ID: id, Nodes: chained(waits), Recorded: true, Entry: c.entry}
	for i, q := range c.requests {
		s.Nodes[i].Model = q.model
	}
	return []*workload.Session{s}, nil
}

// mlperfTurns returns the rows in the order of their turns, which are numbered from 1.
func mlperfTurns(f *file, rows []groupRow) ([]groupRow, error) {
	turns := map[int]int{} // by row
	for _, r := range rows {
		turn, err := requiredCount(r.row, "turn")
		if err != nil {
			return nil, r.fault("%w", err)
		}
		turns[r.i] = turn
	}
	byTurn := func(a, b groupRow) int { return cmp.Compare(turns[a.i], turns[b.i]) }
	if !slices.IsSortedFunc(rows, byTurn) {
		f.assume(`the rows of a conversation are sorted by "turn"`)
		slices.SortStableFunc(rows, byTurn)
	}
	for i, r := range rows {
		if turns[r.i] != i+1 {
			return nil, r.fault("\"turn\": expected %d, found %d: the turns of a conversation are numbered from 1 without gaps", i+1, turns[r.i])
		}
	}
	return rows, nil
}

// A mlperfConversation holds the messages of a conversation.
type mlperfConversation struct {
	file     *file
	messages []byte // as compact JSON, without the brackets of the list
	system   []byte // nil before the first one
	tools    []byte // the latest ones
	role     string // of the latest row
	called   bool   // the latest row calls tools
	requests []mlperfRequest
}

// A mlperfRequest is a row of a conversation that is a request.
type mlperfRequest struct {
	row    int
	end    int // of its messages among the messages of the conversation
	prompt *workload.Prompt
	model  string
	wait   time.Duration
}

// mlperfNext are the roles that may follow a role; "" is the beginning.
var mlperfNext = map[string][]string{
	"":          {"user"},
	"user":      {"assistant"},
	"assistant": {"tool", "user"},
	"tool":      {"assistant", "user"},
}

// add adds the next row.
func (c *mlperfConversation) add(r groupRow) error {
	role, _, err := r.string("role")
	if err != nil {
		return err
	}
	if next := mlperfNext[c.role]; !slices.Contains(next, role) {
		where := "after " + c.role
		if c.role == "" {
			where = "at the beginning of a conversation"
		}
		return fmt.Errorf("\"role\": expected %s %s, found %q", strings.Join(next, " or "), where, clip([]byte(role)))
	}
	if err := c.addSystem(r.row); err != nil {
		return err
	}
	switch role {
	case "tool":
		err = c.addResults(r.row)
	default:
		err = c.addMessage(r.row, role)
	}
	if err != nil {
		return err
	}
	c.role, c.called = role, r.get("tool_calls") != nil
	if role == "assistant" {
		return nil
	}
	return c.addRequest(r)
}

// addSystem adds the instructions of the conversation, which may stand in several rows.
func (c *mlperfConversation) addSystem(r *row) error {
	_, ok, err := r.string("system")
	js := r.get("system")
	switch {
	case err != nil:
		return err
	case !ok || string(js) == `""` || string(js) == string(c.system):
		return nil
	case c.system != nil:
		return errors.New(`"system": differs from the one before; a conversation has one`)
	case len(c.requests) > 0:
		return errors.New(`"system": expected in the first row of the conversation`)
	}
	c.system = js
	c.say(export.Fields{{Name: "role", Value: export.JSON(`"system"`)}, {Name: "content", Value: export.JSON(string(js))}})
	return nil
}

// addMessage adds the message of a row of the user or the assistant.
func (c *mlperfConversation) addMessage(r *row, role string) error {
	calls := r.get("tool_calls")
	var list []json.RawMessage
	if calls != nil && (json.Unmarshal(calls, &list) != nil || len(list) == 0) {
		return fmt.Errorf("\"tool_calls\": expected an array of calls, found %s", clip(calls))
	}
	content := r.get("content")
	if content == nil && (role == "user" || calls == nil) {
		return fmt.Errorf("no \"content\" for the role %s: it has %s", role, columnNames(r))
	}
	message := export.Fields{{Name: "role", Value: export.JSON(`"` + role + `"`)}}
	if content == nil {
		content = []byte("null")
	}
	message = append(message, export.Field{Name: "content", Value: export.Value{Data: content}})
	for _, name := range []string{"name", "tool_calls", "reasoning_content"} {
		if js := r.get(name); js != nil && (role == "assistant" || name == "name") {
			message = append(message, export.Field{Name: name, Value: export.Value{Data: js}})
		}
	}
	c.say(message)
	return nil
}

// addResults adds a message for each result of a row of tools.
func (c *mlperfConversation) addResults(r *row) error {
	if !c.called {
		return errors.New(`"role": tool after an assistant without "tool_calls"`)
	}
	var all []map[string]json.RawMessage
	js := r.get("tool_results")
	if js == nil {
		return missing(r, "tool_results")
	}
	if json.Unmarshal(js, &all) != nil || len(all) == 0 {
		return fmt.Errorf("\"tool_results\": expected an array of results, found %s", clip(js))
	}
	for i, result := range all {
		message := export.Fields{{Name: "role", Value: export.JSON(`"tool"`)}}
		for _, name := range []string{"tool_call_id", "content"} {
			js := result[name]
			if len(js) == 0 || string(js) == "null" {
				return fmt.Errorf("\"tool_results\": result %d has no %q", i, name)
			}
			message = append(message, export.Field{Name: name, Value: export.Value{Data: js}})
		}
		c.say(message)
	}
	return nil
}

// say appends a message.
func (c *mlperfConversation) say(message export.Fields) {
	if len(c.messages) > 0 {
		c.messages = append(c.messages, ',')
	}
	c.messages = appendObject(c.messages, message)
}

// addRequest adds the request that a row of the user or of tools is.
func (c *mlperfConversation) addRequest(r groupRow) (err error) {
	q := mlperfRequest{row: r.i, end: len(c.messages), prompt: c.file.parameters(r.row, mlperfMembers...)}
	if tools := r.get("tools"); tools != nil {
		if tools[0] != '[' {
			return fmt.Errorf("\"tools\": expected an array, found %s", clip(tools))
		}
		if string(tools) != string(c.tools) {
			c.tools = tools
		}
	}
	if len(c.tools) > len("[]") {
		q.prompt.Extra = append(q.prompt.Extra, export.Field{Name: "tools", Value: export.Value{Data: c.tools}})
	}
	if q.wait, err = r.duration("delay_seconds", time.Second); err != nil {
		return err
	}
	for _, name := range mlperfLengths {
		js := r.get(name)
		if js == nil {
			continue
		}
		if q.prompt.MaxTokens != 0 {
			return fmt.Errorf("%q beside another length of the answer; drop one", name)
		}
		if q.prompt.MaxTokens, err = parseLength(js); err != nil {
			return fmt.Errorf("%q: %w", name, err)
		}
		if name != mlperfLengths[0] {
			q.prompt.LengthField = name
		}
	}
	q.model, _, err = r.string("model")
	c.requests = append(c.requests, q)
	return err
}

// entry returns request i.
func (c *mlperfConversation) entry(i int) (workload.Entry, error) {
	q := c.requests[i]
	p := *q.prompt
	p.Messages = slices.Concat([]byte("["), c.messages[:q.end], []byte("]"))
	return workload.Entry{Step: q.row, Prompt: &p, Whole: true}, nil
}
