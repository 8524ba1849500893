package openai

import (
	"fmt"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
)

// The answers of vLLM 0.32.0.
func TestMatrixGenerateIDs(t *testing.T) {
	chunk := func(ids, finish, more string) string {
		return `data: {"request_id":"generate-tokens-9","usage":null,"output_mode":"tokens","choices":[{"index":0,"finish_reason":` + finish + `,"stop_reason":null,"token_ids":` + ids +
			`,"routed_experts":null,"sampling_mask":null,"weight_versions":null,"logprobs":null` + more + `}]}` + "\n\n"
	}
	const (
		usage  = `data: {"request_id":"generate-tokens-9","usage":{"prompt_tokens":4,"total_tokens":7,"completion_tokens":3},"output_mode":"tokens","choices":[]}` + "\n\n"
		failed = `data: {"error":{"message":"busy","type":"server_error","code":503}}` + "\n\n"
		tokens = "4 in, 3 out"
	)
	matrix{
		config: Config{Endpoint: "inference/v1/generate"},
		body:   `{"model":"m","token_ids":[5,6,7,8],"sampling_params":{},"stream":true}`,
		none:   map[string]string{"tool call": "calls are a part of the ids", "thinking": "thoughts are a part of the ids"},
		cases: []matrixCase{
			{
				name:   "whole",
				pieces: []string{`{"request_id":"generate-tokens-8","model":"m","created":1,"usage":{"prompt_tokens":4,"total_tokens":6,"completion_tokens":2,"prompt_tokens_details":null},"prompt_token_ids":null,"output_mode":"tokens","choices":[{"index":0,"finish_reason":"length","stop_reason":null,"token_ids":[260,267],"logprobs":null}]}`},
				want:   matrixRow{responses: 1, events: 1, finish: "length", usage: "4 in, 2 out"},
			},
			{
				name: "streamed", pieces: []string{chunk("[260]", "null", ""), chunk("[267,260]", `"length"`, ""), usage, done},
				want: matrixRow{responses: 4, events: 2, first: 1, finish: "length", usage: tokens},
			},
			{
				name: "error before", code: 400, pieces: []string{`{"error":{"message":"List should have at least 1 item","type":"Bad Request","param":"body.token_ids","code":400}}`},
				msg: "at least 1 item", want: matrixRow{status: export.StatusHTTPError, responses: 1},
			},
			{
				name: "error within", pieces: []string{chunk("[260]", "null", ""), failed, done},
				msg: "busy", want: matrixRow{status: export.StatusRPCError, code: 503, responses: 3, events: 1, first: 1},
			},
			{
				name: "cut", pieces: []string{chunk("[260]", "null", ""), chunk("[267]", "null", "")[:40]}, cut: true,
				want: matrixRow{status: export.StatusTruncated, responses: 2, events: 1, first: 1},
			},
			{
				name:   "unknown events",
				pieces: []string{": a comment\n\n", `data: {"object":"new.object","request_id":"r","text":"x"}` + "\n\n", chunk("[]", "null", ""), chunk("[260]", `"stop"`, `,"new_member":[1]`), usage, done},
				want:   matrixRow{responses: 6, events: 1, first: 4, finish: "stop", usage: tokens},
			},
			{
				name: "text beside the ids", pieces: []string{chunk("[260]", "null", `,"text":" of"`), chunk("[267]", `"stop"`, `,"text":""`), done},
				want: matrixRow{responses: 3, events: 2, first: 1, finish: "stop"},
			},
			{
				name: "no finish, no `[DONE]`", pieces: []string{chunk("[260]", "null", ""), chunk("[267]", "null", "")},
				msg: "neither [DONE] nor a finish reason", want: matrixRow{status: export.StatusTruncated, responses: 2, events: 2, first: 1},
			},
		},
	}.run(t)
}

// The answers of SGLang, whose events repeat what came before.
func TestMatrixSGLangGenerate(t *testing.T) {
	object := func(text, ids string, n int, finish string) string {
		return fmt.Sprintf(`{"text":%q,"output_ids":[%s],"meta_info":{"id":"r","finish_reason":%s,"prompt_tokens":6,"completion_tokens":%d,"cached_tokens":4}}`, text, ids, finish, n)
	}
	chunk := func(text, ids string, n int, finish string) string {
		return "data: " + object(text, ids, n, finish) + "\n\n"
	}
	const (
		end    = `{"type":"length","length":3}`
		failed = `data: {"error":{"message":"busy","type":"server_error","code":503}}` + "\n\n"
		tokens = "6 in, 4 cached, 3 out"
		one    = "6 in, 4 cached, 1 out"
	)
	matrix{
		config: Config{Endpoint: "generate", SGLang: true},
		body:   `{"text":"a","stream":true}`,
		none:   map[string]string{"tool call": "calls are a part of the text", "thinking": "thoughts are a part of the text"},
		cases: []matrixCase{
			{name: "whole", pieces: []string{object("a b c", "7,8,9", 3, end)}, want: matrixRow{responses: 1, events: 1, finish: "length", usage: tokens}},
			{
				name: "streamed", pieces: []string{chunk("a", "7", 1, "null"), chunk("a b c", "7,8,9", 3, "null"), chunk("a b c", "7,8,9", 3, end), done},
				want: matrixRow{responses: 4, events: 2, first: 1, finish: "length", usage: tokens},
			},
			{
				name: "error before", code: 503, pieces: []string{`{"error":{"message":"busy"}}`},
				msg: "busy", want: matrixRow{status: export.StatusHTTPError, responses: 1},
			},
			{
				name: "error within", pieces: []string{chunk("a", "7", 1, "null"), failed, done},
				msg: "busy", want: matrixRow{status: export.StatusRPCError, code: 503, responses: 3, events: 1, first: 1, usage: one},
			},
			{
				name: "cut", pieces: []string{chunk("a", "7", 1, "null"), chunk("a b", "7,8", 2, "null")[:40]}, cut: true,
				want: matrixRow{status: export.StatusTruncated, responses: 2, events: 1, first: 1, usage: one},
			},
			{
				name:   "unknown events",
				pieces: []string{": a comment\n\n", `data: {"object":"new.object","text":"x"}` + "\n\n", "event: new\n" + chunk("a", "7", 1, `{"type":"new","text":"x"}`), done},
				want:   matrixRow{responses: 4, events: 1, first: 3, finish: "new", usage: one},
			},
			{
				name: "incremental output", pieces: []string{chunk("a", "7", 1, "null"), chunk(" b c", "8,9", 3, end), done},
				want: matrixRow{responses: 3, events: 2, first: 1, finish: "length", usage: tokens},
			},
			{
				name: "ids alone", pieces: []string{`data: {"output_ids":[7],"meta_info":{"finish_reason":null,"prompt_tokens":6,"completion_tokens":1}}` + "\n\n", `data: {"output_ids":[7,8,9],"meta_info":{"finish_reason":{"type":"stop","matched":9},"prompt_tokens":6,"completion_tokens":3}}` + "\n\n", done},
				want: matrixRow{responses: 3, events: 2, first: 1, finish: "stop", usage: "6 in, 3 out"},
			},
			{
				name: "aborted", pieces: []string{chunk("a", "7", 1, "null"), chunk("a", "7", 1, `{"type":"abort","message":"out of memory","status_code":500,"err_type":"InternalServerError"}`), done},
				msg: "out of memory", want: matrixRow{status: export.StatusRPCError, code: 500, responses: 3, events: 1, first: 1, finish: "abort", usage: one},
			},
		},
	}.run(t)
}
