package openai

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/workload"
	"github.com/pa-tools/pa/pkg/recorder/workload/render"
)

func TestPrepare(t *testing.T) {
	for _, tt := range []struct {
		name string
		cfg  Config
		body string
		want string
	}{
		{"as it is, compact", Config{}, "{ \"messages\": [ {\"content\":\"a\\u00e9\"} ], \"n\": 1.0 }", `{"messages":[{"content":"aé"}],"n":1.0}`},
		{"model added", Config{Model: "m"}, `{"a":1}`, `{"a":1,"model":"m"}`},
		{"model of the body wins", Config{Model: "m"}, `{"model":"own","a":1}`, `{"model":"own","a":1}`},
		{"model null is none", Config{Model: "m"}, `{"model":null}`, `{"model":"m"}`},
		{"model that needs escapes", Config{Model: "a\"b/<c>"}, `{}`, `{"model":"a\"b/<c>"}`},
		{"no stream asked for", Config{}, `{"stream":true}`, `{"stream":true}`},
		{"stream asked for", Config{Streaming: true}, `{"a":1}`, `{"a":1,"stream":true}`},
		{"stream replaced", Config{Streaming: true}, `{"stream":false,"a":1}`, `{"stream":true,"a":1}`},
		{"extra body", Config{ExtraBody: []byte(`{ "ignore_eos" : true, "n":2 }`)}, `{"n":1}`, `{"n":2,"ignore_eos":true}`},
		{"extra body names the model", Config{Model: "m", ExtraBody: []byte(`{"model":"x"}`)}, `{}`, `{"model":"x"}`},
		{"stream beats the extra body", Config{Streaming: true, ExtraBody: []byte(`{"stream":false}`)}, `{}`, `{"stream":true}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.URL = "localhost:8000"
			p := prepare(t, newBackend(t, tt.cfg), tt.body)
			want := export.Fields{{Name: "payload", Value: export.Text(tt.want)}}
			if diff := cmp.Diff(want, p.Inputs()); diff != "" {
				t.Errorf("Inputs (-want +got):\n%s", diff)
			}
			req := readRequest(t, p.(*payload).request)
			if req.body != tt.want {
				t.Errorf("sent body %s, want %s", req.body, tt.want)
			}
		})
	}
}

func TestPrepareHead(t *testing.T) {
	b := newBackend(t, Config{URL: "http://u:pw-secret@localhost:8000/base", Endpoint: "v1/completions", Headers: []Header{
		{"X-Two", "a"}, {"X-Two", "b"}, {"user-agent", "mine"}, {"Content-Type", "application/json; charset=utf-8"},
	}})
	got := string(prepare(t, b, `{"a":1}`).(*payload).request)
	want := strings.Join([]string{
		"POST /base/v1/completions HTTP/1.1",
		"Host: localhost:8000",
		"Accept: */*",
		"Authorization: Basic dTpwdy1zZWNyZXQ=",
		"X-Two: a", "X-Two: b", "user-agent: mine", "Content-Type: application/json; charset=utf-8",
		"Content-Length: 7", "", `{"a":1}`,
	}, "\r\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}

	b = newBackend(t, Config{URL: "http://u:pw-secret@localhost:8000", Headers: []Header{{"authorization", "Bearer x"}, {"Host", "other"}}})
	req := readRequest(t, prepare(t, b, `{}`).(*payload).request)
	if got := req.Header.Values("Authorization"); len(got) != 1 || got[0] != "Bearer x" {
		t.Errorf("Authorization = %q, want the one given", got)
	}
	if req.Host != "other" || req.Header.Get("User-Agent") != "pa-record" || req.Header.Get("Content-Type") != "application/json" {
		t.Errorf("Host %q, header %v", req.Host, req.Header)
	}
}

func TestPrepareInvalid(t *testing.T) {
	for _, tt := range []struct {
		name   string
		values export.Fields
		listed []string
		want   string
	}{
		{"nothing", nil, nil, `no "payload"; a request to an OpenAI-compatible server is {"payload": [{…body…}]}`},
		{
			"tensor",
			export.Fields{{Name: "payload", Value: export.JSON(`[{}]`)}, {Name: "text_input", Value: export.JSON(`["a"]`)}},
			nil,
			`"text_input" is not an input of an OpenAI-compatible server; put the request's body into "payload"`,
		},
		{"object", export.Fields{{Name: "payload", Value: export.JSON(`{"a":1}`)}}, nil, `payload: expected an array with one object, the request's body, found "{\"a\":1}"`},
		{"two", export.Fields{{Name: "payload", Value: export.JSON(`[{},{}]`)}}, nil, `payload: expected an array with one object, the request's body, found 2 elements`},
		{"none", export.Fields{{Name: "payload", Value: export.JSON(`[]`)}}, nil, `payload: expected an array with one object, the request's body, found 0 elements`},
		{"text", export.Fields{{Name: "payload", Value: export.JSON(`["a"]`)}}, nil, `payload: JSON, byte 0: expected an object, found "\"a\""`},
		{"model open", export.Fields{{Name: "payload", Value: export.JSON(`[{}]`)}}, []string{"a", "b"}, `the body names no model and the server has "a", "b"; choose one with -m`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBackend(t, Config{URL: "h"})
			b.listed = tt.listed
			_, err := b.Prepare(&workload.Entry{Stream: 1, Step: 2, Values: tt.values})
			if want := "input data, stream 1, step 2: " + tt.want; err == nil || err.Error() != want {
				t.Errorf("Prepare = %v, want %s", err, want)
			}
		})
	}
}

