package sim

import (
	"regexp"
	"strings"
	"testing"
)

// v1/responses, whole and streamed.
func TestResponses(t *testing.T) {
	s := start(t, fast())
	created := regexp.MustCompile(`"created_at":\d+`)
	for _, row := range []struct{ body, want string }{
		{`{"input":"a b","instructions":"c","max_output_tokens":2}`, `{"id":"resp-sim-0","object":"response","created_at":0,"model":"sim","status":"incomplete","output":[{"type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","annotations":[],"text":"WORDS"}]}],"usage":{"input_tokens":3,"input_tokens_details":{"cached_tokens":0},"output_tokens":2,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":5}}`},
		{`{"input":[{"role":"user","content":[{"type":"input_text","text":"a b c"}]}]}`, `"status":"completed","output":[`},
		{`{"input":[]}`, `input: expected`},
	} {
		_, body, err := post(t, s.OpenAIURL()+"/v1/responses", row.body)
		if err != nil {
			t.Fatal(err)
		}
		got := created.ReplaceAllString(string(body), `"created_at":0`)
		got = regexp.MustCompile(`"text":"[^"]*"`).ReplaceAllString(got, `"text":"WORDS"`)
		if !strings.Contains(got, row.want) {
			t.Errorf("%s:\n%s, want\n%s", row.body, got, row.want)
		}
	}
	_, body, err := post(t, s.OpenAIURL()+"/v1/responses", `{"input":"a","stream":true,"max_output_tokens":3}`)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^event: (.*)$`).FindAllSubmatch(body, -1) {
		names = append(names, string(m[1]))
	}
	delta := "response.output_text.delta"
	if want := strings.Join([]string{"response.created", "response.in_progress", "response.output_item.added", delta, delta, delta, "response.output_text.done", "response.output_item.done", "response.incomplete"}, " "); strings.Join(names, " ") != want {
		t.Errorf("events %v, want %v", names, want)
	}
	// Tokens of thoughts and calls.
	_, body, err = post(t, s.OpenAIURL()+"/v1/responses", `{"input":"a","stream":true,"max_output_tokens":6,"reasoning":{},"tools":[{"type":"function","name":"ls"}],"tool_choice":"required"}`)
	if e := last(t, s); err != nil || len(e.TokenTimesNS()) != 6 || strings.Count(string(body), "response.reasoning_text.delta\n") != 3 || strings.Count(string(body), "response.function_call_arguments.delta\n") != 2 {
		t.Errorf("thoughts and a call: %v\n%s", err, body)
	}
	// A stored answer can be followed.
	for _, row := range []struct{ body, want string }{
		{`{"input":"a b","max_output_tokens":3}`, `"input_tokens":2,`},
		{`{"input":"c","previous_response_id":"resp-sim-5","max_output_tokens":2,"store":false}`, `"input_tokens":6,`},
		{`{"input":"c","previous_response_id":"resp-sim-5","max_output_tokens":2}`, `"input_tokens":6,`},
		{`{"input":"c","previous_response_id":"resp-sim-6"}`, `there is no stored response with the id \"resp-sim-6\"`},
	} {
		if _, body, err := post(t, s.OpenAIURL()+"/v1/responses", row.body); err != nil || !strings.Contains(string(body), row.want) {
			t.Errorf("%s: %s, %v, want %s", row.body, body, err, row.want)
		}
	}
	if _, body, err = post(t, s.OpenAIURL()+"/v1/responses", `{"input":"a","stream":true,"max_output_tokens":3}`); err != nil {
		t.Fatal(string(body), err)
	}
	if e := last(t, s); e.Protocol != OpenAIResponses || e.OutputTokens != 3 || e.InputTokens != 1 || len(e.TokenTimesNS()) != 3 {
		t.Errorf("ledger: %+v", e)
	}
}
