package openai

import (
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
)

// chat is a usual stream of three tokens.
var chat = []string{
	`data: {"id":"c-1","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}` + "\n\n",
	event("a"), event(`\n`), event("日本"), finish, done,
}

// streams are whole bodies of event streams and what they come to.
var streams = []struct {
	name   string
	events []string // as framed
	status export.Status
	code   int // 200 unless given
	msg    string
	final  int // index of the final response; -1 is none
	errors []int
}{
	{name: "usual", events: chat, final: 5},
	{name: "comments", events: []string{": keep-alive\n\n", event("a"), ":\n\n", finish, done}, final: 4},
	{name: "CR LF", events: []string{strings.ReplaceAll(event("a"), "\n", "\r\n"), strings.ReplaceAll(finish, "\n", "\r\n"), "data: [DONE]\r\n\r\n"}, final: 2},
	{name: "tight", events: []string{strings.Replace(event("a"), ": ", ":", 1), "data:[DONE]\n\n"}, final: 1},
	{name: "TensorRT-LLM", events: []string{strings.Replace(event("a"), "\n\n", " \n\n", 1), finish, done}, final: 2},
	{name: "no [DONE], finish reason", events: []string{event("a"), finish}, final: 1},
	{name: "no blank line after [DONE]", events: []string{event("a"), finish, "data: [DONE]"}, final: 2},
	{name: "no output", events: []string{finish, done}, final: 1},
	{name: "[DONE] alone", events: []string{done}, final: 0},
	{name: "null", events: []string{"data: null\n\n", event("a"), finish, done}, final: 3},
	{name: "something after [DONE]", events: []string{event("a"), done, ": bye\n\n"}, final: 1},
	{name: "[DONE] within text", events: []string{event("data: [DONE]"), finish}, final: 1},
	{
		name: "neither [DONE] nor finish reason", events: []string{event("a")}, status: export.StatusTruncated, final: -1,
		msg: "the stream ended with neither [DONE] nor a finish reason for every choice",
	},
	{
		name: "nothing", status: export.StatusTruncated, final: -1,
		msg: "the stream ended before its first event",
	},
	{
		name: "one of two choices finished", events: []string{event("a"), `data: {"choices":[{"index":1,"text":"b","finish_reason":"stop"}]}` + "\n\n"}, status: export.StatusTruncated, final: -1,
		msg: "the stream ended with neither [DONE] nor a finish reason for every choice",
	},
	{name: "error event", events: []string{event("a"), "event: error\ndata: {\"error\":{\"message\":\"out of memory\",\"code\":500}}\n\n"}, status: export.StatusRPCError, code: 500, msg: "out of memory", final: -1, errors: []int{1}},
	{name: "error, then [DONE]", events: []string{event("a"), "data: {\"error\":{\"message\":\"gone\",\"code\":\"engine_dead\"}}\n\n", done}, status: export.StatusRPCError, msg: "gone", final: 2, errors: []int{1}},
	{name: "Ollama: bare error", events: []string{event("a"), "{\"error\":\"gone\"}\n"}, status: export.StatusRPCError, msg: "gone", final: -1, errors: []int{1}},
	{name: "error event of plain text", events: []string{"event: error\ndata: gone\n\n"}, status: export.StatusRPCError, msg: "gone", final: -1, errors: []int{0}},
	{
		name: "ended within an event", events: []string{event("a"), event("b")[:30]}, status: export.StatusTruncated, final: -1,
		msg: "the stream ended within an event",
	},
	{
		name: "ended within the first event", events: []string{event("b")[:30]}, status: export.StatusTruncated, final: -1,
		msg: "the stream ended within an event",
	},
	{
		name: "not JSON", events: []string{"data: <html>\n\n", done}, status: export.StatusProtocolError, final: 1,
		msg: `the answer is not what the protocol says: JSON, byte 0: expected an object, found "<html>"`,
	},
}

// Each stream comes through in every piecing, with every framing of HTTP, as
// the same responses.
func TestSendStreams(t *testing.T) { onEach(t, testSendStreams) }

