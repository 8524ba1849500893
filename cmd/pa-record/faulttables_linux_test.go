package main

import (
	"crypto/tls"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/net/http2"

	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/export"
)

// A faultGroup is a section of the page.
type faultGroup struct {
	title, intro string
	sends        bool // the faults are things that the server sends
	faults       []fault
}

// faultGroups returns all faults.
func faultGroups() []faultGroup {
	return []faultGroup{connectionFaults(), goneFaults(), slownessFaults(), framingFaults(), streamFaults(), statusFaults(), http2Faults(), grpcFaults(), floodFaults(), tlsFaults(), simulatedFaults()}
}

// Advice for many faults.
const (
	slowAdvice = "raise --request-timeout, or lower the load"
	logged     = "the server's or the proxy's log says why"
	broken     = "a proxy in between? report it to the makers of the server"
)

// hang is the --request-timeout of requests that get no complete answer. The other requests of the run must get
// theirs within it, also under the race detector on a busy machine.
var hang = map[bool]time.Duration{true: 4 * time.Second, false: 1500 * time.Millisecond}[testenv.Race]

// afterHead2 ends the connection after the headers of the answer.
func afterHead2(e ending) func(stream2) error {
	return func(s stream2) error {
		if err := s.head(); err != nil {
			return err
		}
		return s.end(e)
	}
}

// after2 ends the connection after frames of data.
func after2(e ending, frames ...string) func(stream2) error {
	return func(s stream2) error {
		if err := s.send(frames...); err != nil {
			return err
		}
		return s.end(e)
	}
}

// inHead2 closes the connection within the headers of the answer.
func inHead2(s stream2) error {
	return errors2(s.raw(frame2(40, http2.FrameHeaders, http2.FlagHeadersEndHeaders, s.id, "\x88")), s.end(closes))
}

// afterPart2 ends the connection after the first event or message.
func afterPart2(e ending) func(stream2) error {
	return func(s stream2) error { return errors2(s.part(), s.end(e)) }
}

// only2 ends the connection without an answer.
func only2(e ending) func(stream2) error {
	return func(s stream2) error {
		if e != holds {
			time.Sleep(silentPause)
		}
		return s.end(e)
	}
}

func connectionFaults() faultGroup {
	return faultGroup{title: "The connection breaks", faults: []fault{
		{
			does: "resets the connection while it reads the request", want: export.StatusTruncated, except: map[via]export.Status{viaGRPC: export.StatusConnectError},
			advice: "check for a limit on connections, or a firewall", flags: "--connection-reuse fresh",
			conn: resetEarly, on: vias,
		},
		{
			does: "closes the connection before the answer", want: export.StatusTruncated, except: map[via]export.Status{viaGRPC: export.StatusRPCError}, advice: logged,
			http1: &answer1{then: closes}, triton: &answer1{then: closes}, http2: only2(closes), grpc: only2(closes), unary: only2(closes),
		},
		{
			does: "resets the connection before the answer", want: export.StatusTruncated, except: map[via]export.Status{viaGRPC: export.StatusRPCError}, advice: logged,
			http1: &answer1{then: resets}, triton: &answer1{then: resets}, http2: only2(resets), grpc: only2(resets), unary: only2(resets),
		},
		{
			does: "closes the connection in the header of the answer", want: export.StatusTruncated, except: map[via]export.Status{viaGRPC: export.StatusRPCError}, advice: logged,
			http1: &answer1{text: streamHead[:30], then: closes}, triton: &answer1{text: wholeHead[:30], then: closes},
			http2: inHead2, grpc: inHead2, unary: inHead2,
		},
		{
			does: "resets the connection in the header of the answer", want: export.StatusTruncated, except: map[via]export.Status{viaGRPC: export.StatusRPCError}, advice: logged,
			http1: &answer1{text: streamHead[:30], then: resets}, triton: &answer1{text: wholeHead[:30], then: resets},
		},
		{
			does: "closes the connection after the header of the answer", want: export.StatusTruncated, except: map[via]export.Status{viaGRPC: export.StatusRPCError}, advice: logged,
			http1: &answer1{text: streamHead, then: closes}, triton: &answer1{text: wholeHead, then: closes}, http2: afterHead2(closes), grpc: afterHead2(closes), unary: afterHead2(closes),
		},
		{
			does: "resets the connection after the header of the answer", want: export.StatusTruncated, except: map[via]export.Status{viaGRPC: export.StatusRPCError}, advice: logged,
			http1: &answer1{text: streamHead, then: resets}, triton: &answer1{text: wholeHead, then: resets}, http2: afterHead2(resets), grpc: afterHead2(resets), unary: afterHead2(resets),
		},
		{
			does: "closes the connection after an event", want: export.StatusTruncated, advice: logged,
			http1: &answer1{text: streamHead + chunk1(eventA), then: closes}, http2: afterPart2(closes), grpc: afterPart2(closes), unary: afterPart2(closes),
		},
		{
			does: "resets the connection after an event", want: export.StatusTruncated, advice: logged,
			http1: &answer1{text: streamHead + chunk1(eventA), then: resets}, http2: afterPart2(resets), grpc: afterPart2(resets), unary: afterPart2(resets),
		},
		{
			does: "closes the connection in the middle of an event", want: export.StatusTruncated, advice: logged,
			http1: &answer1{text: streamHead + chunk1(eventA+eventB[:20]), then: closes}, triton: &answer1{text: wholeHead + chunk1(earlyInference[:20]), then: closes},
			http2: after2(closes, eventA+eventB[:20]), grpc: after2(closes, messageA+messageA[:7]), unary: after2(closes, messageUnary[:7]),
		},
		{
			does: "resets the connection in the middle of an event", want: export.StatusTruncated, advice: logged,
			http1: &answer1{text: streamHead + chunk1(eventA+eventB[:20]), then: resets}, triton: &answer1{text: wholeHead + chunk1(earlyInference[:20]), then: resets},
			http2: after2(resets, eventA+eventB[:20]), grpc: after2(resets, messageA+messageA[:7]), unary: after2(resets, messageUnary[:7]),
		},
		{
			does: "resets the connection after [DONE], before the end of the body", want: export.StatusOK,
			http1: &answer1{text: strings.TrimSuffix(goodStream, chunksEnd), then: resets}, http2: after2(resets, eventA, eventB, eventDone),
		},
		{
			does: "closes the connection after each complete answer without saying so", want: export.StatusOK,
			http1: &answer1{text: goodStream, then: closes},
			http2: func(s stream2) error { return errors2(s.good(), s.end(closes)) },
		},
	}}
}

