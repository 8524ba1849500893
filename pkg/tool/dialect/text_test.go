package dialect

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/py"
	"github.com/pa-tools/pa/pkg/export"
)

// Successive responses with texts in one envelope are one output; all others are outputs by themselves.
func TestOutputs(t *testing.T) {
	one, two := &export.Envelope{Front: []byte("<"), Back: []byte(">")}, &export.Envelope{Front: []byte("("), Back: []byte(")")}
	in := func(e *export.Envelope, text string) export.Fields {
		return export.Fields{{Name: "response", Value: export.Value{Text: true, Data: []byte(text), Envelope: e}}}
	}
	q := &export.Request{}
	for i, outputs := range []export.Fields{
		in(nil, "raw\xff"), in(one, "a"), in(one, "b"), in(one, ""), in(one, "c"), in(two, "d"), in(two, "e\xff"), nil, in(nil, "end"),
	} {
		q.Responses = append(q.Responses, export.Response{RecvNS: uint64(i), Outputs: outputs})
	}
	type output struct {
		Index, Responses int
		Text, Raw        string
		InEnvelope       bool
		Valid, Missing   bool
	}
	var got []output
	for _, o := range new(Parts).Outputs(q, "response") {
		got = append(got, output{o.Index, len(o.Responses), o.Text, o.Raw, o.InEnvelope(), o.Valid, o.Value == nil})
	}
	if diff := cmp.Diff([]output{
		{Index: 0, Responses: 1, Text: "raw", Raw: "raw\xff"},
		{Index: 1, Responses: 2, InEnvelope: true, Valid: true},
		{Index: 3, Responses: 1, Valid: true},
		{Index: 4, Responses: 1, InEnvelope: true, Valid: true},
		{Index: 5, Responses: 2, InEnvelope: true},
		{Index: 7, Responses: 1, Missing: true},
		{Index: 8, Responses: 1, Text: "end", Raw: "end"},
	}, got); diff != "" {
		t.Errorf("Outputs (-want +got):\n%s", diff)
	}
}

// Tools that read in lockstep share the parts of a request until the next request.
func TestPartsAreShared(t *testing.T) {
	source := &turnReader{Reader: &counted{n: 2}}
	parts := &Parts{source: source}
	request := func(body string) *export.Request {
		source.Next()
		return &export.Request{Inputs: export.Fields{{Name: "payload", Value: export.Text(body)}}}
	}
	q := request(`{"a":1}`)
	first := parts.JSONPayload(q)
	if n := testing.AllocsPerRun(10, func() { parts.JSONPayload(q) }); n > 0 || first.Raw() != `{"a":1}` {
		t.Errorf("%s, and %v allocations for the second tool", first.Raw(), n)
	}
	if text, ok := parts.Payload(request("{\xff")); text != "{" || !ok {
		t.Errorf("the body of the next request is %q, %v", text, ok)
	}
	if v, err := parts.ParsePayload(q, py.ORJSON); err == nil {
		t.Errorf("the body of the next request is %q", v.Raw())
	}
}

// What a tool found in an envelope holds for another one that differs in the id and the time of an answer alone.
func TestEnvelopes(t *testing.T) {
	value := func(front string) *export.Value {
		return &export.Value{Text: true, Data: []byte("x"), Envelope: &export.Envelope{Front: []byte(front), Back: []byte(`"}`)}}
	}
	var e Envelopes
	asked := 0
	hold := func(front string) bool {
		return e.Hold(value(front), func(raw, text string) bool {
			asked++
			return raw == front+text+`"}`
		})
	}
	for _, tt := range []struct {
		front string
		asked int // in all
	}{
		{`data: {"id":"a","object":"o","created":1,"text":"`, 2},
		{`data: {"id":"b","object":"o","created":23,"text":"`, 2},
		{`data: {"id":"b","object":"o","created":23,"content":"`, 4},
		{`data: {"id":"c","object":"p","created":23,"text":"`, 6},
	} {
		if !hold(tt.front) || asked != tt.asked {
			t.Errorf("%s: asked %d times, want %d", tt.front, asked, tt.asked)
		}
	}
	if e.Hold(value("other"), func(string, string) bool { return false }) {
		t.Error("an envelope that the tool does not find holds")
	}
}
