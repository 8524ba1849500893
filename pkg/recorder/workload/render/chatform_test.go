package render

import (
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// A chat with instructions, an image, a call and its result, in the form of each service.
func TestChatForms(t *testing.T) {
	t.Parallel()
	const chat = `[{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"u"},{"type":"image_url","image_url":{"url":"data:image/png;base64,QUJD"}}]},` +
		`{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"ls","arguments":"{\"d\":1}"}}]},{"role":"tool","tool_call_id":"c","content":"x"}]`
	extra := export.Fields{
		{Name: "tools", Value: export.JSON(`[{"type":"function","function":{"name":"ls","parameters":{"type":"object"}}}]`)},
		{Name: "tool_choice", Value: export.JSON(`{"type":"function","function":{"name":"ls"}}`)},
		{Name: "temperature", Value: export.JSON(`0`)},
	}
	one := workload.Prompt{Text: "a", System: "s", MaxTokens: 4, Media: []workload.Medium{{Kind: workload.Image, URL: "data:image/png;base64,QUJD"}}}
	for _, tt := range []struct {
		api            API
		prompt, dialog string
	}{
		{
			Responses, `{"model":"m","instructions":"s","input":[{"role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_image","image_url":"data:image/png;base64,QUJD"}]}],"stream":true,"max_output_tokens":4}`,
			`{"model":"m","input":[{"role":"system","content":"s"},{"role":"user","content":[{"type":"input_text","text":"u"},{"type":"input_image","image_url":"data:image/png;base64,QUJD"}]},` +
				`{"type":"function_call","call_id":"c","name":"ls","arguments":"{\"d\":1}"},{"type":"function_call_output","call_id":"c","output":"x"}],"stream":true,` +
				`"tools":[{"type":"function","name":"ls","parameters":{"type":"object"}}],"tool_choice":{"type":"function","name":"ls"},"temperature":0}`,
		},
		{
			OllamaChat, `{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"a","images":["QUJD"]}],"stream":true,"options":{"num_predict":4}}`,
			`{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"u","images":["QUJD"]},{"role":"assistant","content":"","tool_calls":[{"function":{"name":"ls","arguments":{"d":1}}}]},{"role":"tool","content":"x","tool_name":"ls"}],` +
				`"stream":true,"options":{"temperature":0},"tools":[{"type":"function","function":{"name":"ls","parameters":{"type":"object"}}}],"tool_choice":{"type":"function","function":{"name":"ls"}}}`,
		},
		{OllamaGenerate, `{"model":"m","system":"s","prompt":"a","images":["QUJD"],"stream":true,"options":{"num_predict":4}}`, ``},
		{
			Gemini, `{"systemInstruction":{"parts":[{"text":"s"}]},"contents":[{"role":"user","parts":[{"text":"a"},{"inlineData":{"mimeType":"image/png","data":"QUJD"}}]}],"generationConfig":{"maxOutputTokens":4}}`,
			`{"systemInstruction":{"parts":[{"text":"s"}]},"contents":[{"role":"user","parts":[{"text":"u"},{"inlineData":{"mimeType":"image/png","data":"QUJD"}}]},{"role":"model","parts":[{"functionCall":{"name":"ls","args":{"d":1}}}]},` +
				`{"role":"user","parts":[{"functionResponse":{"name":"ls","response":{"output":"x"}}}]}],"generationConfig":{"temperature":0},"tools":[{"functionDeclarations":[{"name":"ls","parameters":{"type":"object"}}]}],"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["ls"]}}}`,
		},
	} {
		o := Options{Model: "m", Stream: true}
		if got, err := Body(tt.api, &one, o); err != nil || string(got) != tt.prompt {
			t.Errorf("%v: %s, %v, want\n%s", tt.api, got, err, tt.prompt)
		}
		if tt.dialog == "" {
			continue
		}
		if got, err := Body(tt.api, &workload.Prompt{Messages: []byte(chat), Extra: extra}, o); err != nil || string(got) != tt.dialog {
			t.Errorf("%v: %s, %v, want\n%s", tt.api, got, err, tt.dialog)
		}
	}
	// What has no form is named.
	for _, tt := range []struct {
		api            API
		messages, want string
	}{
		{Responses, `[{"role":"user","content":[{"type":"input_audio","input_audio":{}}]}]`, "messages[0].content[0]: type input_audio cannot be expressed in v1/responses"},
		{Responses, `[{"role":"assistant","content":"a","reasoning_content":"hm"}]`, "messages[0].reasoning_content cannot be expressed in v1/responses; drop it"},
		{Gemini, `[{"role":"tool","tool_call_id":"c","content":"x"}]`, "messages[0]: Gemini needs the name of the tool"},
		{Gemini, `[{"role":"user","content":"a"},{"role":"system","content":"s"}]`, "messages[1]: role system after other messages cannot be expressed in Gemini"},
		{OllamaChat, `[{"role":"user","content":[{"type":"image_url","image_url":{"url":"http://x"}}]}]`, "images for Ollama: it takes them by their content only"},
		{OllamaChat, `[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"{"}}]}]`, "messages[0].tool_calls[0]: function.arguments: expected a JSON object"},
	} {
		if _, err := Body(tt.api, &workload.Prompt{Messages: []byte(tt.messages)}, Options{}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.messages, err, tt.want)
		}
	}
	for path, want := range map[string]API{"api/chat": OllamaChat, "x/api/generate": OllamaGenerate, "generate": TGI, "v1beta/models/m:generateContent": Gemini, "v1/projects/p/models/m:streamGenerateContent": Gemini} {
		if got, ok := APIOf(path); !ok || got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}