// errors2 returns the first error.
func errors2(all ...error) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}

func slownessFaults() faultGroup {
	return faultGroup{title: "The server is slow, or stops", faults: []fault{
		{
			does: "accepts the connection and reads nothing (half-open)", want: export.StatusTimeout, advice: "check whether the server is overloaded", limit: hang, flags: "--connection-reuse fresh",
			conn: mute, on: vias,
		},
		{
			does: "reads the request and never answers", want: export.StatusTimeout, advice: slowAdvice, limit: hang,
			http1: &answer1{then: holds}, triton: &answer1{then: holds}, http2: only2(holds), grpc: only2(holds), unary: only2(holds),
		},
		{
			does: "stops in the head of the answer", want: export.StatusTimeout, advice: slowAdvice, limit: hang,
			http1: &answer1{text: streamHead[:30], then: holds}, triton: &answer1{text: wholeHead[:30], then: holds},
		},
		{
			does: "stops after the head of the answer", want: export.StatusTimeout, advice: slowAdvice, limit: hang,
			http1: &answer1{text: streamHead, then: holds}, triton: &answer1{text: wholeHead, then: holds}, http2: afterHead2(holds), grpc: afterHead2(holds), unary: afterHead2(holds),
		},
		{
			does: "stops after an event", want: export.StatusTimeout, advice: slowAdvice, limit: hang,
			http1: &answer1{text: streamHead + chunk1(eventA), then: holds}, http2: afterPart2(holds), grpc: afterPart2(holds), unary: afterPart2(holds),
		},
		{
			does: "stops in the middle of an event", want: export.StatusTimeout, advice: slowAdvice, limit: hang,
			http1: &answer1{text: streamHead + chunk1(eventA+eventB[:20]), then: holds}, triton: &answer1{text: wholeHead + chunk1(earlyInference[:20]), then: holds},
			http2: after2(holds, eventA+eventB[:20]), grpc: after2(holds, messageA+messageA[:7]), unary: after2(holds, messageUnary[:7]),
		},
		{
			does: "stops after [DONE], before the end of the body", want: export.StatusOK, limit: hang,
			http1: &answer1{text: strings.TrimSuffix(goodStream, chunksEnd), then: holds}, http2: after2(holds, eventA, eventB, eventDone),
		},
		{
			does: "sends the answer in pieces of a few bytes", want: export.StatusOK,
			http1: &answer1{text: goodStream, pieces: 5}, triton: &answer1{text: goodWhole, pieces: 5},
			http2: inPieces2, grpc: inPieces2, unary: inPieces2,
		},
	}}
}

// inPieces2 sends a good answer whose first event or message comes in frames of one byte.
func inPieces2(s stream2) error {
	for _, b := range []byte(s.first()) {
		if err := s.send(string(b)); err != nil {
			return err
		}
	}
	return s.rest()
}

// resetEarly resets a connection after the client's first byte, when the client has sent all
// that it sends unasked.
func resetEarly(nc net.Conn) {
	if _, err := io.ReadFull(nc, make([]byte, 1)); err == nil {
		time.Sleep(resetPause)
		reset(nc)
	}
}

// mute reads nothing from a connection and does not answer, until the client gives it up.
func mute(nc net.Conn) { _, _ = io.Copy(io.Discard, nc) }

