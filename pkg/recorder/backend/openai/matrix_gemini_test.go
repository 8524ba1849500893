package openai

import (
	"errors"
	"net/http"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
)

func TestMatrixGemini(t *testing.T) {
	body := func(parts, rest string) string {
		return `{"candidates":[{"content":{"parts":[` + parts + `],"role":"model"}` + rest + `,"index":0}],"modelVersion":"m","responseId":"r-1"`
	}
	const stop, usage, tokens = `,"finishReason":"STOP"`, `,"usageMetadata":{"promptTokenCount":12,"candidatesTokenCount":3,"totalTokenCount":17,"thoughtsTokenCount":2,"cachedContentTokenCount":8}}`, "12 in, 8 cached, 5 out, 2 of reasoning"
	event := func(parts string) string { return "data: " + body(parts, "") + "}\r\n\r\n" }
	end := "data: " + body(`{"text":""}`, stop) + usage + "\r\n\r\n"
	matrix{
		config: Config{Endpoint: "v1beta/models/m:streamGenerateContent", Headers: []Header{{"x-goog-api-key", "sesame"}}},
		body:   `{"contents":[]}`,
		request: func(r *http.Request) error {
			if r.Header.Get("X-Goog-Api-Key") != "sesame" || r.URL.RawQuery != "alt=sse" {
				return errors.New("the key or alt=sse is missing")
			}
			return nil
		},
		query: "alt=sse",
		cases: []matrixCase{
			{name: "whole", pieces: []string{body(`{"text":"ab"}`, stop) + usage}, want: matrixRow{responses: 1, events: 1, finish: "STOP", usage: tokens}},
			{name: "streamed", pieces: []string{event(`{"text":"a"}`), event(`{"text":"b"}`), end}, want: matrixRow{responses: 3, events: 2, first: 1, finish: "STOP", usage: tokens}},
			{name: "tool call", pieces: []string{event(`{"functionCall":{"name":"ls","args":{"d":1}}}`), end}, want: matrixRow{responses: 2, events: 1, first: 1, finish: "STOP", usage: tokens}},
			{
				name: "thinking", pieces: []string{event(`{"text":"hm","thought":true}`), event(`{"text":"a","thoughtSignature":"s"}`), end},
				want: matrixRow{responses: 3, events: 2, reasoning: 1, first: 1, finish: "STOP", usage: tokens},
			},
			{
				name: "error before", code: 429, pieces: []string{`{"error":{"code":429,"message":"slow down","status":"RESOURCE_EXHAUSTED"}}`},
				msg: "slow down", want: matrixRow{status: export.StatusHTTPError, responses: 1},
			},
			{
				name: "error within", pieces: []string{event(`{"text":"a"}`), `data: {"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}` + "\r\n\r\n"},
				msg: "busy", want: matrixRow{status: export.StatusRPCError, code: 503, responses: 2, events: 1, first: 1},
			},
			{
				name: "cut", pieces: []string{event(`{"text":"a"}`), event(`{"text":"b"}`)[:40]}, cut: true,
				want: matrixRow{status: export.StatusTruncated, responses: 2, events: 1, first: 1},
			},
			{
				name: "unknown events", pieces: []string{event(`{"newPart":{"text":"x"}}`), "data: {\"new\":{\"text\":\"x\"},\"modelVersion\":\"m\"}\r\n\r\n", event(`{"text":"a"}`), end},
				want: matrixRow{responses: 4, events: 1, first: 3, finish: "STOP", usage: tokens},
			},
			{
				name: "a blocked prompt", pieces: []string{`{"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":12}}`},
				msg: "blockReason SAFETY", want: matrixRow{status: export.StatusRPCError, responses: 1, usage: "12 in, 0 out"},
			},
			{
				name: "without the end", pieces: []string{event(`{"text":"a"}`), event(`{"text":"b"}`)},
				msg: "the stream ended without a finishReason for every candidate", want: matrixRow{status: export.StatusTruncated, responses: 2, events: 2, first: 1},
			},
		},
	}.run(t)
}
