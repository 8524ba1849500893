package dataset

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"
)

// ended returns a record of a request of a session, "" for none, in blocks of 10 tokens. more are further members of the request.
func ended(session string, received, total float64, input int, hashes, more string) string {
	context := ""
	if session != "" {
		id, parent, _ := strings.Cut(session, "<")
		context = fmt.Sprintf(`"agent_context":{"session_id":%q,"parent_session_id":%q},`, id, parent)
	}
	return fmt.Sprintf(`{"schema":"dynamo.request.trace.v1","event_type":"request_end","event_time_unix_ms":%v,%s"request":{"request_id":"r%v","output_tokens":5,`+
		`"request_received_ms":%v,"total_time_ms":%v,%s"replay":{"trace_block_size":10,"input_length":%d,"input_sequence_hashes":[%s]}}}`, received+total, context, received, received, total, more, input, hashes)
}

func TestDynamo(t *testing.T) {
	o := Options{Texts: numbered{}}
	asked := func(role, text string) string { return fmt.Sprintf(`{"role":%q,"content":%q}`, role, text) }
	prompt := func(messages ...string) string {
		return " = messages:[" + strings.Join(messages, ",") + "] max:5 exact whole"
	}
	hits := func(n, hit int, percent string) string {
		blocks := fmt.Sprintf("%d full blocks", n)
		if n == 1 {
			blocks = "1 full block"
		}
		return fmt.Sprintf("prompts have %s with hash_ids; in the recorded order, an unlimited prefix cache would hold %d of them (%s %%)", blocks, hit, percent)
	}
	testSessionFiles(t, "dynamo", []sessionTest{
		{
			name: "a session, in an envelope, with numbers that are strings, a marker, and an event of a tool", o: o,
			in: []string{
				`{"timestamp":5,"event":` + ended("s", 1000, 100, 20, "18446744073709551615,2", "") + "}",
				`{"timestamp":6,"event":{"schema":"dynamo.request.trace.v1","event_type":"tool_end","agent_context":{"session_id":"s"},"tool":{"duration_ms":300}}}`,
				`{"timestamp":7,"event":` + strings.Replace(ended("s", 1500, 50, 35, "18446744073709551615,2,3,4", ""), "1500,", `"1500.0",`, 1) + "}",
				`{"verification":"x"}`,
			},
			want: []string{
				"s at:0s recorded", "root:0" + prompt(asked("user", "[-1 2] of 10")),
				"root:1 after root:0+400ms" + prompt(asked("user", "[-1 2] of 10"), asked("assistant", "[3] of 10"), asked("user", "5 more")),
			},
			notes: []string{"left out: a row that is not a record (1)", "left out: an event of a tool, whose time is part of the waits between requests (1)", hits(5, 2, "40.00")},
		},
		{
			name: "a tree: a child beside its parent, which the next turn waits for, and one afterwards", o: o,
			in: []string{
				ended("p", 2000, 1000, 10, "1", `"ttft_ms":200,`), ended("c<p", 2100, 500, 10, "7", ""), ended("d<p", 2300, 500, 10, "8", ""),
				ended("c<p", 2700, 200, 10, "7", ""), ended("p", 4000, 100, 20, "1,2", ""), ended("e<c", 4500, 10, 10, "9", ""), ended("x<gone", 2500, 1, 10, "1", ""),
			},
			want: []string{
				"p at:0s recorded c=spawned(root) d=spawned(root) e=spawned(c)",
				"root:0" + prompt(asked("user", "[1] of 10")),
				"c:0 after root:0+100ms(start)" + prompt(asked("user", "[7] of 10")),
				"d:0 after root:0+100ms(first token)" + prompt(asked("user", "[8] of 10")),
				"c:1 after c:0+100ms" + prompt(asked("user", "[7] of 10")),
				"root:1 after root:0+1s d:0+1.2s c:1+1.1s" + prompt(asked("user", "[1] of 10"), asked("user", "[2] of 10")),
				"e:0 after root:1+400ms" + prompt(asked("user", "[9] of 10")),
				"x at:500ms recorded", "root:0" + prompt(asked("user", "[1] of 10")),
			},
			notes: []string{hits(8, 2, "25.00")},
		},
		{
			name: "single requests, with times of events alone, and one that is there twice", o: o,
			in: []string{
				strings.Replace(ended("", 70, 30, 10, "1", ""), `"request_received_ms":70,"total_time_ms":30,`, "", 1),
				strings.Replace(ended("", 90, 30, 10, "1", ""), `"total_time_ms":30,`, "", 1),
				`{"schema":"dynamo.request.trace.v1","event_type":"tool_end"}`,
			},
			want: []string{"r70 at:10ms recorded", "root:0" + prompt(asked("user", "[1] of 10")), "r90 at:0s recorded", "root:0" + prompt(asked("user", "[1] of 10"))},
			notes: []string{
				"left out: an event of a tool without a session (1)", "assumed: a request of unknown duration begins and ends at the time of its event (1)", hits(2, 0, "0.00"),
			},
		},
		{
			name: "a request that is there twice, and requests without hashes", o: o,
			in: []string{
				ended("s", 0, 1, 10, "1", ""), ended("s", 0, 1, 10, "1", ""),
				`{"schema":"dynamo.request.trace.v1","event_type":"request_end","event_time_unix_ms":9,"agent_context":{"session_id":"s"},"request":{"input_tokens":17,"output_tokens":0}}`,
			},
			want: []string{
				"s at:0s recorded", "root:0" + prompt(asked("user", "[1] of 10")),
				"root:1 after root:0+8ms = messages:[" + asked("user", "[1] of 10") + "," + asked("user", "7 more") + "] max:1 exact whole",
			},
			notes: []string{
				"left out: a request that was there before (1)", "assumed: a request of unknown duration begins and ends at the time of its event (1)",
				"assumed: prompts without hashes begin like those before them in their session (1)", "assumed: recorded answers of 0 tokens are asked for with 1 token (1)", hits(2, 1, "50.00"),
			},
		},
	})
}

