package dataset

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// TestMooncakeSessions checks the sessions of rows of Mooncake's traces and Bailian's.
func TestMooncakeSessions(t *testing.T) {
	const (
		whole = `{"session_id":"s","timestamp":5000,"input_length":520,"output_length":20,"hash_ids":[1,2]}
			{"session_id":"t","input_length":3,"output_length":1}
			{"session_id":"s","timestamp":9000,"input_length":1030,"output_length":30,"hash_ids":[1,5,3]}
			{"session_id":"s","delay":50,"input_length":512,"output_length":30,"hash_ids":[1]}`
		added = `{"session_id":"s","timestamp":0.0,"input_length":512,"output_length":20,"hash_ids":[1],"group_id":4}
			{"session_id":"s","delay":1500.5,"input_length":600,"output_length":30,"hash_ids":[3,4],"is_restart":false}`
		bare = `{"session_id":"s","input_length":9,"output_length":1}` + "\n" + `{"session_id":"s","input_length":7,"output_length":2}`
	)
	for _, tt := range []struct {
		name, in string
		o        Options
		want     []string
		notes    []string
		ignored  []string
		facts    [3]int // whole, new, unknown
	}{
		{
			name: "whole prompts, told by their ids, also after a reset", in: whole,
			want: []string{
				`s at:5s recorded`,
				`root:0 = "520 tokens in blocks of 512: [1 2]" max:20 at:5s whole`,
				`root:1 after root:0 root:0+4s(start) = "1030 tokens in blocks of 512: [1 5 3]" max:30 at:9s whole`,
				`root:2 after root:1+50ms = "512 tokens in blocks of 512: [1]" max:30 whole`,
				`t recorded`,
				`root:0 = "text 1 of 3" max:1 whole`,
			},
			notes: []string{`assumed: a turn with a "timestamp" and no "delay" is sent at its recorded distance from the start of the previous turn, but not before the previous answer (1)`},
			facts: [3]int{2, 0, 0},
		},
		{
			name: "new parts, told by their ids", in: added,
			want: []string{
				`s at:0s`,
				`root:0 = "512 tokens in blocks of 512: [1]" max:20 at:0s`,
				`root:1 after root:0+1.5005s on root:0 = "600 tokens in blocks of 512: [3 4]" max:30`,
			},
			facts: [3]int{0, 1, 0},
		},
		{
			name: "new parts and whole prompts, which begin like the first row or the row before",
			in: `{"session_id":"s","input_length":600,"hash_ids":[1,2]}
				{"session_id":"s","input_length":601,"hash_ids":[7,8]}
				{"session_id":"s","input_length":602,"hash_ids":[7,9]}
				{"session_id":"s","input_length":603,"hash_ids":[1,3]}`,
			want: []string{
				`s`,
				`root:0 = "600 tokens in blocks of 512: [1 2]"`,
				`root:1 after root:0 on root:0 = "601 tokens in blocks of 512: [7 8]"`,
				`root:2 after root:1 = "602 tokens in blocks of 512: [7 9]" whole`,
				`root:3 after root:2 = "603 tokens in blocks of 512: [1 3]" whole`,
			},
			facts: [3]int{2, 1, 0},
		},
		{
			name: "a chat whose id comes again",
			in: `{"chat_id":1,"parent_chat_id":-1,"input_length":1,"turn":1}
				{"chat_id":2,"parent_chat_id":1,"input_length":2,"turn":2}
				{"chat_id":2,"parent_chat_id":1,"input_length":3,"turn":2}
				{"chat_id":3,"parent_chat_id":2,"input_length":4,"turn":3}`,
			want: []string{
				`1 recorded`,
				`root:0 = "text 0 of 1" whole`,
				`root:1 after root:0 = "text 1 of 2" whole`,
				`root:2 after root:0 = "text 2 of 3" whole`,
				`root:3 after root:2 = "text 3 of 4" whole`,
			},
			facts: [3]int{3, 0, 0},
		},
		{
			name: "a row that its ids say nothing of, among others that are new",
			in: added + `
				{"session_id":"u","input_length":9,"output_length":1,"hash_ids":[20]}
				{"session_id":"u","input_length":700,"output_length":1,"hash_ids":[21,22]}`,
			want: []string{
				`s at:0s`,
				`root:0 = "512 tokens in blocks of 512: [1]" max:20 at:0s`,
				`root:1 after root:0+1.5005s on root:0 = "600 tokens in blocks of 512: [3 4]" max:30`,
				`u`,
				`root:0 = "9 tokens in blocks of 512: [20]" max:1`,
				`root:1 after root:0 on root:0 = "700 tokens in blocks of 512: [21 22]" max:1`,
			},
			notes: []string{`assumed: turns whose "hash_ids" do not say whether they are whole prompts are read like the other turns (1)`},
			facts: [3]int{0, 2, 0},
		},
		{
			name: "a row that its ids say nothing of, among others that are whole", in: whole + `
				{"session_id":"u","input_length":9,"output_length":1,"hash_ids":[20]}
				{"session_id":"u","input_length":700,"output_length":1,"hash_ids":[21,22]}
				{"session_id":"u","input_length":800,"output_length":1,"hash_ids":[21,23]}`,
			want: []string{
				`s at:5s recorded`,
				`root:0 = "520 tokens in blocks of 512: [1 2]" max:20 at:5s whole`,
				`root:1 after root:0 root:0+4s(start) = "1030 tokens in blocks of 512: [1 5 3]" max:30 at:9s whole`,
				`root:2 after root:1+50ms = "512 tokens in blocks of 512: [1]" max:30 whole`,
				`t recorded`,
				`root:0 = "text 1 of 3" max:1 whole`,
				`u recorded`,
				`root:0 = "9 tokens in blocks of 512: [20]" max:1 whole`,
				`root:1 after root:0 = "700 tokens in blocks of 512: [21 22]" max:1 whole`,
				`root:2 after root:1 = "800 tokens in blocks of 512: [21 23]" max:1 whole`,
			},
			notes: []string{
				`assumed: a turn with a "timestamp" and no "delay" is sent at its recorded distance from the start of the previous turn, but not before the previous answer (1)`,
				`assumed: turns whose "hash_ids" do not say whether they are whole prompts are read like the other turns (1)`,
			},
			facts: [3]int{4, 0, 0},
		},
		{
			name: "new parts, because a flag says so", in: bare, o: Options{TraceRows: RowsNew},
			want:  []string{`s`, `root:0 = "text 0 of 9" max:1`, `root:1 after root:0 on root:0 = "text 1 of 7" max:2`},
			facts: [3]int{0, 0, 1},
		},
		{
			name: "whole prompts, because a flag says so", in: bare, o: Options{TraceRows: RowsWhole},
			want:  []string{`s recorded`, `root:0 = "text 0 of 9" max:1 whole`, `root:1 after root:0 = "text 1 of 7" max:2 whole`},
			facts: [3]int{0, 0, 1},
		},
		{
			name: "messages after live answers, with tools and further members",
			in: `{"session_id":"s","timestamp":0,"message_mode":"delta","messages":[{"role":"user","content":"list"}],"tools":[{"type":"function"}],"output_length":40,"temperature":1}
				{"session_id":"s","delay":900,"assistant_responses":"live","messages":[{"role":"tool","content":"a.go"}],"output_length":25,"temperature":1,"extra":{"top_k":1,"temperature":0}}
				{"session_id":"s","text_input":"and now?","output_length":5}
				{"session_id":"s","message_mode":"delta","input_length":7}`,
			o: Options{TraceRows: RowsWhole},
			want: []string{
				`s at:0s`,
				`root:0 = messages:[{"role":"user","content":"list"}] max:40 +tools=[{"type":"function"}] +temperature=1 at:0s`,
				`root:1 after root:0+900ms on root:0 = messages:[{"role":"tool","content":"a.go"}] max:25 +top_k=1 +temperature=0`,
				`root:2 after root:1 on root:1 = "and now?" max:5`,
				`root:3 after root:2 on root:2 = "text 3 of 7"`,
			},
			facts: [3]int{0, 0, 1},
		},
		{
			name: "whole messages, and whole requests with further members",
			in: `{"session_id":"s","message_mode":"history","messages":[{"role":"user","content":"a"}]}
				{"session_id":"s","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}
				{"session_id":"s","payload":{"model":"m","messages":[{"role":"user","content":"d"}],"seed":1},"extra":{"seed":2,"user":"u"}}`,
			want: []string{
				`s recorded`,
				`root:0 = messages:[{"role":"user","content":"a"}] whole`,
				`root:1 after root:0 = messages:[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}] whole`,
				`root:2 after root:1 = messages:[{"role":"user","content":"d"}] body:{"model":"m","messages":[{"role":"user","content":"d"}],"seed":2,"user":"u"} whole`,
			},
		},
		{
			name: "messages without a mode, in a file that a flag calls Mooncake", o: Options{Layout: "mooncake"},
			in:   `{"session_id":"s","messages":[{"role":"user","content":"a"}]}` + "\n" + `{"session_id":"s","messages":[{"role":"user","content":"b"}]}`,
			want: []string{`s recorded`, `root:0 = messages:[{"role":"user","content":"a"}] whole`, `root:1 after root:0 = messages:[{"role":"user","content":"b"}] whole`},
		},
		{
			name: "Bailian's chats: one has two that follow, and one begins before the file",
			in: `{"chat_id":5,"parent_chat_id":-1,"timestamp":1.5,"input_length":17,"output_length":2,"type":"text","turn":1,"hash_ids":[8,9]}
				{"chat_id":9,"parent_chat_id":7,"timestamp":2,"input_length":3,"output_length":2,"type":"text","turn":3,"hash_ids":[4]}
				{"chat_id":8,"parent_chat_id":6,"timestamp":40,"input_length":5,"output_length":2,"type":"text","turn":3,"hash_ids":[2]}
				{"chat_id":6,"parent_chat_id":5,"timestamp":11.5,"input_length":30,"output_length":4,"type":"text","turn":2,"hash_ids":[8,10]}
				{"chat_id":7,"parent_chat_id":5,"timestamp":21.5,"input_length":40,"output_length":4,"type":"text","turn":2,"hash_ids":[8,11,12]}
				{"chat_id":20,"parent_chat_id":19,"timestamp":3,"input_length":4,"output_length":2,"type":"text","turn":4,"hash_ids":[4]}`,
			want: []string{
				`5 at:1.5s recorded`,
				`root:0 = "17 tokens in blocks of 16: [8 9]" max:2 at:1.5s whole`,
				`root:1 after root:0 root:0+10s(start) = "30 tokens in blocks of 16: [8 10]" max:4 at:11.5s whole`,
				`root:2 after root:0 root:0+20s(start) = "40 tokens in blocks of 16: [8 11 12]" max:4 at:21.5s whole`,
				`root:3 after root:2 = "3 tokens in blocks of 16: [4]" max:2 at:2s whole`,
				`root:4 after root:1 root:1+28.5s(start) = "5 tokens in blocks of 16: [2]" max:2 at:40s whole`,
				`20 at:3s recorded`,
				`root:0 = "4 tokens in blocks of 16: [4]" max:2 at:3s whole`,
			},
			notes: []string{
				`assumed: a chat is sent at its recorded distance from the start of the previous chat, but not before the previous answer (3)`,
				`assumed: a chat whose "parent_chat_id" is not in the file begins a session (1)`,
			},
			facts: [3]int{4, 0, 0},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.o.Texts, tt.o.Sessions = numbered{}, true
			s, err := open(t, "in", tt.in, tt.o)
			if err != nil {
				t.Fatal(err)
			}
			sessions, ok := s.AsSessions()
			if !ok {
				t.Fatal("no sessions")
			}
			if diff := cmp.Diff(tt.want, graphs(t, sessions)); diff != "" {
				t.Errorf("sessions (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.notes, s.Notes()); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
			if ignored := s.Ignored(); len(ignored) > 0 {
				t.Errorf("ignored members %q", ignored)
			}
			f := s.Facts()
			if got := [3]int{f.TraceWhole, f.TraceNew, f.TraceUnknown}; got != tt.facts {
				t.Errorf("later turns: %v, want %v", got, tt.facts)
			}
		})
	}
}

// TestMooncakeDelays checks that the facts count the delays of turns.
func TestMooncakeDelays(t *testing.T) {
	for _, tt := range []struct {
		delays workload.Delays
		want   time.Duration
	}{{want: 2500 * time.Millisecond}, {workload.Delays{Ratio: new(0.5)}, 1250 * time.Millisecond}, {workload.Delays{Kind: workload.NoDelays}, 0}} {
		s, err := open(t, "in", `{"session_id":"s","input_length":512,"hash_ids":[1]}
			{"session_id":"s","delay":1500,"input_length":600,"hash_ids":[3,4]}
			{"session_id":"s","delay":1000,"input_length":600,"hash_ids":[5,6]}`, Options{Texts: numbered{}, Sessions: true, Delays: tt.delays})
		if err != nil {
			t.Fatal(err)
		}
		if x := s.Facts().Sessions; x.Waiting != tt.want || x.Idle != tt.want || x.Delays > 0 != (tt.want > 0) {
			t.Errorf("%+v: %d delays of %v, %v one after the other; want %v", tt.delays, x.Delays, x.Waiting, x.Idle, tt.want)
		}
	}
}

// TestMooncakeSessionErrors checks that nothing is guessed, and that an error names the row.
func TestMooncakeSessionErrors(t *testing.T) {
	const ask = `in: line 2: a later turn with "input_length", and nothing that says whether it is the whole prompt or what it adds to the turn before; use --trace-rows whole or --trace-rows new`
	for _, tt := range []struct{ name, in, want string }{
		{"no ids", `{"session_id":"s","input_length":9}` + "\n" + `{"session_id":"s","input_length":7}`, ask},
		{"a partial block that may have grown", `{"session_id":"s","input_length":9,"hash_ids":[1]}` + "\n" + `{"session_id":"s","input_length":700,"hash_ids":[2,3]}`, ask},
		{"a mode that is none", `{"session_id":"s","message_mode":"x","messages":[{"role":"user","content":"a"}]}`, `in: line 1: "message_mode": expected "delta" or "history", found "x"`},
		{"two modes", `{"session_id":"s","message_mode":"delta","assistant_responses":"recorded","messages":[{"role":"user","content":"a"}]}`, `in: line 1: "assistant_responses": "recorded" contradicts another member of the row, which says that it holds the new messages alone`},
		{"a circle of chats", `{"chat_id":1,"parent_chat_id":2,"input_length":1,"turn":1}` + "\n" + `{"chat_id":2,"parent_chat_id":1,"input_length":1,"turn":2}`, `"parent_chat_id": the chat is its own ancestor`},
		{"no length", `{"session_id":"s","input_length":9}` + "\n" + `{"session_id":"s","timestamp":7}`, `in: line 2: no "input_length": it has "session_id", "timestamp"`},
	} {
		_, err := open(t, "in", tt.in+"\n", Options{Texts: numbered{}, Sessions: true})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %s", tt.name, err, tt.want)
		}
	}
}

