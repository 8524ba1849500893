package aiperf

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// The same bytes by our rule and by AIPerf's, which times the pieces of a tool's input but not the event that names the tool.
func TestMessagesCalls(t *testing.T) {
	t.Parallel()
	event := func(js string) string { return "data: " + js + "\n\n" }
	start := event(`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"ls","input":{}}}`)
	input := event(`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{}"}}`)
	text := event(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}`)
	for _, tt := range []struct {
		name   string
		events []string
		ours   uint64 // TTFT
		timed  bool
		ttft   int64 // by AIPerf
	}{
		{"a call without input", []string{start}, 10, false, 0},
		{"a call", []string{start, input}, 10, true, 20},
		{"a call before a text", []string{start, input, text}, 10, true, 20},
		{"a text", []string{text, start}, 10, true, 10},
	} {
		q := &export.Request{HasMeta: true, Status: export.StatusOK, StartNS: 1000}
		for i, e := range tt.events {
			q.Responses = append(q.Responses, export.Response{RecvNS: 1010 + 10*uint64(i), Outputs: export.Fields{{Name: "response", Value: export.Text(e)}}})
		}
		d := answer.Decoder{ServiceKind: "openai"}
		a := d.Decode(q)
		first, ok := a.FirstTokenNS(q)
		var r record
		timed := r.read(q, &answer.Measured{Answer: a})
		if got := fmt.Sprint(first-q.StartNS, ok, timed, r.ttft); got != fmt.Sprint(tt.ours, true, tt.timed, tt.ttft) {
			t.Errorf("%s: %s\n%s", tt.name, got, strings.Join(tt.events, ""))
		}
	}
}
