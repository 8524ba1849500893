package openai

import (
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
)

// chatDelta returns an event of a chat whose delta has the given members.
func chatDelta(members string) string {
	return `data: {"id":"c-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{` + members + `},"finish_reason":null}]}` + "\n\n"
}

func TestMatrixChat(t *testing.T) {
	const (
		usage      = `data: {"id":"c-1","choices":[],"usage":{"prompt_tokens":12,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":10}}}` + "\n\n"
		tokens     = "12 in, 10 cached, 3 out"
		callFinish = `data: {"id":"c-1","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}` + "\n\n"
	)
	role := chatDelta(`"role":"assistant","content":""`)
	matrix{
		config: Config{Endpoint: "v1/chat/completions"},
		body:   `{"model":"m","stream":true,"messages":[]}`,
		cases: []matrixCase{
			{
				name:   "whole",
				pieces: []string{`{"id":"c-1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":12,"completion_tokens":1}}`},
				want:   matrixRow{responses: 1, events: 1, finish: "stop", usage: "12 in, 1 out"},
			},
			{
				name: "streamed", pieces: []string{role, event("a"), event("b"), finish, usage, done},
				want: matrixRow{responses: 6, events: 2, first: 2, finish: "stop", usage: tokens},
			},
			{
				name: "tool call",
				pieces: []string{
					role, chatDelta(`"tool_calls":[{"index":0,"id":"t","type":"function","function":{"name":"ls","arguments":""}}]`), chatDelta(`"tool_calls":[{"index":0,"function":{"arguments":"{\"d\":"}}]`),
					chatDelta(`"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]`), callFinish, usage, done,
				},
				want: matrixRow{responses: 7, events: 3, first: 2, finish: "tool_calls", usage: tokens},
			},
			{
				name: "thinking", pieces: []string{role, chatDelta(`"reasoning_content":"hm"`), event("a"), finish, usage, done},
				want: matrixRow{responses: 6, events: 2, reasoning: 1, first: 2, finish: "stop", usage: tokens},
			},
			{
				name: "error before", code: 503, pieces: []string{`{"error":{"message":"busy","type":"server_error","code":503}}`},
				msg: "busy", want: matrixRow{status: export.StatusHTTPError, responses: 1},
			},
			{
				name: "error within", pieces: []string{role, event("a"), `data: {"error":{"message":"busy","type":"server_error","code":503}}` + "\n\n", done},
				msg: "busy", want: matrixRow{status: export.StatusRPCError, code: 503, responses: 4, events: 1, first: 2},
			},
			{
				name: "cut", pieces: []string{role, event("a"), event("b")[:40]}, cut: true,
				want: matrixRow{status: export.StatusTruncated, responses: 3, events: 1, first: 2},
			},
			{
				name: "unknown events",
				pieces: []string{
					role, ": a comment\n\n", `data: {"object":"new.object","id":"c-1","text":"x"}` + "\n\n", "event: new\n" + chatDelta(`"new_member":"x"`), event("a"), finish, usage, done,
				},
				want: matrixRow{responses: 8, events: 1, first: 5, finish: "stop", usage: tokens},
			},
			{
				name: "context overflow within", pieces: []string{`data: {"error":{"message":"This model's maximum context length is 8 tokens.","type":"BadRequestError","code":400}}` + "\n\n", done},
				msg: "maximum context length", want: matrixRow{status: export.StatusContextOverflow, code: 400, responses: 2},
			},
			{
				name: "no finish, no `[DONE]`", pieces: []string{role, event("a")},
				msg: "neither [DONE] nor a finish reason", want: matrixRow{status: export.StatusTruncated, responses: 2, events: 1, first: 2},
			},
			{
				name: "cut after the end", pieces: []string{role, event("a"), finish, usage, done}, cut: true,
				want: matrixRow{responses: 5, events: 1, first: 2, finish: "stop", usage: tokens},
			},
		},
	}.run(t)
}

