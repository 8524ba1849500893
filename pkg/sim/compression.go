package sim

import (
	"google.golang.org/grpc/encoding"

	"github.com/pa-tools/pa/internal/grpcconn"
)

// TakeCompressed makes the gRPC servers of this process accept messages compressed with gzip
// or deflate. Call it before the first server starts, and only in a process without gRPC
// clients: the library's registry is global, so clients would request compressed answers.
func TakeCompressed() {
	encoding.RegisterCompressor(grpcconn.Gzip)
	encoding.RegisterCompressor(grpcconn.Deflate)
}
