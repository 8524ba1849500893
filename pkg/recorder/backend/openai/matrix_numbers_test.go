package openai

import (
	"io"
	"net/http"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
)

// matrixOfNumbers returns the matrix of an endpoint that answers with numbers, in one body.
func matrixOfNumbers(endpoint, body, answer string) matrix {
	return matrix{
		config: Config{Endpoint: endpoint},
		body:   body,
		none: map[string]string{
			"streamed":     "numbers come in one body",
			"tool call":    "numbers call no tool",
			"thinking":     "numbers hold no text",
			"error within": "numbers come in one body",
		},
		cases: []matrixCase{
			{name: "whole", pieces: []string{answer}, want: matrixRow{responses: 1, usage: "12 in"}},
			{name: "error before", code: 400, pieces: []string{`{"error":{"message":"too long","type":"BadRequestError","code":400}}`}, msg: "too long", want: matrixRow{status: export.StatusHTTPError, responses: 1}},
			{name: "cut", pieces: []string{answer[:40]}, cut: true, want: matrixRow{status: export.StatusTruncated, responses: 1}},
			{name: "unknown events", pieces: []string{answer[:len(answer)-1] + `,"new_member":{"text":"x"}}`}, want: matrixRow{responses: 1, usage: "12 in"}},
			{name: "error in a good answer", pieces: []string{`{"error":{"message":"busy","type":"server_error","code":503}}`}, msg: "busy", want: matrixRow{status: export.StatusRPCError, code: 503, responses: 1}},
		},
	}
}

const numbersUsage = `"usage":{"prompt_tokens":12,"total_tokens":12,"completion_tokens":0,"prompt_tokens_details":null}`

func TestMatrixEmbeddings(t *testing.T) {
	matrixOfNumbers("v1/embeddings", `{"model":"m","input":"a"}`, `{"id":"embd-1","object":"list","created":1,"model":"m","data":[{"index":0,"object":"embedding","embedding":[0.5,-1e-3]}],`+numbersUsage+`}`).run(t)
}

func TestMatrixPooling(t *testing.T) {
	matrixOfNumbers("pooling", `{"model":"m","input":"a"}`, `{"id":"pool-1","object":"list","created":1,"model":"m","data":[{"index":0,"object":"pooling","data":[[0.5,1],[0.25,2]]}],`+numbersUsage+`}`).run(t)
}

func TestMatrixClassify(t *testing.T) {
	matrixOfNumbers("classify", `{"model":"m","input":"a"}`, `{"id":"classify-1","object":"list","created":1,"model":"m","data":[{"index":0,"label":"LABEL_1","probs":[0.25,0.75],"num_classes":2}],`+numbersUsage+`}`).run(t)
}

func TestMatrixScore(t *testing.T) {
	matrixOfNumbers("score", `{"model":"m","text_1":"q","text_2":["a"]}`, `{"id":"score-1","object":"list","created":1,"model":"m","data":[{"index":0,"object":"score","score":0.5}],`+numbersUsage+`}`).run(t)
}

func TestMatrixRerank(t *testing.T) {
	matrixOfNumbers("v1/rerank", `{"model":"m","query":"q","documents":["a"]}`, `{"id":"rerank-1","model":"m","usage":{"prompt_tokens":12,"total_tokens":12},"results":[{"index":0,"document":{"text":"a"},"relevance_score":0.5}]}`).run(t)
}