func testSendStreams(t *testing.T, tr Transport) {
	t.Parallel()
	for _, tt := range streams {
		t.Run(tt.name, func(t *testing.T) {
			body := strings.Join(tt.events, "")
			framings := map[string]func(c net.Conn) bool{
				"an event a chunk": func(c net.Conn) bool {
					ok := write(c, streamHead+"Transfer-Encoding: chunked\r\n\r\n")
					for _, e := range tt.events {
						ok = ok && write(c, chunk(e))
					}
					return ok && write(c, "0\r\n\r\n")
				},
				"all in one write": func(c net.Conn) bool {
					return write(c, streamHead+"Transfer-Encoding: chunked\r\n\r\n"+chunk(body)+"0\r\n\r\n")
				},
				"a byte a chunk": func(c net.Conn) bool {
					ok := write(c, streamHead+"Transfer-Encoding: chunked\r\n\r\n")
					for i := range len(body) {
						ok = ok && write(c, chunk(body[i:i+1]))
					}
					return ok && write(c, "0\r\n\r\n")
				},
				"a length": func(c net.Conn) bool {
					return write(c, fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", streamHead, len(body), body))
				},
				"until closed": func(c net.Conn) bool {
					write(c, streamHead+"\r\n"+body)
					return false
				},
				"HTTP/1.0": func(c net.Conn) bool {
					write(c, strings.Replace(streamHead, "1.1", "1.0", 1)+"\r\n"+body)
					return false
				},
			}
			for framing, answer := range framings {
				addr := serveRaw(t, func(c net.Conn, _ int, _ []byte) bool { return answer(c) })
				b := newBackend(t, Config{Transport: tr, URL: addr, Streaming: true})
				x := exchange(t.Context(), t, b, open(t, b), `{}`)
				r := &x.Request
				wantStatus, wantCode := tt.status, tt.code
				if wantStatus == export.StatusUnknown {
					wantStatus = export.StatusOK
				}
				if wantCode == 0 {
					wantCode = 200
				}
				if r.Status != wantStatus || r.Code != wantCode || r.Message != tt.msg {
					t.Errorf("%s: %v, %d, %q, want %v, %d, %q", framing, r.Status, r.Code, r.Message, wantStatus, wantCode, tt.msg)
				}
				if got := joined(x); got != body {
					t.Errorf("%s: bytes %q, want %q", framing, got, body)
				}
				if len(x.Raw) != len(tt.events) {
					t.Errorf("%s: %d responses, want %d", framing, len(x.Raw), len(tt.events))
				}
				final := slices.IndexFunc(r.Responses, func(r export.Response) bool { return r.Final })
				if final != tt.final {
					t.Errorf("%s: response %d is final, want %d", framing, final, tt.final)
				}
				var errs []int
				for i, resp := range r.Responses {
					if resp.Error {
						errs = append(errs, i)
					}
				}
				if diff := cmp.Diff(tt.errors, errs); diff != "" {
					t.Errorf("%s: responses that are errors (-want +got):\n%s", framing, diff)
				}
			}
		})
	}
}

func chunk(s string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(s), s) }

// gzipped returns text compressed by gzip.
func gzipped(text string) string { return compressed(text, (*gzip.Writer).Close) }

// cutGzip returns text compressed by gzip, without its end: all of text can be decoded, whatever Go compressed it.
func cutGzip(text string) string { return compressed(text, (*gzip.Writer).Flush) }

func compressed(text string, end func(*gzip.Writer) error) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, text) // into memory
	_ = end(w)
	return b.String()
}

// Whole bodies, and answers that are no stream.
func TestSendWhole(t *testing.T) { onEach(t, testSendWhole) }

