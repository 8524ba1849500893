package drive

import (
	"encoding/hex"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/pkg/export"
)

// The hash depends on what the model reads, and not on parameters beside it.
func TestPromptHash(t *testing.T) {
	hash := func(bodies ...string) (string, map[string]string) {
		p := newPromptHash()
		for _, b := range bodies {
			p.add(export.Fields{{Name: "payload", Value: export.Text(b)}})
		}
		return hex.EncodeToString(p.Sum(nil)), p.parameters
	}
	base, parameters := hash(`{"model":"m","messages":[{"role":"user","content":"a"}],"temperature":0.2,"max_tokens":8,"stream":true}`)
	if d := cmp.Diff(map[string]string{"temperature": "0.2", "max_tokens": "8"}, parameters); d != "" {
		t.Errorf("parameters (-want +got):\n%s", d)
	}
	for name, tt := range map[string]struct {
		body string
		same bool
	}{
		"another temperature":   {`{"model":"m","messages":[{"role":"user","content":"a"}],"temperature":0.7,"max_tokens":8,"stream":true}`, true},
		"another order":         {`{"stream":true,"messages":[{"role":"user","content":"a"}],"model":"m"}`, true},
		"another model, a stop": {`{"model":"n","messages":[{"role":"user","content":"a"}],"stop":["x"]}`, true},
		"another prompt":        {`{"model":"m","messages":[{"role":"user","content":"b"}],"temperature":0.2,"max_tokens":8,"stream":true}`, false},
		"tools":                 {`{"model":"m","messages":[{"role":"user","content":"a"}],"tools":[{"type":"function"}]}`, false},
		"an unknown object":     {`{"model":"m","messages":[{"role":"user","content":"a"}],"chat_template_kwargs":{"thinking":true}}`, false},
		"the prompt as text":    {`{"prompt":"a"}`, false},
		"no JSON":               {`a`, false},
	} {
		if got, _ := hash(tt.body); (got == base) != tt.same {
			t.Errorf("%s: the same hash: %v", name, got == base)
		}
	}
	if a, _ := hash(`{"prompt":"a"}`, `{"prompt":"b"}`); a == func() string { b, _ := hash(`{"prompt":"b"}`, `{"prompt":"a"}`); return b }() {
		t.Error("the order of the prompts does not count")
	}
	_, several := hash(`{"prompt":"a","temperature":1,"n":1}`, `{"prompt":"b","temperature":0.5,"n":1}`, `{"prompt":"c","n":1,"seed":4}`)
	if d := cmp.Diff(map[string]string{"temperature": varies, "n": "1", "seed": varies}, several); d != "" {
		t.Errorf("parameters of several requests (-want +got):\n%s", d)
	}
}

// Tensors are prompts as they are.
func TestPromptHashOfTensors(t *testing.T) {
	hash := func(name, value string) string {
		p := newPromptHash()
		p.add(export.Fields{{Name: name, Value: export.Text(value)}})
		return hex.EncodeToString(p.Sum(nil))
	}
	if hash("text_input", "a") == hash("text_input", "b") || hash("a", "x") == hash("b", "x") || hash("text_input", `{"temperature":1}`) == hash("text_input", `{"temperature":2}`) {
		t.Error("different tensors have the same hash")
	}
}
