package profilejson_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/pkg/export/profilejson"
)

// randomFile returns a document of a few requests as recorders, servers and accidents make
// them: several load levels, choices and services, events in pieces, and damage.
func randomFile(rng *rand.Rand) []byte {
	f := &fileMaker{Rand: rng, at: 1_700_000_000_000_000_000, spaced: rng.IntN(2) == 0, odd: rng.IntN(3) == 0}
	b := []byte(`{`)
	if rng.IntN(8) == 0 {
		b = append(b, `"version":"1.0","service_kind":"openai",`...)
	}
	if f.odd && rng.IntN(4) == 0 {
		b = append(b, `"x":[{"requests":[{"timestamp":1,"response_timestamps":[2]}]}],`...)
	}
	b = append(b, `"experiments":[`...)
	for i := range 1 + rng.IntN(2)*rng.IntN(4) {
		if i > 0 {
			b = append(b, ',')
		}
		b = f.level(b, i)
	}
	b = append(b, ']')
	b = append(b, f.pick(`,"version":"2.60"`, `,"version":"2.60","service_kind":"openai","endpoint":"v1/chat/completions"`,
		`,"version":"2.60","service_kind":"triton"`, `,"version":"1","service_kind":"openai","endpoint":"v1/embeddings"`)...)
	if f.odd {
		b = append(b, f.pick(``, `,"x":[{"requests":[{"timestamp":1,"response_timestamps":[2]}]}]`, `,"service_kind":"openai"`, `,"new":7`,
			`,"pa":{"schema":"pa-export/1","streaming":false}`, `,"pa":{"schema":"pa-export/1","models":["m","n"],"streaming":true}`)...)
	}
	b = append(b, '}')
	switch rng.IntN(12) {
	case 0:
		b = b[:rng.IntN(len(b))]
	case 1:
		b[rng.IntN(len(b))] = " \"\\{}[]x0\n"[rng.IntN(10)]
	}
	return b
}

type fileMaker struct {
	*rand.Rand
	at     uint64 // time of the last request
	spaced bool   // members are separated by blanks, as Python's json does
	odd    bool
}

func (f *fileMaker) pick(of ...string) string { return of[f.IntN(len(of))] }

func (f *fileMaker) level(b []byte, i int) []byte {
	level := fmt.Sprintf(`"experiment":{"mode":"concurrency","value":%d},`, i+1)
	late := f.odd && f.IntN(3) == 0
	b = append(b, '{')
	if !late {
		b = append(b, level...)
	}
	b = append(b, `"requests":[`...)
	b = append(f.requests(b, f.IntN(30)), `],`...)
	if late {
		b = append(b, level...)
	}
	b = append(b, `"window_boundaries":[1,2]`...)
	switch {
	case f.IntN(4) == 0:
		b = append(b, `,"pa":{"start_ns":1,"excluded_requests":[`...)
		b = append(f.requests(b, f.IntN(6)), `]}`...)
	case f.odd && f.IntN(4) == 0:
		b = append(b, f.pick(`,"more":[{"timestamp":1,"response_timestamps":[2]}]`, `,"requests":[{"timestamp":1,"response_timestamps":[2]}]`, `,"requests":null`)...)
	}
	return append(b, '}')
}

// odd are elements of an array of requests that are no usual requests.
var odd = []string{
	`{"timestamp":"x","response_timestamps":[1]}`, `{"response_timestamps":[1]}`, `7`, `{"timestamp":1,"response_timestamps":[1,2],"response_outputs":[{}]}`,
	`{"timestamp":1,"timestamp":2,"response_timestamps":[3]}`, `{"timestamp":1,"response_timestamps":[3],"response_outputs":["data: {}\n\n"]}`,
	`{"timestamp":5,"extra":[{"a":1},{"timestamp":6,"response_timestamps":[1]},{"timestamp":7}],"response_timestamps":[8]}`,
	`{"timestamp":1,"response_timestamps":[2],"pa":{"id":3,"status":"http_error","code":500,"message":"no"}}`, ` {"timestamp" : 1, "response_timestamps":[ 2 ]}`, `{"timestamp":1,`,
}

func (f *fileMaker) requests(b []byte, n int) []byte {
	kind := f.IntN(12)
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		if f.odd && f.IntN(20) == 0 {
			b = append(b, odd[f.IntN(len(odd))]...)
			continue
		}
		if f.IntN(20) == 0 {
			kind = f.IntN(12)
		}
		f.at += 1 + f.Uint64N(1e6)
		b = append(strconv.AppendUint(append(b, `{"timestamp":`...), f.at, 10), `,"request_inputs":{"payload":`...)
		b = profilejson.AppendText(b, []byte(f.pick(`{"model":"m","stream":true}`, `{"model":"m"}`, `{"stream":false}`, `x`)))
		b = append(b, `},"response_timestamps":[`...)
		pieces := f.answer(kind, i)
		at := f.at
		for k := range pieces {
			if k > 0 {
				b = append(b, ',')
			}
			at += f.Uint64N(3) * f.Uint64N(1e7)
			b = strconv.AppendUint(b, at, 10)
		}
		b = append(b, `],"response_outputs":[`...)
		for k, p := range pieces {
			if k > 0 {
				b = append(b, ',')
			}
			b = f.output(b, kind, p)
		}
		b = append(b, `]`...)
		if f.IntN(10) == 0 {
			b = append(b, f.pick(`,"pa":{"id":7,"issued_ns":5,"sent_ns":6,"status":"ok","phase":"warmup"}`, `,"pa":{"id":7,"status":"ok","final":true}`, `,"sequence_id":4`, `,"new":{"a":[1]}`)...)
		}
		b = append(b, '}')
	}
	return b
}

