package dataset

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// named implements Texts with texts that say which parts they have: the first time a name is seen it is a, and so on.
type named struct {
	numbered
	names map[uint64]byte
}

func (n named) Parts(names []uint64, tokens []int) (string, []uint32, error) {
	var all []string
	for i, name := range names {
		if n.names[name] == 0 {
			n.names[name] = byte('a' + len(n.names))
		}
		all = append(all, fmt.Sprintf("%d%c", tokens[i], n.names[name]))
	}
	return strings.Join(all, " "), nil, nil
}

// events returns a file of a trace of events, each a word and its arguments:
//
//	system TOKENS [ID]  user TOKENS  tool TOKENS  assistant TOKENS  sleep MS  start N  end  drop
//
// A branch comes before the word, as in "0.1/user 5", and a conversation and an index after it, as in "user@2#0 5".
func events(lines ...string) []string {
	form := regexp.MustCompile(`^(?:([\d.]+)/)?([a-z]+)(?:@(\d+))?(?:#(\d+))?(?: ([\d.]+))?(?: (\w+))?$`)
	var all []string
	for _, l := range lines {
		m := form.FindStringSubmatch(l)
		js := `{"branch_path":[` + strings.ReplaceAll(m[1], ".", ",") + `],`
		switch m[2] {
		case "sleep":
			js += `"event_type":"tool_call","duration_ms":` + m[5]
		case "start":
			js += `"event_type":"parallel_start","num_branches":` + m[5]
		case "end":
			js += `"event_type":"parallel_end"`
		case "drop":
			js += `"event_type":"drop_kv_cache"`
		default:
			conversation := m[3]
			if conversation == "" {
				conversation = "0"
			}
			js += `"event_type":"message","role":"` + m[2] + `","conversation_id":` + conversation
			if m[4] != "" {
				js += `,"message_index":` + m[4]
			}
			if m[6] != "" {
				js += `,"system_prompt_id":"` + m[6] + `"`
			}
			if m[2] == "assistant" {
				js += `,"completion_tokens":` + m[5] + `,"reasoning_tokens":2`
			} else {
				js += `,"tokens":` + m[5]
			}
		}
		all = append(all, js+"}")
	}
	return []string{`{"trace_id":"t","events":[` + strings.Join(all, ",\n") + "]}"}
}

