package py

import "testing"

func TestEventKeyOf(t *testing.T) {
	const event = `data: {"id":"a","object":"chat.completion.chunk","created":12,"model":"m"}`
	key := EventKeyOf(event)
	if want := (EventKey{`data: {"id":"`, `","object":"chat.completion.chunk","created":`, `,"model":"m"}`}); key != want {
		t.Errorf("EventKeyOf(%q) = %q, want %q", event, key, want)
	}
	for _, tt := range []struct {
		text string
		same bool
	}{
		{`data: {"id":"chatcmpl-7","object":"chat.completion.chunk","created":1718000000,"model":"m"}`, true},
		{`data: {"id":"","object":"chat.completion.chunk","created":1,"model":"m"}`, true},
		{`{"id":"a","object":"chat.completion.chunk","created":12,"model":"m"}`, false},
		{`data: {"id":"a","object":"text_completion","created":12,"model":"m"}`, false},
		{`data: {"id":"a","object":"chat.completion.chunk","created":12,"model":"n"}`, false},
	} {
		if got := EventKeyOf(tt.text); (got == key) != tt.same {
			t.Errorf("EventKeyOf(%q) = %q", tt.text, got)
		}
	}
	for _, text := range []string{
		"", "data: [DONE]", `data: {"id":"`, `data: {"id":"a"}`, `data: {"id":"a","object":"x`, `data: {"id":"a","object":"x","created":`,
		`data: {"id":"a","object":"x","created":1`, `data: {"id":"a","object":"x","created":01,`, `data: {"id":"a","object":"x","created":1.5,`,
		`data: {"id":"a","object":"x","created":1234567890123456789,`, `data: {"id":"é","object":"x","created":1,`,
		`data: {"id":"\"","object":"x","created":1,`, "data: {\"id\":\"\x01\",\"object\":\"x\",\"created\":1,", `data: {"object":"x","created":1,`,
	} {
		if got := EventKeyOf(text); got != (EventKey{rest: text}) {
			t.Errorf("EventKeyOf(%q) = %q, want all in rest", text, got)
		}
	}
}