// TestWholeMessages checks that rows of prompts with the messages of the turn before and more hold the history.
func TestWholeMessages(t *testing.T) {
	const a, b, c = `{"role":"user","content":"a"}`, `{"role":"assistant","content":"b"}`, `{"role":"user","content":"c"}`
	in := `{"session_id":"s","messages":[` + a + `]}` + "\n" +
		`{"session_id":"t","messages":[` + a + `, ` + b + `]}` + "\n" +
		`{"session_id":"s","messages":[` + a + `, ` + b + `, ` + c + `]}` + "\n" +
		`{"session_id":"s","messages":[` + a + `]}` + "\n" +
		`{"session_id":"s","messages":[` + a + `]}` + "\n" +
		`{"messages":[` + a + `,` + b + `]}` + "\n"
	s, err := open(t, "in", in, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`messages:[` + a + `] session:s/0`,
		`messages:[` + a + `,` + b + `] session:t/0`,
		`messages:[` + a + `,` + b + `,` + c + `] session:s/1 whole`,
		`messages:[` + a + `] session:s/2`,
		`messages:[` + a + `] session:s/3`,
		`messages:[` + a + `,` + b + `]`,
	}
	if diff := cmp.Diff(want, all(t, s)); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{`assumed: turns whose "messages" begin with the messages of the turn before are taken for the whole history (1)`}, s.Notes()); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}
