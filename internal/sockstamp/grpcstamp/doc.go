// Package grpcstamp puts a [h2follow.Follower] on each connection of a gRPC
// client or server.
//
// It does so where gRPC lets one in above TLS, in the transport credentials:
//
//	d := sockstamp.Dialer{}
//	cc, err := grpc.NewClient(target,
//		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
//			return d.DialContext(ctx, "tcp", addr)
//		}),
//		grpc.WithTransportCredentials(grpcstamp.Credentials(insecure.NewCredentials(), h2follow.Config{})))
//	…
//	err = stream.RecvMsg(m)
//	f, ok := grpcstamp.FromContext(stream.Context())
//	st, ok := f.Message(f.Newest(), 0)
package grpcstamp
