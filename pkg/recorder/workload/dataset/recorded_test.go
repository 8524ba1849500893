package dataset

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// TestRecordedLayouts checks the layouts of sessions whose requests hold their history.
func TestRecordedLayouts(t *testing.T) {
	traced := Options{Texts: numbered{}, Sessions: true}
	counted := Options{Count: words, Sessions: true}
	for _, tt := range []struct {
		name    string
		in      string
		o       Options
		layout  string
		want    []string
		notes   []string
		ignored []string
	}{
		{
			name: "LMCache", layout: "lmcache",
			in: `{"session_id":"a","model":"m","input":[{"role":"user","content":"x"}],"output_length":20,"pre_gap":0.0}
				{"session_id":"b","model":"m","input":[{"role":"user","content":"y"}],"output_length":0,"pre_gap":0.7}
				{"session_id":"a","model":"n","input":[{"role":"user","content":"x"},{"role":"assistant","content":"z"},{"role":"user","content":"w"}],"output_length":7,"pre_gap":1.25,"temperature":0.5,"tools":[],"label":"l"}`,
			want: []string{
				"a recorded",
				`root:0 model m = messages:[{"role":"user","content":"x"}] max:20 whole`,
				`root:1 model n after root:0+1.25s = messages:[{"role":"user","content":"x"},{"role":"assistant","content":"z"},{"role":"user","content":"w"}] max:7 +temperature=0.5 whole`,
				"b recorded",
				`root:0 model m = messages:[{"role":"user","content":"y"}] max:1 whole`,
			},
			notes: []string{
				`recorded answers of 0 tokens are asked for with 1 token (1)`,
				`the "pre_gap" of a session's first request is not waited for (1)`,
			},
			ignored: []string{"label"},
		},
		{
			name: "LMCache with texts, out of order", layout: "lmcache_text", o: counted,
			in: `{"timestamp":1760428258635837,"input":"q","output":"a b","session_id":"s"}
				{"timestamp":1760428260135838,"input":"q a b r s","output":"","session_id":"s"}
				{"timestamp":1760428259635837,"input":"q a b r","output":"c","session_id":"s"}
				{"timestamp":1760428258135837,"input":"x","output":"y","session_id":"u"}`,
			want: []string{
				"s at:500ms recorded",
				`root:0 past 0s = "q" max:2 whole`,
				`root:1 past 1s after root:0+1s(start) root:0 = "q a b r" max:1 whole`,
				`root:2 past 1.500001s after root:1+500.001ms(start) root:1 = "q a b r s" whole`,
				"u at:0s recorded",
				`root:0 past 0s = "x" max:1 whole`,
			},
			notes: []string{
				"no length is asked for where the recorded answer is empty (1)",
				"rows that are earlier than the row before them in their session are sorted by time (1)",
			},
		},
		{
			name: "prompts with milliseconds are no rows of LMCache", layout: "prompts",
			in:   `{"timestamp":1000,"input":"q","output":"a","session_id":"s","output_length":2}`,
			want: []string{`"q" max:2 +output="a" session:s/0 at:1s`},
		},
		{
			name: "LMCache with texts since the start", layout: "lmcache_text", o: counted,
			in:   `{"timestamp":0,"input":"q","output":"a b","session_id":0}` + "\n" + `{"timestamp":123,"input":"r","output":"c","session_id":0}`,
			want: []string{"0 at:0s recorded", `root:0 past 0s = "q" max:2 whole`, `root:1 past 123µs after root:0+123µs(start) root:0 = "r" max:1 whole`},
		},
		{
			name: "LMCache with starts", layout: "lmcache",
			in: `{"session_id":"a","model":"m","input":[{"role":"user","content":"x"}],"session_timestamp":0.0,"output_length":20}
				{"session_id":"a","model":"n","input":[{"role":"user","content":"y"}],"session_timestamp":2.5,"output_length":7}`,
			want: []string{
				"a recorded",
				`root:0 model m past 0s = messages:[{"role":"user","content":"x"}] max:20 whole`,
				`root:1 model n past 2.5s after root:0+2.5s(start) root:0 = messages:[{"role":"user","content":"y"}] max:7 whole`,
			},
		},
		{
			name: "MLPerf", layout: "mlperf_agentic",
			in: `{"_type":"dataset_metadata","version":1}
				{"conversation_id":"c","turn":1,"role":"user","content":"fix it","system":"You code.","tools":[{"type":"function"}],"max_new_tokens":9,"model":"m"}
				{"conversation_id":"c","turn":2,"role":"assistant","reasoning_content":"so","tool_calls":[{"id":"k"},{"id":"l"}]}
				{"conversation_id":"c","turn":3,"role":"tool","tool_results":[{"tool_call_id":"k","content":"a.go"},{"content":"b.go","tool_call_id":"l"}],"delay_seconds":0.4,"max_completion_tokens":5,"temperature":0}
				{"conversation_id":"c","turn":4,"role":"assistant","content":"done"}
				{"conversation_id":"c","turn":5,"role":"user","content":[{"type":"text","text":"thanks"}],"mood":"good"}
				{"conversation_id":"c","turn":6,"role":"assistant","content":"bye"}`,
			want: []string{
				"c recorded",
				`root:0 model m = messages:[{"role":"system","content":"You code."},{"role":"user","content":"fix it"}] max:9 +tools=[{"type":"function"}] whole`,
				`root:1 after root:0+400ms = messages:[{"role":"system","content":"You code."},{"role":"user","content":"fix it"},` +
					`{"role":"assistant","content":null,"tool_calls":[{"id":"k"},{"id":"l"}],"reasoning_content":"so"},` +
					`{"role":"tool","tool_call_id":"k","content":"a.go"},{"role":"tool","tool_call_id":"l","content":"b.go"}] max:5 +temperature=0 +tools=[{"type":"function"}] whole`,
				`root:2 after root:1 = messages:[{"role":"system","content":"You code."},{"role":"user","content":"fix it"},` +
					`{"role":"assistant","content":null,"tool_calls":[{"id":"k"},{"id":"l"}],"reasoning_content":"so"},` +
					`{"role":"tool","tool_call_id":"k","content":"a.go"},{"role":"tool","tool_call_id":"l","content":"b.go"},` +
					`{"role":"assistant","content":"done"},{"role":"user","content":[{"type":"text","text":"thanks"}]}] +tools=[{"type":"function"}] whole`,
			},
			notes:   []string{"a row about the data set (1)"},
			ignored: []string{"mood"},
		},
		{
			name: "MLPerf, turns out of order, and a user after a tool", layout: "mlperf_agentic",
			in: `{"conversation_id":"c","turn":2,"role":"assistant","tool_calls":[{"id":"k"}]}
				{"conversation_id":7,"turn":1,"role":"user","content":"x"}
				{"conversation_id":"c","turn":1,"role":"user","content":"a"}
				{"conversation_id":"c","turn":3,"role":"tool","tool_results":[{"tool_call_id":"k","content":"r"}]}
				{"conversation_id":"c","turn":4,"role":"user","content":"b"}`,
			want: []string{
				"c recorded",
				`root:0 = messages:[{"role":"user","content":"a"}] whole`,
				`root:1 after root:0 = messages:[{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[{"id":"k"}]},{"role":"tool","tool_call_id":"k","content":"r"}] whole`,
				`root:2 after root:1 = messages:[{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[{"id":"k"}]},{"role":"tool","tool_call_id":"k","content":"r"},{"role":"user","content":"b"}] whole`,
				"7 recorded",
				`root:0 = messages:[{"role":"user","content":"x"}] whole`,
			},
			notes: []string{`the rows of a conversation are sorted by "turn" (1)`},
		},
		{
			name: "messages and tools are single requests", layout: "prompts",
			in:   `{"messages":[{"role":"user","content":"a"}],"tools":[{"type":"function"}],"subset":"simple"}`,
			want: []string{`messages:[{"role":"user","content":"a"}] +tools=[{"type":"function"}] +subset="simple"`},
		},
		{
			name: "agentperf-local", layout: "agentperf",
			in: `{"version":1,"turn_id":"t:0","task_id":"t","conversation_id":"t","conversation_idx":0,"messages":[{"role":"user","content":"a"}],"tools":[{"type":"function"}],"target_output_tokens":60,"max_output_tokens":70,"simulated_tool_delay_ms_after":25.5}
				{"version":1,"turn_id":"t:1","task_id":"t","conversation_id":"u","conversation_idx":0,"messages":[{"role":"user","content":"b"}],"tools":[],"target_output_tokens":5,"simulated_tool_delay_ms_after":10,"source":{"format":"x"}}
				{"version":1,"turn_id":"t:2","task_id":"t","conversation_id":"t","conversation_idx":1,"messages":[{"role":"user","content":"c"}],"recorded_completion_tokens":4,"simulated_tool_delay_ms_after":0}
				{"version":1,"turn_id":"t:3","task_id":"t","conversation_id":"u","conversation_idx":1,"messages":[{"role":"user","content":"d"}],"simulated_tool_delay_ms_after":0}
				{"version":1,"turn_id":"v:0","task_id":"v","conversation_id":"t","conversation_idx":0,"messages":[{"role":"user","content":"e"}],"simulated_tool_delay_ms_after":3}`,
			want: []string{
				"t recorded u=spawned(root)",
				`root:0 = messages:[{"role":"user","content":"a"}] max:70 +tools=[{"type":"function"}] whole`,
				`u:0 after root:0+25.5ms = messages:[{"role":"user","content":"b"}] max:5 whole`,
				`root:1 after root:0+25.5ms = messages:[{"role":"user","content":"c"}] max:4 whole`,
				`u:1 after u:0+10ms = messages:[{"role":"user","content":"d"}] whole`,
				"v recorded",
				`root:0 = messages:[{"role":"user","content":"e"}] whole`,
			},
			notes: []string{"a further conversation of a task begins after the row before its first one, and then runs beside the others (1)"},
		},
		{
			name: "SGLang's agentic-trace", layout: "agentic_trace", o: counted,
			in: `{"metadata":{"n":2},"conversations":[[{"messages":[{"role":"system","content":"s"},{"role":"user","content":"a"}],"prompt_tokens":9},{"messages":[{"role":"tool","tool_call_id":"k","content":"b"}],"prompt_tokens":12}],
				[{"messages":[{"role":"user","content":"c"}],"prompt_tokens":3}]]}`,
			want: []string{
				"0",
				`root:0 = messages:[{"role":"system","content":"s"},{"role":"user","content":"a"}] max:220`,
				`root:1 after root:0 on root:0 = messages:[{"role":"tool","tool_call_id":"k","content":"b"}] max:220`,
				"1",
				`root:0 = messages:[{"role":"user","content":"c"}] max:220`,
			},
			notes: []string{"an answer is asked for with 220 tokens, as SGLang does (3)", `"metadata"`},
		},
		{
			name: "ShareGPT with recorded answers", layout: "sharegpt", o: Options{Sessions: true, RecordedHistory: true, Count: words},
			in: `[{"id":"q","conversations":[{"from":"system","value":"s"},{"from":"gpt","value":"before"},{"from":"human","value":"a\"é"},{"from":"gpt","value":"b c"},{"from":"human","value":"d"},{"from":"human","value":"e"},{"from":"gpt","value":"f"}]},
				{"id":"r","conversations":[{"from":"human","value":"x"}]}]`,
			want: []string{
				`messages:[{"role":"system","content":"s"},{"role":"user","content":"a\"é"}] max:2 session:q/0 whole`,
				`messages:[{"role":"system","content":"s"},{"role":"user","content":"a\"é"},{"role":"assistant","content":"b c"},{"role":"user","content":"d"}] session:q/1 whole`,
				`messages:[{"role":"system","content":"s"},{"role":"user","content":"a\"é"},{"role":"assistant","content":"b c"},{"role":"user","content":"d"},{"role":"user","content":"e"}] max:1 session:q/2 whole`,
				`messages:[{"role":"user","content":"x"}] session:r/0 whole`,
			},
		},
		{
			name: "a conversation of ShareGPT alone", layout: "sharegpt",
			in:   `{"id":"a","conversations":[{"from":"human","value":"x"},{"from":"gpt","value":"y"}]}`,
			want: []string{`"x"`},
		},
		{
			name: "rollouts", layout: "rollouts", o: traced,
			in: `{"group":3,"stream":0,"prompt_len":900,"out_lens":[80,40],"obs_lens":[300,0],"tool_times":[1.5,0]}
				{"group":4,"stream":0,"prompt_len":5,"out_lens":[1]}
				{"group":3,"stream":1,"prompt_len":901,"out_lens":[0,2,3],"obs_lens":[0,7]}`,
			want: []string{
				"3/0 recorded", `root:0 = "parts of [900]" max:80 whole`, `root:1 after root:0+1.5s = "parts of [900 80 300]" max:40 whole`,
				"3/1 recorded", `root:0 = "parts of [900]" max:1 whole`, `root:1 after root:0 = "parts of [900]" max:2 whole`,
				`root:2 after root:1 = "parts of [900 2 7]" max:3 whole`,
				"4/0 recorded", `root:0 = "parts of [5]" max:1 whole`,
			},
			notes: []string{`recorded answers of 0 tokens are asked for with 1 token (1)`, `a group has the "prompt_len" of its first row (1)`},
		},
		{
			name: "Applied Compute", layout: "applied_compute_agentic", o: traced,
			in: `{"num_turns":2,"input_prompt_length":16,"assistant_response_length":[8,4],"tool_call_output_length":[4,8],"tool_call_latency":[1.4,0.8],"final_assistant_response_length":6}
				{"num_turns":0,"input_prompt_length":3,"assistant_response_length":[],"tool_call_output_length":[],"tool_call_latency":[],"final_assistant_response_length":2,"session_id":"x"}`,
			want: []string{
				"0 recorded", `root:0 = "parts of [16]" max:8 whole`, `root:1 after root:0+1.4s = "parts of [16 8 4]" max:4 whole`,
				`root:2 after root:1+800ms = "parts of [16 8 4 4 8]" max:6 whole`,
				"x recorded", `root:0 = "parts of [3]" max:2 whole`,
			},
		},
		{
			name: "agentic Mooncake", layout: "agentic_mooncake", o: Options{Texts: numbered{}, BlockTokens: 4},
			in: `{"request_id":"d","session_id":"s","output_length":1,"hash_ids":[1,2],"wait_for":["b","c"],"tool_wait_ms":20}
				{"request_id":"a","session_id":"s","input_length":3,"output_length":2,"hash_ids":[1],"timestamp":100}
				{"request_id":"c","session_id":"t","input_length":7,"output_length":4,"hash_ids":[1,9],"wait_for":["a"],"delay":1.5}
				{"request_id":"b","session_id":"s","input_length":5,"output_length":3,"hash_ids":[1,2],"wait_for":["a"],"delay":10,"tool_wait_ms":250,"branches":["c"],"prefix_reset":false,"model":"m"}
				{"request_id":"e","session_id":"s","input_tokens":4,"output_tokens":6,"hash_ids":[7],"created_time":150}
				{"request_id":"z","input_length":1,"output_length":1,"hash_ids":null}`,
			want: []string{
				"s at:100ms recorded t=spawned(root)",
				`root:0 = "3 tokens in blocks of 4: [1]" max:2 whole`,
				`root:1 after root:0+50ms(start) = "4 tokens in blocks of 4: [7]" max:6 whole`,
				`t:0 after root:0+1.5ms = "7 tokens in blocks of 4: [1 9]" max:4 whole`,
				`root:2 model m after root:0+260ms = "5 tokens in blocks of 4: [1 2]" max:3 whole`,
				`root:3 after root:2+20ms t:0+20ms = "8 tokens in blocks of 4: [1 2]" max:1 whole`,
				"z recorded",
				`root:0 = "text 3080377794026532269 of 1" max:1 whole`,
			},
		},
		{
			name: "Baseten by the column that repeats", layout: "baseten",
			in: `{"timestamp_start_unix_ms":1700000001000,"prompt":"a","input_tokens":3,"output_tokens":50,"provided_session_id":"u1","poor_man_session_id":7,"duration_e2e_ms":800}
				{"timestamp_start_unix_ms":1700000006000,"prompt":"c","input_tokens":5,"output_tokens":0,"provided_session_id":"u2","poor_man_session_id":7,"request_canceled":1}
				{"timestamp_start_unix_ms":1700000003000,"prompt":"b","input_tokens":4,"output_tokens":40,"provided_session_id":"u3","poor_man_session_id":7,"duration_e2e_ms":3500}
				{"timestamp_start_unix_ms":1700000000500,"prompt":"d","input_tokens":4,"output_tokens":2,"provided_session_id":null,"poor_man_session_id":null}
				{"timestamp_start_unix_ms":1700000007000,"prompt":"e","input_tokens":4,"output_tokens":3,"provided_session_id":null,"poor_man_session_id":7}`,
			want: []string{
				"7 at:500ms recorded",
				`root:0 past 0s–800ms = "a" max:50 exact at:500ms whole`,
				`root:1 past 2s–5.5s after root:0+1.2s = "b" max:40 exact at:2.5s whole`,
				`root:2 past 5s after root:1 = "c" max:1 exact at:5.5s whole`,
				`root:3 past 6s after root:2+1s(start) root:2 = "e" max:3 exact at:6.5s whole`,
				"row 4 at:0s recorded",
				`root:0 past 0s = "d" max:2 exact at:0s whole`,
			},
			notes: []string{`recorded answers of 0 tokens are asked for with 1 token (1)`, `rows with one "poor_man_session_id" are a session (1)`, "rows that are earlier than the row before them in their session are sorted by time (1)"},
		},
		{
			name: "TraceLab's table", layout: "tracelab", o: traced,
			in: "session_id,arrival_time,round_idx,prefix_len,input_len,output_len,tool_wait_after_ms\n" +
				"0,0,0,0,512,64,100.5\n1,200,0,0,400,0,80\n0,0,2,500,28,1,0\n0,0,1,576,128,64,50\n",
			want: []string{
				"0 at:0s recorded",
				`root:0 = "parts of [500 12]" max:64 whole`, `root:1 after root:0+100.5ms = "parts of [500 12 64 128]" max:64 whole`,
				`root:2 after root:1+50ms = "parts of [500 28]" max:1 whole`,
				"1 at:200ms recorded", `root:0 = "parts of [400]" max:1 whole`,
			},
			notes: []string{`recorded answers of 0 tokens are asked for with 1 token (1)`},
		},
		{
			name: "TraceLab's trace", layout: "tracelab", o: traced,
			in: `{"provider":"p","model":"m","session_id":"a","round_index":0,"input_tokens_total":100,"prefix_tokens":80,"newly_append_tokens":20,"output_tokens":9,"timing_events":[{"event_type":"user_message","timestamp":"2026-06-01T05:00:00Z"},{"event_type":"text","timestamp":"2026-06-01T05:00:02.5Z"}],"tools":[{"tool_wall_latency_ms":5}]}
				{"provider":"p","model":"m","session_id":"a","round_index":3,"prefix_tokens":109,"newly_append_tokens":1,"output_tokens":2,"timing_events":[{"event_type":"tool_result","timestamp":"2026-06-01T05:00:04Z"},{"event_type":"text","timestamp":"2026-06-01T05:00:05Z"}],"tools":[{"tool_wall_latency_ms":30},{"tool_wall_latency_ms":40},{"tool_wall_latency_ms":null}]}
				{"provider":"p","model":"m","session_id":"a","round_index":4,"prefix_tokens":200,"newly_append_tokens":0,"output_tokens":2,"timing_events":[],"tools":[]}`,
			want: []string{
				"a at:0s recorded",
				`root:0 model m past 0s–2.5s = "parts of [64 16 20]" max:9 whole`,
				`root:1 model m past 4s–5s after root:0+1.5s = "parts of [64 16 20 9 1]" max:2 whole`,
				`root:2 model m after root:1+40ms = "parts of [64 16 20 9 1 2 88]" max:2 whole`,
			},
			notes: []string{
				"cached tokens that belong neither to the round before nor to its answer are generated again (1)",
				"the tokens that were cached in the first round of a session are common to the sessions of its provider and model (1)",
			},
		},
		{
			name: "TraceLab's converter", layout: "tracelab", o: traced,
			in:   "id,input_len,output_len,arrival_time,round_idx,tool_wait_after_ms,prefix_len\n5,10,2,1.500000,0,0.000000,0\n",
			want: []string{"5 at:1.5ms recorded", `root:0 = "parts of [10]" max:2 whole`},
		},
		{
			name: "MT-bench", layout: "mt_bench", o: Options{Sessions: true},
			in:      `{"question_id":81,"category":"writing","turns":["a","b"],"reference":["c"]}` + "\n" + `{"turns":["d"]}`,
			want:    []string{`"a" session:81/0`, `"b" session:81/1`, `"d" session:1/0`},
			ignored: []string{"category", "reference"},
		},
		{
			name: "MT-bench, first turns", layout: "mt_bench",
			in:   `{"question_id":81,"turns":["a","b"]}`,
			want: []string{`"a"`},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := open(t, "in", tt.in, tt.o)
			if err != nil {
				t.Fatal(err)
			}
			got := all(t, s)
			if sessions, ok := s.AsSessions(); ok {
				got = withPast(t, sessions, graphs(t, sessions))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			if f := s.Files()[0]; f.Layout != tt.layout {
				t.Errorf("read as %s, want %s", f.Layout, tt.layout)
			}
			var notes []string
			for _, note := range s.Notes() {
				if _, text, ok := strings.Cut(note, "assumed: "); ok {
					notes = append(notes, text)
				} else if _, text, ok := strings.Cut(note, "left out: "); ok {
					notes = append(notes, text)
				} else if _, text, ok := strings.Cut(note, "not used: "); ok {
					notes = append([]string{}, append(notes, text)...)
				}
			}
			want := map[string]bool{}
			for _, note := range tt.notes {
				want[note] = true
			}
			gotNotes := map[string]bool{}
			for _, note := range notes {
				gotNotes[note] = true
			}
			if diff := cmp.Diff(want, gotNotes); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
			var ignored []string
			for _, in := range s.Ignored() {
				_, names, _ := strings.Cut(in, ": ")
				ignored = append(ignored, strings.Split(strings.ReplaceAll(names, `"`, ""), ", ")...)
			}
			if diff := cmp.Diff(tt.ignored, ignored); diff != "" {
				t.Errorf("ignored members (-want +got):\n%s", diff)
			}
		})
	}
}