func testSendWhole(t *testing.T, tr Transport) {
	long := strings.Repeat("x", 2000)
	for _, tt := range []struct {
		name, head, body string
		status           export.Status
		code             int
		msg, id          string
		packed           bool // the response is decoded
		decoded          string
	}{
		{name: "chat.completion", head: "200 OK\r\nContent-Type: application/json", body: `{"id":"c-7","choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}`, status: export.StatusOK, code: 200, id: "c-7"},
		{name: "request id", head: "200 OK\r\nContent-Type: application/json\r\nX-Request-Id: r-1", body: `{"id":"c-7","choices":[]}`, status: export.StatusOK, code: 200, id: "r-1"},
		{name: "no type", head: "200 OK", body: " {\n\n}\n", status: export.StatusOK, code: 200},
		{name: "list", head: "200 OK", body: `[{"embedding":[1]}]`, status: export.StatusOK, code: 200},
		{name: "201", head: "201 Created", body: `{}`, status: export.StatusOK, code: 201},
		{name: "error in a 200", head: "200 OK", body: `{"error":{"message":"m","code":503}}`, status: export.StatusRPCError, code: 503, msg: "m"},
		{
			name: "HTML", head: "200 OK\r\nContent-Type: text/html", body: "<html>\n\n<body></html>", status: export.StatusProtocolError, code: 200,
			msg: `the answer is not what the protocol says: neither an event nor JSON: "<html>\n\n"`,
		},
		{
			name: "cut JSON", head: "200 OK", body: `{"choices":[`, status: export.StatusProtocolError, code: 200,
			msg: `the answer is not what the protocol says: JSON, byte 12: expected a value, but it ends there`,
		},
		{name: "empty", head: "200 OK", status: export.StatusProtocolError, code: 200, msg: "the answer is empty"},
		{name: "204", head: "204 No Content", status: export.StatusProtocolError, code: 204, msg: "the answer is empty"},
		{name: "compressed", head: "200 OK\r\nContent-Encoding: gzip", body: gzipped(whole), packed: true, decoded: whole, status: export.StatusOK, code: 200, id: "c-1"},
		{name: "compressed, empty", head: "204 No Content\r\nContent-Encoding: gzip", status: export.StatusProtocolError, code: 204, msg: "the answer is empty"},
		{name: "compressed, says the header", head: "200 OK\r\nContent-Encoding: gzip", body: whole, status: export.StatusOK, code: 200, id: "c-1"},
		{name: "compressed and cut", head: "200 OK\r\nContent-Encoding: gzip", body: cutGzip(whole[:40]), packed: true, decoded: whole[:40], status: export.StatusProtocolError, code: 200, msg: `the answer is compressed ("gzip") and damaged: unexpected EOF`},
		{name: "compressed and damaged", head: "200 OK\r\nContent-Encoding: gzip", body: "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xff\xff", packed: true, status: export.StatusProtocolError, code: 200, msg: `the answer is compressed ("gzip") and damaged: flate: corrupt input before offset 1`},
		{
			name: "compressed by something else", head: "200 OK\r\nContent-Encoding: lzma", body: "\x5d\x00\x00\x80", packed: true, status: export.StatusProtocolError, code: 200,
			msg: `the answer is compressed ("lzma"), which pa-record cannot decode; switch compression off in the server or the proxy`,
		},
		{name: "400", head: "400 Bad Request\r\nContent-Type: application/json", body: `{"error":{"message":"no","code":400}}`, status: export.StatusHTTPError, code: 400, msg: "no"},
		{name: "401", head: "401 Unauthorized", body: `{"detail":"who?"}`, status: export.StatusHTTPError, code: 401, msg: "who?"},
		{name: "404 HTML", head: "404 Not Found\r\nContent-Type: text/html", body: "<html><title>404 Not\nFound</title></html>", status: export.StatusHTTPError, code: 404, msg: "404 Not Found"},
		{name: "429", head: "429 Too Many Requests\r\nRetry-After: 1", body: `{"error":{"message":"rate limit reached"}}`, status: export.StatusHTTPError, code: 429, msg: "rate limit reached; retry after 1"},
		{name: "500 in a stream", head: "500 Oops\r\nContent-Type: text/event-stream", body: "data: {\"error\":\"m\"}\n\n" + done, status: export.StatusHTTPError, code: 500, msg: "m"},
		{name: "500 without body", head: "500 Oops", status: export.StatusHTTPError, code: 500, msg: "Internal Server Error"},
		{name: "307", head: "307 Temporary Redirect\r\nLocation: https://u:pw@other/v1/x?key=secret", status: export.StatusHTTPError, code: 307, msg: "redirected to https://other/v1/x; give that URL instead"},
		{name: "101", head: "101 Switching Protocols", status: export.StatusHTTPError, code: 101, msg: "Switching Protocols"},
		{name: "compressed 429", head: "429 Too Many\r\nContent-Encoding: gzip", body: gzipped(`{"error":{"message":"quota used up"}}`), packed: true, decoded: `{"error":{"message":"quota used up"}}`, status: export.StatusHTTPError, code: 429, msg: "quota used up"},
		{name: "long message", head: "503 Busy", body: long, status: export.StatusHTTPError, code: 503, msg: long[:508] + "…"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			addr := serveRaw(t, func(c net.Conn, _ int, _ []byte) bool {
				return write(c, fmt.Sprintf("HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s", tt.head, len(tt.body), tt.body))
			})
			b := newBackend(t, Config{Transport: tr, URL: addr})
			s := open(t, b)
			for i := range 2 {
				x := exchange(t.Context(), t, b, s, `{}`)
				r := &x.Request
				if r.Status != tt.status || r.Code != tt.code || r.Message != tt.msg || r.ServerID != tt.id {
					t.Errorf("%v, %d, %q, id %q, want %v, %d, %q, %q", r.Status, r.Code, r.Message, r.ServerID, tt.status, tt.code, tt.msg, tt.id)
				}
				want := tt.body
				if tt.packed {
					want = tt.decoded
				}
				if len(x.Raw) != 1 || joined(x) != want {
					t.Errorf("%d responses, %q, want one: %q", len(x.Raw), joined(x), want)
				} else if wantErr := tt.status == export.StatusHTTPError || tt.status == export.StatusRPCError; r.Responses[0].Error != wantErr {
					t.Errorf("Error = %v, want %v", r.Responses[0].Error, wantErr)
				}
				if r.Reused != (i == 1 && tt.code != 101) { // what follows a 101 is not HTTP
					t.Errorf("exchange %d: Reused = %v", i, r.Reused)
				}
			}
		})
	}
}

