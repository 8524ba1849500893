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
// Stamps are taken in user space. Over gRPC, start is right before SendMsg is
// called and sent right after it returned, which is when the library has
// queued the message, not when it left the machine. A response's stamp is
// taken in the codec, as soon as the library hands over the whole message and
// before anything of it is decoded. Over HTTP, start is when the connection is
// at hand, sent when the last byte was handed to the socket, and the response
// is stamped when its body has been read to the end, as perf_analyzer does.
//
// Response.Read is not the number of a socket read as it is in other backends:
// the libraries read ahead of us, and user space cannot see which messages came
// with the same read. It numbers the messages of the answer from 0, so equal
// numbers never claim a shared read, and different ones say nothing.
//
// # One connection per slot
//
// By default each slot has a connection with one stream on it, opened before
// the load, so that no request waits for another one's bytes. Requests are
// told apart by their id, the decimal of the exchange's request id.
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