// withPast adds the models and the recorded times of the nodes to their lines.
func withPast(t *testing.T, all workload.Sessions, lines []string) []string {
	t.Helper()
	next := 0
	for k := range all.Sessions() {
		s, err := all.Open(k)
		if err != nil {
			t.Fatal(err)
		}
		next++
		for _, n := range s.Nodes {
			name, rest, _ := strings.Cut(lines[next], " ")
			if n.Model != "" {
				name += " model " + n.Model
			}
			if n.Past.Known {
				name += " past " + n.Past.Start.String()
			}
			if n.Past.Ended {
				name += "–" + n.Past.End.String()
			}
			lines[next] = name + " " + rest
			next++
		}
	}
	return lines
}

// TestRecordedErrors checks that the error for a wrong row names the row and the member.
func TestRecordedErrors(t *testing.T) {
	traced := Options{Texts: numbered{}}
	const (
		lm     = `{"session_id":"a","input":[{"role":"user"}],"output_length":2,"pre_gap":0}` + "\n"
		user   = `{"conversation_id":"c","turn":1,"role":"user","content":"a"}` + "\n"
		reply  = `{"conversation_id":"c","turn":2,"role":"assistant","content":"b"}` + "\n"
		task   = `{"version":1,"task_id":"t","conversation_id":"t","conversation_idx":0,"messages":[{"role":"user"}],"simulated_tool_delay_ms_after":1}` + "\n"
		rounds = "session_id,round_idx,prefix_len,input_len,output_len,tool_wait_after_ms\n"
		whole  = `{"num_turns":1,"input_prompt_length":3,"assistant_response_length":[1],"tool_call_output_length":[1],"tool_call_latency":[1],"final_assistant_response_length":1}` + "\n"
		first  = `{"request_id":"a","input_length":3,"output_length":2,"hash_ids":[1]}` + "\n"
		base   = `{"timestamp_start_unix_ms":1,"prompt":"a","input_tokens":1,"output_tokens":1,"provided_session_id":"s"}` + "\n"
	)
	for _, tt := range []struct{ name, in, want string }{
		{"LMCache: no session", lm + `{"input":[{"role":"user"}],"pre_gap":0}`, `in: line 2: no "session_id"`},
		{"LMCache: session without a name", lm + `{"session_id":"","input":[{"role":"user"}]}`, `in: line 2: "session_id": is empty`},
		{"LMCache: no input", lm + `{"session_id":"a","pre_gap":0}`, `in: line 2: no "input": it has "session_id", "pre_gap"`},
		{"LMCache: input without roles", lm + `{"session_id":"a","input":[{}]}`, `in: line 2: "input": message 0 has no "role"`},
		{"LMCache: gap before the answer", lm + `{"session_id":"a","input":[{"role":"user"}],"pre_gap":-1}`, `in: line 2: "pre_gap": -1 × 1s: must be from 0`},
		{"LMCache: start", strings.Replace(lm, "pre_gap", "session_timestamp", 1) + `{"session_id":"a","input":[{"role":"user"}],"output_length":2}`, `in: line 2: no "session_timestamp"`},
		{"LMCache: length is text", lm + `{"session_id":"a","input":[{"role":"user"}],"output_length":"x"}`, `in: line 2: "output_length": expected a whole number, found "x"`},
		{"LMCache with texts: no time", `{"timestamp":1760428258635837,"input":"a","output":"b","session_id":"s"}` + "\n" + `{"input":"a","output":"b","session_id":"s"}`, `in: line 2: no "timestamp"`},
		{"LMCache with texts: input is an array", `{"timestamp":1760428258635837,"input":"a","output":"b","session_id":"s"}` + "\n" + `{"timestamp":1760428258635838,"input":[],"output":"b","session_id":"s"}`, `in: line 2: "input": expected a string, found []`},
		{"MLPerf: the assistant begins", strings.Replace(user, `"user"`, `"assistant"`, 1), `in: line 1: "role": expected user at the beginning of a conversation, found "assistant"`},
		{"MLPerf: two users", user + strings.Replace(reply, `"assistant"`, `"user"`, 1), `in: line 2: "role": expected assistant after user, found "user"`},
		{"MLPerf: another role", user + strings.Replace(reply, `"assistant"`, `"robot"`, 1), `in: line 2: "role": expected assistant after user, found "robot"`},
		{"MLPerf: two assistants", user + reply + `{"conversation_id":"c","turn":3,"role":"assistant","content":"b"}`, `in: line 3: "role": expected tool or user after assistant, found "assistant"`},
		{"MLPerf: a tool that was not called", user + reply + `{"conversation_id":"c","turn":3,"role":"tool","tool_results":[{"tool_call_id":"k","content":"b"}]}`, `in: line 3: "role": tool after an assistant without "tool_calls"`},
		{"MLPerf: no results", user + `{"conversation_id":"c","turn":2,"role":"assistant","tool_calls":[{}]}` + "\n" + `{"conversation_id":"c","turn":3,"role":"tool","content":"b"}`, `in: line 3: no "tool_results"`},
		{"MLPerf: a result without a call", user + `{"conversation_id":"c","turn":2,"role":"assistant","tool_calls":[{}]}` + "\n" + `{"conversation_id":"c","turn":3,"role":"tool","tool_results":[{"content":"b"}]}`, `in: line 3: "tool_results": result 0 has no "tool_call_id"`},
		{"MLPerf: a gap", user + strings.Replace(reply, `"turn":2`, `"turn":3`, 1), `in: line 2: "turn": expected 2, found 3: the turns of a conversation are numbered from 1 without gaps`},
		{"MLPerf: twice", user + user, `in: line 2: "turn": expected 2, found 1`},
		{"MLPerf: nothing said", user + `{"conversation_id":"c","turn":2,"role":"assistant"}`, `in: line 2: no "content" for the role assistant`},
		{"MLPerf: calls are text", user + `{"conversation_id":"c","turn":2,"role":"assistant","tool_calls":"x"}`, `in: line 2: "tool_calls": expected an array of calls, found "x"`},
		{"MLPerf: other instructions", strings.Replace(user, `{`, `{"system":"x",`, 1) + strings.Replace(reply, `{`, `{"system":"y",`, 1), `in: line 2: "system": differs from the one before`},
		{"MLPerf: late instructions", user + strings.Replace(reply, `{`, `{"system":"y",`, 1), `in: line 2: "system": expected in the first row`},
		{"MLPerf: two lengths", strings.Replace(user, `{`, `{"max_new_tokens":1,"max_tokens":2,`, 1), `in: line 1: "max_tokens" beside another length of the answer; drop one`},
		{"MLPerf: delay", strings.Replace(user, `{`, `{"delay_seconds":"soon",`, 1), `in: line 1: "delay_seconds": expected a number, found "soon"`},
		{"MLPerf: tools", strings.Replace(user, `{`, `{"tools":{},`, 1), `in: line 1: "tools": expected an array, found {}`},
		{"agentperf-local: version", strings.Replace(task, `"version":1`, `"version":2`, 1), `in: line 1: "version": expected 1, found 2`},
		{"agentperf-local: delay", task + strings.Replace(task, `after":1`, `after":-1`, 1), `in: line 2: "simulated_tool_delay_ms_after": -1 × 1ms: must be`},
		{"agentperf-local: no messages", task + strings.Replace(task, `[{"role":"user"}]`, `[]`, 1), `in: line 2: "messages": holds no message`},
		{"agentperf-local: number in the conversation", task + strings.Replace(task, `idx":0`, `idx":-1`, 1), `in: line 2: "conversation_idx": -1: must be from 0`},
		{"agentic-trace: no messages", `{"conversations":[[{"messages":[{"role":"user"}]},{"prompt_tokens":1}]]}`, `in: byte 50: no "messages"`},
		{"TraceLab: a round twice", rounds + "0,0,0,5,1,0\n0,0,5,5,1,0\n", `in: line 3: "round_idx": the session has another row for round 0`},
		{"TraceLab: no tokens", rounds + "0,0,0,0,1,0\n", `in: line 2: "prefix_len" and "input_len": a prompt of 0 tokens`},
		{"TraceLab: too many tokens", rounds + "0,20000000,0,5,1,0\n0,0,1,20000000,1,0\n", `in: line 3: a prompt of 20000001 tokens: must have at most 16777216`},
		{"TraceLab: wait", rounds + "0,0,0,5,1,-3\n", `in: line 2: "tool_wait_after_ms": -3 × 1ms: must be`},
		{"TraceLab: field empty", rounds + "0,0,,5,1,0\n", `in: line 2: no "prefix_len"`},
		{"TraceLab: sum", `{"session_id":"a","round_index":0,"input_tokens_total":9,"prefix_tokens":4,"newly_append_tokens":4,"output_tokens":1}`, `in: line 1: "input_tokens_total": expected 8, the sum of "prefix_tokens" and "newly_append_tokens", found 9`},
		{"TraceLab: event", `{"session_id":"a","round_index":0,"prefix_tokens":4,"newly_append_tokens":4,"output_tokens":1,"timing_events":[{"timestamp":"noon"}]}`, `in: line 1: "timing_events": event 0: "noon" is not a time such as`},
		{"TraceLab: tools", `{"session_id":"a","round_index":0,"prefix_tokens":4,"newly_append_tokens":4,"output_tokens":1,"tools":"ls"}`, `in: line 1: "tools": expected an array of tools`},
		{"rollouts: no answer", `{"group":0,"stream":0,"prompt_len":4,"out_lens":[]}`, `in: line 1: "out_lens": expected the lengths of at least one answer`},
		{"rollouts: observations", `{"group":0,"stream":0,"prompt_len":4,"out_lens":[1,2,3],"obs_lens":[1]}`, `in: line 1: "obs_lens": expected 3 numbers, one for each of "out_lens", found 1`},
		{"rollouts: no observations", `{"group":0,"stream":0,"prompt_len":4,"out_lens":[1,2]}`, `in: line 1: no "obs_lens"`},
		{"rollouts: times", `{"group":0,"stream":0,"prompt_len":4,"out_lens":[1,2],"obs_lens":[1,2],"tool_times":[1]}`, `in: line 1: "tool_times": expected 2 numbers, found 1`},
		{"rollouts: no prompt", `{"group":0,"stream":0,"prompt_len":0,"out_lens":[1]}`, `in: line 1: "prompt_len": 0: must be at least 1`},
		{"Applied Compute: too few", strings.Replace(whole, `"num_turns":1`, `"num_turns":2`, 1), `in: line 1: "assistant_response_length": expected 2 numbers, found 1`},
		{"Applied Compute: negative", whole + strings.Replace(whole, `output_length":[1]`, `output_length":[-1]`, 1), `in: line 2: "tool_call_output_length": element 0: -1: must be from 0`},
		{"Applied Compute: no last answer", strings.Replace(whole, `final`, `last`, 1), `in: line 1: no "final_assistant_response_length"`},
		{"Applied Compute: no latencies", strings.Replace(whole, `tool_call_latency`, `latency`, 1), `in: line 1: no "tool_call_latency"`},
		{"agentic Mooncake: nobody", first + `{"request_id":"b","input_length":3,"output_length":2,"hash_ids":[1],"wait_for":["x"]}`, `in: line 2: "wait_for": no row has the request_id "x"`},
		{"agentic Mooncake: a circle", first + `{"request_id":"b","input_length":3,"output_length":2,"hash_ids":[1],"wait_for":["c"]}` + "\n" + `{"request_id":"c","input_length":3,"output_length":2,"hash_ids":[1],"wait_for":["b"]}`, `in: line 2: "wait_for": the request "b" waits for itself`},
		{"agentic Mooncake: twice", first + first, `in: line 2: "request_id": "a" is the id of an earlier row, too; ids must differ`},
		{"agentic Mooncake: blocks", first + strings.Replace(first, `"a","input_length":3`, `"b","input_length":513`, 1), `in: line 2: 513 tokens are not the 1 blocks of 512`},
		{"agentic Mooncake: later version", strings.Replace(first, `{`, `{"dependencies":[],`, 1), `in: line 1: "dependencies" and "not_before_ms" are of a later version`},
		{"agentic Mooncake: both delays", strings.Replace(first, `{`, `{"delay":1,"delay_ms":1,`, 1), `in: line 1: both "delay" and "delay_ms"; drop one`},
		{"agentic Mooncake: too long", strings.Replace(first, `{`, `{"delay":4e12,"tool_wait_ms":4e12,`, 1), `in: line 1: "tool_wait_ms": the delays together are longer than`},
		{"Baseten: no prompt", base + strings.Replace(base, `"prompt":"a"`, `"prompt":null`, 1), `in: line 2: "prompt": a required field is empty`},
		{"Baseten: no time", base + strings.Replace(base, `"timestamp_start_unix_ms":1`, `"timestamp_start_unix_ms":null`, 1), `in: line 2: no "timestamp_start_unix_ms"`},
		{"Baseten: duration", base + strings.Replace(base, `{`, `{"duration_e2e_ms":-1,`, 1), `in: line 2: "duration_e2e_ms": -1 × 1ms: must be`},
		{"MT-bench: a number", `{"turns":["a",1]}`, `in: line 1: "turns": turn 1: expected a string, found 1`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			msg := refusal(t, tt.in, traced)
			if !strings.HasPrefix(msg, tt.want) || strings.Contains(msg, "\n") {
				t.Errorf("error %q, want %q in a line", msg, tt.want)
			}
		})
	}
}

