package sim

import (
	"google.golang.org/grpc/encoding"

	"github.com/pa-tools/pa/internal/grpcpress"
)

// TakeCompressed has the gRPC servers of this process take messages that are
// compressed with gzip or deflate. The library's registry is global, and clients of the
// process then ask for compressed answers: it is for a process that serves and nothing
// else, before the first server starts.
func TakeCompressed() {
	encoding.RegisterCompressor(grpcpress.Gzip)
	encoding.RegisterCompressor(grpcpress.Deflate)
}
