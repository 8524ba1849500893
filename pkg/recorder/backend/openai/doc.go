// Package openai is the backend for servers with an OpenAI-compatible HTTP
// interface, streamed (server-sent events) or not.
//
// Each sender has one connection, speaks HTTP/1.1 on it, and keeps it from
// request to request. It does so with its own few lines around
// http.ReadResponse instead of an http.Transport, because the times of an
// answer are what this program is for: http.Transport returns the bytes of a
// chunk only when the chunk is complete, hands every answer from goroutine to
// goroutine, and tells nobody which read a byte came with. Here
//
//   - the request, head and body, is one write, prepared before the load;
//     StartNS is when the kernel handed its first part to the device and SentNS
//     when it did so with its last byte;
//   - each socket read has the time at which the kernel received what it
//     returned (package sockstamp); the events that it completes get that stamp
//     and the read's number, counted from 0 for each request, the answer's head
//     included;
//   - where the kernel takes no stamps, times are those before and after the
//     call, and the source of each says so;
//   - nothing is decoded: an answer of the type text/event-stream is cut into
//     events, another is one response, stamped with its last byte. Bytes are
//     kept as they came, keep-alive comments and [DONE] too.
//
// There is no HTTP/2, no compression, no proxy and no redirect: each would put
// something between the server's write and the stamp.
//
// Servers close idle connections at any time. A kept connection is looked at
// before it is used; a request that still meets a closed one, without a byte of
// an answer, is sent once more on a new one. Its times are those of the second
// try, but for IssuedNS.
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
