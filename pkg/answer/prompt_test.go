package answer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
)

// pieces writes down what a PromptReader gets.
type pieces struct{ strings.Builder }

func (p *pieces) Mark(text []byte)   { fmt.Fprintf(p, "[%s]", text) }
func (p *pieces) Text(text string)   { fmt.Fprintf(p, "%q", text) }
func (p *pieces) TokenID(id float64) { fmt.Fprintf(p, "#%v", id) }

func TestPromptRead(t *testing.T) {
	for _, tt := range []struct {
		payload, want string
		fixed         export.Int
		several       bool
	}{
		{`{"model":"m","tools":[{"a":1}],"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"k"}]},{"role":"tool","content":"ok"}],"max_tokens":5}`, `[m][[{"a":1}]][user]"hi"[assistant][[{"id":"k"}]][tool]"ok"`, export.Int{}, false},
		{`{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}],"max_tokens":5,"ignore_eos":true}`, `[user]"a""b"`, export.IntOf(5), false},
		{`{"input":[{"role":"user","content":[{"type":"input_text","text":"a"}]}],"max_completion_tokens":7,"max_tokens":5,"min_tokens":7}`, `[user]"a"`, export.IntOf(7), false},
		{`{"prompt":[1,2],"max_tokens":5,"min_tokens":4}`, `#1#2`, export.Int{}, false},
		{`{"prompt":["a","b"],"max_tokens":1e300,"ignore_eos":true}`, `"a""b"`, export.Int{}, true},
		{`{"prompt":[[1,2],[3]],"max_tokens":"5","ignore_eos":true}`, `#1#2#3`, export.Int{}, true},
		{`{"prompt":"a","max_tokens":0,"ignore_eos":true}`, `"a"`, export.Int{}, false},
	} {
		p := PromptOf(&export.Request{Inputs: export.Fields{{Name: "payload", Value: export.Value{Text: true, Data: []byte(tt.payload)}}}})
		if p == nil {
			t.Errorf("%s: no prompt", tt.payload)
			continue
		}
		var got pieces
		p.Read(&got)
		if got.String() != tt.want || p.FixedOutput() != tt.fixed || p.Several() != tt.several {
			t.Errorf("%s: %s, %v, %v; want %s, %v, %v", tt.payload, got.String(), p.FixedOutput(), p.Several(), tt.want, tt.fixed, tt.several)
		}
	}
	for _, payload := range []string{`{"messages":5}`, `[]`, `{`} {
		if p := PromptOf(&export.Request{Inputs: export.Fields{{Name: "payload", Value: export.Value{Text: true, Data: []byte(payload)}}}}); p != nil {
			t.Errorf("%s: %+v", payload, p)
		}
	}
	if p := PromptOf(&export.Request{}); p != nil {
		t.Errorf("%+v", p)
	}
}