// Vectors as bytes are refused, and "encoding_format" of other endpoints is left alone.
func TestPrepareEncodingFormat(t *testing.T) {
	for endpoint, bad := range map[string]bool{"v1/embeddings": true, "pooling": true, "v1/chat/completions": false} {
		for _, format := range []string{"float", "base64", "bytes", "bytes_only"} {
			b := newBackend(t, Config{URL: "h", Endpoint: endpoint, Model: "m"})
			_, err := b.Prepare(&workload.Entry{Stream: 1, Values: export.Fields{{Name: "payload", Value: export.JSON(`[{"encoding_format":"` + format + `"}]`)}}})
			if refused := bad && strings.HasPrefix(format, "bytes"); refused != (err != nil) || refused && !strings.Contains(err.Error(), "use float or base64") {
				t.Errorf("%s, %s: %v", endpoint, format, err)
			}
		}
	}
}

type readBack struct {
	*http.Request
	body string
}

// readRequest reads a request as a server does.
func readRequest(t *testing.T, raw []byte) readBack {
	t.Helper()
	br := bufio.NewReader(bytes.NewReader(raw))
	req, err := http.ReadRequest(br)
	if err != nil {
		t.Fatalf("ReadRequest(%q): %v", raw, err)
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		t.Fatalf("body of %q: %v", raw, err)
	}
	if br.Buffered() > 0 {
		t.Errorf("%d bytes after the request", br.Buffered())
	}
	return readBack{req, string(body)}
}

// A template says all that is in a request: nothing is added but the extra body.
// What is a whole request already is none of its business.
func TestPrepareAfterTemplate(t *testing.T) {
	pattern, err := render.ParseTemplate([]byte(`{"prompt":"{{prompt}}","name":"{{model}}","stream":false}`))
	if err != nil {
		t.Fatal(err)
	}
	b := newBackend(t, Config{
		URL: "localhost:8000", Model: "m", Streaming: true, ExtraBody: []byte(`{"n":2}`),
		Render: render.Options{Template: pattern, Usage: true},
	})
	for _, tt := range []struct {
		p    workload.Prompt
		want string
	}{
		{workload.Prompt{Text: "a"}, `{"prompt":"a","name":"m","stream":false,"n":2}`},
		{workload.Prompt{Body: []byte(`{"prompt":"b"}`)}, `{"prompt":"b","n":2,"stream":true,"model":"m"}`},
	} {
		p, err := b.Prepare(&workload.Entry{Prompt: &tt.p})
		if err != nil {
			t.Fatal(err)
		}
		if got := string(p.(*payload).body); got != tt.want {
			t.Errorf("body %s, want %s", got, tt.want)
		}
	}
}
