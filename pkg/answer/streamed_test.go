package answer

import (
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
		{"the record against body and shape", nil, &yes, sentWith(openaiRequest(wholeBody), payloadField(`{"stream":false}`)), StreamedYes},
		{"the record says no to several responses", nil, &no, tensors(text("a"), text("b")), StreamedNo},
		{"a request of an import that is not as the others", nil, &yes, stated(at(1000, 1010), export.Stated{Streamed: &no}), StreamedNo},
		{"the body", nil, nil, sentWith(at(1000, 1010), payloadField(`{"messages":[],"stream":true}`)), StreamedYes},
		{"the body says no", nil, nil, sentWith(at(1000, 1010), payloadField(`{"stream":false}`)), StreamedNo},
		{"the body against the shape", nil, nil, sentWith(openaiRequest(wholeBody), payloadField(`{"stream":true}`)), StreamedYes},
		{"the body says no to several responses", nil, nil, sentWith(at(1000, 1010, 1020), payloadField(`{"stream":false}`)), StreamedNo},
		{"a body that speaks of streams", nil, nil, sentWith(at(1000, 1010), payloadField(`{"prompt":"\"stream\":true","x":{"stream":true}}`)), StreamedUnknown},
		{"a body with null", nil, nil, sentWith(at(1000, 1010), payloadField(`{"stream":null}`)), StreamedUnknown},
		{"a body that is none", nil, nil, sentWith(at(1000, 1010), payloadField(`{"stream":true`)), StreamedUnknown},
		{"the tensor", nil, nil, sentWith(one, streamTensor("[true]")), StreamedYes},
		{"the tensor says no", nil, nil, sentWith(one, streamTensor("false")), StreamedNo},
		{"the tensor says no to several responses", nil, nil, sentWith(tensors(text("a"), text("b")), streamTensor("false")), StreamedNo},
		{"a whole JSON body", nil, nil, openaiRequest(wholeBody), StreamedNo},
		{"a whole JSON body in pieces", nil, nil, openaiRequest(wholeBody[:20], wholeBody[20:]), StreamedNo},
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
			if got.E2EL == (Value{}) {
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