// A compressed trace is read as it is.
func TestDynamoCompressed(t *testing.T) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	for _, part := range []string{ended("s", 0, 1, 10, "1", ""), "\n" + ended("s", 5, 1, 20, "1,2", "")} { // segments are members of their own
		w.Write([]byte(part))
		w.Close()
		w.Reset(&b)
	}
	s, err := open(t, "t.000000.jsonl.gz", b.String(), Options{Texts: numbered{}})
	if err != nil || s.Len() != 2 || s.Files()[0].Layout != "dynamo" {
		t.Errorf("%d requests, %v", s.Len(), err)
	}
}

func TestDynamoErrors(t *testing.T) {
	o := Options{Texts: numbered{}}
	after := func(record string) []string { return []string{ended("s", 0, 1, 10, "1", ""), record} }
	changed := func(old, new string) []string {
		return after(strings.Replace(ended("s", 5, 1, 10, "1", ""), old, new, 1))
	}
	testSessionErrors(t, []errorTest{
		{"no texts", after("")[:1], Options{}, "in: line 1: the trace holds no texts, only their lengths"},
		{"no length of the answer", changed(`"output_tokens":5,`, ""), o, `in: line 2: "request": no "output_tokens": it has "request_id", `},
		{"a request without a session among agents", after(ended("", 5, 1, 10, "1", "")), o, `in: line 2: has no "agent_context" with a "session_id", unlike row 1`},
		{"an agent among requests without", []string{ended("", 5, 1, 10, "1", ""), ended("s", 5, 1, 10, "1", "")}, o, `in: line 2: has an "agent_context" with a "session_id", unlike row 1`},
		{"blocks of two sizes", changed(`"trace_block_size":10`, `"trace_block_size":16`), o, `in: line 2: "trace_block_size": 16; the rows before have 10`},
		{"blocks of no size", changed(`"trace_block_size":10`, `"trace_block_size":0`), o, `in: line 2: "request": "replay": "trace_block_size": 0: must be at least 1`},
		{"too few blocks", changed(`"input_length":10`, `"input_length":11`), o, `in: line 2: "request": "replay": "input_length": 11 tokens are not the 1 blocks of 10`},
		{"hashes that are text", changed(`[1]`, `["a"]`), o, `in: line 2: "request": "replay": "input_sequence_hashes": expected an array of whole numbers, found ["a"]`},
		{"another version", changed("trace.v1", "trace.v2"), o, `in: line 2: "schema": "dynamo.request.trace.v2"; expected dynamo.request.trace.v1`},
		{"no request", changed(`"request":`, `"requests":`), o, `in: line 2: no "request": it has "schema", `},
		{"no type", changed(`"event_type":"request_end",`, ""), o, `in: line 2: "event_type": a required field is empty`},
		{"no name of the session", changed(`"session_id":"s"`, `"session":"s"`), o, `in: line 2: "agent_context": no "session_id": it has "session", "parent_session_id"`},
		{"no time", after(`{"schema":"dynamo.request.trace.v1","event_type":"request_end","agent_context":{"session_id":"s"},"request":{"input_tokens":5,"output_tokens":1}}`), o, `in: line 2: "request": neither "request_received_ms" nor the time of the event`},
		{"parents of each other", []string{ended("a<b", 0, 1, 10, "1", ""), ended("b<a", 0, 1, 10, "1", "")}, o, `in: line 1: session "a" is its own ancestor`},
		{"very many tokens without hashes", after(`{"schema":"dynamo.request.trace.v1","event_type":"request_end","event_time_unix_ms":9,"agent_context":{"session_id":"s"},"request":{"input_tokens":2000000000,"output_tokens":0}}`), o, `"input_tokens": 2000000000: must be from 1 to 4194304 without "replay"`},
	})
}
