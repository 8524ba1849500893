package answer

import (
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
)

const wholeBody = `{"choices":[{"message":{"content":"a b c"}}],"usage":{"prompt_tokens":2,"completion_tokens":3}}`

// sentWith is r, which was sent these inputs.
func sentWith(r export.Request, inputs ...export.Field) export.Request {
	r.Inputs = inputs
	return r
}

func payloadField(body string) export.Field {
	return export.Field{Name: "payload", Value: export.Text(body)}
}

func streamTensor(value string) export.Field {
	return export.Field{Name: "STREAM", Value: export.JSON(value)}
}

// stated is r of a result file of another tool.
func stated(r export.Request, st export.Stated) export.Request {
	r.Stated = &st
	return r
}

// Whether an answer was streamed is known from the first of these that tells it.
func TestStreamedEvidence(t *testing.T) {
	yes, no := true, false
	events := int64(7)
	one := tensors(text("a"))
	for _, tt := range []struct {
		name   string
		flag   *bool
		record *bool
		r      export.Request
		want   Streamed
	}{
		{"nothing tells", nil, nil, one, StreamedUnknown},
		{"the flag", &yes, nil, one, StreamedYes},
		{"the flag says no", &no, nil, one, StreamedNo},
		{"the flag against all else", &yes, &no, sentWith(openaiRequest(wholeBody), payloadField(`{"stream":false}`)), StreamedYes},
		{"the flag says no against all else", &no, &yes, sentWith(openaiRequest(role, delta("a")), payloadField(`{"stream":true}`)), StreamedNo},
		{"the record", nil, &yes, one, StreamedYes},
		{"the record says no", nil, &no, one, StreamedNo},
		{"the record against the body", nil, &yes, sentWith(at(1000, 1010), payloadField(`{"stream":false}`)), StreamedYes},
		{"the shape against the record", nil, &yes, sentWith(openaiRequest(wholeBody), payloadField(`{"stream":true}`)), StreamedNo},
		{"a stream that the record did not ask for", nil, &no, openaiRequest(delta("a")), StreamedYes},
		{"lines that the record did not ask for", nil, &no, openaiRequest(lineOf("a"), lineOf("b")), StreamedYes},
		{"the record says no to several responses", nil, &no, tensors(text("a"), text("b")), StreamedNo},
		{"a request of an import that is not as the others", nil, &yes, stated(at(1000, 1010), export.Stated{Streamed: &no}), StreamedNo},
		{"the body", nil, nil, sentWith(at(1000, 1010), payloadField(`{"messages":[],"stream":true}`)), StreamedYes},
		{"the body says no", nil, nil, sentWith(at(1000, 1010), payloadField(`{"stream":false}`)), StreamedNo},
		{"the shape against the body", nil, nil, sentWith(openaiRequest(wholeBody), payloadField(`{"stream":true}`)), StreamedNo},
		{"the body says no to several responses", nil, nil, sentWith(at(1000, 1010, 1020), payloadField(`{"stream":false}`)), StreamedNo},
		{"a body that speaks of streams", nil, nil, sentWith(at(1000, 1010), payloadField(`{"prompt":"\"stream\":true","x":{"stream":true}}`)), StreamedUnknown},
		{"a body with null", nil, nil, sentWith(at(1000, 1010), payloadField(`{"stream":null}`)), StreamedUnknown},
		{"a body that is none", nil, nil, sentWith(at(1000, 1010), payloadField(`{"stream":true`)), StreamedUnknown},
		{"the tensor", nil, nil, sentWith(one, streamTensor("[true]")), StreamedYes},
		{"the tensor says no", nil, nil, sentWith(one, streamTensor("false")), StreamedNo},
		{"the tensor says no to several responses", nil, nil, sentWith(tensors(text("a"), text("b")), streamTensor("false")), StreamedNo},
		{"a whole JSON body", nil, nil, openaiRequest(wholeBody), StreamedNo},
		{"a whole JSON body in pieces", nil, nil, openaiRequest(wholeBody[:20], wholeBody[20:]), StreamedNo},
		{"a whole JSON body on several lines", nil, nil, openaiRequest("{\n\"choices\":[\n{\"message\":{\"content\":\"a\"}}\n]\n}\n"), StreamedNo},
		{"JSON lines", nil, nil, openaiRequest(lineOf("a"), lineOf("b")), StreamedYes},
		{"JSON lines in pieces", nil, nil, openaiRequest(lineOf("a")[:20], lineOf("a")[20:]+lineOf("b")[:1], lineOf("b")[1:]), StreamedYes},
		{"one JSON line", nil, nil, openaiRequest(`{"object":"chat.completion.chunk","choices":[{"delta":{"content":"a"}}]}` + "\n"), StreamedYes},
		{"one line of Ollama, not the last", nil, nil, openaiRequest(`{"model":"m","response":"a","done":false}` + "\n"), StreamedYes},
		{"one line of Ollama, the last", nil, nil, openaiRequest(`{"model":"m","response":"a","done":true}` + "\n"), StreamedNo},
		{"one server-sent event", nil, nil, openaiRequest(delta("a")), StreamedYes},
		{"several responses", nil, nil, tensors(text("a"), text("b")), StreamedYes},
		{"several responses without outputs", nil, nil, at(1000, 1010, 1020), StreamedYes},
		{"an import that says how many there were", nil, nil, stated(at(1000, 1010), export.Stated{TokenEvents: &events}), StreamedYes},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run := &export.Run{}
			if tt.record != nil {
				run.Meta = &export.RunMeta{Streaming: tt.record}
			}
			m := NewMeter(run, Config{Streaming: tt.flag})
			got := m.Measure(&tt.r)
			if got.Streamed != tt.want {
				t.Fatalf("streamed: %v, want %v", got.Streamed, tt.want)
			}
			if got.E2EL == (export.Int{}) {
				t.Error("no end-to-end latency")
			}
			if tokens := got.TTFT.OK || got.TTST.OK || len(got.Gaps) > 0 || got.TokenSource == TokenResponses; tokens != (tt.want == StreamedYes) {
				t.Errorf("times or a count of tokens: %v, of a request that is %v: %+v", tokens, tt.want, got.Measures)
			}
			if _, ok := got.TPOT(); ok && tt.want != StreamedYes {
				t.Error("TPOT of a request that was not streamed")
			}
		})
	}
}