func TestMatrixCompletions(t *testing.T) {
	text := func(text, finish string) string {
		return `data: {"id":"c-1","object":"text_completion","choices":[{"index":0,"text":"` + text + `","finish_reason":` + finish + `}]}` + "\n\n"
	}
	const (
		usage  = `data: {"id":"c-1","choices":[],"usage":{"prompt_tokens":12,"completion_tokens":3}}` + "\n\n"
		tokens = "12 in, 3 out"
	)
	matrix{
		config: Config{Endpoint: "v1/completions"},
		body:   `{"model":"m","stream":true,"prompt":"p"}`,
		none: map[string]string{
			"tool call": "a completion has no tools",
			"thinking":  "a completion is one text, in which thoughts are not marked",
		},
		cases: []matrixCase{
			{
				name:   "whole",
				pieces: []string{`{"id":"c-1","object":"text_completion","choices":[{"index":0,"text":"a","finish_reason":"length"}],"usage":{"prompt_tokens":12,"completion_tokens":1}}`},
				want:   matrixRow{responses: 1, events: 1, finish: "length", usage: "12 in, 1 out"},
			},
			{
				name: "streamed", pieces: []string{text("a", "null"), text("b", "null"), text("", `"length"`), usage, done},
				want: matrixRow{responses: 5, events: 2, first: 1, finish: "length", usage: tokens},
			},
			{
				name: "error before", code: 404, pieces: []string{`{"object":"error","message":"no such model","code":404}`},
				msg: "no such model", want: matrixRow{status: export.StatusHTTPError, responses: 1},
			},
			{
				name: "error within", pieces: []string{text("a", "null"), `data: {"object":"error","message":"out of memory","code":500}` + "\n\n"},
				msg: "out of memory", want: matrixRow{status: export.StatusRPCError, code: 500, responses: 2, events: 1, first: 1},
			},
			{
				name: "cut", pieces: []string{text("a", "null"), text("b", "null")[:40]}, cut: true,
				want: matrixRow{status: export.StatusTruncated, responses: 2, events: 1, first: 1},
			},
			{
				name: "unknown events", pieces: []string{": a comment\n\n", `data: {"new":{"text":"x"},"id":"c-1"}` + "\n\n", text("a", `"stop"`), usage, done},
				want: matrixRow{responses: 5, events: 1, first: 3, finish: "stop", usage: tokens},
			},
		},
	}.run(t)
}

