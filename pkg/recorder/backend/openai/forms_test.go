package openai

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

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
// A flusher compresses, and writes at Flush all that it has got.
type flusher interface {
	io.WriteCloser
	Flush() error
}

// packers are the compressions of HTTP by name; the name of a compression that no header names begins
// with a blank.
var packers = map[string]func(io.Writer) (flusher, error){
	"gzip":    func(w io.Writer) (flusher, error) { return gzip.NewWriter(w), nil },
	" gzip":   func(w io.Writer) (flusher, error) { return gzip.NewWriter(w), nil },
	"deflate": func(w io.Writer) (flusher, error) { return zlib.NewWriterLevel(w, zlib.BestSpeed) },
	"Deflate": func(w io.Writer) (flusher, error) { return flate.NewWriter(w, flate.BestSpeed) }, // without zlib's head
	"br":      func(w io.Writer) (flusher, error) { return brotli.NewWriterLevel(w, brotli.BestSpeed), nil },
	"zstd":    func(w io.Writer) (flusher, error) { return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1)) },
	" zstd":   func(w io.Writer) (flusher, error) { return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1)) },
}

// pack compresses pieces one by one. coding is names of packers, in the order of their use.
func pack(t *testing.T, coding string, pieces []string) []string {
	t.Helper()
	for name := range strings.SplitSeq(coding, ",") {
		var b bytes.Buffer
		w, err := packers[name](&b)
		if err != nil {
			t.Fatal(err)
		}
		var packed []string
		for i, p := range pieces {
			_, err := io.WriteString(w, p)
			if err = errors.Join(err, w.Flush()); i == len(pieces)-1 {
				err = errors.Join(err, w.Close())
			}
			if err != nil {
				t.Fatal(err)
			}
			packed = append(packed, b.String())
			b.Reset()
		}
		pieces = packed
	}
	return pieces
}

// Each form in each compression: the responses are the same, with the stamps of the pieces. Pieces of one
// byte change nothing but the stamps.
func TestAnswerForms(t *testing.T) {
	for _, coding := range append(slices.Sorted(maps.Keys(packers)), "", "gzip,br", "zstd,gzip") {
		for _, tt := range forms {
			t.Run(coding+" "+tt.name, func(t *testing.T) {
				pieces := tt.pieces
				if coding != "" {
					pieces = pack(t, coding, pieces)
				}
				tt.checkStamps(t, tt.answer(t, coding, pieces))
				if coding != "" && !strings.HasPrefix(coding, " ") { // what no header names needs a few bytes
					tt.answer(t, coding, strings.Split(strings.Join(pieces, ""), ""))
				}
			})
		}
	}
}

// answer passes pieces to an answer and checks the responses.
func (tt *form) answer(t *testing.T, coding string, pieces []string) *backend.Exchange {
	t.Helper()
	b := newBackend(t, Config{URL: "h"})
	a := answer{b: b}
	x := &backend.Exchange{}
	a.begin(x)
	head := respond(200, tt.contentType)
	if coding != "" && !strings.HasPrefix(coding, " ") {
		head.Header.Set("Content-Encoding", strings.ReplaceAll(coding, ",", ", "))
	}
	a.head(head, stamp{ns: 1, source: export.SourceKernel}, 0)
	for i, p := range pieces {
		if err := a.data([]byte(p), stamp{ns: uint64(i), source: export.SourceKernel}, uint32(i)); err != nil {
			t.Fatal(err)
		}
	}
	a.end(io.EOF)
	if err := b.Decode(x); err != nil {
		t.Fatal(err)
	}
	tt.check(t, x)
	if x.Compressed != (coding != "") {
		t.Errorf("compressed: %v", x.Compressed)
	}
	return x
}

// checkStamps checks that the responses have the stamps of the pieces that completed them.
func (tt *form) checkStamps(t *testing.T, x *backend.Exchange) {
	t.Helper()
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
}

// The transports pass such answers on alike, compressed or not.
func TestSendForms(t *testing.T) { onEach(t, testSendForms) }

func testSendForms(t *testing.T, tr Transport) {
	for _, tt := range forms {
		for _, coding := range []string{"", "gzip"} {
			t.Run(coding+" "+tt.name, func(t *testing.T) {
				head, pieces := "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n", tt.pieces
				if tt.contentType != "" {
					head += "Content-Type: " + tt.contentType + "\r\n"
				}
				if coding != "" {
					head += "Content-Encoding: " + coding + "\r\n"
					pieces = pack(t, coding, pieces)
				}
				addr := serveRaw(t, func(c net.Conn, _ int, _ []byte) bool {
					ok := write(c, head+"\r\n")
					for _, p := range pieces {
						ok = ok && write(c, chunk(p))
					}
					return ok && write(c, chunk(""))
				})
				b := newBackend(t, Config{Transport: tr, URL: addr})
				tt.check(t, exchange(t.Context(), t, b, open(t, b), `{}`))
			})
		}
	}
}

// HTTP/2 as well.
func TestSendFormsHTTP2(t *testing.T) {
	for _, tt := range forms {
		for _, coding := range []string{"", "br"} {
			t.Run(coding+" "+tt.name, func(t *testing.T) {
				pieces := tt.pieces
				if coding != "" {
					pieces = pack(t, coding, pieces)
				}
				cfg := serveHTTP2(t, false, func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body) // the answer follows the request
					w.Header()["Content-Type"] = []string{tt.contentType}
					if coding != "" {
						w.Header().Set("Content-Encoding", coding)
					}
					for _, p := range pieces {
						_, _ = io.WriteString(w, p) // the client says what came
						flush(w)
					}
				})
				b := newBackend(t, cfg)
				tt.check(t, exchange(t.Context(), t, b, open(t, b), `{}`))
			})
		}
	}
}