// tokenWords makes texts of a word for each token, which tells the token.
type tokenWords struct{ numbered }

func (tokenWords) Parts(names []uint64, tokens []int) (string, []uint32, error) {
	var b strings.Builder
	for i, name := range names {
		for k := range tokens[i] {
			fmt.Fprintf(&b, "%x.%d ", name, k)
		}
	}
	return b.String(), nil, nil
}

// commonWords counts the words with which both texts begin.
func commonWords(a, b string) int {
	x, y := strings.Fields(a), strings.Fields(b)
	n := 0
	for n < min(len(x), len(y)) && x[n] == y[n] {
		n++
	}
	return n
}

// TestTraceLabPrefixes checks that the prompts of a session have the recorded lengths, and exactly the recorded tokens of the round
// before and its answer in common, whatever the order in which they are asked for.
func TestTraceLabPrefixes(t *testing.T) {
	// Lengths of the prompt before, of its answer, and of what is new.
	rounds := []struct{ prefix, added, answer int }{
		{70, 30, 10}, {110, 5, 20}, {100, 7, 3}, {40, 60, 5}, {105, 1, 1}, {0, 50, 2}, {51, 9, 4}, {52, 9, 4}, {3, 1, 0}, {4, 10, 1},
	}
	var in strings.Builder
	in.WriteString("session_id,round_idx,prefix_len,input_len,output_len,tool_wait_after_ms\n")
	for i, r := range rounds {
		fmt.Fprintf(&in, "a,%d,%d,%d,%d,0\n", i, r.prefix, r.added, r.answer)
	}
	in.WriteString("b,0,65,5,1,0\n")
	s, err := open(t, "in", in.String(), Options{Texts: tokenWords{}})
	if err != nil {
		t.Fatal(err)
	}
	sessions, _ := s.AsSessions()
	a, err := sessions.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	text := make([]string, len(rounds))
	for _, i := range []int{4, 0, 1, 2, 9, 3, 8, 7, 6, 5} {
		e, err := a.Entry(i)
		if err != nil {
			t.Fatal(err)
		}
		text[i] = e.Prompt.Text
	}
	for i, r := range rounds {
		if got := len(strings.Fields(text[i])); got != r.prefix+r.added {
			t.Errorf("round %d has %d tokens, want %d", i, got, r.prefix+r.added)
		}
		if i == 0 {
			continue
		}
		// The answer before may be common, too: then all of the prompt before is.
		before := rounds[i-1].prefix + rounds[i-1].added
		if got, want := commonWords(text[i-1], text[i]), min(r.prefix, before); got != want {
			t.Errorf("rounds %d and %d have %d tokens in common, want %d", i-1, i, got, want)
		}
	}
	// Round 2 cuts the answer of round 1 and keeps the answer of round 0; round 7 keeps round 6's.
	if got := commonWords(text[2], text[1]); got != 100 {
		t.Errorf("%d tokens in common, want 100", got)
	}
	b, err := sessions.Open(1)
	if err != nil {
		t.Fatal(err)
	}
	e, err := b.Entry(0)
	if got := commonWords(text[0], e.Prompt.Text); err != nil || got != 40 {
		t.Errorf("sessions have %d tokens in common, %v; want 40, as many as a round of one of them keeps", got, err)
	}
}