// Answers that break off, and answers that are no HTTP.
func TestSendBroken(t *testing.T) { onEach(t, testSendBroken) }

func testSendBroken(t *testing.T, tr Transport) {
	for _, tt := range []struct {
		name, answer string
		status       export.Status
		msg          string
		raw          string
	}{
		{"closed without an answer", "", export.StatusTruncated, "the connection was closed without an answer: EOF", ""},
		{"cut in the head", "HTTP/1.1 200 OK\r\nContent-", export.StatusTruncated, "the connection broke before the end of the answer: unexpected EOF", ""},
		{"cut in the first word", "HTT", export.StatusTruncated, "the connection broke before the end of the answer: unexpected EOF", ""},
		{"cut after the head", streamHead + "Transfer-Encoding: chunked\r\n\r\n", export.StatusTruncated, "the connection broke before the end of the answer: unexpected EOF", ""},
		{"cut after an event", streamHead + "Transfer-Encoding: chunked\r\n\r\n" + chunk(event("a")), export.StatusTruncated, "the connection broke before the end of the answer: unexpected EOF", event("a")},
		{"cut in an event", streamHead + "Transfer-Encoding: chunked\r\n\r\n" + chunk(event("a")+"data: {"), export.StatusTruncated, "the connection broke before the end of the answer: unexpected EOF", event("a") + "data: {"},
		{"cut after [DONE] is complete", streamHead + "Transfer-Encoding: chunked\r\n\r\n" + chunk(event("a")+done), export.StatusOK, "", event("a") + done},
		{"cut by length", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{\"a\"", export.StatusTruncated, "the connection broke before the end of the answer: unexpected EOF", `{"a"`},
		{"cut error", "HTTP/1.1 500 X\r\nContent-Length: 10\r\n\r\nabc", export.StatusHTTPError, "abc", `abc`},
		{"bad chunks", streamHead + "Transfer-Encoding: chunked\r\n\r\n" + chunk(event("a")) + "zz\r\n", export.StatusProtocolError, "malformed chunked encoding", event("a")},
		{"not HTTP", "SSH-2.0-OpenSSH\r\n", export.StatusProtocolError, `the server does not speak HTTP: its answer begins with "SSH-2"; is -u right?`, ""},
		{"HTTP/2", "\x00\x00\x12\x04\x00\x00\x00\x00\x00", export.StatusProtocolError, "the server speaks HTTP/2, so this is probably a gRPC port; give its HTTP port with -u", ""},
		{"TLS", "\x15\x03\x01\x00\x02\x02\x46", export.StatusProtocolError, "the server speaks TLS; use https:// in -u", ""},
		{"bad status line", "HTTP/1.1 abc\r\n\r\n", export.StatusProtocolError, `malformed HTTP status code "abc"`, ""},
		{"endless interim answers", strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", 9), export.StatusProtocolError, "malformed HTTP response: too many interim responses (status 1xx)", ""},
		{"endless head", "HTTP/1.1 200 OK\r\nA: " + strings.Repeat("x", 2*maxHeadBytes), export.StatusProtocolError, "the head of the answer is longer than 1048576 bytes", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			addr := serveRaw(t, func(c net.Conn, _ int, _ []byte) bool {
				write(c, tt.answer)
				return false
			})
			b := newBackend(t, Config{Transport: tr, URL: addr})
			x := exchange(t.Context(), t, b, open(t, b), `{}`)
			if r := &x.Request; r.Status != tt.status || r.Message != tt.msg || joined(x) != tt.raw {
				t.Errorf("%v, %q, %q, want %v, %q, %q", r.Status, r.Message, joined(x), tt.status, tt.msg, tt.raw)
			}
		})
	}
}

// A connection that the server resets keeps what came before.
func TestSendReset(t *testing.T) {
	read := make(chan bool)
	addr := serveRaw(t, func(c net.Conn, _ int, _ []byte) bool {
		write(c, streamHead+"Transfer-Encoding: chunked\r\n\r\n"+chunk(event("a")))
		<-read // or the reset may overtake the event
		if err := c.(*net.TCPConn).SetLinger(0); err != nil {
			t.Error(err)
		}
		return false
	})
	b := newBackend(t, Config{URL: addr})
	p := prepare(t, b, `{}`)
	l, err := b.dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// The first read holds head and event.
	l.nc = &hookConn{Conn: l.nc, after: func() { close(read) }}
	s := senderOn(t, b, l)
	defer s.Close()
	x := &backend.Exchange{}
	s.Send(t.Context(), p, x)
	if r := &x.Request; r.Status != export.StatusTruncated || r.Message != "the connection broke before the end of the answer: connection reset by peer" || joined(x) != event("a") {
		t.Errorf("%v, %q, %q", r.Status, r.Message, joined(x))
	}
}

// A hookConn calls after, once, when the event has been read.
type hookConn struct {
	net.Conn
	seen  string
	after func()
}

func (h *hookConn) Read(p []byte) (int, error) {
	n, err := h.Conn.Read(p)
	h.seen += string(p[:n])
	if h.after != nil && strings.Contains(h.seen, "\n\n") {
		h.after()
		h.after = nil
	}
	return n, err
}

func TestSendTooLong(t *testing.T) { onEach(t, testSendTooLong) }

func testSendTooLong(t *testing.T, tr Transport) {
	endless := func(c net.Conn, head, piece string) bool {
		for ok := write(c, head); ok; ok = write(c, chunk(piece)) {
		}
		return false
	}
	for name, tt := range map[string]struct {
		head, piece string
	}{
		"one line":    {streamHead, strings.Repeat("x", 4000)},
		"many events": {streamHead, event("a")},
		"whole body":  {"HTTP/1.1 200 OK\r\n", strings.Repeat("x", 4000)},
	} {
		t.Run(name, func(t *testing.T) {
			addr := serveRaw(t, func(c net.Conn, _ int, _ []byte) bool {
				return endless(c, tt.head+"Transfer-Encoding: chunked\r\n\r\n", tt.piece)
			})
			b := newBackend(t, Config{Transport: tr, URL: addr, MaxAnswerMemory: 10000})
			x := exchange(t.Context(), t, b, open(t, b), `{}`)
			if r := &x.Request; r.Status != export.StatusProtocolError || r.Message != "the answer exceeds its memory budget of 10000 bytes; --max-answer-memory raises it" {
				t.Errorf("%v, %q", r.Status, r.Message)
			}
			if n := len(joined(x)); n > 10000 {
				t.Errorf("%d bytes kept", n)
			}
		})
	}
	t.Run("error", func(t *testing.T) {
		addr := serveRaw(t, func(c net.Conn, _ int, _ []byte) bool {
			return endless(c, "HTTP/1.1 500 X\r\nTransfer-Encoding: chunked\r\n\r\n", strings.Repeat("x", 4000))
		})
		b := newBackend(t, Config{Transport: tr, URL: addr})
		x := exchange(t.Context(), t, b, open(t, b), `{}`)
		if r := &x.Request; r.Status != export.StatusHTTPError || len(joined(x)) > backend.MaxErrorBytes {
			t.Errorf("%v, %d bytes", r.Status, len(joined(x)))
		}
	})
}

// The server may have answered though the request could not be written whole.
func TestSendRefusedWhileSending(t *testing.T) {
	for name, tt := range map[string]struct {
		answer string
		status export.Status
		msg    string
	}{
		"answered":     {"HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig", export.StatusHTTPError, "big"},
		"not answered": {"", export.StatusTruncated, "the connection broke before the end of the answer: broken pipe"},
	} {
		t.Run(name, func(t *testing.T) {
			client, server := net.Pipe()
			refused := make(chan bool)
			go func() {
				<-refused
				write(server, tt.answer)
				server.Close()
			}()
			b := newBackend(t, Config{URL: "127.0.0.1:9"})
			s := senderOver(t, b, brokenWrites{client, sync.OnceFunc(func() { close(refused) })})
			x := exchange(t.Context(), t, b, s, `{}`)
			if r := &x.Request; r.Status != tt.status || r.Message != tt.msg || s.conn != nil {
				t.Errorf("%v, %q, connection kept: %v", r.Status, r.Message, s.conn != nil)
			}
		})
	}
}

type brokenWrites struct {
	net.Conn
	refused func()
}

func (b brokenWrites) Write(p []byte) (int, error) {
	b.refused()
	return len(p) / 2, &net.OpError{Op: "write", Err: syscall.EPIPE}
}

// A server that repeats the key in its message must not get it into a file.
func TestSendHidesSecrets(t *testing.T) { onEach(t, testSendHidesSecrets) }

func testSendHidesSecrets(t *testing.T, tr Transport) {
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Request-Id", r.Header.Get("Api-Key"))
		w.WriteHeader(401)
		fmt.Fprintf(w, `{"error":{"message":"bad key %s (%s) %s"}}`, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), r.Header.Get("Api-Key"), r.Header.Get("Authorization"))
	})
	b := newBackend(t, Config{Transport: tr, URL: srv.URL, Headers: []Header{{"Authorization", "Bearer sk-secret-1"}, {"Api-Key", "secret-2"}}})
	x := exchange(t.Context(), t, b, open(t, b), `{}`)
	want := "bad key [redacted] ([redacted]) [redacted]"
	if r := &x.Request; r.Message != want || r.ServerID != "[redacted]" {
		t.Errorf("Message %q, ServerID %q, want %q, [redacted]", r.Message, r.ServerID, want)
	}
}