func TestMatrixImages(t *testing.T) {
	const (
		tokens  = "12 in"
		partial = `{"type":"image_generation.partial_image","partial_image_index":0,"b64_json":"AAEC"}`
		end     = `{"type":"image_generation.completed","b64_json":"AAECAw==","usage":{"input_tokens":12,"output_tokens":50,"total_tokens":62,"input_tokens_details":{"text_tokens":12,"image_tokens":0}}}`
	)
	matrix{
		config: Config{Endpoint: "v1/images/generations", KeepMedia: true},
		body:   `{"model":"m","prompt":"a cat","stream":true,"partial_images":1}`,
		none: map[string]string{
			"tool call": "images call no tool",
			"thinking":  "images hold no text",
		},
		cases: []matrixCase{
			{name: "whole", pieces: []string{`{"created":1,"data":[{"b64_json":"AAEC"},{"url":"http://x/a.png"}],"usage":{"input_tokens":12,"output_tokens":50}}`}, want: matrixRow{responses: 1, usage: tokens}},
			{name: "streamed", pieces: []string{named(partial), named(partial), named(end)}, want: matrixRow{responses: 3, finish: "stop", usage: tokens}},
			{name: "error before", code: 400, pieces: []string{`{"error":{"message":"not allowed","type":"image_generation_user_error","code":"moderation_blocked"}}`}, msg: "not allowed", want: matrixRow{status: export.StatusHTTPError, responses: 1}},
			{name: "error within", pieces: []string{named(partial), named(`{"type":"error","error":{"type":"server_error","message":"busy","code":"503"}}`)}, msg: "busy", want: matrixRow{status: export.StatusRPCError, code: 503, responses: 2}},
			{name: "cut", pieces: []string{named(partial), named(end)[:60]}, cut: true, want: matrixRow{status: export.StatusTruncated, responses: 2}},
			{name: "unknown events", pieces: []string{": a comment\n\n", named(`{"type":"image_generation.new","text":"x"}`), named(end)}, want: matrixRow{responses: 3, finish: "stop", usage: tokens}},
			{name: "no finished image", pieces: []string{named(partial)}, msg: "the stream ended without image_generation.completed", want: matrixRow{status: export.StatusTruncated, responses: 1}},
		},
	}.run(t)
}

// A stream of several images ends with the last one, or with [DONE].
func TestStreamOfImages(t *testing.T) {
	const end = `{"type":"image_generation.completed","b64_json":"AAEC"}`
	for _, c := range []struct {
		pieces string
		status export.Status
		msg    string
		final  bool
	}{
		{named(end) + named(end), export.StatusOK, "", true},
		{named(end), export.StatusTruncated, "the stream ended after 1 of 2 images", false},
		{named(end) + "data: [DONE]\n\n", export.StatusOK, "", true},
	} {
		srv := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, c.pieces)
		})
		b := newBackend(t, Config{URL: srv.URL, Endpoint: "v1/images/generations", Streaming: true})
		x := &backend.Exchange{}
		open(t, b).Send(t.Context(), prepare(t, b, `{"model":"m","prompt":"a","n":2}`), x)
		if err := b.Decode(x); err != nil {
			t.Fatal(err)
		}
		last := x.Request.Responses[len(x.Request.Responses)-1]
		if x.Request.Status != c.status || x.Request.Message != c.msg || last.Final != c.final {
			t.Errorf("%s: %v %q, final %v; want %v %q, %v", c.pieces, x.Request.Status, x.Request.Message, last.Final, c.status, c.msg, c.final)
		}
	}
}

// Without KeepMedia an answer is recorded without the bytes of its images.
func TestImagesWithoutBytes(t *testing.T) {
	for body, want := range map[string]string{
		`{"data":[{"b64_json":"AAEC"}]}`: `{"data":[{"b64_json":{"bytes":3,"sha256":"ae4b3280e56e2faf83f414a6e3dabe9d5fbe18976544c05fed121accb85b53fc"}}]}`,
		`{"data":[{"url":"u"}]}`:         `{"data":[{"url":"u"}]}`,
	} {
		srv := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, body)
		})
		b := newBackend(t, Config{URL: srv.URL, Endpoint: "v1/images/generations"})
		x := &backend.Exchange{}
		open(t, b).Send(t.Context(), prepare(t, b, `{"model":"m","prompt":"a"}`), x)
		if err := b.Decode(x); err != nil {
			t.Fatal(err)
		}
		if got, _ := x.Request.Responses[0].Outputs.Get("response"); string(got.Data) != want || x.Request.Status != export.StatusOK {
			t.Errorf("%s is recorded as %s, want %s", body, got.Data, want)
		}
	}
}
