package dataset

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// wekaExample is a trace with a sub-agent that its parent waits for.
const wekaExample = `{"id":"w7","models":["big","small"],"block_size":64,"hash_id_scope":"local","tool_tokens":64,"system_tokens":64,"requests":[
{"t":0,"type":"s","model":"big","in":200,"out":70,"hash_ids":[1,2,3],"api_time":2.0,"think_time":null,"ttft":0.6},
{"t":2.5,"type":"subagent","agent_id":"a1","subagent_type":"Explore","status":"completed","requests":[
 {"t":2.6,"type":"n","model":"small","in":130,"out":20,"hash_ids":[1,9],"api_time":0.9}]},
{"t":5.0,"type":"s","model":"big","in":390,"out":40,"hash_ids":[1,2,3,4,5,6],"api_time":1.5,"think_time":1.5}]}`

// TestWeka checks the sessions of WEKA traces: who sends what, and when.
func TestWeka(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		o        Options
		want     []string
		notes    []string
	}{
		{
			name: "a sub-agent and a join", in: wekaExample,
			want: []string{
				`w7 recorded a1=spawned(root)`,
				`root:0 = system w7[1 2] of 64 | user w7[3] of 64, 8 more | max:70`,
				`a1:0 after root:0+600ms = system w7[1] of 64 | user w7[9] of 64, 2 more | max:20`,
				`root:1 after root:0+3s a1:0+1.5s = system w7[1 2] of 64 | user w7[3] of 64 | assistant w7[4 5] of 64 | user w7[6] of 64, 6 more | max:40`,
			},
			notes: []string{"prompts have 11 full blocks with hash_ids; in the recorded order, an unlimited prefix cache would hold 4 of them (36.36 %)"},
		},
		{
			name: "the assistant leaves the last block to the user, and has none after a reset of all",
			in: `{"id":"r","block_size":4,"requests":[
				{"t":0,"in":8,"out":9,"hash_ids":[0,1],"api_time":0.1},
				{"t":1,"in":16,"out":4,"hash_ids":[0,1,2,3],"api_time":0.1},
				{"t":2,"in":20,"out":3,"hash_ids":[0,1,2,3,4],"api_time":0.1},
				{"t":5,"in":17,"out":0,"hash_ids":[0,1,9,10],"api_time":0.1},
				{"t":6,"in":9,"out":1,"hash_ids":[7,8],"api_time":0.1}]}`,
			want: []string{
				`r recorded`,
				`root:0 = user r[0 1] of 4 | max:9`,
				`root:1 after root:0+900ms = user r[0 1] of 4 | assistant r[2] of 4 | user r[3] of 4 | max:4`,
				`root:2 after root:1+900ms = user r[0 1] of 4 | assistant r[2] of 4 | user r[3] of 4 | user r[4] of 4 | max:3`,
				`root:3 after root:2+2.9s = user r[0 1] of 4 | assistant r[9] of 4 | user r[10] of 4, 1 more | max:1`,
				`root:4 after root:3+900ms = user r[7 8] of 4, 1 more | max:1`,
			},
			notes: []string{"prompts have 17 full blocks with hash_ids; in the recorded order, an unlimited prefix cache would hold 8 of them (47.06 %)"},
		},
		{
			name: "a prompt that ends earlier ends with the user", o: Options{BlockTokens: 4},
			in: `{"id":"c","block_size":64,"system_tokens":7,"requests":[
				{"t":0,"in":8,"out":8,"hash_ids":[1,2],"api_time":0.5},
				{"t":1,"in":20,"out":8,"hash_ids":[1,2,3,4,5],"api_time":0.5},
				{"t":2,"in":16,"out":8,"hash_ids":[1,2,3,4],"api_time":0.5},
				{"t":3,"in":4,"out":8,"hash_ids":[1],"api_time":0.5}]}`,
			want: []string{
				`c recorded`,
				`root:0 = system c[1] of 4 | user c[2] of 4 | max:8`,
				`root:1 after root:0+500ms = system c[1] of 4 | user c[2] of 4 | assistant c[3 4] of 4 | user c[5] of 4 | max:8`,
				`root:2 after root:1+500ms = system c[1] of 4 | user c[2] of 4 | assistant c[3] of 4 | user c[4] of 4 | max:8`,
				`root:3 after root:2+500ms = user c[1] of 4 | max:8`,
			},
			notes: []string{"prompts have 12 full blocks with hash_ids; in the recorded order, an unlimited prefix cache would hold 7 of them (58.33 %)"},
		},
		{
			name: "more ids than blocks, fewer, none, and a partial last one",
			in: `{"id":"i","hash_id_scope":"global","requests":[
				{"t":0,"in":8,"out":1,"hash_ids":[7,8,9]},
				{"t":1,"in":260,"out":2,"hash_ids":[1,2,3]},
				{"t":3,"in":0,"out":null,"hash_ids":null},
				{"t":6,"in":100,"out":1,"hash_ids":[1,18446744073709551615]}]}`,
			want: []string{
				`i recorded`,
				`root:0 = user 8 more | max:1`,
				`root:1 after root:0 root:0+1s(start) = user [1 2 3] of 64, 68 more | max:2`,
				`root:2 after root:1 root:1+2s(start) = user 1 more | max:1`,
				`root:3 after root:2 root:2+3s(start) = user [1] of 64, 36 more | max:1`,
			},
			notes: []string{
				`assumed: requests of 0 tokens are sent with 1 (1)`,
				`assumed: the time after a request without "api_time" counts from its start, and the next one waits for its end (3)`,
				"prompts have 4 full blocks with hash_ids; in the recorded order, an unlimited prefix cache would hold 1 of them (25.00 %)",
			},
		},
		{
			name: "sub-agents that nobody waits for, of whom some begin during a turn",
			in: `{"id":"b","block_size":64,"requests":[
				{"t":0,"type":"subagent","agent_id":"early","requests":[{"t":0,"in":9,"out":1}]},
				{"t":1,"type":"s","in":64,"out":9,"hash_ids":[1],"api_time":8,"ttft":2},
				{"t":1.5,"type":"subagent","agent_id":"x","status":"async_launched","duration_ms":null,"requests":[{"t":2,"in":9,"out":1,"api_time":1}]},
				{"t":4.5,"type":"subagent","agent_id":"x","status":"async_launched","requests":[{"t":5,"in":9,"out":1,"api_time":1}]},
				{"t":10,"in":64,"out":9,"hash_ids":[1],"api_time":1},
				{"t":10.5,"type":"subagent","agent_id":"e","requests":[]},
				{"t":12,"type":"subagent","requests":[{"t":12,"in":9,"out":1}]}]}`,
			want: []string{
				`b recorded x=spawned(root) x#2=spawned(root) subagent 6=spawned(root)`,
				`root:0 = user b[1] of 64 | max:9`,
				`x:0 after root:0+1s(start) = user 9 more | max:1`,
				`x#2:0 after root:0+2s(first token) = user 9 more | max:1`,
				`root:1 after root:0+1s = user b[1] of 64 | max:9`,
				`subagent 6:0 after root:1+1s = user 9 more | max:1`,
			},
			notes: []string{
				"in: left out: a sub-agent before the first request of its parent (1)",
				"in: left out: a sub-agent without requests (1)",
				"assumed: sub-agents that no later turn waits for run in the background (3)",
				"prompts have 2 full blocks with hash_ids; in the recorded order, an unlimited prefix cache would hold 1 of them (50.00 %)",
			},
		},
		{
			name: "times of sub-agents that say when these ended",
			in: `{"id":"e","block_size":64,"requests":[
				{"t":0,"in":9,"out":1,"api_time":2},
				{"t":12,"type":"subagent","agent_id":"x","duration_ms":9500,"requests":[{"t":0,"in":9,"out":1,"api_time":3},{"t":5,"in":9,"out":1,"api_time":4.5}]},
				{"t":13,"type":"subagent","agent_id":"y","duration_ms":10000,"requests":[{"t":0,"in":9,"out":1,"api_time":3}]},
				{"t":13.25,"in":9,"out":1,"api_time":2}]}`,
			want: []string{
				`e recorded x=spawned(root) y=spawned(root)`,
				`root:0 = user 9 more | max:1`,
				`x:0 after root:0+500ms = user 9 more | max:1`,
				`y:0 after root:0+1s = user 9 more | max:1`,
				`x:1 after x:0+2s = user 9 more | max:1`,
				`root:1 after root:0+11.25s x:1+1.25s y:0+7.25s = user 9 more | max:1`,
			},
			notes: []string{`assumed: "t" of sub-agents is taken for their end, which fits the turns of their parents (1)`},
		},
		{
			name: "times of sub-agents that say when these began, and whose requests count from there",
			in: `{"id":"e","block_size":64,"requests":[
				{"t":20,"in":9,"out":1,"api_time":2},
				{"t":22.5,"type":"subagent","agent_id":"x","duration_ms":9500,"requests":[{"t":0.5,"in":9,"out":1,"api_time":3}]},
				{"t":33,"in":9,"out":1,"api_time":2}]}`,
			want: []string{
				`e recorded x=spawned(root)`,
				`root:0 = user 9 more | max:1`,
				`x:0 after root:0+1s = user 9 more | max:1`,
				`root:1 after root:0+11s x:0+7s = user 9 more | max:1`,
			},
			notes: []string{`assumed: "t" of sub-agents is taken for their start, which fits the turns of their parents (1)`},
		},
		{
			name: "requests of an agent that ran beside each other",
			in: `{"id":"p","block_size":4,"requests":[
				{"t":0,"in":4,"out":1,"hash_ids":[1],"api_time":1},
				{"t":1,"type":"subagent","agent_id":"x","status":"completed","requests":[
					{"t":1.5,"model":"m","in":8,"out":4,"hash_ids":[5,6],"api_time":3},
					{"t":2,"model":"m","in":8,"out":4,"hash_ids":[5,7],"api_time":1},
					{"t":5,"model":"m","in":12,"out":4,"hash_ids":[5,6,8],"api_time":1}]},
				{"t":7,"in":8,"out":4,"hash_ids":[1,2],"api_time":1}]}`,
			want: []string{
				`p recorded x=spawned(root) x:1=spawned(x)`,
				`root:0 = user p[1] of 4 | max:1`,
				`x:0 after root:0+500ms = user p[5 6] of 4 | max:4`,
				`x:1:0 after root:0+1s = user p[5] of 4 | user p[7] of 4 | max:4`,
				`x:1 after x:0+500ms = user p[5 6] of 4 | user p[8] of 4 | max:4`,
				`root:1 after root:0+6s x:1+1s x:1:0+4s = user p[1] of 4 | user p[2] of 4 | max:4`,
			},
			notes: []string{"prompts have 10 full blocks with hash_ids; in the recorded order, an unlimited prefix cache would hold 3 of them (30.00 %)"},
		},
		{
			name: "agents among the requests of the root",
			in: `{"id":"f","block_size":4,"requests":[
				{"t":0,"model":"m","in":8,"out":4,"hash_ids":[1,2],"api_time":1},
				{"t":2,"model":"m","in":8,"out":4,"hash_ids":[1,9],"api_time":1},
				{"t":2.5,"model":"other","in":12,"out":4,"hash_ids":[1,2,3],"api_time":9},
				{"t":4,"model":"m","in":12,"out":4,"hash_ids":[1,2,3],"api_time":1}]}`,
			want: []string{
				`f recorded root:1=spawned(root) root:2=spawned(root)`,
				`root:0 = user f[1 2] of 4 | max:4`,
				`root:1:0 after root:0+1s = user f[1] of 4 | user f[9] of 4 | max:4`,
				`root:2:0 after root:0+1.5s = user f[1 2] of 4 | user f[3] of 4 | max:4`,
				`root:1 after root:0+3s root:1:0+1s = user f[1 2] of 4 | user f[3] of 4 | max:4`,
			},
			notes: []string{
				"assumed: requests beside the root's that no later turn waits for run in the background (1)",
				"prompts have 10 full blocks with hash_ids; in the recorded order, an unlimited prefix cache would hold 5 of them (50.00 %)",
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.o.Texts = numbered{}
			s, err := open(t, "in", tt.in, tt.o)
			if err != nil {
				t.Fatal(err)
			}
			sessions, ok := s.AsSessions()
			if !ok {
				t.Fatal("no sessions")
			}
			if diff := cmp.Diff(tt.want, briefly(t, graphs(t, sessions))); diff != "" {
				t.Errorf("sessions (-want +got):\n%s", diff)
			}
			notes := s.Notes()
			for i, n := range notes {
				if dir, rest, ok := strings.Cut(n, "/in: "); ok && strings.HasPrefix(dir, "/") {
					notes[i] = "in: " + rest
				}
			}
			if diff := cmp.Diff(tt.notes, notes); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
}

// briefly shortens the whole prompts of exact lengths in lines of graphs.
func briefly(t *testing.T, lines []string) []string {
	t.Helper()
	for i, line := range lines {
		head, prompt, ok := strings.Cut(line, "messages:")
		if !ok {
			continue
		}
		js, length, _ := strings.Cut(prompt, "] max:")
		length, exact := strings.CutSuffix(length, " exact whole")
		var messages []struct{ Role, Content string }
		if err := json.Unmarshal([]byte(js+"]"), &messages); err != nil || !exact {
			t.Fatalf("no whole prompt of an exact length: %s (%v)", line, err)
		}
		for _, m := range messages {
			head += m.Role + " " + m.Content + " | "
		}
		lines[i] = head + "max:" + length
	}
	return lines
}

// TestWekaFiles checks that traces may be files of a folder, and lines of a file.
func TestWekaFiles(t *testing.T) {
	one, two := strings.ReplaceAll(wekaExample, "\n", ""), `{"id":"w8","block_size":64,"requests":[{"t":0,"in":1,"out":1}]}`
	lines, err := open(t, "traces.jsonl", one+"\n"+two+"\n", Options{Texts: numbered{}})
	if err != nil {
		t.Fatal(err)
	}
	all, _ := lines.AsSessions()
	if all.Sessions() != 2 || all.Len() != 4 || all.Outline(1).ID != "w8" {
		t.Errorf("%d sessions, %d requests, the second is %q", all.Sessions(), all.Len(), all.Outline(1).ID)
	}
}

// The facts of sessions count the delays that are asked for, as FactsOf counts them of the sessions with these delays.
func TestFactsWithDelays(t *testing.T) {
	for _, d := range []workload.Delays{{}, {Kind: workload.NoDelays}, {Kind: workload.ThinkOnly, Ratio: new(0.5)}, {Kind: workload.StartToStart, Cap: time.Second}, {IdleCap: time.Second}} {
		s, err := open(t, "in", wekaExample, Options{Texts: numbered{}, Delays: d})
		if err != nil {
			t.Fatal(err)
		}
		all, _ := s.AsSessions()
		want, err := workload.FactsOf(d.Of(all).(workload.Sessions))
		if diff := cmp.Diff(want, s.Facts().Sessions); err != nil || diff != "" {
			t.Errorf("%+v: %v (-want +got):\n%s", d, err, diff)
		}
	}
}

// TestWekaModels checks what is kept of the recording.
func TestWekaModels(t *testing.T) {
	s, err := open(t, "in", wekaExample, Options{Texts: numbered{}})
	if err != nil {
		t.Fatal(err)
	}
	all, _ := s.AsSessions()
	x, err := all.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, n := range x.Nodes {
		b := x.Blocks(i)
		got = append(got, fmt.Sprintf("%s %v–%v %v %v of %d: %d", n.Model, n.Past.Start, n.Past.End, n.Past.Ended, b.IDs, b.Size, b.Tokens))
	}
	want := []string{
		"big 0s–2s true [1 2 3] of 64: 200",
		"small 2.6s–3.5s true [1 9] of 64: 130",
		"big 5s–6.5s true [1 2 3 4 5 6] of 64: 390",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	hits := workload.PossibleHits(x)
	if want := []workload.Hit{{Hit: 0, Total: 3}, {Hit: 1, Total: 2}, {Hit: 3, Total: 6}}; !cmp.Equal(hits, want) {
		t.Errorf("hits %v, want %v", hits, want)
	}
}

// TestWekaStreams checks which requests of a list follow each other.
func TestWekaStreams(t *testing.T) {
	request := func(seconds float64, model string, ids ...int64) wekaRequest {
		start := time.Duration(seconds * float64(time.Second))
		return wekaRequest{start: start, end: start + 100*time.Millisecond, ended: true, model: model, ids: ids}
	}
	for _, tt := range []struct {
		name string
		all  []wekaRequest
		want string
	}{
		{"prompts that grow", []wekaRequest{request(0, "m", 1), request(1, "m", 1, 2), request(2, "m", 1, 2, 3)}, "[[0 1 2]]"},
		{"a reset", []wekaRequest{request(0, "m", 1, 2), request(1, "m", 1, 9), request(2, "m", 1, 9, 10)}, "[[0 1 2]]"},
		{"a reset of all", []wekaRequest{request(0, "m", 1, 2), request(1, "m", 8, 9), request(2, "m", 8, 9, 10)}, "[[0 1 2]]"},
		{"a return to the longer prompt", []wekaRequest{request(0, "m", 1, 2), request(1, "m", 1, 9), request(2, "m", 1, 2, 3)}, "[[0 2] [1]]"},
		{"another model", []wekaRequest{request(0, "m", 1, 2), request(1, "n", 1, 2, 3)}, "[[0] [1]]"},
		{"no ids", []wekaRequest{request(0, "m"), request(1, "m", 1), request(2, "m"), request(3, "m", 1, 2)}, "[[0 1 2 3]]"},
		{"a reset for each answer", []wekaRequest{request(0, "m", 1, 2), request(1, "m", 1, 2, 10), request(1.1, "m", 1, 2, 20), request(1.2, "m", 1, 2, 30), request(5, "m", 1, 2, 4)}, "[[0 1 2 3 4]]"},
		{"at the same time", []wekaRequest{request(0, "m", 1, 2), request(1, "m", 1, 2, 10), request(1.05, "m", 1, 2, 20), request(2, "m", 1, 2, 10, 11), request(3, "m", 1, 2, 20, 21)}, "[[0 1 3] [2 4]]"},
		{"not in order of time", []wekaRequest{request(2, "m", 1, 2), request(1, "m", 1)}, "[[1 0]]"},
		{"the deeper of two continues", []wekaRequest{request(0, "m", 1, 2, 3), request(1, "m", 1, 8), request(2, "m", 1, 2, 9)}, "[[0 2] [1]]"},
	} {
		var list []int
		for i := range tt.all {
			list = append(list, i)
		}
		if got := fmt.Sprint(wekaStreams(tt.all, list)); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// TestWekaErrors checks that an error names the row, the element and the member.
func TestWekaErrors(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{`{"block_size":64,"requests":{}}`, `"requests": expected an array of requests, found {}`},
		{`{"block_size":64,"requests":[7]}`, `"requests": element 0: expected a JSON object, found 7`},
		{`{"block_size":0,"requests":[]}`, `"block_size": 0: must be at least 1`},
		{`{"block_size":64,"hash_id_scope":"x","requests":[]}`, `"hash_id_scope": expected "local" or "global", found "x"`},
		{`{"block_size":64,"requests":[{"t":0,"in":1,"out":1},{"t":1,"out":1}]}`, `"requests": element 1: no "in": it has "t", "out"`},
		{`{"block_size":64,"requests":[{"t":0,"in":20000000}]}`, `"requests": element 0: "in": 20000000: must be at most 16777216`},
		{`{"block_size":64,"requests":[{"t":-1,"in":1}]}`, `"requests": element 0: "t": -1 × 1s: must be from 0`},
		{`{"block_size":64,"requests":[{"in":1}]}`, `"requests": element 0: no "t": it has "in"`},
		{`{"block_size":64,"requests":[{"t":0,"type":"z","in":1}]}`, `"requests": element 0: "type": expected "n", "s" or "subagent", found "z"`},
		{`{"block_size":64,"requests":[{"t":0,"in":1,"hash_ids":[1,null]}]}`, `"requests": element 0: "hash_ids": expected an array of whole numbers, found [1,null]`},
		{`{"block_size":64,"requests":[{"t":0,"type":"subagent","requests":[{"t":0,"in":-1}]}]}`, `"requests": element 0: "requests": element 0: "in": -1: must be from 0 to`},
		{`{"block_size":64,"requests":[]}`, `no request in it`},
	} {
		_, err := open(t, "in", tt.in+"\n", Options{Texts: numbered{}})
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "in: ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want %s in a line", tt.in, err, tt.want)
		}
	}
	if _, err := open(t, "in", wekaExample, Options{}); err == nil || !strings.Contains(err.Error(), "making texts needs a tokenizer") {
		t.Errorf("without texts: %v", err)
	}
}

// A prompt of a long session is built from few others, and is the same as if it was built from all before it.
func TestWekaLongSession(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	all := &wekaTexts{}
	for i := range 1500 {
		n := wekaNode{text: wekaText{before: -1, full: 3, ids: []int64{1, 2, 3}}, number: i}
		if i > 0 && r.IntN(700) > 0 {
			before := i - 1 // mostly a line, with branches
			if r.IntN(40) == 0 {
				before = r.IntN(i)
			}
			keep := all.nodes[before].text.full
			if r.IntN(20) == 0 {
				keep = max(0, keep-r.IntN(20))
			}
			n.text = wekaText{before: before, keep: keep, full: keep + r.IntN(3) + 1, answer: r.IntN(2)}
			for k := keep; k < n.text.full; k++ {
				n.text.ids = append(n.text.ids, int64(10*i+k))
			}
		}
		all.nodes = append(all.nodes, n)
	}
	slow := wekaTexts{nodes: slices.Clone(all.nodes)}
	all.keepPrompts()
	longest := 0
	for i := range all.nodes {
		p, line := all.line(i)
		if len(line) > mostLinks {
			t.Fatalf("prompt %d is built from %d others, want at most %d", i, len(line), mostLinks)
		}
		_, from := slow.line(i)
		longest = max(longest, len(from))
		if got, want := all.ids(p.ids, line), slow.ids(nil, from); !slices.Equal(got, want) {
			t.Fatalf("prompt %d has the blocks %v, want %v", i, got, want)
		}
		if got, want := all.said(p.messages, line), slow.said(nil, from); !slices.Equal(got, want) {
			t.Fatalf("prompt %d has the messages %v, want %v", i, got, want)
		}
	}
	if longest < 3*mostLinks {
		t.Errorf("the longest line has %d prompts", longest)
	}
}