// output appends the output of a response with a piece of an answer.
func (f *fileMaker) output(b []byte, kind int, piece string) []byte {
	name := "response"
	if kind == 11 {
		name = f.pick("text_output", "response", "OUT")
	}
	switch f.IntN(60) {
	case 0:
		return append(b, `{}`...)
	case 1:
		return append(b, `null`...)
	case 2:
		return fmt.Appendf(b, `{ %q : %s }`, name, profilejson.AppendText(nil, []byte(piece)))
	case 3:
		return fmt.Appendf(b, `{%q:%s,"more":1}`, name, profilejson.AppendText(nil, []byte(piece)))
	case 4:
		text, _ := json.Marshal(piece) // with other escapes
		return fmt.Appendf(b, `{%q:%s}`, name, text)
	}
	return fmt.Appendf(b, `{%q:%s}`, name, profilejson.AppendText(nil, []byte(piece)))
}

// words are the texts of tokens.
var words = []string{" the", "the", " to", " quick", "s", " ", "", "é", " Grüße", `\n`, `\"`, `\\`, `\u00e9`, "\x7f", " don't", ",", " [DONE]", " data:", " long long long long token", " x=\xff"}

// answer returns the pieces in which an answer came. kind chooses between forms of answers.
func (f *fileMaker) answer(kind, i int) []string {
	if kind == 0 {
		return []string{f.pick(`{"object":"chat.completion","choices":[{"message":{"content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":4}}`,
			`{"error":{"message":"no"}}`, `[{"generated_text":"x"}]`, `{"detail":"x"}`, "x", "", "\n\n")}
	}
	id := fmt.Sprintf("chatcmpl-%d", i)
	if kind == 1 {
		id = "chatcmpl-1"
	}
	open := f.pick(`{"id":"%s","object":"chat.completion.chunk","created":1718000000,"model":"m","choices":[%s]%s}`, `{"id":"%s","choices":[%s]%s,"object":"chat.completion.chunk"}`)
	if f.spaced {
		open = strings.NewReplacer(`":`, `": `, `,"`, `, "`).Replace(open)
	}
	key := f.pick("content", "content", "content", "reasoning_content", "reasoning", "refusal", "text")
	var events []string
	event := func(choice int, delta, finish, rest string) {
		if kind == 2 {
			id = fmt.Sprint(f.Uint64())
		}
		c := fmt.Sprintf(`{"index":%d,"delta":%s,"finish_reason":%s}`, choice, delta, finish)
		if key == "text" {
			c = fmt.Sprintf(`{"index":%d,%s,"finish_reason":%s}`, choice, strings.Trim(delta, "{}"), finish)
		}
		if delta == "" {
			c = ""
		}
		events = append(events, fmt.Sprintf("data: "+open+"\n\n", id, c, rest))
	}
	choices := 1 + f.IntN(2)*f.IntN(3)
	event(0, `{"role":"assistant","content":""}`, "null", "")
	for k := range f.IntN(25) {
		usage := ""
		if kind == 3 {
			usage = fmt.Sprintf(`,"usage":{"prompt_tokens":5,"completion_tokens":%d}`, k)
		}
		delta := fmt.Sprintf(`{"%s":"%s"}`, key, words[f.IntN(len(words))])
		switch f.IntN(40) {
		case 0:
			delta = `{"tool_calls":[{"function":{"name":"f","arguments":"{}"}}]}`
		case 1:
			delta = `{"content":[{"type":"text","text":"part"}]}`
		case 2:
			key = "content"
		case 3:
			events = append(events, f.pick(": alive\n\n", "\n", "data: null\n\n", "event: error\ndata: broken\n\n", "data: {\"error\":\"x\"}\n\n", "data: {\n\n", "id: 7\n\n", "\r\n\r\n", "data: {\"text_output\":\"a\"}\n\n"))
		}
		event(f.IntN(choices), delta, "null", usage)
	}
	for c := range choices {
		event(c, "{}", `"stop"`, "")
	}
	if f.IntN(2) == 0 {
		event(0, "", "", `,"usage":{"prompt_tokens":5,"completion_tokens":9}`)
	}
	if kind != 4 {
		events = append(events, "data: [DONE]\n\n")
	}
	switch kind {
	case 5: // two events at once
		for k := 0; k+1 < len(events); k++ {
			events[k] += events[k+1]
			events = append(events[:k+1], events[k+2:]...)
		}
	case 6: // events in pieces
		all := strings.Join(events, "")
		events = nil
		for len(all) > 0 {
			n := 1 + f.IntN(min(300, len(all)))
			events, all = append(events, all[:n]), all[n:]
		}
	case 7: // the blank line comes with the next event
		for k := range events {
			events[k] = "\n" + strings.TrimSuffix(events[k], "\n")
		}
	case 8:
		for k := range events {
			events[k] = string(bytes.ReplaceAll([]byte(events[k]), []byte("\n"), []byte("\r\n")))
		}
	case 9:
		for k := range events {
			events[k] = "event: message\n" + events[k]
		}
	case 10:
		for k := range events {
			events[k] = strings.TrimPrefix(events[k], "data: ")
		}
	}
	return events
}