// TestLengthPrefixes checks that each prompt of a session of lengths begins with the one before, and the prompts of a group with its
// own, and that others differ.
func TestLengthPrefixes(t *testing.T) {
	s, err := open(t, "in", `{"group":1,"stream":0,"prompt_len":9,"out_lens":[2,3,1],"obs_lens":[4,5,0]}
		{"group":1,"stream":1,"prompt_len":9,"out_lens":[2,3],"obs_lens":[4,0]}
		{"group":2,"stream":0,"prompt_len":9,"out_lens":[2]}`, Options{Texts: tokenWords{}})
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for k := range s.Len() {
		e, err := s.At(k)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, e.Prompt.Text)
	}
	for _, tt := range []struct{ a, b, common int }{{0, 1, 9}, {1, 2, 15}, {0, 3, 9}, {1, 4, 9}, {0, 5, 0}} {
		if got := commonWords(texts[tt.a], texts[tt.b]); got != tt.common {
			t.Errorf("requests %d and %d have %d tokens in common, want %d", tt.a, tt.b, got, tt.common)
		}
	}
}

// TestManifest checks that a folder of agentperf-local, or its manifest, stands for the traces that it lists.
func TestManifest(t *testing.T) {
	row := func(task string) string {
		return `{"version":1,"task_id":"` + task + `","conversation_id":"t","conversation_idx":0,"messages":[{"role":"user","content":"` + task + `"}],"simulated_tool_delay_ms_after":1}`
	}
	dir := t.TempDir()
	files := map[string]string{
		"traces/b.jsonl": row("b"), "traces/a.jsonl": row("a"), "other.jsonl": row("other"),
		"manifest.json": `{"version":1,"name":"n","mode":"single_user_agentic_replay","tasks":[{"task_id":"b","trace":"traces/b.jsonl","model_calls":1},{"task_id":"a","trace":"traces/a.jsonl"}]}`,
	}
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{dir, filepath.Join(dir, "manifest.json")} {
		s, err := Open(t.Context(), []string{path}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range s.Files() {
			got = append(got, filepath.Base(f.Name))
		}
		if diff := cmp.Diff([]string{"b.jsonl", "a.jsonl"}, got); diff != "" {
			t.Errorf("%s: files (-want +got):\n%s", path, diff)
		}
		s.Close()
	}
	for name, tt := range map[string]struct{ manifest, want string }{
		"outside": {`{"version":1,"tasks":[{"trace":"../x.jsonl"}]}`, `task 0: "trace": expected a path within the folder, found "../x.jsonl"`},
		"version": {`{"version":3,"tasks":[{"trace":"traces/a.jsonl"}]}`, `manifest.json: "version": expected 1, found 3`},
		"calls":   {`{"version":1,"tasks":[{"trace":"traces/a.jsonl","model_calls":2}]}`, `a.jsonl: expected 2 requests, the model_calls of its manifest, found 1; is the file whole?`},
		"missing": {`{"version":1,"tasks":[{"trace":"traces/c.jsonl"}]}`, `c.jsonl: no such file`},
	} {
		if err := os.WriteFile(filepath.Join(dir, "manifest.json"), []byte(tt.manifest), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), []string{dir}, Options{}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q in it", name, err, tt.want)
		}
	}
	// A manifest of something else is an ordinary file.
	if err := os.WriteFile(filepath.Join(dir, "manifest.json"), []byte(`{"prompt":"a"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), []string{filepath.Join(dir, "manifest.json")}, Options{})
	if err != nil || s.Len() != 1 {
		t.Fatalf("%v, want a prompt", err)
	}
	s.Close()
}

// TestUnixTime checks that times keep their nanoseconds.
func TestUnixTime(t *testing.T) {
	for in, want := range map[string]time.Time{
		"1760428258635837":  time.Unix(1760428258, 635837000),
		"17604282586358.25": time.Unix(17604282, 586358250),
		"0":                 time.Unix(0, 0),
	} {
		r, err := parseObject([]byte(`{"t":` + in + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := unixTime(r, "t", time.Microsecond); err != nil || !got.Equal(want) {
			t.Errorf("%s is %v, %v; want %v", in, got, err, want)
		}
	}
}
