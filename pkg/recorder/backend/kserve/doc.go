// Package kserve sends requests to a Triton Inference Server, or another one
// that speaks the KServe v2 protocol: over gRPC, streaming (ModelStreamInfer)
// or unary (ModelInfer), and over HTTP with binary tensors.
//
//	b, err := kserve.New(kserve.Config{
//		URL: "localhost:8001", Protocol: kserve.GRPC, Model: "vllm", Streaming: true,
//	})
//	if err := b.Check(ctx); err != nil { … } // server, model, and whether they fit the configuration
//
// # Stamps
//
// Times are the kernel's (package sockstamp) where it takes them. A message has the
// arrival time of the read that completed it; package h2follow finds that read in the
// HTTP/2 frames below the gRPC library. Start and sent are when the first and the last
// segment of the request went to the device. A unary call begins with its headers, a
// request on a stream with its message. Over HTTP the response has the time of the read
// that brought the end of its body.
//
// Where the kernel or the follower gives no time, it is taken in user space, and its
// source says so. Over gRPC, start is then right before the call of SendMsg, and sent
// right after its return, when the library has queued the message. A response's stamp
// is taken in the codec, when the library hands over the whole message, before it is
// decoded. Over HTTP, start is when the connection is available, and sent when the
// socket has taken the last byte.
//
// The first byte of an answer over gRPC is the first byte of its first message.
//
// Messages with equal Response.Read came with the same read of the socket. Where the
// read is unknown, each message counts as a read of its own.
//
// # One connection per slot
//
// By default each slot has a connection with one stream on it, so that no request waits
// for the bytes of another one. [Config.Reuse] says when it is opened. The request that
// opens it has the times of doing so; the next request reopens a stream that ended. The
// id of a request on the wire is the exchange's request id in decimal.
//
// Connections are numbered from 1 as they are made, including the connections of Check.
//
// With [Config.Connections] slots share gRPC connections. The calls of a slot then carry
// the metadata "pa-slot: N" on the wire, by which the layer below the library assigns
// their messages to the slot.
//
// # How a streamed answer ends
//
// A request asks for triton_enable_empty_final_response, so exactly one response of a
// decoupled model carries triton_final_response = true. This response ends the exchange.
// If it holds no outputs, it is exported as perf_analyzer does, with every output "".
// The exchange also ends with an error message, and with the first response of a model
// that is not decoupled. Cancelling closes the stream, which makes Triton cancel the
// request; the next Send opens a new stream.
package kserve
