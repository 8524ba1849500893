package dataset

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// list returns n elements of a list in JSON.
func list(n int, element func(i int) string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = element(i)
	}
	return strings.Join(all, ",")
}

// perLine returns n lines.
func perLine(n int, line func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(line(i) + "\n")
	}
	return b.String()
}

const (
	hostileChild = `{"session_id":"x","turns":[{"messages":[{"role":"user"}]}]}`
	dynamoEnd    = `{"schema":"dynamo.request.trace.v1","event_type":"request_end","agent_context":{"session_id":"s"},`
)

// Small files that stand for very much are refused, or take little memory.
func TestSmallFilesOfMuch(t *testing.T) {
	const perByte = 3000
	for _, tt := range []struct {
		name, in string
		o        Options
		want     string // part of the message; "" for a file that is read
		requests int
	}{
		{
			"dag_jsonl: rounds that no session plays", perLine(300, func(i int) string {
				return fmt.Sprintf(`{"session_id":"o%d","orchestrator":true,"rounds":100000,"spawns":["x"]}`, i)
			}) + hostileChild, Options{MaxSessionRequests: 10}, `line 1: session "o0" has more than 10 requests`, 0,
		},
		{
			"dag_jsonl: many sessions of one conversation", perLine(300, func(i int) string {
				return fmt.Sprintf(`{"session_id":"o%d","orchestrator":true,"rounds":10,"spawns":["x"]}`, i)
			}) + hostileChild, Options{MaxSessionRequests: 10}, `line 11: the sessions of the file have more than 100 requests together`, 0,
		},
		{
			"Graph IR: many traces", `{"kind":"graph","nodes":{` + list(10, func(i int) string {
				return fmt.Sprintf(`"%d":{"output":"o%d","prompt":[{"role":"user"}]}`, i, i)
			}) + "}}\n" + perLine(30, func(i int) string { return fmt.Sprintf(`{"kind":"trace","id":"%d"}`, i) }),
			Options{MaxSessionRequests: 10},
			`line 12: the sessions of the file have more than 100 requests together`, 0,
		},
		{
			"Graph IR: prompts that repeat each other", `{"kind":"graph","nodes":{"0":{"output":"o0","prompt":[{"role":"user"}]},` + list(80, func(i int) string {
				k := min(i, 5)
				return fmt.Sprintf(`"%d":{"output":"o%d","prompt":[{"role":"user"},"@o%d","@o%d"],"inputs":[{"channel":"o%d"}]}`, i+1, i+1, k, k, k)
			}) + "}}\n" + `{"kind":"trace","id":"t"}`, Options{MaxRowBytes: 16000}, `line 2: the prompts of the graph are longer than 128000 bytes together`, 0,
		},
		{
			"Graph IR: inputs of inputs", `{"kind":"graph","nodes":{` + list(1000, func(i int) string {
				return fmt.Sprintf(`"%d":{"output":"o","prompt":[{"role":"user"}]}`, i)
			}) + `,"z":{"output":"q","prompt":[{"role":"user"}],"inputs":[` + list(1500, func(int) string { return `{"channel":"o","count":"all"}` }) +
				`]}},"state":{"o":{"reducer":"add_messages"}}}`, Options{}, `line 1: "nodes": their "inputs" wait for more than 1000000 writes together`, 0,
		},
		{
			"WEKA: sub-agents of sub-agents", `{"id":"a","block_size":4,"requests":[{"t":0,"in":4},` + strings.Repeat(`{"t":0,"type":"subagent","requests":[`, 1000) +
				`{"t":0,"in":1,"model":"` + strings.Repeat("x", 10_000) + `"}` + strings.Repeat("]}", 1000) + "]}",
			Options{},
			"sub-agents are more than 20 deep within each other", 0,
		},
		{
			"WEKA: sub-agents alone", `{"id":"a","block_size":4,"requests":[{"t":0,"type":"subagent","requests":[{"t":0,"in":1}]}]}`,
			Options{},
			"a trace without requests (1)", 0,
		},
		{
			"execution trace: branches without events", perLine(50, func(i int) string {
				return fmt.Sprintf(`{"trace_id":"%d","events":[{"event_type":"parallel_start","num_branches":99999},{"event_type":"parallel_end"}]}`, i)
			}), Options{}, `line 1: "events": event 0: "num_branches": 99999: a trace of 2 events may have 100 in all`, 0,
		},
		{
			"execution trace: a path of many branches", `{"trace_id":"r","events":[{"event_type":"message","branch_path":[` + list(5000, func(int) string { return "1" }) + `]}]}`,
			Options{},
			`"branch_path": no "parallel_start" has begun the branch [1 1 1`, 0,
		},
		{
			"execution trace: messages that change", `{"trace_id":"r","events":[` + list(100, func(i int) string {
				return fmt.Sprintf(`{"event_type":"message","conversation_id":0,"message_index":0,"role":"user","tokens":%d},{"event_type":"message","conversation_id":0,"role":"assistant","completion_tokens":1}`, i+1)
			}) + `]}`, Options{MaxSessionRequests: 100}, "the requests of a trace hold more than 2000 messages together", 0,
		},
		{
			"Dynamo: blocks without hashes", dynamoEnd + `"event_time_unix_ms":9,"request":{"output_tokens":1,"replay":{"trace_block_size":1,"input_length":1,"input_sequence_hashes":[1]}}}` + "\n" +
				perLine(120, func(i int) string {
					return dynamoEnd + fmt.Sprintf(`"event_time_unix_ms":%d,"request":{"input_tokens":40000,"output_tokens":1}}`, i+10)
				}), Options{}, `line 106: "request": prompts without "replay" have more than 4194304 blocks together`, 0,
		},
		{
			"Dynamo: a long prompt", dynamoEnd + `"event_time_unix_ms":9,"request":{"output_tokens":1,"replay":{"trace_block_size":2000000000,"input_length":2000000000,"input_sequence_hashes":[1]}}}`,
			Options{},
			`"input_length": 2000000000: must be from 1 to 16777216`, 0,
		},
		{"rollouts: a long prompt", `{"group":1,"stream":0,"prompt_len":2000000000,"out_lens":[1],"obs_lens":[1]}`, Options{}, "line 1: a prompt of 2000000000 tokens: must have at most 16777216", 0},
		{
			"agentic Mooncake: a long prompt", `{"request_id":"a","output_length":2,"input_length":2000000000,"hash_ids":null}`,
			Options{},
			"line 1: a prompt of 2000000000 tokens: must have at most 16777216", 0,
		},
		{
			"TraceLab: long prompts", perLine(100, func(i int) string {
				return fmt.Sprintf(`{"session_id":"a","round_index":%d,"prefix_tokens":16000000,"newly_append_tokens":20,"output_tokens":9}`, i)
			}), Options{}, "", 100,
		},
	} {
		t.Run(tt.name, func(t *testing.T) { // not in parallel, since it counts allocations
			tt.o.Texts, tt.o.Count = numbered{}, words
			testenv.BoundMemory(t, len(tt.in), 4<<20, perByte, func() {
				s, err := open(t, "in", tt.in, tt.o)
				switch {
				case tt.want == "" && err != nil:
					t.Fatal(err)
				case tt.want == "":
					if s.Len() != tt.requests {
						t.Errorf("%d requests, want %d", s.Len(), tt.requests)
					}
				case err == nil:
					t.Fatalf("read as %d requests, want an error with %q", s.Len(), tt.want)
				case !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") || len(err.Error()) > 1000:
					t.Errorf("error %.1100q, want %q in a short line", err.Error(), tt.want)
				}
			})
		})
	}
}

