package render

import (
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

func parseTemplate(t *testing.T, text string) *Template {
	t.Helper()
	tpl, err := ParseTemplate([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return tpl
}

func TestBodyAfterTemplate(t *testing.T) {
	type P = workload.Prompt
	image := []workload.Medium{{Kind: workload.Image, URL: "http://x/a.png"}}
	for _, tt := range []struct {
		name, template string
		p              P
		want           string // body or error
	}{
		{"chat", `{"messages":"{{messages}}","model":"{{model}}","max_tokens":"{{max_tokens}}"}`, P{System: "s", Text: "a", MaxTokens: 7}, `{"messages":[{"role":"system","content":"s"},{"role":"user","content":"a"}],"model":"m","max_tokens":7}`},
		{"no length asked for", `{"prompt":"{{prompt}}","max_tokens":"{{max_tokens}}","n":1}`, P{Text: "a"}, `{"prompt":"a","n":1}`},
		{"or a default one", `{"prompt":"{{prompt}}","max_tokens":"{{max_tokens|256}}"}`, P{Text: "a"}, `{"prompt":"a","max_tokens":256}`},
		{"a sentence in front", `{"prompt":"Say:\n{{prompt}}"}`, P{System: "s", Text: "\"a\""}, `{"prompt":"Say:\ns \"a\""}`},
		{"a conversation", `{"messages":"{{messages}}"}`, P{Messages: []byte(dialog)}, `{"messages":` + dialog + `}`},
		{"texts", `{"input":"{{texts}}"}`, P{Text: "a", More: []string{"b"}}, `{"input":["a","b"]}`},
		{"parts", `{"messages":[{"role":"user","content":"{{content}}"}]}`, P{System: "s", Text: "a", Media: image}, `{"messages":[{"role":"user","content":[{"type":"text","text":"s"},{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"http://x/a.png"}}]}]}`},
		{"inputs", `{"input":"{{inputs}}"}`, P{Text: "a", More: []string{"b"}, Media: image}, `{"input":["a","b","http://x/a.png"]}`},
		{"inputs without images", `{"input":"{{inputs}}"}`, P{}, `{"input":[""]}`},
		{"images", `{"input":"{{pictures}}"}`, P{Text: "a", Media: image}, `{"input":[{"type":"image_url","url":"http://x/a.png"}]}`},
		{"Markdown", `{"inputs":"Look: {{markdown}}"}`, P{Text: "a", Media: image}, `{"inputs":"Look: ![](http://x/a.png) a"}`},
		{"a ranking", `{"query":{"text":"{{query}}"},"passages":"{{passages}}"}`, P{Text: "q", More: []string{"a", "\"b\""}}, `{"query":{"text":"q"},"passages":[{"text":"a"},{"text":"\"b\""}]}`},
		{"a ranking of texts", `{"query":"{{query}}","documents":"{{documents}}"}`, P{Text: "q", More: []string{"a", "b"}}, `{"query":"q","documents":["a","b"]}`},
		{"tokens", `{"prompt":"{{input_ids}}","n":"{{input_length}}"}`, P{IDs: []uint32{5, 6}}, `{"prompt":[5,6],"n":2}`},
		{"tokens of a text", `{"prompt":"{{input_ids}}"}`, P{Text: "abc"}, `{"prompt":[97,98,99]}`},
		{"further members are set", `{"prompt":"{{prompt}}","n":1}`, P{Text: "a", Extra: extra("n", "2", "x", "[]")}, `{"prompt":"a","n":2,"x":[]}`},
		{"a whole request stays", `{"prompt":"{{prompt}}"}`, P{Text: "a", Body: []byte(`{"q": 1}`)}, `{"q":1}`},
		{"not UTF-8", `{"prompt":"{{prompt}}"}`, P{Text: "a\xff"}, `{"prompt":"a�"}`},
		{"braces of the data", `{"prompt":"{{prompt}}"}`, P{Text: "{{model}}"}, `{"prompt":"{{model}}"}`},

		{"several texts", `{"prompt":"{{prompt}}"}`, P{Text: "a", More: []string{"b"}}, "{{prompt}}: 2 texts in a prompt; {{texts}} takes several"},
		{"an image in a text", `{"prompt":"{{prompt}}"}`, P{Text: "a", Media: image}, "{{prompt}}: texts take no image; use the chat endpoint"},
		{"or in several", `{"prompt":"{{texts}}"}`, P{Text: "a", Media: image}, "{{texts}}: texts take no image"},
		{"nothing to rank", `{"x":"{{passages}}"}`, P{Text: "q"}, "{{passages}}: a ranking takes a query and what to rank"},
		{"no image", `{"x":"{{pictures}}"}`, P{Text: "q"}, "{{pictures}}: the endpoint takes images"},
		{"a conversation in parts", `{"x":"{{content}}"}`, P{Messages: []byte(dialog)}, "{{content}}: the data holds conversations; use {{messages}}"},
		{"no tokens", `{"x":"{{input_ids}}"}`, P{}, "{{input_ids}}: an empty prompt has no token ids"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := Options{Model: "m", Stream: true, Usage: true, Template: parseTemplate(t, tt.template), Encode: func(s string) (ids []uint32) {
				for _, b := range []byte(s) {
					ids = append(ids, uint32(b))
				}
				return ids
			}}
			got, err := Body(Chat, &tt.p, o)
			if err != nil {
				got = []byte(err.Error())
			}
			if !strings.HasPrefix(string(got), tt.want) || err == nil && string(got) != tt.want {
				t.Errorf("%s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestTensorsOfTemplate checks that the members of a template become inputs of a model, and
// that a single value becomes a list of one element.
func TestTensorsOfTemplate(t *testing.T) {
	p := workload.Prompt{Text: "a", MaxTokens: 7, Extra: extra("top_p", "0.5", "priority", "1")}
	o := Options{
		Model: "m", Template: parseTemplate(t, `{"text_input":["{{prompt}}"],"max_tokens":"{{max_tokens}}","ids":{"content":[1,2],"shape":[2]},"s":"x","top_p":[0.0]}`),
		Has: func(name string) bool { return name != "priority" },
	}
	f, err := Tensors(0, &p, o)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, m := range f {
		all = append(all, m.Name+"="+string(m.Value.Data))
	}
	if got, want := strings.Join(all, " "), `text_input=["a"] max_tokens=[7] ids={"content":[1,2],"shape":[2]} s=["x"] top_p=[0.0]`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	p.IDs, o.Template = nil, parseTemplate(t, `{"input_ids":"{{input_ids}}"}`)
	if _, err := Tensors(0, &p, o); err == nil || !strings.Contains(err.Error(), "give the model's --tokenizer") {
		t.Errorf("error %v, want one about the tokenizer", err)
	}
}
