// Package kserve sends requests to a Triton Inference Server, or another one
// that speaks the KServe v2 protocol: over gRPC, streaming (ModelStreamInfer)
// or unary (ModelInfer), and over HTTP with binary tensors.
//
//	b, err := kserve.New(kserve.Config{
//		URL: "localhost:8001", Protocol: kserve.GRPC, Model: "vllm", Streaming: true, Clock: clock,
//	})
//	if err := b.Check(ctx); err != nil { … } // server, model, and whether they fit the configuration
//
// # What is stamped
//
// Times are the kernel's (package sockstamp) where it takes them: a message has
// the time at which the read arrived that completed it, found by following the
// HTTP/2 frames below the gRPC library (package h2follow); start and sent are
// when the first and the last segment of the request went to the device. A unary
// call begins with its headers, a request on a stream with its message. Over HTTP
// the response has the time of the read that brought the end of its body.
//
// Where the kernel or the follower gives none, times are taken in user space,
// and the source of each says so. Over gRPC, start is then right before SendMsg
// is called and sent right after it returned, which is when the library has
// queued the message, not when it left the machine; a response's stamp is taken
// in the codec, as soon as the library hands over the whole message and before
// anything of it is decoded. Over HTTP, start is when the connection is at hand
// and sent when the last byte was handed to the socket.
//
// The first byte of an answer over gRPC is that of its first message.
//
// Messages with equal Response.Read came with the same read of the socket.
// Where that is not known, each counts as a read of its own.
//
// # One connection per slot
//
// By default each slot has a connection with one stream on it, so that no
// request waits for another one's bytes. [Config.Reuse] says when it is opened;
// the request that opens it has the time for that as its phases, and a stream
// that ended is opened anew by the next request. Requests are told apart by
// their id, the decimal of the exchange's request id.
//
// Connections are numbered from 1 as they are made, those of Check included.
//
// With [Config.Connections] slots share gRPC connections. The calls of a slot
// then bear the metadata "pa-slot: N" on the wire, which is how their messages
// are told from other slots' below the library.
//
// # How a streamed answer ends
//
// A request asks for triton_enable_empty_final_response, so exactly one
// response of a decoupled model carries triton_final_response = true; it ends
// the exchange and may hold no outputs, which is exported as perf_analyzer
// does: an entry with every output "". Without the flag, the first response of
// a model that is not decoupled ends it, and an error message does. Cancelling
// closes the stream, which makes Triton cancel the request; the next Send
// opens a new one.
package kserve