// Memory for the forks of one request does not grow with their square.
func TestWekaManyForks(t *testing.T) { // not in parallel, since it counts allocations
	in := `{"id":"a","block_size":1,"requests":[` + list(5000, func(i int) string {
		return fmt.Sprintf(`{"t":%d,"in":2,"hash_ids":[1,%d]}`, i, i+2)
	}) + "]}"
	testenv.BoundMemory(t, len(in), 4<<20, 400, func() {
		if s, err := open(t, "in", in, Options{Texts: numbered{}}); err != nil || s.Len() != 5000 {
			t.Errorf("%v, want 5000 requests", err)
		}
	})
}

// The sum of long times is a long time: no delay becomes negative.
func TestLongTimes(t *testing.T) {
	t.Parallel()
	const years = "4e9" // seconds, 126 years
	for name, in := range map[string]string{
		"weka": `{"id":"a","block_size":4,"requests":[{"t":` + years + `,"in":9,"api_time":` + years + `},{"t":` + years + `,"type":"subagent","duration_ms":4e12,"requests":[{"t":0,"in":1,"api_time":` + years + `}]},{"t":4.5e9,"in":9}]}`,
		"execution_trace": `{"trace_id":"r","events":[{"event_type":"message","conversation_id":0,"role":"user","tokens":4},{"event_type":"message","conversation_id":0,"role":"assistant","completion_tokens":4},` +
			strings.Repeat(`{"event_type":"tool_call","duration_ms":4e12},`, 4) + `{"event_type":"message","conversation_id":0,"role":"assistant","completion_tokens":4}]}`,
		"graph_ir": `{"kind":"graph","nodes":{"a":{"output":"h","prompt":[{"role":"user"}]},"b":{"output":"x","min_start_delay_us":4e15,"prompt":[{"role":"user"}]}},"edges":[{"source":"a","target":"b","delay_after_predecessor_us":4e15,"min_start_delay_us":4e15},{"source":"START","target":"b","min_start_delay_us":4e15,"delay_after_predecessor_us":4e15}]}` + "\n" + `{"kind":"trace","id":"t"}`,
		"dynamo": dynamoEnd + `"event_time_unix_ms":4e12,"request":{"input_tokens":4,"output_tokens":1,"request_received_ms":4e12,"total_time_ms":4e12,"ttft_ms":4e12}}` + "\n" +
			dynamoEnd + `"event_time_unix_ms":4.5e12,"request":{"input_tokens":4,"output_tokens":1,"request_received_ms":4.5e12,"total_time_ms":4e12}}`,
		"baseten": `{"timestamp_start_unix_ms":1,"prompt":"a","input_tokens":1,"output_tokens":1,"duration_e2e_ms":4e12,"provided_session_id":"s"}` + "\n" +
			`{"timestamp_start_unix_ms":4e12,"prompt":"a","input_tokens":1,"output_tokens":1,"duration_e2e_ms":4e12,"provided_session_id":"s"}`,
		"tracelab": `{"session_id":"a","round_index":0,"prefix_tokens":0,"newly_append_tokens":20,"output_tokens":9,"timing_events":[{"event_type":"text","timestamp":"0001-06-01T05:00:02.5Z"}]}` + "\n" +
			`{"session_id":"a","round_index":1,"prefix_tokens":0,"newly_append_tokens":20,"output_tokens":9,"timing_events":[{"event_type":"tool_result","timestamp":"9026-06-01T05:00:02.5Z"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := open(t, "in", in, Options{Texts: numbered{}, Layout: name})
			if err != nil {
				t.Fatal(err)
			}
			all, _ := s.AsSessions()
			longest := false
			for k := range all.Sessions() {
				one, err := all.Open(k)
				if err != nil {
					t.Fatal(err)
				}
				for i, n := range one.Nodes {
					for _, e := range n.After {
						longest = longest || e.Delay > mostTime/2
						if e.Delay < 0 || e.Delay > mostTime {
							t.Errorf("request %d waits %v", i, e.Delay)
						}
					}
					if p := n.Past; p.Start < 0 || p.Ended && p.End < p.Start {
						t.Errorf("request %d was sent at %v and answered at %v", i, p.Start, p.End)
					}
				}
			}
			if x := s.Facts().Sessions; x.Waiting < 0 || x.Idle < 0 {
				t.Errorf("delays of %v, %v", x.Waiting, x.Idle)
			}
		})
	}
}

// Requests of agentic Mooncake without a session are of the agents that are there.
func TestAgenticMooncakeUnnamed(t *testing.T) {
	t.Parallel()
	s, err := open(t, "in", `{"request_id":"a","session_id":"s","output_length":2,"hash_ids":[1]}
{"request_id":"b","session_id":"k","output_length":2,"hash_ids":[1],"wait_for":["a"]}
{"request_id":"c","output_length":2,"hash_ids":[1],"wait_for":["b"]}
{"request_id":"d","output_length":2,"hash_ids":[1],"wait_for":["a"]}`, Options{Texts: numbered{}})
	if err != nil {
		t.Fatal(err)
	}
	all, _ := s.AsSessions()
	var got []string
	for _, line := range graphs(t, all) {
		got = append(got, strings.Split(line, " = ")[0])
	}
	if want := []string{"s recorded k=spawned(root)", "root:0", "k:0 after root:0", "root:1 after root:0", "k:1 after k:0"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// checkGraphs checks what workload.Sessions promises.
func checkGraphs(t *testing.T, in string, all workload.Sessions) {
	t.Helper()
	for k := range all.Sessions() {
		s, err := all.Open(k)
		if err != nil {
			t.Fatalf("%q: %v", in, err)
		}
		ids := map[string]bool{}
		for i, a := range s.Agents {
			if a.Parent >= i || i > 0 && a.Parent < 0 || ids[a.ID] || (a.ID == "") != (i == 0) {
				t.Fatalf("%q: agent %d is %+v", in, i, a)
			}
			ids[a.ID] = true
		}
		for i, n := range s.Nodes {
			ended := n.Continues < 0
			for _, e := range n.After {
				ended = ended || e.From == n.Continues && e.Anchor == workload.AfterEnd
				if e.From < 0 || e.From >= i || e.Delay < 0 {
					t.Fatalf("%q: an edge of request %d is %+v", in, i, e)
				}
			}
			p := n.Past
			if !ended || n.Agent < 0 || n.Agent >= max(1, len(s.Agents)) || p.Start < 0 || p.Ended && (p.End < p.Start || !p.Known) || s.Recorded && n.Continues >= 0 {
				t.Fatalf("%q: request %d is %+v", in, i, n)
			}
		}
	}
}

// Each value of a file may be another one than expected.
func TestHostileValues(t *testing.T) { // not in parallel, since it counts allocations
	values := []string{"null", `""`, "[]", "{}", "-1", "0", "1e300", "9223372036854775807", "true", `"\ud800"`, `"7"`, "[[[null]]]", "[null]", `"NaN"`}
	if !testenv.IsLong() {
		values = []string{"null", "-1", "0", "4e12", `""`, "[]", "[null]"}
	}
	value := regexp.MustCompile(`("(?:[^"\\]|\\.)*"|-?[0-9][0-9.e+]*|true|false|null|\[\]|\[[0-9,]*\]):?`)
	for _, seed := range openSeeds {
		for _, at := range value.FindAllStringIndex(seed, -1) {
			if seed[at[1]-1] == ':' {
				continue
			}
			for _, v := range values {
				fuzzOpen(t, seed[:at[0]]+v+seed[at[1]:], true)
			}
		}
	}
}
