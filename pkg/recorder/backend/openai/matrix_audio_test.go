package openai

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
)

// transcriptEvent returns an event of a transcription.
func transcriptEvent(members string) string { return "data: {" + members + "}\n\n" }

func TestMatrixTranscriptions(t *testing.T) {
	const (
		usage  = `"usage":{"type":"tokens","input_tokens":12,"input_token_details":{"audio_tokens":12},"output_tokens":3,"total_tokens":15}`
		tokens = "12 in, 3 out"
	)
	delta := func(text string) string {
		return transcriptEvent(`"type":"transcript.text.delta","delta":"` + text + `"`)
	}
	segment := func(text string) string {
		return transcriptEvent(`"type":"transcript.text.segment","id":"s","start":0.0,"end":1.0,"text":"` + text + `","speaker":"A"`)
	}
	chunk := func(text, finish string) string {
		return transcriptEvent(`"id":"t-1","object":"transcription.chunk","choices":[{"delta":{"content":"` + text + `"}` + finish + `}]`)
	}
	end := transcriptEvent(`"type":"transcript.text.done","text":"a b",` + usage)
	for _, endpoint := range []string{"v1/audio/transcriptions", "v1/audio/translations"} {
		matrix{
			config: Config{Endpoint: endpoint},
			body:   `{"model":"m","stream":true,"file":"data:audio/wav;base64,UklGRg=="}`,
			request: func(r *http.Request) error {
				if kind, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "multipart/form-data" || parameters["boundary"] == "" {
					return fmt.Errorf("a request with %v", r.Header)
				}
				return nil
			},
			none: map[string]string{
				"tool call": "a transcription calls no tools",
				"thinking":  "a transcription is one text",
			},
			cases: []matrixCase{
				{
					name: "whole", pieces: []string{`{"text":"a b",` + usage + `}`},
					want: matrixRow{responses: 1, events: 1, finish: "stop", usage: tokens},
				},
				{
					name: "streamed", pieces: []string{delta("a"), delta(" b"), end},
					want: matrixRow{responses: 3, events: 2, first: 1, finish: "stop", usage: tokens},
				},
				{
					name: "error before", code: 413, pieces: []string{`{"error":{"message":"Maximum content size limit exceeded","type":"server_error","code":413}}`},
					msg: "Maximum content size", want: matrixRow{status: export.StatusHTTPError, responses: 1},
				},
				{
					name: "error within", pieces: []string{delta("a"), transcriptEvent(`"error":{"message":"busy","type":"server_error","code":500}`)},
					msg: "busy", want: matrixRow{status: export.StatusRPCError, code: 500, responses: 2, events: 1, first: 1},
				},
				{
					name: "cut", pieces: []string{delta("a"), delta("b")[:30]}, cut: true,
					want: matrixRow{status: export.StatusTruncated, responses: 2, events: 1, first: 1},
				},
				{
					name: "unknown events", pieces: []string{transcriptEvent(`"type":"new.event","text":"x"`), delta("a"), ": a comment\n\n", end},
					want: matrixRow{responses: 4, events: 1, first: 2, finish: "stop", usage: tokens},
				},
				{
					name: "deltas and segments", pieces: []string{delta("a"), segment("a"), delta(" b"), segment(" b"), end},
					want: matrixRow{responses: 5, events: 2, first: 1, finish: "stop", usage: tokens},
				},
				{
					name: "only segments", pieces: []string{segment("a"), segment(" b"), end},
					want: matrixRow{responses: 3, events: 2, first: 1, finish: "stop", usage: tokens},
				},
				{
					name: "chunks of vLLM", pieces: []string{chunk("a", ""), chunk(" b", `,"finish_reason":"stop"`), transcriptEvent(`"object":"transcription.chunk","choices":[],"usage":{"prompt_tokens":12,"completion_tokens":3,"total_tokens":15}`), done},
					want: matrixRow{responses: 4, events: 2, first: 1, finish: "stop", usage: tokens},
				},
				{
					name: "a text", contentType: "text/plain", pieces: []string{"a b\nwith: a line\n"},
					want: matrixRow{responses: 1, events: 1},
				},
				{
					name: "a page", contentType: "text/html; charset=utf-8", pieces: []string{"<!DOCTYPE html>\n<html>502 Bad Gateway</html>\n"},
					msg: "neither an event nor JSON", want: matrixRow{status: export.StatusProtocolError, responses: 1},
				},
				{
					name: "no `transcript.text.done`", pieces: []string{delta("a")},
					msg: "neither [DONE] nor a finish reason", want: matrixRow{status: export.StatusTruncated, responses: 1, events: 1, first: 1},
				},
			},
		}.run(t)
	}
}