func TestExecutionTraces(t *testing.T) {
	texts := func() Options { return Options{Texts: named{names: map[uint64]byte{}}} }
	asked := func(parts ...string) string {
		var all []string
		for _, p := range parts {
			role, text, _ := strings.Cut(p, ":")
			all = append(all, fmt.Sprintf(`{"role":%q,"content":%q}`, role, text))
		}
		return " = messages:[" + strings.Join(all, ",") + "]"
	}
	testSessionFiles(t, "execution_trace", []sessionTest{
		{
			name: "a chain with tools", o: texts(),
			in: events("system 500", "user 40", "assistant 90", "sleep 120.5", "sleep 30", "tool 7", "tool 8", "assistant 5", "sleep 9"),
			want: []string{
				"t", "root:0" + asked("system:500a", "user:40b") + " max:90 exact",
				"root:1 after root:0+150.5ms on root:0" + asked("user:7c 8d") + " max:5 exact",
			},
			notes: []string{"left out: tools after the last request (1)"},
		},
		{
			name: "equal instructions", o: texts(),
			in: events("system@0 5 u", "user@0 1", "assistant@0 3", "system@1 9 u", "user@1 1", "assistant@1 3", "system@2 9", "user@2 1", "assistant@2 3", "user@0 4", "assistant@0 3"),
			want: []string{
				"t", "root:0" + asked("system:5a", "user:1b") + " max:3 exact",
				"root:1 after root:0" + asked("system:9a", "user:1c") + " max:3 exact",
				"root:2 after root:1" + asked("system:9d", "user:1e") + " max:3 exact",
				"root:3 after root:2 root:0 on root:0" + asked("user:4f") + " max:3 exact",
			},
		},
		{
			name: "branches, which the parent waits for", o: texts(),
			in: events("user 1", "assistant 3", "sleep 10", "start 2", "0/user@1 2", "1/sleep 5", "1/user@1 3", "0/assistant@1 3", "1/assistant@1 3", "0/start 1", "0.0/user@2 4", "0.0/assistant@2 3", "0/end", "0/sleep 6", "1/drop", "end", "user 5", "assistant 3",
				"start 1", "0/user 6", "0/assistant 3", "end"),
			want: []string{
				"t 0=spawned(root) 1=spawned(root) 0.0=spawned(0) 0#2=spawned(root)",
				"root:0" + asked("user:1a") + " max:3 exact",
				"0:0 after root:0+10ms" + asked("user:2b") + " max:3 exact",
				"1:0 after root:0+15ms" + asked("user:3c") + " max:3 exact",
				"0.0:0 after 0:0" + asked("user:4d") + " max:3 exact",
				"root:1 after root:0+10ms 0:0+6ms 0.0:0+6ms 1:0 on root:0" + asked("user:5e") + " max:3 exact",
				"0#2:0 after root:1" + asked("user:6f") + " max:3 exact",
			},
			notes: []string{"left out: an order to drop a part of the server's cache (1)"},
		},
		{
			name: "a message that changes after it was sent", o: texts(),
			in: events("system#0 5", "user#1 6", "assistant#2 9", "user#1 4", "tool#3 2", "assistant#4 3", "user#5 1", "assistant#6 3"),
			want: []string{
				"t", "root:0" + asked("system:5a", "user:6b") + " max:9 exact",
				"root:1 after root:0" + asked("system:5a", "user:4c", "assistant:7d", "user:2e") + " max:3 exact whole",
				"root:2 after root:1 on root:1" + asked("user:1f") + " max:3 exact",
			},
			notes: []string{"assumed: where a sent message has changed, the answers before it are generated (1)"},
		},
		{
			name: "a message that is recorded again, and an answer to an answer", o: texts(),
			in: events("system#0 5", "user#1 6", "assistant#2 9", "system#0 5", "assistant#3 3", "sleep 5", "user#4 3"),
			want: []string{
				"t", "root:0" + asked("system:5a", "user:6b") + " max:9 exact",
				"root:1 after root:0 on root:0" + asked("user:1c") + " max:3 exact",
			},
			notes: []string{"left out: messages that no request follows (1)", "left out: tools after the last request (1)", "assumed: a request that adds nothing to the answer before it adds a message of one token (1)"},
		},
		{
			name: "tools before the first request, in a region too", o: texts(),
			in:   events("sleep 5", "start 2", "0/user 1", "0/assistant 3", "1/user 2", "1/assistant 3", "end"),
			want: []string{"t 0=spawned(root) 1=spawned(root)", "0:0" + asked("user:1a") + " max:3 exact", "1:0" + asked("user:2b") + " max:3 exact"}, notes: []string{"left out: tools before the first request (2)"},
		},
	})
}

func TestExecutionTraceErrors(t *testing.T) {
	o := Options{Texts: numbered{}, MaxSessionRequests: 1000}
	changed := func(old, new string) []string {
		return []string{strings.Replace(events("user 5", "assistant 3")[0], old, new, 1)}
	}
	testSessionErrors(t, []errorTest{
		{"no texts", events("user 5", "assistant 3"), Options{}, "the trace holds no texts"},
		{"an answer without a length", changed(`"completion_tokens":3,`, ""), o, `"events": event 1: "completion_tokens": a required field is empty`},
		{"an answer of no length", events("user 5", "assistant 0"), o, `"events": event 1: "completion_tokens": 0: must be at least 1`},
		{"a message without a length", changed(`"tokens":5`, `"x":5`), o, `"events": event 0: "tokens": a required field is empty`},
		{"an answer to nothing", events("assistant 3"), o, `"events": event 0: expected a message with tokens before the message of the assistant`},
		{"an unknown role", events("cat 3"), o, `"events": event 0: "role": "cat"; expected system, user, tool or assistant`},
		{"an unknown event", changed(`"event_type":"message"`, `"event_type":"massage"`), o, `"events": event 0: "event_type": "massage"; expected message, tool_call,`},
		{"an unknown branch", events("user 1", "2/assistant 3"), o, `"events": event 1: "branch_path": no "parallel_start" has begun the branch [2]`},
		{"a branch that has ended", events("start 1", "end", "0/user 3"), o, `"events": event 2: "branch_path": no "parallel_start"`},
		{"a region without an end", events("start 1", "0/user 3", "0/assistant 3"), o, `"events": 1 of "parallel_start" without "parallel_end"`},
		{"an end without a start", events("end"), o, `"events": event 0: "parallel_end" without "parallel_start"`},
		{"a region in a region of one branch", events("start 1", "start 1"), o, `"events": event 1: "branch_path": the branch 0 runs already`},
		{"very many branches", events("start 2000000000"), o, `"events": event 0: "num_branches": 2000000000: a trace of 1 events may have 100 in all`},
		{"no conversation", changed(`,"conversation_id":0`, ""), o, `"events": event 0: "conversation_id": a required field is empty`},
		{"only tools", events("sleep 5"), o, "no request in it ("},
	})
}
