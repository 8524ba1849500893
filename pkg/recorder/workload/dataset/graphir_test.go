package dataset

import (
	"fmt"
	"strings"
	"testing"
)

func TestGraphIR(t *testing.T) {
	u := func(text string) string { return `{"role":"user","content":"` + text + `"}` }
	a := func(text string) string { return `{"role":"assistant","content":"` + text + `"}` }
	prompt := func(messages ...string) string { return " = messages:[" + strings.Join(messages, ",") + "]" }
	graph := func(members string) string { return `{"kind":"graph","version":"2.0",` + members + `}` }
	node := func(output, items string) string {
		return `{"node_type":"llm","output":"` + output + `","prompt":[` + items + `]}`
	}
	const seeded = `{"kind":"trace","id":"t","initial_state":{"h":[{"role":"user","content":"begin"}]}}`
	const plain = `{"kind":"trace","id":"t"}`
	testSessionFiles(t, "graph_ir", []sessionTest{
		{
			name: "a channel of messages is a conversation",
			in: []string{
				graph(`"state":{"h":{"type":"messages","reducer":"add_messages"}},"nodes":{` +
					`"c":{"prompt":["@h",` + u("c") + `],"output":"end","model":"m","streaming":false,"raw_tools":[1],"extra_body":{"seed":1}},` +
					`"a":{"node_type":"llm","prompt":["@h"],"output":"h","max_tokens":40},"b":` + node("h", `"@h",`+u("go on")) + `},` +
					`"edges":[{"source":"a","target":"b","delay_after_predecessor_us":300000},{"source":"b","target":"c"},{"source":"START","target":"a"},{"source":"c","target":"END"}]`),
				seeded, `{"id":"t2","tags":["x"],"initial_state":{"h":[{"role":"system","content":["be ","@@brief"]},` + u("x") + `]}}`,
			},
			want: []string{
				"t", "root:0" + prompt(u("begin")) + " max:40 whole", "root:1 after root:0+300ms on root:0" + prompt(u("go on")),
				"root:2 after root:1 on root:1" + prompt(u("c")) + ` +stream=false +tools=[1] +seed=1`,
				"t2", "root:0" + prompt(`{"role":"system","content":"be @brief"}`, u("x")) + " max:40 whole", "root:1 after root:0+300ms on root:0" + prompt(u("go on")),
				"root:2 after root:1 on root:1" + prompt(u("c")) + ` +stream=false +tools=[1] +seed=1`,
			},
		},
		{
			name: "an answer in a text, and @ that is none",
			in: []string{
				graph(`"nodes":{"a":` + node("x", u("@plain")) + `,"b":` + node("y", `{"role":"user","name":"n","content":["@@x is: ","@x","@s","!"]}`) + `},"edges":[{"source":"a","target":"b"}]`),
				`{"kind":"trace","id":"t","initial_state":{"s":" \"s\""}}`,
			},
			want: []string{
				"t", "root:0" + prompt(u("@plain")) + " whole",
				"root:1 after root:0" + prompt(`{"role":"user","content":"@x is: {{answer of request 0}} \"s\"!","name":"n"}`) + " whole",
			},
		},
		{
			name: "messages of channels after others, and of two channels",
			in: []string{
				graph(`"nodes":{"a":` + node("h", u("a")) + `,"b":` + node("k", u("b")) + `,"c":` + node("x", u("s")+`,"@h","@k"`) + `,"d":` + node("y", `"@h","@k"`) + `,"e":` + node("z", `"@k",{"role":"user","content":["@h","!"]}`) + `},` +
					`"edges":[{"source":"a","target":"c"},{"source":"b","target":"c"},{"source":"a","target":"d"},{"source":"b","target":"d"},{"source":"d","target":"e"}]`),
				plain,
			},
			want: []string{
				"t", "root:0" + prompt(u("a")) + " whole", "root:1" + prompt(u("b")) + " whole",
				"root:2 after root:0 root:1" + prompt(u("s"), u("a"), a("{{answer of request 0}}"), u("b"), a("{{answer of request 1}}")) + " whole",
				"root:3 after root:0 root:1 on root:0" + prompt(u("b"), a("{{answer of request 1}}")),
				"root:4 after root:3 root:1 on root:1" + prompt(u("{{answer of request 0}}!")),
			},
		},
		{
			name: "a trace's messages that the first writer does not have",
			in:   []string{graph(`"nodes":{"a":` + node("h", u("a")) + `,"b":` + node("x", `"@h"`) + `},"edges":[{"source":"a","target":"b"}]`), seeded},
			want: []string{"t", "root:0" + prompt(u("a")) + " whole", "root:1 after root:0" + prompt(u("begin"), u("a"), a("{{answer of request 0}}")) + " whole"},
		},
		{
			name: "a writer that does not read what was written before",
			in:   []string{graph(`"nodes":{"a":` + node("h", u("a")) + `,"b":` + node("h", u("b")) + `,"c":` + node("x", `"@h"`) + `},"edges":[{"source":"a","target":"b"},{"source":"b","target":"c"}]`), plain},
			want: []string{
				"t", "root:0" + prompt(u("a")) + " whole", "root:1 after root:0" + prompt(u("b")) + " whole",
				"root:2 after root:1" + prompt(u("a"), a("{{answer of request 0}}"), u("b"), a("{{answer of request 1}}")) + " whole",
			},
		},
		{
			name: "delays after the end, the start and the first token, and after all",
			in: []string{
				graph(`"nodes":{"a":` + node("h", u("a")) + `,"b":` + node("x", u("b")) + `,"c":{"prompt":[` + u("c") + `],"output":"y","min_start_delay_us":1000}},"edges":[` +
					`{"source":"a","target":"b","delay_after_predecessor_start_us":5000},{"source":"a","target":"c","delay_after_predecessor_start_us":9,"delay_after_predecessor_first_token_us":2000},` +
					`{"source":"b","target":"c","delay_after_predecessor_us":3000,"min_start_delay_us":500}]`),
				plain,
			},
			want: []string{
				"t recorded", "root:0" + prompt(u("a")) + " whole", "root:1 after root:0+5ms(start)" + prompt(u("b")) + " whole",
				"root:2 after root:0+3ms(first token) root:1+4ms" + prompt(u("c")) + " whole",
			},
		},
		{
			name: "starts of the trace",
			in: []string{
				graph(`"nodes":{"a":` + node("x", u("a")) + `,"b":` + node("y", u("b")) + `,"c":` + node("z", u("c")) + `},"edges":[{"source":"START","target":"a","min_start_delay_us":5000},` +
					`{"source":"START","target":"b","min_start_delay_us":2000},{"source":"b","target":"c"},{"source":"START","target":"c","min_start_delay_us":9000}]`),
				plain,
			},
			want: []string{
				"t recorded", "root:0" + prompt(u("b")) + " whole", "root:1 after root:0+3ms(start)" + prompt(u("a")) + " whole",
				"root:2 after root:0 root:0+7ms(start)" + prompt(u("c")) + " whole",
			},
			notes: []string{"left out: a delay before the first request of a trace (1)"},
		},
		{
			name: "inputs",
			in: []string{
				graph(`"nodes":{"all":{"prompt":[` + u("all") + `],"output":"p","inputs":[{"channel":"w","count":"all"}]},"one":{"prompt":[` + u("one") + `],"output":"q","inputs":[{"channel":"v"}]},` +
					`"a":` + node("w", u("a")) + `,"b":` + node("w", u("b")) + `,"c":` + node("v", u("c")) + `,"d":` + node("v", u("d")) + `},"edges":[{"source":"c","target":"d"}]`),
				plain,
			},
			want: []string{
				"t recorded", "root:0" + prompt(u("a")) + " whole", "root:1" + prompt(u("b")) + " whole", "root:2" + prompt(u("c")) + " whole",
				"root:3 after root:0 root:1" + prompt(u("all")) + " whole", "root:4 after root:2" + prompt(u("one")) + " whole",
				"root:5 after root:2" + prompt(u("d")) + " whole",
			},
		},
		{
			name: "a chat without nodes",
			in:   []string{graph(`"system":"Be brief."`), `{"kind":"trace","id":"t","messages":[` + u("q") + `]}`},
			want: []string{"t recorded", "root:0" + prompt(`{"role":"system","content":"Be brief."}`, u("q")) + " whole"},
		},
		{
			name: "traces alone", in: []string{`{"kind":"trace","id":"t","messages":[` + u("q") + `]}`},
			want: []string{"t recorded", "root:0" + prompt(u("q")) + " whole"},
		},
		{
			name: "a document", in: []string{`{"graph":{"nodes":{"a":` + node("x", u("a")) + `}},`, `"traces":[{"id":"t"},{"id":"u"}]}`},
			want: []string{"t recorded", "root:0" + prompt(u("a")) + " whole", "u recorded", "root:0" + prompt(u("a")) + " whole"},
		},
		{
			name: "YAML", in: []string{
				"# a comment", "---", "graph:", "  nodes:", "    a: {output: x, max_tokens: 12, streaming: false, extra_body: {top_p: 0.5, t: ~, d: 2026-01-01}, prompt: [{role: user, content: &c 'it''s'}]}",
				"    b: {output: y, prompt: [{role: user, content: [*c, '@x']}]}", "  edges: [{source: a, target: b, delay_after_predecessor_us: 1.5e3}]", "traces:", "- id: t", "- id: '7'",
			},
			want: []string{
				"t", "root:0" + prompt(u("it's")) + ` max:12 +stream=false +top_p=0.5 +t=null +d="2026-01-01" whole`, "root:1 after root:0+1.5ms" + prompt(u("it's{{answer of request 0}}")) + " whole",
				"7", "root:0" + prompt(u("it's")) + ` max:12 +stream=false +top_p=0.5 +t=null +d="2026-01-01" whole`, "root:1 after root:0+1.5ms" + prompt(u("it's{{answer of request 0}}")) + " whole",
			},
		},
		{
			name: "documents of YAML", in: []string{"kind: graph", "nodes: {a: {output: x, prompt: [{role: user, content: q}]}}", "---", "id: t"},
			want: []string{"t recorded", "root:0" + prompt(u("q")) + " whole"},
		},
	})
}

