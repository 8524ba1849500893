// Package h2follow gives each gRPC message on an HTTP/2 connection the stamp
// of the socket read that completed it, and of the writes that carried it.
//
// A [Follower] is a [net.Conn] on top of a [sockstamp.Conn], or on top of the
// TLS connection over one. It passes everything through unchanged and follows the
// frames of both directions: it cuts DATA frames into gRPC messages, and reads only the
// five bytes of each message's prefix.
//
//	f := h2follow.New(conn, raw, h2follow.Config{})
//	… // HTTP/2 over f
//	st, ok := f.Message(f.Newest(), 0)
//
// The stamp of the write that carried a request's beginning is the stamp of its
// head, not of the megabytes after it: see [Follower.Write].
//
// A message is named by its stream and its number k in that stream and direction, from 0.
// Stamps are kept until the caller asks for a later message of the same stream, or
// forgets the stream. Beyond the bounds of [Config] the oldest are dropped.
//
// With several streams at a time on a connection the caller has to know the
// number of a stream, which grpc-go does not tell. Then a header of the
// request names it: with [Config.Header] set, request headers are decoded,
// else they are not.
//
// With [Config.Bytes] it follows HTTP/2 that carries no gRPC: [Follower.At]
// says which read brought a byte of an answer's body, and message 0 sent on a
// stream is the request.
//
// A Follower never fails the connection. At the first thing that cannot be HTTP/2 it stops
// following that direction and says why ([Follower.Err]). If this direction carries answers,
// messages that were complete before keep their stamps. If it carries requests, no message has
// a stamp any more. For a message without a stamp, the caller takes its own time.
//
// It does not look into compressed or any other messages, nor at the responses'
// headers, flow control and settings.
package h2follow