func TestMatrixResponses(t *testing.T) {
	const (
		begin = `{"type":"response.created","response":{"id":"r-1","object":"response","status":"in_progress","output":[]}}`
		end   = `{"type":"response.completed","response":{"id":"r-1","object":"response","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"ab"}]}],` +
			`"usage":{"input_tokens":12,"input_tokens_details":{"cached_tokens":10},"output_tokens":3}}}`
		tokens = "12 in, 10 cached, 3 out"
	)
	delta := func(kind, text string) string {
		return named(`{"type":"response.` + kind + `.delta","item_id":"i","output_index":0,"delta":"` + text + `"}`)
	}
	item := func(kind string) string {
		return named(`{"type":"response.output_item.added","output_index":0,"item":{"type":"` + kind + `","name":"ls","arguments":""}}`)
	}
	matrix{
		config: Config{Endpoint: "v1/responses"},
		body:   `{"model":"m","stream":true,"input":"p"}`,
		cases: []matrixCase{
			{
				name:   "whole",
				pieces: []string{`{"id":"r-1","object":"response","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"a"}]}],"usage":{"input_tokens":12,"output_tokens":1}}`},
				want:   matrixRow{responses: 1, events: 1, finish: "completed", usage: "12 in, 1 out"},
			},
			{
				name: "streamed", pieces: []string{named(begin), item("message"), delta("output_text", "a"), delta("output_text", "b"), named(`{"type":"response.output_text.done","text":"ab"}`), named(end)},
				want: matrixRow{responses: 6, events: 2, first: 3, finish: "stop", usage: tokens},
			},
			{
				name: "tool call",
				pieces: []string{
					named(begin), item("function_call"), delta("function_call_arguments", `{\"d\":`), delta("function_call_arguments", "1}"),
					named(`{"type":"response.function_call_arguments.done","arguments":"{\"d\":1}"}`), named(end),
				},
				want: matrixRow{responses: 6, events: 3, first: 2, finish: "stop", usage: tokens},
			},
			{
				name: "thinking", pieces: []string{named(begin), item("reasoning"), delta("reasoning_text", "hm"), item("message"), delta("output_text", "a"), named(end)},
				want: matrixRow{responses: 6, events: 2, reasoning: 1, first: 3, finish: "stop", usage: tokens},
			},
			{
				name: "error before", code: 429, pieces: []string{`{"error":{"message":"slow down","type":"rate_limit"}}`},
				msg: "slow down", want: matrixRow{status: export.StatusHTTPError, responses: 1},
			},
			{
				name: "error within", pieces: []string{named(begin), delta("output_text", "a"), named(`{"type":"response.failed","response":{"id":"r-1","status":"failed","error":{"code":"server_error","message":"busy"}}}`)},
				msg: "busy", want: matrixRow{status: export.StatusRPCError, responses: 3, events: 1, first: 2},
			},
			{
				name: "cut", pieces: []string{named(begin), delta("output_text", "a"), delta("output_text", "b")[:40]}, cut: true,
				want: matrixRow{status: export.StatusTruncated, responses: 3, events: 1, first: 2},
			},
			{
				name: "unknown events", pieces: []string{named(begin), named(`{"type":"response.new_event","text":"x"}`), named(`{"type":"new","delta":{"text":"x"}}`), delta("output_text", "a"), named(end)},
				want: matrixRow{responses: 5, events: 1, first: 4, finish: "stop", usage: tokens},
			},
			{
				name: "a summary of thoughts", pieces: []string{named(begin), item("reasoning"), delta("reasoning_summary_text", "hm"), named(`{"type":"response.reasoning_summary_text.done","item_id":"i","output_index":0,"text":"hm"}`), item("message"), delta("output_text", "a"), named(end)},
				want: matrixRow{responses: 7, events: 2, reasoning: 1, first: 3, finish: "stop", usage: tokens},
			},
			{
				name: "a refusal", pieces: []string{named(begin), delta("refusal", "n"), delta("refusal", "o"), named(`{"type":"response.refusal.done","item_id":"i","output_index":0,"refusal":"no"}`), named(end)},
				want: matrixRow{responses: 5, events: 2, first: 2, finish: "stop", usage: tokens},
			},
			{
				name: "done without deltas", pieces: []string{named(begin), item("message"), named(`{"type":"response.output_text.done","item_id":"i","output_index":0,"text":"ab"}`), named(end)},
				want: matrixRow{responses: 4, events: 1, first: 3, finish: "stop", usage: tokens},
			},
			{
				name: "incomplete", pieces: []string{named(begin), delta("output_text", "a"), named(strings.Replace(end, ".completed", ".incomplete", 1))},
				want: matrixRow{responses: 3, events: 1, first: 2, finish: "stop", usage: tokens},
			},
			{
				name: "without the end", pieces: []string{named(begin), delta("output_text", "a"), named(`{"type":"response.output_text.done","item_id":"i","output_index":0,"text":"a"}`)},
				msg: "the stream ended without response.completed", want: matrixRow{status: export.StatusTruncated, responses: 3, events: 1, first: 2},
			},
			{
				name: "cut after the end", pieces: []string{named(begin), delta("output_text", "a"), named(end)}, cut: true,
				want: matrixRow{responses: 3, events: 1, first: 2, finish: "stop", usage: tokens},
			},
			{
				name: "an error event", pieces: []string{named(begin), delta("output_text", "a"), named(`{"type":"error","code":"server_error","message":"busy","sequence_number":2}`)},
				msg: "busy", want: matrixRow{status: export.StatusRPCError, responses: 3, events: 1, first: 2},
			},
		},
	}.run(t)
}
