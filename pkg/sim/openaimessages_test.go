package sim

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// v1/messages, whole and streamed.
func TestMessages(t *testing.T) {
	s := start(t, fast())
	const ask = `"messages":[{"role":"user","content":"a b"}]`
	const tools = `"tools":[{"name":"ls","input_schema":{}}],"tool_choice":{"type":"any"}`
	for _, row := range []struct{ body, want string }{
		{
			`{"system":"c",` + ask + `,"max_tokens":2}`,
			`{"id":"msg-sim-0","type":"message","role":"assistant","model":"sim","content":[{"type":"text","text":"WORDS"}],"stop_reason":"max_tokens","stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":2}}`,
		},
		{
			`{` + ask + `,"max_tokens":4,"thinking":{"type":"enabled"},` + tools + `}`,
			`"content":[{"type":"thinking","thinking":"WORDS","signature":"c2lnbmF0dXJl"},{"type":"tool_use","id":"toolu-sim-1","name":"ls","input":{"text":"WORDS"}}]`,
		},
		{`{` + ask + `}`, `{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: field required"}}`},
		{`{"messages":[],"max_tokens":2}`, `messages: expected at least one`},
		{`{"messages":[{"role":"system","content":"a"}],"max_tokens":2}`, `messages[0].role: expected user or assistant`},
		{
			`{"messages":[{"role":"user","content":[{"type":"text","text":"a b"},{"type":"tool_result","tool_use_id":"t","content":"c d e"}]}],"max_tokens":2}`,
			`"usage":{"input_tokens":5,"output_tokens":2}`,
		},
	} {
		_, body, err := post(t, s.OpenAIURL()+"/v1/messages", row.body)
		if err != nil {
			t.Fatal(err)
		}
		got := regexp.MustCompile(`"(text|thinking)":"[^"]*"`).ReplaceAllString(string(body), `"$1":"WORDS"`)
		if !strings.Contains(got, row.want) {
			t.Errorf("%s:\n%s, want\n%s", row.body, got, row.want)
		}
	}
	for _, row := range []struct {
		fields, events string
		tokens         int
	}{
		{`"max_tokens":3`, "message_start ping content_block_start content_block_delta content_block_delta content_block_delta content_block_stop message_delta message_stop", 3},
		{`"max_tokens":1`, "message_start ping content_block_start content_block_delta content_block_stop message_delta message_stop", 1},
		{
			`"max_tokens":4,"thinking":{"type":"enabled"},` + tools,
			"message_start ping content_block_start content_block_delta content_block_delta content_block_delta content_block_stop content_block_start content_block_delta content_block_stop message_delta message_stop", 4,
		},
		{`"max_tokens":1,"sim_unknown_events":true`, "message_start ping content_block_start sim_unknown content_block_delta content_block_stop message_delta message_stop", 1},
		{`"max_tokens":3,"sim_fault":"error_event","sim_fault_after":1`, "message_start ping content_block_start content_block_delta error", 1},
	} {
		_, body, err := post(t, s.OpenAIURL()+"/v1/messages", `{`+ask+`,"stream":true,`+row.fields+`}`)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, m := range regexp.MustCompile(`(?m)^event: (.*)$`).FindAllSubmatch(body, -1) {
			names = append(names, string(m[1]))
		}
		if got := strings.Join(names, " "); got != row.events {
			t.Errorf("%s: events\n%s, want\n%s", row.fields, got, row.events)
		}
		if e := last(t, s); e.Protocol != AnthropicMessages || e.InputTokens != 2 || len(e.TokenTimesNS()) != row.tokens {
			t.Errorf("%s: ledger: %+v", row.fields, e)
		}
	}
}

// The key comes as x-api-key or as a bearer token, and what the prefix cache had is beside the input.
func TestMessagesKeyAndCache(t *testing.T) {
	cfg := fast()
	cfg.APIKey, cfg.PrefixCache = "sesame", &PrefixCache{BlockTokens: 1}
	s := start(t, cfg)
	ask := func(header, value string) string {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.OpenAIURL()+"/v1/messages", strings.NewReader(`{"messages":[{"role":"user","content":"a b c"}],"max_tokens":2}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set(header, value)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	for _, row := range []struct{ header, value, want string }{
		{"x-api-key", "other", `{"type":"error","error":{"type":"authentication_error",`},
		{"x-api-key", "sesame", `"usage":{"input_tokens":3,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":2}`},
		{"Authorization", "Bearer sesame", `"usage":{"input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":3,"output_tokens":2}`},
	} {
		if got := ask(row.header, row.value); !strings.Contains(got, row.want) {
			t.Errorf("%s: %s\n%s, want\n%s", row.header, row.value, got, row.want)
		}
	}
}