// lineOf returns a chunk of content as a line of a stream of JSON lines.
func lineOf(content string) string {
	return strings.TrimSpace(strings.TrimPrefix(delta(content), "data: ")) + "\n"
}

// Each JSON line is a token event of the response that completed it.
func TestLines(t *testing.T) {
	a, b, c := lineOf("a"), lineOf("b"), lineOf("c")
	const end = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":2,"completion_tokens":3}}`
	for _, tt := range []struct {
		name  string
		parts []string
		want  []int // response of each event
	}{
		{"a line each", []string{a, b, c, end}, []int{0, 1, 2}},
		{"a byte order mark and blank lines", []string{"\ufeff\n" + a, "\n\r\n", b + "\n" + c, end + "\n"}, []int{0, 2, 2}},
		{"cut anywhere", []string{a[:3], a[3:] + b[:7], b[7 : len(b)-1], "\n" + c, end[:4], end[4:]}, []int{1, 3, 3}},
		{"the end without a line ending", []string{a, b, strings.TrimSpace(c)}, []int{0, 1, 2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := openaiRequest(tt.parts...)
			d := Decoder{ServiceKind: "openai"}
			got := d.Decode(&r)
			var events []int
			for _, e := range got.Events {
				events = append(events, e.Response)
			}
			if !slices.Equal(events, tt.want) || got.Unreadable != 0 {
				t.Errorf("events of responses %v, want %v; %d unreadable", events, tt.want, got.Unreadable)
			}
			if usage := strings.Contains(strings.Join(tt.parts, ""), "usage"); usage != (got.Usage.Output == export.IntOf(3)) {
				t.Errorf("usage %+v", got.Usage)
			}
		})
	}
}

// An answer that is not what the request asked for is marked.
func TestUnlike(t *testing.T) {
	yes, no := true, false
	for _, tt := range []struct {
		name   string
		record *bool
		r      export.Request
		want   bool
	}{
		{"whole for a stream", &yes, openaiRequest(wholeBody), true},
		{"whole for a stream, by the request", nil, sentWith(openaiRequest(wholeBody), payloadField(`{"stream":true}`)), true},
		{"a stream as asked", &yes, openaiRequest(delta("a"), delta("b")), false},
		{"a stream for nothing", &no, openaiRequest(delta("a"), delta("b")), true},
		{"whole as asked", &no, openaiRequest(wholeBody), false},
		{"nothing says what was asked", nil, openaiRequest(wholeBody), false},
		{"tensors show nothing", &yes, tensors(text("a")), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run := &export.Run{Meta: &export.RunMeta{Streaming: tt.record}}
			if got := NewMeter(run, Config{}).Measure(&tt.r).Unlike; got != tt.want {
				t.Errorf("Unlike = %v, want %v", got, tt.want)
			}
			derived := NewDeriver(run).Derive(&tt.r)
			if got := NewMeter(run, Config{}).MeasureDerived(&tt.r, derived).Unlike; got != tt.want && tt.record != nil {
				t.Errorf("by the columns of a file, Unlike = %v, want %v", got, tt.want)
			}
		})
	}
}
