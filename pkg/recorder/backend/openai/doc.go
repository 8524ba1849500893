// Package openai is the backend for servers with an OpenAI-compatible HTTP
// interface, streamed (server-sent events) or not.
//
// Each sender has one connection and keeps it from request to request, unless
// [Config.Reuse] says otherwise. What sends requests and reads answers is a
// [Transport]:
//
//   - NetHTTP is package net/http, one [http.ClientConn] a sender: HTTP/1.1, with
//     TLS and through proxies; and HTTP/2 if that is asked for
//     (golang.org/x/net/http2), one stream at a time;
//   - Loop reads all connections in a few event loops (package evloop), where
//     that applies. The goroutine that sends a request writes it, as the bytes
//     that Prepare made, and waits for the end of the answer; the loop parses
//     and keeps events as they come, which costs no allocation an event.
//
// Both hand what comes to one consumer, which makes the rows, so that the rows
// do not depend on the transport. The times of an answer are what this program
// is for:
//
//   - StartNS is when the kernel handed the first segment of the request to the
//     device, and SentNS when it did so with its last byte. An HTTP/1.1 request,
//     head and body, is one write, or two if it does not fit in one segment (see
//     sockstamp). HTTP/2 writes headers and body apart;
//   - each socket read has the time at which the kernel received what it
//     returned (package sockstamp); the events that it completes get that stamp
//     and the read's number, counted from 0 for each request, the answer's head
//     included;
//   - where the kernel takes no stamps, times are those before and after the
//     call, and the source of each says so; with [Config.UserStamps] they all
//     are;
//   - nothing is decoded: an answer of the type text/event-stream is cut into
//     events, another is one response, stamped with its last byte. Bytes are
//     kept as they came, keep-alive comments and [DONE] too.
//
// net/http does not tell which read a byte came with, and may hand on the bytes
// of several reads at once. So something below it follows the bytes: for
// HTTP/1.1 a follower, with the parser of package http1, for HTTP/2 package
// h2follow. The follower also sees what really went wrong with a connection;
// messages come from it, not from net/http.
//
// Compression is neither asked for nor undone, and redirects are not followed:
// both would hide when the server's bytes came. Proxies do so too, if less; the
// run can say which one it went through, see [Backend.ProxyURL]. The time to
// connect includes what a proxy takes to do so.
//
// Servers close idle connections at any time. A kept connection is looked at
// before it is used. A request that still meets a closed one, without a byte of
// an answer, is sent once more on a new one, if the server's side took nothing
// of it: if TCP acknowledged none of its bytes or, where the system does not
// tell (it is Linux that does), if none could be written; or if the connection
// ended within 50 ms, which over HTTP/1.1 is taken for what the server had
// decided before. Its times are those of the second try, but for IssuedNS. A
// request that was taken, and then left
// without an answer, is truncated: to send it again would hide a failure and
// double the load. The same goes for a 408 on a kept connection: it is about the
// idle connection, or about the request.
//
//	b, err := openai.New(openai.Config{URL: "localhost:8000", Streaming: true, Clock: rxclock.New()})
//	if err != nil {
//		return err
//	}
//	defer b.Close()
//	if err := b.Check(ctx); err != nil {
//		return err
//	}
//	p, err := b.Prepare(&entry)
//	…
//	s, err := b.Open(ctx, 0)
//	s.Send(ctx, p, &x)
//	err = b.Decode(&x)
//
// Messages never hold a header's value, a password or the query of the URL; in
// recorded answers stars stand for what a server repeats of them, see Decode.
package openai