func TestSendTLS(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 1 {
			t.Errorf("HTTP/%d", r.ProtoMajor)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range chat {
			fmt.Fprint(w, e)
			w.(http.Flusher).Flush()
		}
	}))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // of the handshake that fails on purpose
	srv.StartTLS()
	defer srv.Close()
	pool := x509.NewCertPool()
	pool.AddCert(srv.Certificate())
	b := newBackend(t, Config{URL: srv.URL, TLS: &tls.Config{RootCAs: pool}})
	s := open(t, b)
	for i := range 3 {
		x := exchange(t.Context(), t, b, s, `{}`)
		r := &x.Request
		if r.Status != export.StatusOK || joined(x) != strings.Join(chat, "") {
			t.Errorf("%v, %q, %q", r.Status, r.Message, joined(x))
		}
		if r.Reused != (i > 0) || (r.TLS > 0) != (i == 0) || (r.Connect > 0) != (i == 0) {
			t.Errorf("exchange %d: Reused %v, TLS %v, Connect %v", i, r.Reused, r.TLS, r.Connect)
		}
	}

	untrusting := newBackend(t, Config{URL: srv.URL})
	x := exchange(t.Context(), t, untrusting, open(t, untrusting), `{}`)
	if r := &x.Request; r.Status != export.StatusConnectError || !strings.Contains(r.Message, "certificate") {
		t.Errorf("unknown authority: %v, %q", r.Status, r.Message)
	}
}

// Events that come in one read share a stamp and a number; others do not.
func TestSendReads(t *testing.T) {
	next := make(chan bool, 1)
	addr := serveRaw(t, func(c net.Conn, _ int, _ []byte) bool {
		write(c, streamHead+"Transfer-Encoding: chunked\r\n\r\n"+chunk(event("a")+event("b")+event("c")[:20]))
		<-next
		return write(c, chunk(event("c")[20:]+done)+"0\r\n\r\n")
	})
	b := newBackend(t, Config{URL: addr})
	l, err := b.dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l.nc = &hookConn{Conn: l.nc, after: func() { next <- true }}
	s := senderOn(t, b, l)
	defer s.Close()
	x := exchange(t.Context(), t, b, s, `{}`)
	resp := x.Request.Responses
	if len(resp) != 4 {
		t.Fatalf("%d responses (%s), want 4", len(resp), x.Request.Message)
	}
	if resp[0].Read != resp[1].Read || resp[1].Read == resp[2].Read || resp[2].Read != resp[3].Read {
		t.Errorf("reads %d %d %d %d, want two pairs", resp[0].Read, resp[1].Read, resp[2].Read, resp[3].Read)
	}
}
