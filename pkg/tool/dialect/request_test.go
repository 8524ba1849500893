package dialect

import (
	"slices"
	"testing"

	"github.com/pa-tools/pa/internal/py"
	"github.com/pa-tools/pa/pkg/export"
)

func TestInOrder(t *testing.T) {
	type request struct{ id, startNS uint64 }
	for _, tt := range []struct {
		name      string
		all, want []request
	}{
		{"by ids, whatever the starts", []request{{2, 1}, {0, 3}, {1, 2}}, []request{{0, 3}, {1, 2}, {2, 1}}},
		{"by starts where an id is twice", []request{{0, 3}, {0, 1}, {1, 2}}, []request{{0, 1}, {1, 2}, {0, 3}}},
		{"as they are where they start together", []request{{0, 1}, {0, 1}, {7, 1}}, []request{{0, 1}, {0, 1}, {7, 1}}},
		{"none", nil, nil},
	} {
		got := InOrder(tt.all, func(r request) uint64 { return r.id }, func(r request) uint64 { return r.startNS })
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// The latest of what ended a request counts.
func TestEndNS(t *testing.T) {
	responses := []export.Response{{RecvNS: 20}}
	for _, tt := range []struct {
		name string
		q    export.Request
		want uint64
	}{
		{"no answer", export.Request{StartNS: 10}, 10},
		{"an answer", export.Request{StartNS: 10, Responses: responses}, 20},
		{"a failure after the last response", export.Request{StartNS: 10, Responses: responses, FailedNS: 30}, 30},
		{"stated by the file", export.Request{StartNS: 10, Responses: responses, Stated: &export.Stated{EndNS: new(uint64(40))}}, 40},
	} {
		if got := EndNS(&tt.q); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}

// A body that is no JSON is as none.
func TestPayload(t *testing.T) {
	for text, want := range map[string]string{`{"prompt": "p"}`: "p", `{"prompt": `: "", ``: ""} {
		q := export.Request{Inputs: export.Fields{{Name: "payload", Value: export.Text(text)}}}
		prompt, _ := Payload(&q).Member("prompt")
		if prompt.Text() != want {
			t.Errorf("%q: %q, want %q", text, prompt.Text(), want)
		}
	}
	if body := Payload(&export.Request{}); body != (py.Value{}) {
		t.Errorf("without a body: %v", body)
	}
}