func TestMatrixSpeech(t *testing.T) {
	const end = `data: {"type":"speech.audio.done","usage":{"input_tokens":12,"output_tokens":3,"total_tokens":15}}` + "\n\n"
	piece := func(audio string) string {
		return `data: {"type":"speech.audio.delta","audio":"` + audio + `"}` + "\n\n"
	}
	matrix{
		config: Config{Endpoint: "v1/audio/speech", KeepMedia: true},
		body:   `{"model":"m","input":"a","voice":"alloy","stream_format":"sse"}`,
		none: map[string]string{
			"tool call": "speech calls no tools",
			"thinking":  "speech has no thoughts",
		},
		// A line describes raw audio.
		bytes: func(recorded string) string {
			var all []byte
			for line := range strings.Lines(recorded) {
				var raw struct{ Audio struct{ Data []byte } }
				if json.Unmarshal([]byte(line), &raw) != nil || raw.Audio.Data == nil {
					return recorded
				}
				all = append(all, raw.Audio.Data...)
			}
			return string(all)
		},
		cases: []matrixCase{
			{name: "whole", contentType: "audio/pcm", pieces: []string{"\x01\x02\x03\x04"}, want: matrixRow{responses: 1}},
			{name: "streamed", pieces: []string{piece("AAAA"), piece("BBBB"), end}, want: matrixRow{responses: 3, usage: "12 in"}},
			{
				name: "error before", code: 400, pieces: []string{`{"error":{"message":"no such voice","type":"BadRequestError","code":400}}`},
				msg: "no such voice", want: matrixRow{status: export.StatusHTTPError, responses: 1},
			},
			{
				name: "error within", pieces: []string{piece("AAAA"), `data: {"error":{"message":"busy","type":"server_error","code":500}}` + "\n\n"},
				msg: "busy", want: matrixRow{status: export.StatusRPCError, code: 500, responses: 2},
			},
			{name: "cut", pieces: []string{piece("AAAA"), piece("BBBB")[:30]}, cut: true, want: matrixRow{status: export.StatusTruncated, responses: 2}},
			{
				name: "unknown events", pieces: []string{`data: {"type":"new.event","audio":7}` + "\n\n", piece("AAAA"), ": a comment\n\n", end},
				want: matrixRow{responses: 4, usage: "12 in"},
			},
			{
				name: "a page", contentType: "text/html; charset=utf-8", pieces: []string{"<html>502 Bad Gateway</html>\n"},
				msg: "neither an event nor JSON", want: matrixRow{status: export.StatusProtocolError, responses: 1},
			},
			{name: "raw audio like events", contentType: "audio/wav", pieces: []string{"data: x\n\n"}, want: matrixRow{responses: 1}},
			{name: "raw audio like JSON", contentType: "application/octet-stream", pieces: []string{"{[\n"}, want: matrixRow{responses: 1}},
			{
				name: "an error in place of audio", pieces: []string{`{"error":{"message":"busy","type":"server_error","code":500}}`},
				msg: "busy", want: matrixRow{status: export.StatusRPCError, code: 500, responses: 1},
			},
			{
				name: "no `speech.audio.done`", pieces: []string{piece("AAAA")},
				msg: "the stream ended without speech.audio.done", want: matrixRow{status: export.StatusTruncated, responses: 1},
			},
		},
	}.run(t)
}

// The bytes of audio are counted, and only the first of them are kept. They do not count as memory.
func TestSpeechBytes(t *testing.T) { onEach(t, testSpeechBytes) }

func testSpeechBytes(t *testing.T, tr Transport) {
	const pieces, size = 50, 10_000
	audio := strings.Repeat("\x00\x01", size/2)
	for _, keep := range []bool{false, true} {
		srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "audio/pcm")
			for range pieces {
				_, _ = io.WriteString(w, audio)
				flush(w)
			}
		})
		b := newBackend(t, Config{URL: srv.URL, Endpoint: "v1/audio/speech", Transport: tr, KeepMedia: keep, MaxAnswerMemory: 200_000})
		x := exchange(t.Context(), t, b, open(t, b), `{"model":"m","input":"a","voice":"alloy"}`)
		r := &x.Request
		if keep {
			if r.Status != export.StatusProtocolError {
				t.Errorf("%d bytes fit into 200,000: %v", pieces*size, r.Status)
			}
			continue
		}
		if r.Status != export.StatusOK {
			t.Fatalf("%v: %s", r.Status, r.Message)
		}
		bytes, kept := 0, 0
		for i := range r.Responses {
			var d struct {
				Audio struct {
					Bytes int
					Head  []byte
				}
			}
			out, _ := r.Responses[i].Outputs.Get("response")
			if err := json.Unmarshal(out.Data, &d); err != nil {
				t.Fatal(err)
			}
			bytes, kept = bytes+d.Audio.Bytes, kept+len(d.Audio.Head)
			if i > 0 && r.Responses[i].Read <= r.Responses[i-1].Read {
				t.Errorf("responses %d and %d are of one read", i-1, i)
			}
		}
		if bytes != pieces*size || kept != 512 {
			t.Errorf("%d bytes, %d kept", bytes, kept)
		}
	}
}

// The form is the same for each request, and its description stands in the export.
func TestTranscriptionRequest(t *testing.T) { onEach(t, testTranscriptionRequest) }

func testTranscriptionRequest(t *testing.T, tr Transport) {
	got := make(chan string, 1)
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, parameters, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
		form, err := multipart.NewReader(r.Body, parameters["boundary"]).ReadForm(1 << 20)
		if err != nil {
			t.Error(err)
			return
		}
		got <- fmt.Sprint(form.Value, form.File["file"][0].Filename, form.File["file"][0].Size)
		_, _ = io.WriteString(w, `{"text":"a"}`)
	})
	b := newBackend(t, Config{URL: srv.URL, Endpoint: "v1/audio/transcriptions", Model: "w", Transport: tr, Streaming: true, ExtraBody: []byte(`{"language":"en","temperature":0}`)})
	x := exchange(t.Context(), t, b, open(t, b), `{"file":{"url":"data:audio/mp3;base64,AAAA","name":"x.mp3","seconds":2}}`)
	if want := "map[language:[en] model:[w] stream:[true] temperature:[0]]x.mp33"; <-got != want {
		t.Errorf("the form is not %s", want)
	}
	if x.Request.Status != export.StatusOK {
		t.Errorf("%v: %s", x.Request.Status, x.Request.Message)
	}
	if _, err := New(Config{URL: srv.URL, Endpoint: "v1/audio/transcriptions", Headers: []Header{{"content-type", "x"}}}); err == nil || !strings.Contains(err.Error(), "pa-record sets it for the form data") {
		t.Errorf("a header that breaks the form: %v", err)
	}
}
