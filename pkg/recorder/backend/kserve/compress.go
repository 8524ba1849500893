package kserve

import (
	"google.golang.org/grpc"

	"github.com/pa-tools/pa/internal/grpcpress"
)

// compression returns the options of a client connection whose messages are compressed
// and whose answers, which may be too, have up to maxBytes; none for "". These options
// are deprecated in favour of a global registry, with which the calls of all
// connections ask for compressed answers.
func compression(format string, maxBytes int64) []grpc.DialOption {
	if format == "" {
		return nil
	}
	client := grpcpress.Client{Format: grpcpress.Format(format)}
	return []grpc.DialOption{
		grpc.WithCompressor(grpcpress.Out{Client: client}),                      //nolint:staticcheck // see above
		grpc.WithDecompressor(grpcpress.In{Client: client, MaxBytes: maxBytes}), //nolint:staticcheck // see above
	}
}
