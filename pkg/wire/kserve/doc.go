// Package kserve encodes and decodes the KServe v2 inference protocol with Triton's
// extensions: tensors as raw bytes, and the request and response messages of gRPC and
// HTTP around them.
//
// A [Tensor] holds its data in the layout of raw_input_contents (gRPC) and of the binary
// tensor extension (HTTP): elements in row-major order, numbers little endian, a BOOL in
// one byte, each element of BYTES after its length in four little-endian bytes.
//
//	BYTES ["ab", "xyz"]   02 00 00 00 61 62  03 00 00 00 78 79 7a
//	INT32 [1, -2]         01 00 00 00  fe ff ff ff
//
// [ParseInput] reads the JSON forms of perf_analyzer's input data into that layout;
// [Value] converts raw bytes to the value in a profile export:
//
//	in, err := kserve.ParseInput([]byte(`{"content":[1,-2],"shape":[2]}`), kserve.INT32)
//	v, err := kserve.Value(kserve.INT32, in.Data) // [1,-2]
//
// [Request] and [Response] are the messages of both transports, with their
// inverse pairs AppendProto/ParseProto and AppendHTTP/ParseHTTP.
//
// The package does no I/O and knows no models: the caller knows the inputs of a model
// and their shapes.
package kserve
