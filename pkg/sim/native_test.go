package sim

import (
	"strings"
	"testing"
)

// Ollama's and Gemini's endpoints, whole and streamed.
func TestNativeEndpoints(t *testing.T) {
	s := start(t, fast())
	const chat, contents = `"messages":[{"role":"user","content":"a b"}]`, `"contents":[{"role":"user","parts":[{"text":"a b"}]}]`
	const tools = `"tools":[{"functionDeclarations":[{"name":"ls"}]}],"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}`
	for _, row := range []struct {
		path, body string
		want       []string // parts of the answer
		events     int      // lines or events
		tokens     int      // that the events of the answer have
	}{
		{"/api/chat", `{` + chat + `,"stream":false,"options":{"num_predict":2}}`, []string{`"done_reason":"length","done":true`, `"prompt_eval_count":2`, `"eval_count":2`}, 0, 2},
		{"/api/chat", `{` + chat + `,"think":true,"options":{"num_predict":4}}`, []string{`"content":"","thinking":"`, `"done":false}`, `"done":true`}, 5, 4},
		{"/api/chat", `{` + chat + `,"options":{"num_predict":1},"sim_unknown_events":true}`, []string{`sim_unknown`}, 3, 1},
		{"/api/chat", `{` + chat + `,"sim_fault":"error_event","sim_fault_after":1,"options":{"num_predict":3}}`, []string{`{"error":"the fault`}, 2, 1},
		{"/api/chat", `{"messages":[]}`, []string{`{"error":"messages: expected at least one"}`}, 0, 0},
		{"/api/generate", `{"system":"s","prompt":"a b","options":{"num_predict":2}}`, []string{`"response":"`, `"prompt_eval_count":3`}, 3, 2},
		{"/api/generate", `{}`, []string{`{"error":"prompt: expected a text"}`}, 0, 0},
		{"/v1beta/models/sim:generateContent", `{` + contents + `,"systemInstruction":{"parts":[{"text":"s"}]},"generationConfig":{"maxOutputTokens":2}}`, []string{`"finishReason":"MAX_TOKENS"`, `"promptTokenCount":3,"candidatesTokenCount":2`}, 0, 2},
		{"/v1beta/models/sim:streamGenerateContent?alt=sse", `{` + contents + `,"generationConfig":{"maxOutputTokens":4,"thinkingConfig":{"includeThoughts":true}},` + tools + `}`, []string{`"thought":true`, `{"functionCall":{"name":"ls","args":{"text":"`, `"candidatesTokenCount":2,"totalTokenCount":6,"thoughtsTokenCount":2`}, 4, 4},
		{"/v1beta/models/sim:streamGenerateContent?alt=sse", `{` + contents + `,"sim_fault":"error_event","sim_fault_after":1,"generationConfig":{"maxOutputTokens":3}}`, []string{`"status":"INTERNAL"}}`}, 2, 1},
		{"/v1beta/models/sim:streamGenerateContent", `{` + contents + `}`, []string{`streams need alt=sse here`}, 0, 0},
		{"/v1beta/models/x:generateContent", `{` + contents + `}`, []string{`"code":404`, `there is no model`}, 0, 0},
		{"/v1beta/models/sim:countTokens", `{` + contents + `}`, []string{`only generateContent and streamGenerateContent`}, 0, 0},
	} {
		_, body, err := post(t, s.OpenAIURL()+row.path, row.body)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range row.want {
			if !strings.Contains(string(body), want) {
				t.Errorf("%s %s:\n%s, want %s", row.path, row.body, body, want)
			}
		}
		e := last(t, s)
		events := 0
		for _, w := range e.Writes {
			events += w.Events
		}
		if want := map[bool]Protocol{true: Ollama, false: Gemini}[strings.HasPrefix(row.path, "/api/")]; e.Protocol != want || len(e.TokenTimesNS()) != row.tokens || row.events > 0 && events != row.events {
			t.Errorf("%s %s: %d tokens, %d events: %+v", row.path, row.body, len(e.TokenTimesNS()), events, e)
		}
	}
}