func framingFaults() faultGroup {
	both := func(text string, then ending) (*answer1, *answer1) {
		return &answer1{text: streamHead + chunk1(eventA) + text, then: then}, &answer1{text: wholeHead + chunk1(earlyInference[:20]) + text, then: then}
	}
	f := func(want export.Status, does, text string, then ending) fault {
		a, b := both(text, then)
		return fault{does: does, want: want, advice: broken, http1: a, triton: b}
	}
	sized := func(length string) (*answer1, *answer1) {
		return &answer1{text: "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n" + length + "\r\n" + eventA + eventB + eventDone, then: closes},
			&answer1{text: "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" + length + "\r\n" + earlyInference, then: closes}
	}
	l := func(want export.Status, except map[via]export.Status, does, length string) fault {
		a, b := sized(length)
		return fault{does: does, want: want, except: except, advice: broken, http1: a, triton: b}
	}
	head := func(want export.Status, advice, does, text string, then ending) fault {
		return fault{does: does, want: want, advice: advice, http1: &answer1{text: text, then: then}, triton: &answer1{text: text, then: then}}
	}
	return faultGroup{title: "HTTP/1.1 is broken", faults: []fault{
		f(export.StatusProtocolError, "sends a chunk size that is not a number", "zz\r\n", closes),
		f(export.StatusProtocolError, "sends more bytes than the chunk size says", "5\r\nabcdefgh\r\n0\r\n\r\n", closes),
		f(export.StatusTruncated, "sends fewer bytes than the chunk size says", "ff\r\nabc", closes),
		f(export.StatusProtocolError, "sends a chunk size beyond 2⁶⁴", "fffffffffffffffff0\r\nabc\r\n", closes),
		f(export.StatusProtocolError, "sends a negative chunk size", "-5\r\nabc\r\n", closes),
		l(export.StatusOK, map[via]export.Status{viaTriton: export.StatusTruncated}, "sends fewer bytes than Content-Length says", "Content-Length: 100000\r\n"),
		l(export.StatusTruncated, map[via]export.Status{viaTriton: export.StatusProtocolError}, "sends more bytes than Content-Length says", "Content-Length: 20\r\n"),
		l(export.StatusProtocolError, nil, "sends two different Content-Lengths", "Content-Length: 20\r\nContent-Length: 30\r\n"),
		l(export.StatusProtocolError, nil, "sends a negative Content-Length", "Content-Length: -1\r\n"),
		l(export.StatusProtocolError, nil, "sends a Content-Length beyond 2⁶³", "Content-Length: 99999999999999999999\r\n"),
		l(export.StatusOK, nil, "sends no length and closes the connection", ""),
		head(export.StatusProtocolError, "check that -u is the HTTP port", "sends something that is not HTTP", "SSH-2.0-OpenSSH_9.6\r\n", closes),
		head(export.StatusProtocolError, broken, "sends a status that is not a number", "HTTP/1.1 abc OK\r\n\r\n", closes),
		head(export.StatusProtocolError, broken, "sends a header line without a colon", "HTTP/1.1 200 OK\r\nno field\r\n\r\n", closes),
		head(export.StatusProtocolError, "use https:// in -u", "speaks TLS", "\x15\x03\x01\x00\x02\x02\x46", closes),
		head(export.StatusProtocolError, "use --http2, or the server's HTTP port", "speaks HTTP/2", "\x00\x00\x12\x04\x00\x00\x00\x00\x00", closes),
		head(export.StatusHTTPError, "check --endpoint", "switches protocols", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n", closes),
	}}
}

func streamFaults() faultGroup {
	s := func(want export.Status, advice, does string, body ...string) fault {
		text := streamHead
		for _, b := range body {
			text += chunk1(b)
		}
		return fault{
			does: does, want: want, advice: advice, http1: &answer1{text: text + chunksEnd},
			http2: func(s stream2) error { return errors2(s.send(body...), s.last("")) },
		}
	}
	typed := func(want export.Status, advice, does, fields, body string) fault {
		text := "HTTP/1.1 200 OK\r\n" + fields + "Transfer-Encoding: chunked\r\n\r\n"
		if body != "" {
			text += chunk1(body)
		}
		a := &answer1{text: text + chunksEnd}
		f := fault{does: does, want: want, advice: advice, http1: a, triton: a}
		if want == export.StatusRPCError {
			f.except = map[via]export.Status{viaTriton: export.StatusProtocolError} // Triton sends no errors with status 200
		}
		return f
	}
	utf8 := strings.Replace(eventA, `"a"`, "\"\xff\xfea\"", 1)
	return faultGroup{title: "The answer is wrong, with status 200", faults: []fault{
		s(export.StatusOK, "", "sends invalid UTF-8 in a text", utf8, eventB, eventDone),
		s(export.StatusOK, "", "ends lines with a lone CR", strings.ReplaceAll(eventA, "\n", "\r"), strings.ReplaceAll(eventB, "\n", "\r"), strings.ReplaceAll(eventDone, "\n", "\r")),
		s(export.StatusOK, "", "mixes line ends", strings.ReplaceAll(eventA, "\n", "\r\n"), strings.ReplaceAll(eventB, "\n", "\r"), eventDone),
		s(export.StatusOK, "", "begins with a byte order mark", "\ufeff"+eventA, eventB, eventDone),
		s(export.StatusProtocolError, "report it to the makers of the server", "sends a NUL byte in a text", strings.Replace(eventA, `"a"`, "\"\x00\"", 1), eventB, eventDone),
		s(export.StatusProtocolError, "report it to the makers of the server", "sends an event that is not JSON", eventA, "data: <html>\n\n", eventDone),
		s(export.StatusProtocolError, "report it to the makers of the server", "sends an event whose JSON is cut", eventA, eventB[:40]+"\n\n", eventDone),
		s(export.StatusProtocolError, "report it to the makers of the server", "nests JSON 100,000 levels deep", eventA, "data: "+strings.Repeat("[", 100_000)+"\n\n", eventDone),
		s(export.StatusRPCError, logged, "sends an error event", eventA, "event: error\ndata: {\"error\":{\"message\":\"out of memory\",\"code\":500}}\n\n"),
		s(export.StatusRPCError, logged, "sends an error in an event without a name", eventA, "data: {\"error\":{\"message\":\"out of memory\",\"type\":\"server_error\"}}\n\n", eventDone),
		s(export.StatusTruncated, logged, "ends the stream without [DONE] and without a finish reason", eventA, eventB),
		s(export.StatusOK, "", "ends the stream with a finish reason, without [DONE]", eventA, `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\n"),
		s(export.StatusTruncated, logged, "ends the stream in the middle of an event", eventA, eventB[:20]),
		s(export.StatusTruncated, logged, "sends no event"),
		s(export.StatusOK, "", "sends only [DONE]", eventDone),
		typed(export.StatusProtocolError, "switch compression off in the server or the proxy", "compresses the answer, and cuts it", "Content-Type: text/event-stream\r\nContent-Encoding: gzip\r\n", "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"),
		typed(export.StatusProtocolError, "switch compression off in the server or the proxy", "compresses the answer with lzma", "Content-Type: text/event-stream\r\nContent-Encoding: lzma\r\n", "\x5d\x00\x00\x80"),
		typed(export.StatusProtocolError, "check that -u is the API of the server, not a web page", "sends an HTML page", "Content-Type: text/html\r\n", "<html><body>Welcome</body></html>"),
		typed(export.StatusProtocolError, "report it to the makers of the server", "sends an empty body", "Content-Type: application/json\r\n", ""),
		typed(export.StatusRPCError, logged, "sends an error as JSON", "Content-Type: application/json\r\n", `{"error":{"message":"out of memory","code":500}}`),
		typed(export.StatusProtocolError, "report it to the makers of the server", "sends JSON that is cut", "Content-Type: application/json\r\n", `{"choices":[`),
	}}
}

func statusFaults() faultGroup {
	s := func(advice, does, head, body string) fault {
		a := &answer1{text: "HTTP/1.1 " + head + "\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk1(body) + chunksEnd}
		if body == "" {
			a = &answer1{text: "HTTP/1.1 " + head + "\r\nContent-Length: 0\r\n\r\n"}
		}
		fields := strings.Split(head, "\r\n")
		var all []string
		for _, field := range fields[1:] {
			name, value, _ := strings.Cut(field, ": ")
			all = append(all, strings.ToLower(name), value)
		}
		answer2 := func(s stream2) error {
			s.s.headed = true
			if err := s.headers(s.id, false, append([]string{":status", fields[0][:3]}, all...)...); err != nil {
				return err
			}
			return s.last(body)
		}
		return fault{does: does, want: export.StatusHTTPError, except: map[via]export.Status{viaGRPC: export.StatusRPCError}, advice: advice, flags: "--connection-reuse fresh", http1: a, triton: a, http2: answer2, grpc: answer2, unary: answer2}
	}
	return faultGroup{title: "The server refuses", sends: true, faults: []fault{
		s("lower the load; pa-record does not wait and does not retry", "429 with Retry-After", "429 Too Many Requests\r\nRetry-After: 7\r\nContent-Type: application/json", `{"error":{"message":"rate limit reached"}}`),
		s("check whether the server is ready; --wait-ready waits for it", "503 without a body", "503 Service Unavailable", ""),
		s("check whether the server behind the proxy is ready", "502 with a proxy's HTML page", "502 Bad Gateway\r\nContent-Type: text/html", "<html><head><title>502 Bad Gateway</title></head></html>"),
		s("give OPENAI_API_KEY or -H 'Authorization: …'", "401", "401 Unauthorized\r\nContent-Type: application/json", `{"error":{"message":"Incorrect API key provided","type":"invalid_request_error"}}`),
		s("the server's message says what it rejects", "400", "400 Bad Request\r\nContent-Type: application/json", `{"error":{"message":"max_tokens is too large"}}`),
		s("give the other URL with -u; pa-record follows no redirection, because its time would be part of each latency", "307 to another URL", "307 Temporary Redirect\r\nLocation: https://other.example/v1/x?key=secret", ""),
	}}
}

func http2Faults() faultGroup {
	return faultGroup{title: "HTTP/2 is broken", sends: true, faults: []fault{
		refused2("GOAWAY before the request was taken", func(s stream2) error {
			return errors2(s.framer.WriteGoAway(0, http2.ErrCodeNo, nil), s.end(closes))
		}),
		both2(export.StatusOK, nil, "GOAWAY, and completes the answer", func(s stream2) error {
			return errors2(s.framer.WriteGoAway(s.id, http2.ErrCodeNo, nil), s.good())
		}),
		both2(export.StatusTruncated, nil, "GOAWAY in the middle of the answer, and closes the connection", func(s stream2) error {
			return errors2(s.part(), s.framer.WriteGoAway(s.id, http2.ErrCodeNo, nil), s.end(closes))
		}),
		both2(export.StatusTruncated, nil, "GOAWAY with ENHANCE_YOUR_CALM in the middle of the answer", func(s stream2) error {
			return errors2(s.part(), s.framer.WriteGoAway(s.id, http2.ErrCodeEnhanceYourCalm, []byte("too_many_pings")), s.end(closes))
		}),
		refused2("RST_STREAM REFUSED_STREAM before the answer", func(s stream2) error {
			return s.framer.WriteRSTStream(s.id, http2.ErrCodeRefusedStream)
		}),
		both2(export.StatusTruncated, map[via]export.Status{viaGRPC: export.StatusRPCError}, "RST_STREAM INTERNAL_ERROR before the answer", func(s stream2) error {
			return s.framer.WriteRSTStream(s.id, http2.ErrCodeInternal)
		}),
		both2(export.StatusTruncated, map[via]export.Status{viaGRPC: export.StatusRPCError}, "RST_STREAM INTERNAL_ERROR in the middle of the answer", func(s stream2) error {
			return errors2(s.part(), s.framer.WriteRSTStream(s.id, http2.ErrCodeInternal))
		}),
		both2(export.StatusTruncated, map[via]export.Status{viaGRPC: export.StatusRPCError}, "RST_STREAM CANCEL in the middle of the answer", func(s stream2) error {
			return errors2(s.part(), s.framer.WriteRSTStream(s.id, http2.ErrCodeCancel))
		}),
		both2(export.StatusProtocolError, map[via]export.Status{viaGRPC: export.StatusTruncated}, "a data frame that is longer than allowed", func(s stream2) error {
			return errors2(s.part(), s.raw(frame2(1<<20, http2.FrameData, 0, s.id, strings.Repeat("x", 1<<20))), s.end(holds))
		}),
		both2(export.StatusProtocolError, map[via]export.Status{viaGRPC: export.StatusRPCError}, "headers that HPACK cannot decode", func(s stream2) error {
			return errors2(s.raw(frame2(2, http2.FrameHeaders, http2.FlagHeadersEndHeaders, s.id, "\xff\xff")), s.end(holds))
		}),
		both2(export.StatusProtocolError, map[via]export.Status{viaGRPC: export.StatusTimeout}, "data on a stream that was never opened", func(s stream2) error {
			return errors2(s.part(), s.raw(frame2(1, http2.FrameData, 0, 4001, "x")), s.end(holds))
		}),
		fresh2(export.StatusTruncated, map[via]export.Status{viaGRPC: export.StatusTimeout}, "data before the headers", func(s stream2) error {
			s.s.headed = true
			return errors2(s.part(), s.end(holds))
		}),
		both2(export.StatusOK, nil, "a frame of an unknown type", func(s stream2) error {
			return errors2(s.head(), s.raw(frame2(3, 0xb7, 0, s.id, "abc")), s.good())
		}),
		both2(export.StatusProtocolError, map[via]export.Status{viaGRPC: export.StatusTruncated}, "CONTINUATION without headers", func(s stream2) error {
			return errors2(s.part(), s.raw(frame2(1, http2.FrameContinuation, 0, s.id, "\x88")), s.end(holds))
		}),
		both2(export.StatusProtocolError, map[via]export.Status{viaGRPC: export.StatusRPCError}, "HTTP/1.1 instead of HTTP/2", func(s stream2) error {
			return errors2(s.raw(goodStream), s.end(closes))
		}),
	}}
}

// refused2 is the fault of a server that refuses a request. Over HTTP/2 pa-record sends the request
// again, unless it was the first request of its connection.
func refused2(does string, do func(stream2) error) fault {
	f := both2(export.StatusOK, map[via]export.Status{viaGRPC: export.StatusRPCError, viaUnary: export.StatusOK}, does, do)
	// A stream of gRPC that the server does not take ends with a status of gRPC.
	f.persists = map[via]export.Status{viaHTTP2: export.StatusTruncated, viaGRPC: export.StatusRPCError}
	return f
}

// fresh2 is both2 with a new connection for each request, so that each stream is the first one.
func fresh2(want export.Status, except map[via]export.Status, does string, do func(stream2) error) fault {
	f := both2(want, except, does, do)
	f.flags = "--connection-reuse fresh"
	return f
}

func both2(want export.Status, except map[via]export.Status, does string, do func(stream2) error) fault {
	return fault{does: does, want: want, except: except, advice: logged, http2: do, grpc: do, unary: do, limit: 2 * hang}
}

func grpcFaults() faultGroup {
	g := func(want export.Status, does string, do func(stream2) error) fault {
		return fault{does: does, want: want, advice: logged, grpc: do, unary: do, limit: 2 * hang}
	}
	fresh := func(want export.Status, does string, do func(stream2) error) fault {
		f := g(want, does, do)
		f.flags = "--connection-reuse fresh"
		return f
	}
	streamed := func(want export.Status, does string, do func(stream2) error) fault {
		f := g(want, does, do)
		f.unary = nil
		return f
	}
	return faultGroup{title: "gRPC is broken", sends: true, faults: []fault{
		g(export.StatusRPCError, "status INTERNAL in the middle of the answer", func(s stream2) error {
			return errors2(s.part(), s.trailers("grpc-status", "13", "grpc-message", "engine died"))
		}),
		g(export.StatusTruncated, "status UNAVAILABLE in the middle of the answer", func(s stream2) error {
			return errors2(s.part(), s.trailers("grpc-status", "14", "grpc-message", "shutting down"))
		}),
		streamed(export.StatusTruncated, "status OK in the middle of the answer", func(s stream2) error { return errors2(s.part(), s.trailers("grpc-status", "0")) }),
		g(export.StatusRPCError, "status RESOURCE_EXHAUSTED before the answer", func(s stream2) error {
			return errors2(s.head(), s.trailers("grpc-status", "8", "grpc-message", "queue is full"))
		}),
		g(export.StatusRPCError, "the end of the stream without a status", func(s stream2) error { return errors2(s.part(), s.last("")) }),
		g(export.StatusRPCError, "a status that is not a number", func(s stream2) error { return errors2(s.part(), s.trailers("grpc-status", "x")) }),
		g(export.StatusProtocolError, "a message that is longer than --max-answer-memory", func(s stream2) error {
			return errors2(s.partOfStream(), s.send("\x00\x7f\xff\xff\xff"), s.end(holds))
		}),
		g(export.StatusRPCError, "a message that is cut", func(s stream2) error {
			return errors2(s.partOfStream(), s.send(s.first()[:7]), s.trailers("grpc-status", "0"))
		}),
		g(export.StatusProtocolError, "a message that is not protobuf", func(s stream2) error {
			return errors2(s.partOfStream(), s.send("\x00\x00\x00\x00\x03\xff\xff\xff"), s.rest())
		}),
		g(export.StatusRPCError, "a compressed message without the name of the compression", func(s stream2) error {
			return errors2(s.partOfStream(), s.send("\x01\x00\x00\x00\x03abc"), s.end(holds))
		}),
		fresh(export.StatusRPCError, "an HTML page instead of gRPC", func(s stream2) error { return s.page(s.id, "text/html", "<html>") }),
		fresh(export.StatusRPCError, "an unknown compression", func(s stream2) error {
			s.s.headed = true
			return errors2(s.headers(s.id, false, ":status", "200", "content-type", "application/grpc", "grpc-encoding", "zstd"), s.send("\x01\x00\x00\x00\x03abc"), s.end(holds))
		}),
		g(export.StatusOK, "invalid UTF-8 in a name", func(s stream2) error {
			name := "\x12\x04\x0a\x02\xff\xfe" // an infer_response with a model_name
			if s.v == viaUnary {
				name = name[2:]
			}
			return errors2(s.partOfStream(), s.send("\x00\x00\x00\x00"+string(rune(len(name)))+name), s.rest())
		}),
		streamed(export.StatusRPCError, "an error message", func(s stream2) error { return s.send(messageA, "\x00\x00\x00\x00\x06\x0a\x04boom") }),
	}}
}

func goneFaults() faultGroup {
	const fresh, names = "--connection-reuse fresh", "ask the name server, or give an address in -u"
	rcode := func(does string, c dnsmessage.RCode) fault {
		return fault{
			does: does, want: export.StatusConnectError, advice: names, flags: fresh, on: vias,
			name: func(m *dnsmessage.Message) bool {
				m.RCode, m.Answers = c, nil
				return true
			},
		}
	}
	return faultGroup{title: "The server is gone during a run", intro: "The first request of the run was good; all others suffer. Each request opens a connection of its own (`--connection-reuse fresh`).", faults: []fault{
		{does: "closes its port", want: export.StatusConnectError, advice: "has the server ended? its log says why", flags: fresh, gone: true, on: vias},
		rcode("has a name that does not exist any more", dnsmessage.RCodeNameError),
		rcode("has a name whose name server fails", dnsmessage.RCodeServerFailure),
		{does: "has a name whose name server is silent", want: export.StatusTimeout, advice: names, flags: fresh, limit: hang, name: func(*dnsmessage.Message) bool { return false }, on: vias},
	}}
}

func simulatedFaults() faultGroup {
	f := func(rule string, want export.Status, except map[via]export.Status) fault {
		return fault{does: "`" + rule + "`", sim: rule, on: vias, want: want, except: except, limit: map[string]time.Duration{"hang": hang, "stall": hang, "no_done": hang}[rule]}
	}
	triton := func(http, grpc export.Status) map[via]export.Status {
		return map[via]export.Status{viaTriton: http, viaGRPC: grpc}
	}
	const (
		fine, broke, refused   = export.StatusOK, export.StatusTruncated, export.StatusHTTPError
		rpcError, wrong, waits = export.StatusRPCError, export.StatusProtocolError, export.StatusTimeout
	)
	all := []fault{
		f("http_500", refused, triton(refused, rpcError)),
		f("http_429", refused, triton(refused, rpcError)),
		f("reset", broke, nil),
		f("truncate", broke, nil),
		f("no_reply", broke, triton(broke, rpcError)),
		f("hang", waits, nil),
		f("stall", waits, nil),
		f("no_done", fine, triton(fine, waits)),
		f("error_event", rpcError, triton(refused, rpcError)),
		f("merged", fine, nil),
		f("split", fine, nil),
		f("crlf", fine, nil),
		f("comments", fine, nil),
		f("oneshot", fine, nil),
		f("garbage", wrong, nil),
		f("slow_header", fine, nil),
		f("garbage_header", wrong, map[via]export.Status{viaHTTP2: broke, viaGRPC: fine}),
	}
	for i := range all {
		if all[i].sim == "reset" { // what gRPC's library has not written yet is lost
			all[i].on = []via{viaLoop, viaNetHTTP, viaHTTP2, viaTriton}
		}
		if all[i].sim == "no_done" || all[i].sim == "garbage" { // of streams and JSON; the simulator answers a unary call well
			all[i].on = slices.DeleteFunc(slices.Clone(vias), func(v via) bool { return v == viaUnary })
		}
		if all[i].sim == "no_reply" {
			// On a kept connection, the request is sent again if the connection ends within 50 ms
			// of it, which depends on the load of the machine.
			all[i].flags = "--connection-reuse fresh"
		}
	}
	return faultGroup{title: "The faults of the simulator", faults: all}
}

func floodFaults() faultGroup {
	const flags = "--max-answer-memory 1048576"
	const wrong, refused = export.StatusProtocolError, export.StatusHTTPError
	f := func(does, head, piece string) fault {
		a := &answer1{text: head, flood: piece}
		return fault{does: does, want: wrong, advice: broken, floods: true, flags: flags, http1: a, triton: a}
	}
	stream := func(does, piece string) fault {
		return fault{
			does: does, want: wrong, advice: "raise --max-answer-memory if the answer is right", floods: true, flags: flags,
			http1: &answer1{text: streamHead + chunk1(eventA), flood: chunk1(piece)},
			http2: func(s stream2) error {
				return errors2(s.part(), s.flood(frame2(len(piece), http2.FrameData, 0, s.id, piece)))
			},
		}
	}
	frames := func(does string, want export.Status, except map[via]export.Status, frame func(id uint32) string) fault {
		flood := func(s stream2) error { return errors2(s.part(), s.flood(frame(s.id))) }
		return fault{does: does, want: want, except: except, advice: broken, floods: true, flags: flags, limit: hang, http2: flood, grpc: flood}
	}
	messages := func(does, message string) fault {
		return fault{
			does: does, want: wrong, advice: "raise --max-answer-memory if the answer is right", floods: true, flags: flags,
			grpc: func(s stream2) error {
				return errors2(s.part(), s.flood(frame2(len(message), http2.FrameData, 0, s.id, message)))
			},
		}
	}
	errorFlood := f("an error of status 500 without end", "HTTP/1.1 500 X\r\nTransfer-Encoding: chunked\r\n\r\n", chunk1(strings.Repeat("x", 4000)))
	ping := func(uint32) string { return frame2(8, http2.FramePing, 0, 0, "12345678") }
	pingTLS := frames("PING without end, over TLS", export.StatusTimeout, nil, ping)
	pingTLS.tls = true
	longError := f("an error of status 500 with a length of 1 TB", "HTTP/1.1 500 X\r\nContent-Length: 1000000000000\r\n\r\n", "x\n")
	errorFlood.want, longError.want = refused, refused
	return faultGroup{title: "The answer has no end", sends: true, intro: "pa-record ends these answers when they reach a limit. The tests measure that its memory stays small. Over gRPC the row can also have the time of the first byte.", faults: []fault{
		f("a field of the head without end", "HTTP/1.1 200 OK\r\nA: ", "x"),
		f("fields of the head without end", "HTTP/1.1 200 OK\r\n", "A: b\r\n"),
		f("interim answers without end", "", "HTTP/1.1 102 Processing\r\n\r\n"),
		f("the size of a chunk without end", streamHead+"5;", "x"),
		f("trailers without end", streamHead+chunk1(eventA)+"0\r\n", "A: b\r\n"),
		errorFlood,
		longError,
		f("a body without end", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n", chunk1(strings.Repeat("x", 4000))),
		f("a body with a length of 1 TB", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000000000000\r\n\r\n", "x\n"),
		stream("a line without end", strings.Repeat("x", 4000)),
		stream("events without end", eventB),
		stream("comments without end", ": x\n\n"),
		stream("empty lines without end", "\n\n"),
		messages("messages without end", messageA),
		messages("empty messages without end", "\x00\x00\x00\x00\x00"),
		frames("CONTINUATION without end", wrong, map[via]export.Status{viaGRPC: export.StatusTruncated}, func(id uint32) string {
			return frame2(1000, http2.FrameContinuation, 0, id, strings.Repeat("x", 1000))
		}),
		frames("PING without end", export.StatusTimeout, nil, ping),
		pingTLS,
		frames("SETTINGS without end", export.StatusTimeout, nil, func(uint32) string { return frame2(0, http2.FrameSettings, 0, 0, "") }),
	}}
}

func tlsFaults() faultGroup {
	const (
		fresh = "--connection-reuse fresh"
		anew  = "pa-record refuses renegotiation: ask for the client's certificate in the first handshake, or use TLS 1.3"
	)
	secure := []via{viaNetHTTP, viaHTTP2, viaTriton, viaGRPC, viaUnary}
	certificate := func(does, advice string, cert func(*testCerts) tls.Certificate) fault {
		return fault{does: does, want: export.StatusConnectError, advice: advice, flags: fresh, tls: true, cert: cert, on: secure}
	}
	return faultGroup{title: "TLS is broken during a run", intro: "The first request of the run had a good connection; each request opens a connection of its own (`--connection-reuse fresh`).", faults: []fault{
		certificate("has a certificate that has expired", "renew it", func(c *testCerts) tls.Certificate { return c.expired }),
		certificate("has the certificate of another host", "use the certificate's name in -u", func(c *testCerts) tls.Certificate { return c.other }),
		certificate("has a certificate that it signed itself", "trust it with --ssl-https-ca-certificates-file, --ssl-grpc-root-certifications-file for gRPC", func(c *testCerts) tls.Certificate { return c.stranger }),
		{
			does: "closes the connection in the handshake", want: export.StatusConnectError, advice: logged, flags: fresh, tls: true,
			conn: func(nc net.Conn) {
				if _, err := io.ReadFull(nc, make([]byte, 200)); err == nil {
					time.Sleep(resetPause)
				}
			}, on: secure,
		},
		{
			does: "answers the handshake without TLS", want: export.StatusConnectError, advice: "is the port right?", flags: fresh, tls: true,
			conn: func(nc net.Conn) {
				_, _ = io.WriteString(nc, "HTTP/1.1 400 Bad Request\r\n\r\n")
				mute(nc)
			}, on: secure,
		},
		{
			does: "never answers the handshake", want: export.StatusTimeout, advice: slowAdvice, flags: fresh, limit: hang, tls: true, conn: mute, on: secure,
		},
		{
			does: "closes the connection without TLS's end, in a body without a length", want: export.StatusTruncated, advice: logged, tls: true,
			http1: &answer1{text: "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + eventA, then: cuts},
		},
		{
			does: "sends bytes that are not TLS, after an event", want: export.StatusProtocolError, except: map[via]export.Status{viaGRPC: export.StatusTruncated}, advice: logged, tls: true,
			http1:  &answer1{text: streamHead + chunk1(eventA), then: garbles},
			triton: &answer1{text: wholeHead + chunk1(earlyInference[:20]), then: garbles},
			http2:  afterPart2(garbles), grpc: afterPart2(garbles), unary: afterPart2(garbles),
		},
		{
			does: "asks for another handshake (renegotiation of TLS 1.2) before the answer", want: export.StatusTruncated, except: map[via]export.Status{viaGRPC: export.StatusRPCError}, advice: anew, flags: fresh, tls: true, tls12: true,
			http1: &answer1{then: asksAnew}, triton: &answer1{then: asksAnew}, http2: only2(asksAnew), grpc: only2(asksAnew), unary: only2(asksAnew),
		},
		{
			does: "asks for another handshake (renegotiation of TLS 1.2) after an event", want: export.StatusTruncated, advice: anew, tls: true, tls12: true,
			http1:  &answer1{text: streamHead + chunk1(eventA), then: asksAnew},
			triton: &answer1{text: wholeHead + chunk1(earlyInference[:20]), then: asksAnew},
			http2:  afterPart2(asksAnew), grpc: afterPart2(asksAnew), unary: afterPart2(asksAnew),
		},
	}}
}
