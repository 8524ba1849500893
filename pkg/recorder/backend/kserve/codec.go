package kserve

import (
	"fmt"
	"slices"

	"google.golang.org/grpc/mem"

	"github.com/pa-tools/pa/pkg/export"
)

// codec passes bytes through gRPC unchanged. It has the name of the standard codec, because
// the name becomes the content type, application/grpc+proto.
//
// Requests are prepared messages; each has a shared buffer and a few bytes of its own (see
// tail in grpc.go), so nothing is encoded or copied for a request. A response's bytes are
// kept: decoding them would cost 22 allocations and delay the following messages.
type codec struct{}

// outgoing is a request as two pieces of one message.
type outgoing struct{ head, tail []byte }

// incoming is a received message. data is overwritten by the next one, unless it is nil then.
type incoming struct {
	recvNS   uint64
	source   export.StampSource
	sameRead bool // the previous message came with the same read
	waited   bool // see [sockstamp.Stamp.Waited]
	data     []byte
}

// maxBuffer is the size of a message from which its memory is not used again.
const maxBuffer = 4 << 10

// Marshal implements encoding.CodecV2 for *outgoing. The buffers are not pooled, so the
// library's Free does nothing.
func (codec) Marshal(v any) (mem.BufferSlice, error) {
	o, ok := v.(*outgoing)
	if !ok {
		return nil, fmt.Errorf("kserve codec: %T is not a prepared message", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(o.head), mem.SliceBuffer(o.tail)}, nil
}

// Unmarshal implements encoding.CodecV2 for *incoming. It does not keep data.
func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	in, ok := v.(*incoming)
	if !ok {
		return fmt.Errorf("kserve codec: cannot receive into %T", v)
	}
	in.data = slices.Grow(in.data[:0], data.Len())[:data.Len()]
	data.CopyTo(in.data)
	return nil
}

// Name implements encoding.CodecV2.
func (codec) Name() string { return "proto" }
