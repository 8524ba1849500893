// Package grpcconn makes connections of gRPC clients and servers that measure: with a
// [h2follow.Follower] on each, and with compression that the library does not ask for itself.
//
// A Follower gets onto a connection where gRPC lets one in above TLS, in the transport credentials:
//
//	d := sockstamp.Dialer{}
//	cc, err := grpc.NewClient(target,
//		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
//			return d.DialContext(ctx, "tcp", addr)
//		}),
//		grpc.WithTransportCredentials(grpcconn.Credentials(insecure.NewCredentials(), h2follow.Config{})))
//	…
//	err = stream.RecvMsg(m)
//	f, ok := grpcconn.FromContext(stream.Context())
//	st, ok := f.Message(f.Newest(), 0)
//
// A [Compressor] and a [Decompressor] do without the library's global registry. A client with a compression in
// that registry asks for compressed answers with every call, which would change the measurement.
package grpcconn
