package render

import (
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

func TestMessages(t *testing.T) {
	t.Parallel()
	type P = workload.Prompt
	asIs := `[{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"ls","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}]`
	image := func(url string) workload.Medium { return workload.Medium{Kind: workload.Image, URL: url} }
	for _, tt := range []struct {
		name string
		p    P
		o    Options
		want string // or the error, after "!"
	}{
		{"text", P{System: "s", Text: "a", MaxTokens: 7}, Options{Model: "m", Stream: true, Usage: true}, `{"model":"m","system":"s","messages":[{"role":"user","content":"a"}],"stream":true,"max_tokens":7}`},
		{"exact", P{Text: "a", MaxTokens: 7, Exact: true}, Options{}, `{"messages":[{"role":"user","content":"a"}],"max_tokens":7,"min_tokens":7,"ignore_eos":true}`},
		{"texts", P{Text: "a", More: []string{"b"}}, Options{}, `{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]}`},
		{
			"images",
			P{Text: "a", Media: []workload.Medium{image("data:image/png;base64,QUJD"), image("http://h/x.png")}},
			Options{},
			`{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"QUJD"}},{"type":"image","source":{"type":"url","url":"http://h/x.png"}}]}]}`,
		},
		{"audio", P{Text: "a", Media: []workload.Medium{{Kind: workload.Audio, URL: "x"}}}, Options{}, "!messages take no audio"},
		{"ids", P{IDs: []uint32{1}}, Options{}, "!a message cannot hold token ids"},
		{"in the form of Anthropic", P{Messages: []byte(asIs)}, Options{}, `{"messages":` + asIs + `}`},
		{
			"instructions",
			P{Messages: []byte(`[{"role":"system","content":"s"},{"role":"developer","content":[{"type":"text","text":"t"}]},{"role":"user","content":"a"}]`)},
			Options{},
			`{"system":"s\n\nt","messages":[{"role":"user","content":"a"}]}`,
		},
		{
			"tools",
			P{Messages: []byte(`[{"role":"user","content":"a"},{"role":"assistant","content":"b","tool_calls":[{"id":"1","type":"function","function":{"name":"ls","arguments":"{\"d\":1}"}},{"id":"2","type":"function","function":{"name":"ps","arguments":""}}]},{"role":"tool","tool_call_id":"1","content":"x"},{"role":"tool","tool_call_id":"2","content":[{"type":"text","text":"y"}]},{"role":"user","content":"c"}]`)},
			Options{},
			`{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"text","text":"b"},{"type":"tool_use","id":"1","name":"ls","input":{"d":1}},{"type":"tool_use","id":"2","name":"ps","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"x"},{"type":"tool_result","tool_use_id":"2","content":"y"}]},{"role":"user","content":"c"}]}`,
		},
		{
			"an image of a chat",
			P{Messages: []byte(`[{"role":"user","content":[{"type":"image_url","image_url":{"url":"http://h/x.png"}},{"type":"text","text":"a"}]}]`)},
			Options{},
			`{"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"http://h/x.png"}},{"type":"text","text":"a"}]}]}`,
		},
		{
			"members beside",
			P{Text: "a", Extra: export.Fields{
				{Name: "tools", Value: export.JSON(`[{"type":"function","function":{"name":"ls","description":"d","parameters":{"type":"object"}}},{"name":"own","input_schema":{}}]`)},
				{Name: "tool_choice", Value: export.JSON(`"required"`)},
				{Name: "stop", Value: export.JSON(`"x"`)},
				{Name: "thinking", Value: export.JSON(`{"type":"enabled"}`)},
			}},
			Options{},
			`{"messages":[{"role":"user","content":"a"}],"tools":[{"name":"ls","description":"d","input_schema":{"type":"object"}},{"name":"own","input_schema":{}}],"tool_choice":{"type":"any"},"stop_sequences":["x"],"thinking":{"type":"enabled"}}`,
		},
		{"a tool by name", P{Text: "a", Extra: export.Fields{{Name: "tool_choice", Value: export.JSON(`{"type":"function","function":{"name":"ls"}}`)}}}, Options{}, `{"messages":[{"role":"user","content":"a"}],"tool_choice":{"type":"tool","name":"ls"}}`},
		{"a choice that is not known", P{Text: "a", Extra: export.Fields{{Name: "tool_choice", Value: export.JSON(`"some"`)}}}, Options{}, `!tool_choice: "some" cannot be expressed in Anthropic Messages`},
		{"a tool with more", P{Text: "a", Extra: export.Fields{{Name: "tools", Value: export.JSON(`[{"type":"function","function":{"name":"ls","x":1}}]`)}}}, Options{}, `!tools[0].function.x cannot be expressed in Anthropic Messages`},
		{"instructions behind", P{Messages: []byte(`[{"role":"user","content":"a"},{"role":"system","content":"s"}]`)}, Options{}, "!messages[1]: role system after other messages cannot be expressed"},
		{"a role", P{Messages: []byte(`[{"role":"function","content":"a"}]`)}, Options{}, `!messages[0]: role "function" cannot be expressed`},
		{"reasoning", P{Messages: []byte(`[{"role":"assistant","content":"a","reasoning_content":"hm"}]`)}, Options{}, "!messages[0].reasoning_content cannot be expressed"},
		{"a part", P{Messages: []byte(`[{"role":"user","content":[{"type":"input_audio"}]}]`)}, Options{}, "!messages[0].content[0]: type input_audio cannot be expressed"},
		{"arguments", P{Messages: []byte(`[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"[1"}}]}]`)}, Options{}, "!messages[0].tool_calls[0]: function.arguments: expected a JSON object"},
		{"a result without its call", P{Messages: []byte(`[{"role":"tool","content":"x"}]`)}, Options{}, "!messages[0].tool_call_id: missing"},
	} {
		got, err := Body(Messages, &tt.p, tt.o)
		if want, refused := strings.CutPrefix(tt.want, "!"); refused {
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s: %s, %v, want %s", tt.name, got, err, want)
			}
			continue
		}
		if err != nil || string(got) != tt.want {
			t.Errorf("%s:\n%s, %v, want\n%s", tt.name, got, err, tt.want)
		}
	}
}

func TestLengthNote(t *testing.T) {
	t.Parallel()
	with, without := workload.List{{Prompt: &workload.Prompt{Text: "a", MaxTokens: 1}}}, workload.List{{Prompt: &workload.Prompt{Text: "a", MaxTokens: 1}}, {Prompt: &workload.Prompt{Text: "a"}}}
	for _, tt := range []struct {
		api  API
		src  workload.Source
		want bool
	}{{Messages, with, false}, {Messages, without, true}, {Chat, without, false}} {
		if got := LengthNote(tt.api, tt.src); (got != "") != tt.want {
			t.Errorf("API %d: %q", tt.api, got)
		}
	}
}
