// Package grpcpress compresses gRPC messages without the library's global registry. A
// client with a compression in that registry asks for compressed answers with every
// call, which would change the measurement.
package grpcpress
