package openai

import (
	"testing"

	"github.com/pa-tools/pa/pkg/export"
)

// The lines of Ollama. It has no name for an error in a stream but "error".
func TestMatrixOllama(t *testing.T) {
	chat := func(members string) string {
		return `{"model":"m","created_at":"t","message":{"role":"assistant",` + members + `},"done":false}` + "\n"
	}
	const (
		counts = `"done_reason":"stop","done":true,"total_duration":9,"load_duration":1,"prompt_eval_count":12,"prompt_eval_duration":3,"eval_count":3,"eval_duration":5}` + "\n"
		end    = `{"model":"m","created_at":"t","message":{"role":"assistant","content":""},` + counts
		tokens = "12 in, 3 out"
		whole  = `{"model":"m","created_at":"t","message":{"role":"assistant","content":"ab"},` + counts
	)
	all := []matrixCase{
		{name: "whole", pieces: []string{whole}, want: matrixRow{responses: 1, events: 1, finish: "stop", usage: tokens}},
		{name: "streamed", pieces: []string{chat(`"content":"a"`), chat(`"content":"b"`), end}, want: matrixRow{responses: 3, events: 2, first: 1, finish: "stop", usage: tokens}},
		{
			name: "tool call", pieces: []string{chat(`"content":"","tool_calls":[{"function":{"name":"ls","arguments":{"d":1}}}]`), end},
			want: matrixRow{responses: 2, events: 1, first: 1, finish: "stop", usage: tokens},
		},
		{
			name: "thinking", pieces: []string{chat(`"content":"","thinking":"hm"`), chat(`"content":"a"`), end},
			want: matrixRow{responses: 3, events: 2, reasoning: 1, first: 1, finish: "stop", usage: tokens},
		},
		{
			name: "error before", code: 404, pieces: []string{`{"error":"model 'm' not found"}`},
			msg: "model 'm' not found", want: matrixRow{status: export.StatusHTTPError, responses: 1},
		},
		{
			name: "error within", pieces: []string{chat(`"content":"a"`), `{"error":"out of memory"}` + "\n"},
			msg: "out of memory", want: matrixRow{status: export.StatusRPCError, responses: 2, events: 1, first: 1},
		},
		{
			name: "cut", pieces: []string{chat(`"content":"a"`), chat(`"content":"b"`), chat(`"content":"c"`)[:40]}, cut: true,
			want: matrixRow{status: export.StatusTruncated, responses: 3, events: 2, first: 1},
		},
		{
			name: "unknown events", pieces: []string{chat(`"content":"a"`), `{"model":"m","new":{"text":"x"},"done":false}` + "\n", end},
			want: matrixRow{responses: 3, events: 1, first: 1, finish: "stop", usage: tokens},
		},
		{
			name: "without the end", pieces: []string{chat(`"content":"a"`), chat(`"content":"b"`)},
			msg: "the stream ended without \"done\": true", want: matrixRow{status: export.StatusTruncated, responses: 2, events: 2, first: 1},
		},
		{
			name: "without the end, one line", pieces: []string{chat(`"content":"a"`)},
			msg: "the stream ended without \"done\": true", want: matrixRow{status: export.StatusTruncated, responses: 1, events: 1, first: 1},
		},
	}
	// Streams have the type of lines.
	lines := func(all []matrixCase) []matrixCase {
		for i := range all {
			if len(all[i].pieces) > 1 {
				all[i].contentType = "application/x-ndjson"
			}
		}
		return all
	}
	matrix{config: Config{Endpoint: "api/chat"}, body: `{"model":"m","messages":[]}`, cases: lines(all)}.run(t)

	line := func(members string) string {
		return `{"model":"m","created_at":"t",` + members + `,"done":false}` + "\n"
	}
	const last = `{"model":"m","created_at":"t","response":"","context":[1,2],` + counts
	matrix{
		config: Config{Endpoint: "api/generate"}, body: `{"model":"m","prompt":"p"}`,
		cases: lines([]matrixCase{
			{name: "whole", pieces: []string{`{"model":"m","created_at":"t","response":"ab",` + counts}, want: matrixRow{responses: 1, events: 1, finish: "stop", usage: tokens}},
			{name: "streamed", pieces: []string{line(`"response":"a"`), line(`"response":"b"`), last}, want: matrixRow{responses: 3, events: 2, first: 1, finish: "stop", usage: tokens}},
			{
				name: "thinking", pieces: []string{line(`"response":"","thinking":"hm"`), line(`"response":"a"`), last},
				want: matrixRow{responses: 3, events: 2, reasoning: 1, first: 1, finish: "stop", usage: tokens},
			},
			all[4],
			{
				name: "error within", pieces: []string{line(`"response":"a"`), `{"error":"out of memory"}` + "\n"},
				msg: "out of memory", want: matrixRow{status: export.StatusRPCError, responses: 2, events: 1, first: 1},
			},
			{
				name: "cut", pieces: []string{line(`"response":"a"`), line(`"response":"b"`), line(`"response":"c"`)[:20]}, cut: true,
				want: matrixRow{status: export.StatusTruncated, responses: 3, events: 2, first: 1},
			},
			{
				name: "unknown events", pieces: []string{line(`"response":"a"`), line(`"new":{"text":"x"}`), last},
				want: matrixRow{responses: 3, events: 1, first: 1, finish: "stop", usage: tokens},
			},
		}),
		none: map[string]string{"tool call": "the endpoint has no tools"},
	}.run(t)
}
