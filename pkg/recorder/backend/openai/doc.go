// Package openai is the backend for servers with an OpenAI-compatible HTTP
// interface, streamed (server-sent events) or not.
//
// Each sender has one connection and keeps it from request to request, unless
// [Config.Reuse] says otherwise. A [Transport] sends requests and reads answers:
//
//   - NetHTTP is package net/http, one [http.ClientConn] a sender: HTTP/1.1, with
//     TLS and through proxies; and HTTP/2 if that is asked for
//     (golang.org/x/net/http2), one stream at a time;
//   - Loop reads all connections in a few event loops (package evloop), where
//     that applies. The goroutine that sends a request writes the bytes that
//     Prepare made, and waits for the end of the answer; the loop parses and
//     keeps events as they come, without an allocation for an event.
//
// Both pass the answer to one consumer, which makes the rows, so that the rows do
// not depend on the transport. The times of an answer are:
//
//   - StartNS is when the kernel handed the first segment of the request to the
//     device, and SentNS when it did so with its last byte. An HTTP/1.1 request,
//     head and body, is one write, or two if it does not fit in one segment (see
//     sockstamp). HTTP/2 writes headers and body apart;
//   - each socket read has the time at which the kernel received what it
//     returned (package sockstamp); the events that it completes get that stamp
//     and the read's number, counted from 0 for each request, the answer's head
//     included;
//   - where the kernel takes no stamps, or with [Config.UserStamps], times are
//     taken before and after the call, and the source of each says so.
//
// Nothing is decoded. The bytes of an answer decide whether it is a stream, whatever the
// request asked for and the headers say: server-sent events are cut into events, JSON
// objects in lines of their own (NDJSON) into lines, and any other answer is one
// response, stamped with its last byte. The type text/event-stream decides about bytes
// that are neither JSON nor events. Bytes are kept as they came, keep-alive comments and
// [DONE] too.
//
// net/http does not tell which read brought a byte, and may hand on the bytes of
// several reads at once. So a layer below it follows the bytes: a stampedHTTPConn
// with the parser of package http1 for HTTP/1.1, package h2follow for HTTP/2. This
// layer also sees the true cause of a failure, which net/http reports by its symptom.
//
// Compression is not asked for, and redirects are not followed: both would hide when the
// server's bytes came. An answer that comes compressed nevertheless is decoded piece by piece,
// see [backend.Decompressor], and counted. A proxy hides the times too, to a lesser degree. The
// time to connect includes the connection from the proxy to the server.
//
// Servers close idle connections at any time, so a kept connection is checked before
// it is used. A request that still meets a closed connection is sent once more on a
// new one, if no byte of an answer came and the server received nothing of it:
//
//   - TCP acknowledged none of its bytes or, on systems other than Linux, which do
//     not tell, none could be written; or
//   - over HTTP/1.1, the connection ended within 50 ms: then the server is taken to
//     have closed it before the request came.
//
// The row has the times of the second try, except IssuedNS. A request that the server
// received and left without an answer is truncated: sending it again would hide a
// failure and double the load. The same rule decides about a 408 on a kept
// connection, which may be about the idle connection or about the request.
//
//	b, err := openai.New(openai.Config{URL: "localhost:8000", Streaming: true})
//	if err != nil {
//		return err
//	}
//	defer b.Close()
//	if err := b.Check(ctx); err != nil {
//		return err
//	}
//	p, err := b.Prepare(&entry)
//	…
//	s, err := b.Open(ctx, 0, rxclock.New())
//	s.Send(ctx, p, &x)
//	err = b.Decode(&x)
//
// Messages never hold a header's value, a password or the query of the URL; in recorded
// answers stars replace the server's repetitions of them, see Decode.
package openai
