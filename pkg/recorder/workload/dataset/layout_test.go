package dataset

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestLayouts checks the entries of the rows of each layout; of a layout of sessions, what graphs returns.
func TestLayouts(t *testing.T) {
	pictured := Options{}
	traced := Options{Texts: numbered{}}
	for _, tt := range []struct {
		name    string
		in      string
		o       Options
		layout  string
		want    []string
		notes   []string
		ignored []string
	}{
		// perf_analyzer and GenAI-Perf
		{
			name: "steps", layout: "perf_analyzer",
			in:   `{"data":[{"B":[1],"A":["x"]},{"A":["y"]},{}]}`,
			want: []string{`B=[1] A=["x"]`, `A=["y"]`, ``},
		},
		{
			name: "streams", layout: "perf_analyzer",
			in:   `{"data":[[{"I":[1]},{"I":[2]}],[],[{"I":[3]}]]}`,
			want: []string{`I=[1]`, `I=[2]`, `I=[3]`},
		},
		{
			name: "white space goes, number text and escapes stay", layout: "perf_analyzer",
			in:   "{\"data\": [ {\"X\": { \"content\" : [ 1.50, 1e9 ], \"shape\":[2] },\n\"S\":[\"\\u00e9\"]} ]}",
			want: []string{`X={"content":[1.50,1e9],"shape":[2]} S=["\u00e9"]`},
		},
		{
			name: "what JSON does not have", layout: "perf_analyzer",
			in:   "{\"data\":[{\"X\":[NaN, -Infinity],\"S\":[\"\xff\"]}]}",
			want: []string{"X=[NaN,-Infinity] S=[\"\xff\"]"},
		},
		{
			name: "expected outputs", layout: "perf_analyzer",
			in:   `{"data":[{"I":[1]},{"I":[2]},{"I":[3]}],"validation_data":[{"O":[1]},{"O":[4]}],"more":1}`,
			want: []string{`I=[1] want:O=[1]`, `I=[2] want:O=[4]`, `I=[3]`}, notes: []string{`not used: "more"`},
		},
		{
			name: "expected outputs of streams", layout: "perf_analyzer",
			in:   `{"validation_data":[[{"O":[1]}],[{"O":[2]},{"O":[3]}]],"data":[[{"I":[1]},{"I":[2]}],[{"I":[3]},{"I":[4]}]]}`,
			want: []string{`I=[1] want:O=[1]`, `I=[2]`, `I=[3] want:O=[2]`, `I=[4] want:O=[3]`},
		},
		{
			name: "sessions and schedules", layout: "perf_analyzer",
			in: `{"data":[{"payload":[{}],"session_id":["a"],"delay":[1500]},{"payload":[{}],"session_id":["b"]},
				{"payload":[{}],"session_id":"a","timestamp":[0.5]},{"payload":[{}],"timestamp":[0]},
				{"timestamp":[[1,2]],"delay":{"b64":""},"session_id":[7]}]}`,
			want: []string{
				`payload=[{}] session_id=["a"] delay=[1500] session:a/0 delay:1.5s`,
				`payload=[{}] session_id=["b"] session:b/0`,
				`payload=[{}] session_id="a" timestamp=[0.5] session:a/1 at:500µs`,
				`payload=[{}] timestamp=[0] at:0s`,
				`timestamp=[[1,2]] delay={"b64":""} session_id=[7]`, // tensors with these names
			},
		},

		// rows with prompts
		{
			name: "names of the prompt", layout: "prompts",
			in:   "{\"text_input\":\"a\"}\n{\"input\":\"b\"}\n\n{\"prompt\":\"c\"}\r\n{\"text\":\"d\"}\n{\"texts\":[\"e\",\"f\"]}\n{\"query\":\"g\"}\n{\"input_text\":\"h\"}",
			want: []string{`"a"`, `"b"`, `"c"`, `"d"`, `"e" "f"`, `"g"`, `"h"`},
		},
		{
			name: "what stands beside it", layout: "prompts",
			in: `{"prompt":"a","output_tokens":7,"temperature":0.50,"id":17,"output":"x","max_tokens":null}
				{"system_prompt":"Be brief.","text":"b","session_id":"s","delay":500,"extra":{"top_k":3}}
				{"text":"c","session_id":"s","timestamp":1000.5}`,
			want:  []string{`"a" max:7 +temperature=0.50 +id=17 +output="x"`, `system:"Be brief." "b" +top_k=3 session:s/0 delay:500ms`, `"c" session:s/1 at:1.0005s`},
			notes: []string{`members that pa-record does not know, sent as they are: "id", "output"`},
		},
		{
			name: "unknown members of every kind, and members of the row", layout: "prompts",
			in:      `{"text":"a","nvext":{"ignore_eos":true},"cache_salt":"x","type":"single_turn","role":"user","stop":["z"],"turn":1}`,
			want:    []string{`"a" +nvext={"ignore_eos":true} +cache_salt="x" +stop=["z"]`},
			notes:   []string{`members that pa-record does not know, sent as they are: "nvext", "cache_salt"`},
			ignored: []string{"type", "role", "turn"},
		},
		{
			name: "known members alone", layout: "prompts", o: Options{OnlyKnown: true},
			in:   `{"text":"a","my_priority":3,"top_k":4}`,
			want: []string{`"a" +top_k=4`}, ignored: []string{"my_priority"},
		},
		{
			name: "members of a conversation are in each of its turns", layout: "multi_turn",
			in:    `{"session_id":"s","type":"multi_turn","cache_salt":"x","temperature":0,"turns":[{"text":"a"},{"text":"b","temperature":1}]}`,
			want:  []string{`"a" +cache_salt="x" +temperature=0 session:s/0`, `"b" +cache_salt="x" +temperature=1 session:s/1`},
			notes: []string{`members that pa-record does not know, sent as they are: "cache_salt"`}, ignored: []string{"type"},
		},
		{
			name: "conversations", layout: "prompts",
			in: `{"messages":[{"role":"user","content":"a"}],"tools":[{}],"max_tokens":5}
				{"input":{"messages":[{"role":"system","content":"b"},{"role":"user","content":"c"}],"max_tokens":6,"seed":1}}
				{"input":[{"role":"user","content":"d"}]}`,
			want: []string{
				`messages:[{"role":"user","content":"a"}] max:5 +tools=[{}]`,
				`messages:[{"role":"system","content":"b"},{"role":"user","content":"c"}] max:6 +seed=1`,
				`messages:[{"role":"user","content":"d"}]`,
			},
		},
		{
			name: "token ids", layout: "prompts",
			in:   `{"prompt":[1, 2, 3]}`,
			want: []string{`"" ids:[1 2 3]`},
		},
		{
			name: "a payload beside a time", layout: "prompts",
			in:   `{"payload":{"prompt":"a","max_tokens":5},"timestamp":10}`,
			want: []string{`"a" max:5 body:{"prompt":"a","max_tokens":5} at:10ms whole`},
		},
		{
			name: "images and audio", layout: "prompts", o: pictured,
			in:   `{"text":"a","image":"https://example.com/a.png","audio":"wav,UklGRg=="}` + "\n" + `{"images":["data:image/png;base64,AA==","http://example.com/b.png"]}`,
			want: []string{`"a" image:https://example.com/a.png audio:data:audio/wav;base64,UklGRg==`, `"" image:data:image/png;base64,AA== image:http://example.com/b.png`},
		},
		{
			name: "an array", layout: "prompts",
			in:   "[\n  {\"prompt\": \"a\"},\n  {\"prompt\": \"b\"}\n]\n",
			want: []string{`"a"`, `"b"`},
		},
		{
			name: "one object over lines", layout: "prompts",
			in:   "{\n  \"prompt\": \"a\"\n}\n",
			want: []string{`"a"`},
		},
		{
			name: "CSV", layout: "prompts",
			in:   "\ufeffprompt,max_tokens\n\"a, \"\"b\"\"\nc\",5\nd,\n",
			want: []string{`"a, \"b\"\nc" max:5`, `"d"`},
		},
		{
			name: "whole requests", layout: "requests",
			in: `{"model":"m","messages":[{"role":"user","content":"a"}],"max_tokens":3,"stream":true}
				{"model":"m","prompt":"b"}`,
			want: []string{
				`messages:[{"role":"user","content":"a"}] max:3 body:{"model":"m","messages":[{"role":"user","content":"a"}],"max_tokens":3,"stream":true} whole`,
				`"b" body:{"model":"m","prompt":"b"} whole`,
			},
		},
		{
			name: "a prompt that names its model, for a chat", layout: "prompts", o: Options{PromptMember: "messages"},
			in:   `{"model":"m","prompt":"a","max_tokens":3}` + "\n" + `{"model":"m","messages":[{"role":"user","content":"b"}]}`,
			want: []string{`"a" max:3 +model="m"`, `messages:[{"role":"user","content":"b"}] body:{"model":"m","messages":[{"role":"user","content":"b"}]} whole`},
		},
		{
			name: "a whole request for completions", layout: "requests", o: Options{PromptMember: "prompt"},
			in:   `{"model":"m","prompt":"a"}` + "\n" + `{"model":"m","messages":[{"role":"user","content":"b"}]}`,
			want: []string{`"a" body:{"model":"m","prompt":"a"} whole`, `messages:[{"role":"user","content":"b"}] +model="m"`},
		},
		{
			name: "requests that a layout says are whole", layout: "requests", o: Options{PromptMember: "messages", Layout: "requests"},
			in:   `{"model":"m","prompt":"a"}` + "\n" + `{"prompt":"b","x":1}`,
			want: []string{`"a" body:{"model":"m","prompt":"a"} whole`, `"b" body:{"prompt":"b","x":1} whole`},
		},
		{
			name: "prompts after whole requests", layout: "requests",
			in: `{"model":"m","prompt":"a"}` + "\n" + `{"prompt":"b"}` + "\n" + `{"prompt":"c","output_length":5,"delay":9,"session_id":"s"}` + "\n" + `{"prompt":"d","type":"x"}`,
			want: []string{
				`"a" body:{"model":"m","prompt":"a"} whole`, `"b" body:{"prompt":"b"} whole`,
				`"c" max:5 session:s/0 delay:9ms`, `"d"`,
			},
			ignored: []string{"type"},
		},
		{
			name: "a prompt and its length", layout: "prompts", o: traced,
			in:   `{"prompt":"a","input_length":40,"output_length":2}`,
			want: []string{`"a" max:2`}, ignored: []string{"input_length"},
		},
		{
			name: "a model alone does not make a request", layout: "prompts",
			in:   `{"model":"m","prompt":"a","category":"x"}`,
			want: []string{`"a" +model="m" +category="x"`}, notes: []string{`members that pa-record does not know, sent as they are: "category"`},
		},

		// AIPerf
		{
			name: "inputs.json of AIPerf", layout: "inputs_json",
			in: `{"data":[{"session_id":"a","payloads":[{"messages":[{"role":"user","content":"x"}]},{"prompt":"y"}]},{"payloads":[{"input":"z"}]}]}`,
			want: []string{
				`messages:[{"role":"user","content":"x"}] body:{"messages":[{"role":"user","content":"x"}]} session:a/0 whole`,
				`"y" body:{"prompt":"y"} session:a/1 whole`,
				`body:{"input":"z"} session:1/0 whole`,
			},
		},
		{
			name: "turns", layout: "multi_turn",
			in:   `{"session_id":"a","turns":[{"text":"x"},{"text":"y","delay":500},{"text":"z","delay":20}]}` + "\n" + `{"turns":[{"text":"w"}]}`,
			want: []string{`"x" session:a/0 delay:500ms`, `"y" session:a/1 delay:20ms`, `"z" session:a/2`, `"w" session:1/0`},
		},

		// public datasets
		{
			name: "ShareGPT", layout: "sharegpt",
			in: `[{"id":"q","conversations":[{"from":"human","value":"a b"},{"from":"gpt","value":"c"},{"from":"human","value":"d"}]},
				{"id":"r","conversations":[{"from":"gpt","value":"e"}]},
				{"id":"s","conversations":[{"from":"system","value":"f"},{"from":"gpt","value":"g"},{"from":"human","value":"h"}]}]`,
			want:  []string{`"a b"`, `system:"f" "h"`},
			notes: []string{"left out: a conversation in which no human speaks (1)"},
		},
		{
			name: "ShareGPT with the lengths of replies and all turns", layout: "sharegpt", o: Options{Count: words, Sessions: true},
			in:   `[{"id":"q","conversations":[{"from":"human","value":"a"},{"from":"gpt","value":"b c"},{"role":"user","content":"d"},{"role":"assistant","content":""}]}, {"conversations":[{"from":"user","value":"x"}]}]`,
			want: []string{`"a" max:2 session:q/0`, `"d" max:1 session:q/1`, `"x" session:1/0`},
		},
		{
			name: "OpenOrca", layout: "openorca", o: Options{Count: words},
			in:   `{"id":"niv.1","system_prompt":"","question":"a?","response":"b c"}` + "\n" + `{"id":"niv.2","system_prompt":"s","question":"d?","response":"e"}`,
			want: []string{`"a?" max:2`, `system:"s" "d?" max:1`},
		},
		{
			name: "CNN/DailyMail", layout: "cnn_dailymail",
			in:   `{"article":"a","highlights":"b","id":"c"}`,
			want: []string{`"a"`},
		},
		{
			name: "an answer of the datasets server", layout: "openorca",
			in:   `{"features":[],"rows":[{"row_idx":0,"row":{"system_prompt":"s","question":"q","response":"r"},"truncated_cells":[]}],"num_rows_total":1}`,
			want: []string{`system:"s" "q"`},
		},

		// traces
		{
			name: "Mooncake", layout: "mooncake", o: traced,
			in: `{"timestamp": 27482, "input_length": 1030, "output_length": 52, "hash_ids": [46, 47, 2366]}
				{"timestamp": 30000, "input_length": 7, "output_length": 1, "hash_ids": []}
				{"input_length": 8}
				{"text_input":"as it is","output_length":2,"timestamp":1}
				{"prompt":"so, too","input_length":9}`,
			want:    []string{`"1030 tokens in blocks of 512: [46 47 2366]" max:52 at:27.482s`, `"text 1 of 7" max:1 at:30s`, `"text 2 of 8"`, `"as it is" max:2 at:1ms`, `"so, too"`},
			ignored: []string{"input_length"},
		},
		{
			name: "Bailian", layout: "mooncake", o: traced,
			in:   `{"chat_id":159,"parent_chat_id":-1,"timestamp":61.114,"input_length":17,"output_length":332,"type":"text","turn":1,"hash_ids":[1089,1090]}`,
			want: []string{`"17 tokens in blocks of 16: [1089 1090]" max:332 at:1m1.114s`},
		},
		{
			name: "a part of a trace", layout: "mooncake", o: Options{Texts: numbered{}, From: 2 * time.Second, To: 5 * time.Second},
			in:   `{"timestamp":0,"input_length":1}` + "\n" + `{"timestamp":2000,"input_length":2}` + "\n" + `{"timestamp":4999,"input_length":3}` + "\n" + `{"timestamp":5000,"input_length":4}`,
			want: []string{`"text 1 of 2" at:0s`, `"text 2 of 3" at:2.999s`}, notes: []string{"left out: requests outside the window of the trace (2)"},
		},
		{
			name: "BurstGPT", layout: "burstgpt", o: traced,
			in:   "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,ChatGPT,472,18,490,Conversation log\n45.5,GPT-4,1087,0,1087,API log\n118,GPT-4,417,276,693,Conversation log\n",
			want: []string{`"text 0 of 472" max:18 at:5s`, `"text 2 of 417" max:276 at:1m58s`}, notes: []string{"left out: a request that failed (1)"},
		},
		{
			name: "BurstGPT with sessions", layout: "burstgpt", o: traced,
			in:   "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,12,1.5,ChatGPT,1,2,3,Conversation log\n6,,1.5,ChatGPT,1,2,3,API log\n7,12,1.5,ChatGPT,4,5,9,Conversation log\n",
			want: []string{`"text 0 of 1" max:2 session:12/0 at:5s`, `"text 1 of 1" max:2 at:6s`, `"text 2 of 4" max:5 session:12/1 at:7s`},
		},
		{
			name: "Azure 2023", layout: "azure", o: traced,
			in:   "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n2023-11-16 18:15:50.9951690,396,109\n",
			want: []string{`"text 0 of 374" max:44 at:0s`, `"text 1 of 396" max:109 at:4.314579s`},
		},
		{
			name: "Azure 2024", layout: "azure", o: traced,
			in:   "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 00:00:00.009930+00:00,2162,5\n2024-05-10 00:00:00.017335+00:00,2399,6\n",
			want: []string{`"text 0 of 2162" max:5 at:0s`, `"text 1 of 2399" max:6 at:7.405ms`},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := open(t, "in", tt.in, tt.o)
			if err != nil {
				t.Fatal(err)
			}
			got, entries := all(t, s), s.Len()
			if sessions, ok := s.AsSessions(); ok {
				got = graphs(t, sessions)
			} else if entries != len(tt.want) {
				t.Errorf("%d entries, want %d", entries, len(tt.want))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
			if got := s.Files()[0]; got.Layout != tt.layout || got.Entries != entries {
				t.Errorf("read as %+v, want layout %s and %d entries", got, tt.layout, entries)
			}
			notes := s.Notes()
			for i := range notes {
				_, notes[i], _ = strings.Cut(notes[i], ": ")
			}
			var ignored []string
			for _, in := range s.Ignored() {
				_, names, _ := strings.Cut(in, ": ")
				ignored = append(ignored, strings.Split(strings.ReplaceAll(names, `"`, ""), ", ")...)
			}
			if diff := cmp.Diff(tt.ignored, ignored); diff != "" {
				t.Errorf("ignored members (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.notes, notes); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
}

// TestErrors checks that an error names the position of the mistake.
func TestErrors(t *testing.T) {
	traced := Options{Texts: numbered{}}
	for _, tt := range []struct {
		name, in string
		o        Options
		want     string
	}{
		{"empty", "", Options{}, "in: is empty (0 bytes)"},
		{"white space", " \n\n", Options{}, "in: nothing but white space"},
		{"text", "Tell me a story\nand another\n", Options{}, `in: is neither JSON, JSON Lines, CSV with the names of columns in its first line, nor Parquet: it begins with "Tell me a story`},
		{"UTF-16", "\xff\xfe{\x00", Options{}, "in: is text in UTF-16; save the file as UTF-8"},
		{"UTF-16 without a mark", "o\x00n\x00e\x00", Options{Layout: "prompts"}, "in: is text in UTF-16; save the file as UTF-8"},
		{"no row", "[]", Options{}, "in: no request in it"},
		{"no request", `{"data":[]}`, Options{}, "in: no request in it"},

		{"not JSON", "{\"prompt\":\"a\"}\n{\"prompt\":b}\n", Options{}, "in: line 2: not valid JSON at its byte 10: invalid character 'b'"},
		{"the first line is not JSON", "{\"prompt\":a}\n{\"prompt\":\"b\"}\n", Options{}, "in: line 1: not valid JSON"},
		{"a line that is cut", "{\"prompt\":\"a\"}\n\n{\"prompt\":", Options{}, "in: line 3: not valid JSON: it ends inside a value"},
		{"no object", "{\"prompt\":\"a\"}\n\n\"b\"\n", Options{}, `in: line 3: expected a JSON object, found "b"`},
		{"two on a line", "{\"prompt\":\"a\"}\n{\"prompt\":\"a\"} {}\n", Options{}, "in: line 2: more text after the object"},
		{"wrong column", "{\"promt\":\"a\",\"id\":1}\n", Options{}, `in: line 1: none of its members is known to hold a prompt: it has "promt", "id"; expected one of "`},
		{"a recording", "{\"experiments\":[],\"version\":\"1\"}\n", Options{}, `in: line 1: has "experiments", so it is the recording of a run, not input data`},
		{"column missing later", "{\"prompt\":\"a\"}\n{\"id\":1}\n", Options{}, `in: line 2: no prompt: it has "id"; expected one of "text_input", `},
		{"null prompt", "{\"prompt\":null}\n", Options{}, `in: line 1: no prompt: it has "prompt"`},
		{"two prompts", "{\"prompt\":\"a\",\"text\":\"b\"}\n", Options{}, `in: line 1: both "prompt" and "text" hold a prompt; drop one`},
		{"a number for a prompt", "{\"prompt\":7}\n", Options{}, `in: line 1: "prompt": expected a string or an array of strings, found 7`},
		{"an object for a prompt", "{\"input\":{\"text\":\"a\"}}\n", Options{}, `in: line 1: "input": expected an object with "messages", it has "text"`},
		{"no texts", "{\"texts\":[]}\n", Options{}, `in: line 1: "texts": is empty`},
		{"no message", "{\"messages\":[]}\n", Options{}, `in: line 1: "messages": holds no message`},
		{"message without role", "{\"messages\":[{\"role\":\"user\"},{\"content\":\"a\"}]}\n", Options{}, `in: line 1: "messages": message 1 has no "role"`},
		{"messages are text", "{\"messages\":\"a\"}\n", Options{}, `in: line 1: "messages": expected an array of messages`},
		{"negative length", "{\"prompt\":\"a\",\"max_tokens\":-3}\n", Options{}, `in: line 1: "max_tokens": -3: must be from 0`},
		{"length 0", "{\"prompt\":\"a\",\"max_tokens\":0}\n", Options{}, `in: line 1: "max_tokens": 0: must be at least 1`},
		{"length is text", "{\"prompt\":\"a\",\"max_tokens\":\"many\"}\n", Options{}, `in: line 1: "max_tokens": expected a whole number, found "many"`},
		{"half a token", "{\"prompt\":\"a\",\"max_tokens\":1.5}\n", Options{}, `in: line 1: "max_tokens": expected a whole number, found 1.5`},
		{"two lengths", "{\"prompt\":\"a\",\"max_tokens\":1,\"output_length\":2}\n", Options{}, `in: line 1: both "output_length" and "max_tokens" hold the length of the answer; drop one`},
		{"negative delay", "{\"prompt\":\"a\",\"delay\":-1}\n", Options{}, `in: line 1: "delay": -1 × 1ms: must be from 0`},
		{"time is text", "{\"prompt\":\"a\",\"timestamp\":\"noon\"}\n", Options{}, `in: line 1: "timestamp": expected a number, found "noon"`},
		{"no such image", "{\"prompt\":\"a\",\"image\":\"no.png\"}\n", Options{}, `in: line 1: "image": no.png: no such file; expected the path of a file, a URL, or data:…`},
		{"a path that is none", "{\"prompt\":\"a\",\"image\":\"a\\u0000\\u001b\"}\n", Options{}, `in: line 1: "image": "a\x00\x1b": invalid argument; expected the path of a file`},
		{"an image that is a number", "{\"prompt\":\"a\",\"image\":[\"http://x/y\",5]}\n", Options{}, `in: line 1: "image": element 1: expected a string or bytes, found 5`},
		{"an image without bytes", "{\"prompt\":\"a\",\"image\":{\"bytes\":null}}\n", Options{}, `in: line 1: "image": neither "bytes" nor a "path" in {"bytes":null}`},
		{"bytes that are no image", "{\"prompt\":\"a\",\"image\":{\"bytes\":\"abc\",\"path\":\"a.png\"}}\n", Options{}, `in: line 1: "image": is not a supported image format`},
		{"an image beside messages", "{\"messages\":[{\"role\":\"user\"}],\"image\":\"a.png\"}\n", Options{}, `in: line 1: "image" beside a whole conversation`},
		{"an empty payload", "{\"payload\":{}}\n", Options{}, `in: line 1: "payload": an empty request`},

		{"cut document", `{"data":[{"A":[1]`, Options{}, "in: byte 9: not valid JSON: the file ends inside the value that begins here"},
		{"two documents", "{\"data\":[{\"A\":[1]}]}x", Options{}, "in: line 1: more text after the object; a row is one JSON object"},
		{"data is an object", `{"data":{}}`, Options{}, `in: byte 8: "data" must be an array, found {}`},
		{"mixed", `{"data":[{"A":[1]},[{"A":[1]}]]}`, Options{}, "in: byte 19: the array mixes objects (requests) and arrays"},
		{"mixed the other way", `{"data":[[{"A":[1]}],{"A":[1]}]}`, Options{}, "in: byte 21: the array mixes"},
		{"a number for a step", `{"data":[3]}`, Options{}, "in: byte 9: not a valid request: JSON, byte 0: expected an object"},
		{"a string in a stream", `{"data":[["x"]]}`, Options{}, "in: byte 10: not a valid request"},
		{"no comma", `{"data":[{"A":[1]} {"A":[1]}]}`, Options{}, "in: byte 19: not valid JSON: expected ',' or ']', found '{'"},
		{"twice", `{"data":[{"A":[1],"A":[2]}]}`, Options{}, `in: byte 9: "A" is given twice`},
		{"a session that is a number", `{"data":[{"payload":[{}],"session_id":[7]}]}`, Options{}, `in: byte 9: "session_id": expected an array with one string, found [7]`},
		{"two delays", `{"data":[{"payload":[{}],"delay":[7,8]}]}`, Options{}, `in: byte 9: "delay": expected an array with one number of milliseconds, found [7,8]`},
		{"a time beyond all bounds", `{"data":[{"payload":[{}],"timestamp":[1e18]}]}`, Options{}, `"timestamp": 1e+18 × 1ms: must be`},
		{"no payloads", `{"data":[{"session_id":"a","payloads":[]}]}`, Options{}, `in: byte 9: "payloads" holds no request`},
		{"no turns", `{"turns":[]}` + "\n", Options{}, `in: line 1: "turns" holds no turn`},
		{"a bad turn", `{"turns":[{"text":"a"},{"id":1}]}` + "\n", Options{}, `in: line 1: "turns": turn 1: no prompt`},
		{"somebody else speaks", `[{"conversations":[{"from":"cat","value":"a"}]}]`, Options{}, `in: byte 1: "conversations": message 0 is from "cat"; expected human, gpt or system`},
		{"conversations are text", `[{"conversations":"a"}]`, Options{}, `in: byte 1: "conversations": expected an array`},
		{"cells are cut", `{"rows":[{"row":{"question":"a"},"truncated_cells":["question"]}]}`, Options{}, `in: byte 9: the datasets server has cut "question"; use the dataset's files`},

		{"a trace without a tokenizer", "{\"input_length\":5}\n", Options{}, "in: line 1: the trace holds no texts, only their lengths; making texts needs a tokenizer"},
		{"negative prompt", "{\"input_length\":-5}\n", traced, `in: line 1: "input_length": -5: must be from 0`},
		{"empty prompt", "{\"input_length\":0}\n", traced, `in: line 1: "input_length": 0: must be at least 1`},
		{"blocks too few", "{\"input_length\":1025,\"hash_ids\":[1,2]}\n", traced, `in: line 1: 1025 tokens are not the 2 blocks of 512 that "hash_ids" names; is --block-tokens right?`},
		{"blocks too many", "{\"input_length\":512,\"hash_ids\":[1,2]}\n", traced, `in: line 1: 512 tokens are not the 2 blocks of 512`},
		{"blocks are text", "{\"input_length\":512,\"hash_ids\":\"a\"}\n", traced, `in: line 1: "hash_ids": expected an array of whole numbers, found "a"`},
		{"fields missing", "Timestamp,Model,Request tokens,Response tokens\n1,a,2\n", traced, "in: line 2: does not have as many fields as the first line"},
		{"a quote without end", "Timestamp,Model,Request tokens,Response tokens\n1,\"a,2,3\n", traced, `in: line 2: column 10: extraneous or missing " in quoted-field`},
		{"a field empty", "Timestamp,Model,Request tokens,Response tokens\n1,a,,3\n", traced, "in: line 2: a required field is empty"},
		{"negative tokens", "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46,-1,44\n", traced, `in: line 2: "ContextTokens": -1: must be`},
		{"negative tokens after empty lines", "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46,1,44\n\n\r\n2023-11-16 18:15:46,-1,44\n", traced, `in: line 5: "ContextTokens": -1: must be`},
		{"no time", "TIMESTAMP,ContextTokens,GeneratedTokens\nnoon,1,44\n", traced, `in: line 2: "TIMESTAMP": "noon" is not a time such as 2023-11-16 18:17:03.979`},
		{"back in time", "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46,1,44\n2023-11-16 18:15:45,1,44\n", traced, `in: line 3: "TIMESTAMP": 2023-11-16 18:15:45 is before the first row`},

		{"another layout", "{\"prompt\":\"a\"}\n", Options{Layout: "sharegpt"}, `in: line 1: is not a row of sharegpt, which has "conversations"; it has "prompt"`},
		{"a row too long", "{\"prompt\":\"a\"}\n{\"prompt\":\"" + strings.Repeat("b", 100) + "\"}\n", Options{MaxRowBytes: 100}, "in: line 2: 114 bytes long; a row may have at most 100"},
		{"a window of what has no times", "{\"prompt\":\"a\"}\n{\"prompt\":\"b\"}\n", Options{To: time.Hour}, `in: --trace-window needs rows with a time, such as "timestamp"`},
		{"all outside the window", "{\"timestamp\":0,\"prompt\":\"a\"}\n", Options{From: time.Hour}, "left out: requests outside the window of the trace (1))"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			msg := refusal(t, tt.in, tt.o)
			if !strings.Contains(msg, tt.want) || strings.Contains(msg, "\n") {
				t.Errorf("error %q, want %q in a line", msg, tt.want)
			}
		})
	}
}

func TestMissingFile(t *testing.T) {
	if _, err := Open(t.Context(), []string{"nowhere.json"}, Options{}); err == nil || err.Error() != "nowhere.json: no such file or directory; check the path" {
		t.Errorf("error %v", err)
	}
	if _, err := Open(t.Context(), []string{"-"}, Options{}); err == nil || !strings.Contains(err.Error(), "no standard input") {
		t.Errorf("error %v", err)
	}
}

func TestValidate(t *testing.T) {
	err := (&Options{Layout: "x", From: -1, To: -2, BlockTokens: -1, MaxRowBytes: -1}).Validate()
	for _, want := range []string{`unknown layout "x"; expected one of `, "begins at -1ns", "ends at -2ns", "-1 tokens in a block", "rows of -1 bytes"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
	var e *Error
	if errors.As(err, &e) {
		t.Error("an error of options has the type of one in data")
	}
}
