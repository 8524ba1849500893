package openai

import (
	"testing"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
)

// Tokens are the responses that add output: no role, no usage, no end.
func TestDecodeTokens(t *testing.T) {
	const (
		role  = `data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}` + "\n\n"
		token = `data: {"choices":[{"index":0,"delta":{"content":"x"}}]}` + "\n\n"
		stop  = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
		usage = `data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}` + "\n\n"
		done  = "data: [DONE]\n\n"
	)
	for _, tt := range []struct {
		name string
		raw  []string
		want backend.Tokens
	}{
		{"none", nil, backend.Tokens{}},
		{"an end only", []string{role, stop, done}, backend.Tokens{}},
		{"the usual", []string{role, token, token, stop, usage, done}, backend.Tokens{N: 2, First: 1, Last: 2}},
		{"with a comment between", []string{token, ": ping\n\n", token, done}, backend.Tokens{N: 2, First: 0, Last: 2}},
		{"a whole stream in one response", []string{role + token + token + stop + done}, backend.Tokens{N: 2}},
		{"two choices in turn", []string{token, `data: {"choices":[{"index":1,"delta":{"content":"x"}}]}` + "\n\n", token, done}, backend.Tokens{N: 3, Last: 2, Several: true}},
		{"a body", []string{`{"choices":[{"index":0,"message":{"content":"xyz"},"finish_reason":"stop"}]}`}, backend.Tokens{N: 1, Whole: true}},
	} {
		b := newBackend(t, Config{URL: "localhost:1"})
		x := &backend.Exchange{Request: export.Request{Status: export.StatusOK}}
		for _, raw := range tt.raw {
			x.Raw = append(x.Raw, []byte(raw))
			x.Request.Responses = append(x.Request.Responses, export.Response{})
		}
		if err := b.Decode(x); err != nil || x.Tokens != tt.want {
			t.Errorf("%s: %+v, %v; want %+v", tt.name, x.Tokens, err, tt.want)
		}
	}
}
