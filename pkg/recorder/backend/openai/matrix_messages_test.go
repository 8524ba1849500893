package openai

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
)

func TestMatrixMessages(t *testing.T) {
	const tokens = "12 in, 3 out"
	matrix{
		config: Config{Endpoint: "v1/messages", Headers: []Header{{"x-api-key", "sesame"}}},
		body:   `{"model":"m","max_tokens":3,"messages":[]}`,
		request: func(r *http.Request) error {
			if r.Header.Get("Anthropic-Version") != "2023-06-01" || r.Header.Get("X-Api-Key") != "sesame" {
				return fmt.Errorf("a request with %v", r.Header)
			}
			return nil
		},
		cases: []matrixCase{
			{
				name:   "whole",
				pieces: []string{`{"id":"msg_9","type":"message","role":"assistant","content":[{"type":"text","text":"a"}],"stop_reason":"end_turn","usage":{"input_tokens":2,"cache_creation_input_tokens":0,"cache_read_input_tokens":10,"output_tokens":1}}`},
				want:   matrixRow{responses: 1, events: 1, finish: "end_turn", usage: "12 in, 10 cached, 1 out"},
			},
			{
				name:   "streamed",
				pieces: []string{messageStart, blockStart(`{"type":"text","text":""}`), ping, blockDelta("text_delta", "text", "a"), blockDelta("text_delta", "text", "b"), blockStop, messageDelta, messageStop},
				want:   matrixRow{responses: 8, events: 2, first: 4, finish: "end_turn", usage: tokens},
			},
			{
				name: "tool call",
				pieces: []string{
					messageStart, blockStart(`{"type":"tool_use","id":"t","name":"ls","input":{}}`), blockDelta("input_json_delta", "partial_json", `{\"d\":`),
					blockDelta("input_json_delta", "partial_json", "1}"), blockStop, messageDelta, messageStop,
				},
				want: matrixRow{responses: 7, events: 3, first: 2, finish: "end_turn", usage: tokens},
			},
			{
				name: "thinking",
				pieces: []string{
					messageStart, blockStart(`{"type":"thinking","thinking":""}`), blockDelta("thinking_delta", "thinking", "hm"), blockDelta("signature_delta", "signature", "xyz"), blockStop,
					blockStart(`{"type":"text","text":""}`), blockDelta("text_delta", "text", "a"), blockStop, messageDelta, messageStop,
				},
				want: matrixRow{responses: 10, events: 2, reasoning: 1, first: 3, finish: "end_turn", usage: tokens},
			},
			{
				name: "error before", code: 529, pieces: []string{`{"type":"error","error":{"type":"overloaded_error","message":"busy"},"request_id":"r"}`},
				msg: "busy", want: matrixRow{status: export.StatusHTTPError, responses: 1},
			},
			{
				name: "error within", pieces: []string{messageStart, blockDelta("text_delta", "text", "a"), named(`{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`)},
				msg: "overloaded_error: busy", want: matrixRow{status: export.StatusRPCError, code: 529, responses: 3, events: 1, first: 2, usage: "12 in"},
			},
			{
				name: "cut", pieces: []string{messageStart, blockDelta("text_delta", "text", "a"), blockDelta("text_delta", "text", "b")[:40]}, cut: true,
				want: matrixRow{status: export.StatusTruncated, responses: 3, events: 1, first: 2, usage: "12 in"},
			},
			{
				name: "unknown events",
				pieces: []string{
					messageStart, named(`{"type":"new_event","text":"x"}`), blockStart(`{"type":"new_block","text":"x"}`), blockDelta("new_delta", "text", "x"), blockDelta("text_delta", "text", "a"),
					blockDelta("citations_delta", "citation", "x"), messageDelta, messageStop,
				},
				want: matrixRow{responses: 8, events: 1, first: 5, finish: "end_turn", usage: tokens},
			},
			{
				name: "context overflow within", pieces: []string{messageStart, named(`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"}}`)},
				msg: "invalid_request_error: prompt is too long", want: matrixRow{status: export.StatusContextOverflow, code: 400, responses: 2, usage: "12 in, 0 out"},
			},
			{
				name: "no `message_stop`", pieces: []string{messageStart, blockDelta("text_delta", "text", "a"), blockStop, messageDelta},
				msg: "the stream ended without message_stop", want: matrixRow{status: export.StatusTruncated, responses: 4, events: 1, first: 2, finish: "end_turn", usage: tokens},
			},
			{name: "cut after the end", pieces: []string{messageStart, blockDelta("text_delta", "text", "a"), messageDelta, messageStop}, cut: true, want: matrixRow{responses: 4, events: 1, first: 2, finish: "end_turn", usage: tokens}},
		},
	}.run(t)
}