func TestGraphIRErrors(t *testing.T) {
	const q = `"prompt":[{"role":"user","content":"q"}]`
	graph := func(members string) []string {
		return []string{`{"kind":"graph",` + members + `}`, `{"kind":"trace","id":"t"}`}
	}
	nodes := func(all string) []string { return graph(`"nodes":{` + all + `}`) }
	edges := func(all string) []string {
		return graph(`"nodes":{"a":{"output":"x",` + q + `},"b":{"output":"y",` + q + `}},"edges":[` + all + `]`)
	}
	bomb := `"n0":{"output":"c0",` + q + `}`
	var chain []string
	for i := range 30 {
		bomb += fmt.Sprintf(`,"n%d":{"output":"c%[1]d","prompt":[{"role":"user","content":"q"},"@c%[2]d","@c%[2]d"]}`, i+1, i)
		chain = append(chain, fmt.Sprintf(`{"source":"n%d","target":"n%d"}`, i, i+1))
	}
	testSessionErrors(t, []errorTest{
		{"an unknown member of a graph", graph(`"branches":{}`), Options{}, `in: line 1: "branches" is not a member of a graph; expected one of "kind", "version",`},
		{"an unknown member of a node", nodes(`"a":{"output":"x",` + q + `,"max_token":5}`), Options{}, `in: line 1: "nodes": "a": "max_token" is not a member of a node`},
		{"an unknown member of an edge", edges(`{"source":"a","target":"b"},{"source":"a","target":"b","delay":5}`), Options{}, `in: line 1: "edges": element 1: "delay" is not a member of an edge`},
		{"an unknown member of a channel", graph(`"state":{"h":{"kind":"x"}}`), Options{}, `in: line 1: "state": "h": "kind" is not a member of a channel`},
		{"an unknown member of a trace", append(nodes(`"a":{"output":"x",`+q+`}`), `{"kind":"trace","id":"u","state":{}}`), Options{}, `in: line 3: "state" is not a member of a trace`},
		{"an unknown kind of record", append(nodes(`"a":{"output":"x",`+q+`}`), `{"kind":"mix"}`), Options{}, `in: line 3: "kind": "mix"; expected graph or trace`},
		{"a second graph", append(nodes(`"a":{"output":"x",`+q+`}`), `{"kind":"graph"}`), Options{}, `in: line 3: a second graph; the first one is row 1`},
		{"a graph after a trace", []string{`{"kind":"trace","id":"t","messages":[{"role":"user"}]}`, `{"kind":"graph"}`}, Options{}, `in: line 2: the graph comes after the trace of row 1`},
		{"another version", graph(`"version":"3.0"`), Options{}, `in: line 1: "version": "3.0"; expected 2.0`},
		{"another reducer", graph(`"state":{"h":{"reducer":"sum"}}`), Options{}, `in: line 1: "state": "h": "reducer": "sum"; expected overwrite or add_messages`},
		{"another kind of node", nodes(`"a":{"node_type":"delay","output":"x",` + q + `}`), Options{}, `in: line 1: "nodes": "a": "node_type": "delay"; expected llm`},
		{"no prompt", nodes(`"a":{"output":"x"}`), Options{}, `in: line 1: "nodes": "a": no "prompt": it has "output"`},
		{"two prompts", nodes(`"a":{"output":"x",` + q + `,"messages":[]}`), Options{}, `in: line 1: "nodes": "a": both "prompt" and "messages"; drop one`},
		{"no output", nodes(`"a":{` + q + `}`), Options{}, `in: line 1: "nodes": "a": "output": a required field is empty`},
		{"a text in a prompt", nodes(`"a":{"output":"x","prompt":["hello"]}`), Options{}, `in: line 1: "nodes": "a": "prompt": element 0: "hello" is neither a message nor "@" and the name of a channel`},
		{"a reserved name", nodes(`"END":{"output":"x",` + q + `}`), Options{}, `in: line 1: "nodes": "END": is a reserved name`},
		{"an unknown source", edges(`{"source":"z","target":"b"}`), Options{}, `in: line 1: "edges": element 0: "source": no node is "z"`},
		{"an unknown target", edges(`{"source":"a","target":"START"}`), Options{}, `in: line 1: "edges": element 0: "target": no node is "START"`},
		{"two delays of an edge", edges(`{"source":"a","target":"b","delay_after_predecessor_us":1,"delay_after_predecessor_start_us":1}`), Options{}, `both "delay_after_predecessor_us" and "delay_after_predecessor_start_us"; drop one`},
		{"a first token alone", edges(`{"source":"a","target":"b","delay_after_predecessor_first_token_us":1}`), Options{}, `"delay_after_predecessor_first_token_us" without "delay_after_predecessor_start_us"`},
		{"the start of START", edges(`{"source":"START","target":"b","delay_after_predecessor_start_us":1}`), Options{}, `START sends nothing`},
		{"a negative delay", edges(`{"source":"a","target":"b","min_start_delay_us":-1}`), Options{}, `"edges": element 0: "min_start_delay_us": -1 × 1µs: must be`},
		{"a cycle", edges(`{"source":"a","target":"b"},{"source":"b","target":"a"}`), Options{}, `in: line 1: "nodes": "a" waits for itself`},
		{"two writers of a channel that is overwritten", graph(`"state":{"x":{}},"nodes":{"a":{"output":"x",` + q + `},"b":{"output":"x",` + q + `}}`), Options{}, `in: line 1: "nodes": "a" and "b" write the channel "x"; only one`},
		{"an input of a channel of nobody", nodes(`"a":{"output":"x",` + q + `,"inputs":[{"channel":"y"}]}`), Options{}, `"nodes": "a" waits for the channel "y", which no node writes`},
		{"more inputs than writes", nodes(`"a":{"output":"x",` + q + `},"b":{"output":"y",` + q + `,"inputs":[{"channel":"x","count":2}]}`), Options{}, `"nodes": "b" waits for 2 writes of the channel "x", which has 1`},
		{"the first of inputs in any order", nodes(`"a":{"output":"x",` + q + `},"c":{"output":"x",` + q + `},"b":{"output":"y",` + q + `,"inputs":[{"channel":"x","count":1}]}`), Options{}, `in: line 1: "nodes": "b": "inputs": which 1 of the 2 writes of the channel "x" come first is not known before`},
		{"a channel without a value", nodes(`"a":{"output":"x","prompt":["@h"]}`), Options{}, `in: line 2: "nodes": "a": "prompt": no node has written the channel "h" before, and the trace has no value`},
		{"a channel that is written at any time", nodes(`"a":{"output":"x",` + q + `},"b":{"output":"y","prompt":["@x"]}`), Options{}, `in: line 2: "nodes": "b": "prompt": the channel "x" is written by "a", which neither ends before nor begins after`},
		{"a channel that is written in any order", graph(`"nodes":{"a":{"output":"x",` + q + `},"b":{"output":"x",` + q + `},"c":{"output":"y","prompt":["@x"]}},"edges":[{"source":"a","target":"c"},{"source":"b","target":"c"}]`), Options{}, `"nodes": "c": "prompt": the channel "x" is written by "a" and "b" in an order that is not known before`},
		{"a text of two answers", graph(`"nodes":{"a":{"output":"x",` + q + `},"b":{"output":"x",` + q + `},"c":{"output":"y","prompt":[{"role":"user","content":["@x"]}]}},"edges":[{"source":"a","target":"b"},{"source":"b","target":"c"}]`), Options{}, `the channel "x" has 2 answers; a text takes one`},
		{"a value that is no text", append(nodes(`"a":{"output":"x","prompt":[{"role":"user","content":["@h"]}]}`)[:1], `{"kind":"trace","id":"t","initial_state":{"h":[]}}`), Options{}, `in: line 2: "nodes": "a": "prompt": "initial_state": "h": expected a text, found []`},
		{"a value with a channel", append(nodes(`"a":{"output":"x","prompt":["@h"]}`)[:1], `{"kind":"trace","id":"t","initial_state":{"h":["@x"]}}`), Options{}, `"initial_state": "h": element 0: expected a message without channels`},
		{"another graph of a trace", append(nodes(`"a":{"output":"x",` + q + `}`)[:1], `{"kind":"trace","id":"t","graph_ref":"g"}`), Options{}, `in: line 2: "graph_ref": a file has one graph`},
		{"two traces of a name", append(nodes(`"a":{"output":"x",`+q+`}`), `{"kind":"trace","id":"t"}`), Options{}, `in: line 3: session "t" is there twice; ids must differ`},
		{"a prompt that doubles thirty times", graph(`"nodes":{` + bomb + `},"edges":[` + strings.Join(chain, ",") + `]`), Options{MaxRowBytes: 20000}, `"prompt": is longer than 20000 bytes`},
		{"YAML that is none", []string{"graph:", "  a: [", "traces: []"}, Options{}, "in: yaml: line 1: did not find"},
		{"YAML of a list", []string{"graph:", "  - a", "traces: []"}, Options{}, "in: line 2: expected a mapping"},
		{"YAML with another part", []string{"graph: {}", "traces: []"}, Options{Layout: "graph_ir"}, "is neither JSON"},
		{"YAML with a third part", []string{"graph:", "  nodes: {}", "traces: []", "mix: []"}, Options{}, `in: line 4: "mix" is not known; expected "graph" and "traces"`},
		{"YAML with a mistake in a trace", []string{"graph:", "  nodes: {a: {output: x, prompt: [{role: user, content: q}]}}", "traces:", "- id: t", "- name: u"}, Options{}, `in: line 5: "name" is not a member of a trace`},
		{"a key twice in YAML", []string{"graph:", "  nodes: {}", "  nodes: {}", "traces: []"}, Options{}, `in: line 3: "nodes" is there twice`},
		{"a number beyond JSON", []string{"graph:", "  nodes: {a: {output: x, max_tokens: .inf}}", "traces: []"}, Options{}, `in: line 2: expected a number, found .inf`},
		{"aliases of aliases", []string{"graph:", "  a: &a [x,x,x,x,x,x,x,x,x,x]", "  b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]", "  c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]", "  d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]", "  e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]", "  f: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]", "traces: []"}, Options{}, "more than 1000000 values"},
	})
}
