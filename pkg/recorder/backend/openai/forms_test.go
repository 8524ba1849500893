package openai

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
)

// line returns a line of a stream of JSON lines.
func line(content string) string { return bare(event(content)) }

// bare returns an event without its framing, as a line.
func bare(event string) string {
	return strings.TrimSuffix(strings.TrimPrefix(event, "data: "), "\n")
}

var finishLine = bare(finish)

const whole = `{"id":"c-1","choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}`

// A form is an answer, in pieces, and the recorded responses.
type form struct {
	name, contentType string
	pieces            []string
	want              []string      // responses
	status            export.Status // of the request; StatusUnknown is StatusOK
	msg               string
}

// Answers whose form only their bytes show.
var forms = []form{
	{name: "events that are not announced", contentType: "text/plain", pieces: []string{event("a"), finish}, want: []string{event("a"), finish}},
	{name: "events as JSON", contentType: "application/json", pieces: []string{event("a"), finish + done}, want: []string{event("a"), finish, done}},
	{name: "events without a type", pieces: []string{": hello\n\n", event("a"), finish}, want: []string{": hello\n\n", event("a"), finish}},
	{name: "events in very small pieces", contentType: "application/json", pieces: []string{"\ufeffd", "a", "ta: {}\n\n" + event("a"), finish}, want: []string{"\ufeffdata: {}\n\n", event("a"), finish}},
	{
		name: "events, cut", contentType: "text/plain", pieces: []string{event("a")}, want: []string{event("a")}, status: export.StatusTruncated,
		msg: "the stream ended with neither [DONE] nor a finish reason for every choice",
	},
	{name: "lines", contentType: "application/x-ndjson", pieces: []string{line("a"), line("b"), finishLine}, want: []string{line("a"), line("b"), finishLine}},
	{name: "lines as JSON", contentType: "application/json", pieces: []string{line("a"), line("b"), finishLine}, want: []string{line("a"), line("b"), finishLine}},
	{name: "lines as events", contentType: "text/event-stream", pieces: []string{line("a"), line("b") + finishLine, "[DONE]\n"}, want: []string{line("a"), line("b"), finishLine, "[DONE]\n"}},
	{name: "lines with blank ones between", pieces: []string{"\n\n" + line("a"), "\r\n", line("b")[:9], line("b")[9:] + "\n", strings.TrimSpace(finishLine)}, want: []string{"\n\n" + line("a"), line("b"), strings.TrimSpace(finishLine)}},
	{name: "lines, cut", contentType: "application/jsonl", pieces: []string{line("a"), line("b")[:20]}, want: []string{line("a"), line("b")[:20]}, status: export.StatusTruncated, msg: "the stream ended within an event"},
	{
		name: "lines, one damaged", pieces: []string{line("a"), "{\"choices\":}\n", finishLine}, want: []string{line("a"), "{\"choices\":}\n", finishLine}, status: export.StatusProtocolError,
		msg: "the answer is not what the protocol says: JSON, byte 11: expected a value, found \"}\"",
	},
	{name: "error after lines", pieces: []string{line("a"), "{\"error\":\"out of memory\"}\n"}, want: []string{line("a"), "{\"error\":\"out of memory\"}\n"}, status: export.StatusRPCError, msg: "out of memory"},
	{name: "whole, as events", contentType: "text/event-stream", pieces: []string{whole[:1], whole[1:20], whole[20:]}, want: []string{whole}},
	{name: "whole, as lines", contentType: "application/x-ndjson", pieces: []string{whole, "\n", " \n"}, want: []string{whole + "\n \n"}},
	{name: "whole, on several lines", contentType: "application/json", pieces: []string{"{\n", " \"a\": {\n}\n,", "\"choices\":[]\n}\n"}, want: []string{"{\n \"a\": {\n}\n,\"choices\":[]\n}\n"}},
	{name: "a list", contentType: "application/json", pieces: []string{"[\n{}\n,", "{}\n]"}, want: []string{"[\n{}\n,{}\n]"}},
}

func (tt *form) check(t *testing.T, x *backend.Exchange) {
	t.Helper()
	var got []string
	for _, raw := range x.Raw {
		got = append(got, string(raw))
	}
	if diff := cmp.Diff(tt.want, got); diff != "" {
		t.Errorf("responses (-want +got):\n%s", diff)
	}
	status := tt.status
	if status == export.StatusUnknown {
		status = export.StatusOK
	}
	if r := &x.Request; r.Status != status || r.Message != tt.msg {
		t.Errorf("%v, %q; want %v, %q", r.Status, r.Message, status, tt.msg)
	}
}

// The bytes of an answer decide whether it is a stream, and which form it has, whatever its headers and the
// request say. Each response has the stamp and the number of the piece that completed it.
func TestAnswerForms(t *testing.T) {
	for _, tt := range forms {
		t.Run(tt.name, func(t *testing.T) {
			b := newBackend(t, Config{URL: "h"})
			a := answer{b: b}
			x := &backend.Exchange{}
			a.begin(x)
			a.head(respond(200, tt.contentType), stamp{ns: 1, source: export.SourceKernel}, 0)
			for i, p := range tt.pieces {
				if err := a.data([]byte(p), stamp{ns: uint64(i), source: export.SourceKernel}, uint32(i)); err != nil {
					t.Fatal(err)
				}
			}
			a.end(io.EOF)
			if err := b.Decode(x); err != nil {
				t.Fatal(err)
			}
			tt.check(t, x)
			arrived := strings.Join(tt.pieces, "")
			end := 0
			for i, p := range x.Request.Responses {
				end += strings.Index(arrived[end:], string(x.Raw[i])) + len(x.Raw[i])
				piece, n := 0, len(tt.pieces[0])
				for n < end {
					piece++
					n += len(tt.pieces[piece])
				}
				if p.RecvNS != uint64(piece) || p.Read != uint32(piece) {
					t.Errorf("response %d has the stamp of piece %d, read %d, want %d", i, p.RecvNS, p.Read, piece)
				}
			}
		})
	}
}

// The transports pass such answers on alike.
func TestSendForms(t *testing.T) { onEach(t, testSendForms) }

func testSendForms(t *testing.T, tr Transport) {
	for _, tt := range forms {
		t.Run(tt.name, func(t *testing.T) {
			head := "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
			if tt.contentType != "" {
				head += "Content-Type: " + tt.contentType + "\r\n"
			}
			addr := serveRaw(t, func(c net.Conn, _ int, _ []byte) bool {
				ok := write(c, head+"\r\n")
				for _, p := range tt.pieces {
					ok = ok && write(c, chunk(p))
				}
				return ok && write(c, chunk(""))
			})
			b := newBackend(t, Config{Transport: tr, URL: addr})
			tt.check(t, exchange(t.Context(), t, b, open(t, b), `{}`))
		})
	}
}

// HTTP/2 as well.
func TestSendFormsHTTP2(t *testing.T) {
	for _, tt := range forms {
		t.Run(tt.name, func(t *testing.T) {
			cfg := serveHTTP2(t, false, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body) // the answer follows the request
				w.Header()["Content-Type"] = []string{tt.contentType}
				for _, p := range tt.pieces {
					_, _ = io.WriteString(w, p) // the client says what came
					flush(w)
				}
			})
			b := newBackend(t, cfg)
			tt.check(t, exchange(t.Context(), t, b, open(t, b), `{}`))
		})
	}
}
