package sockstamp

import (
	"context"
	"net"
)

// A Dialer makes stamped connections. The zero value is ready.
//
//	http.Transport{DialContext: d.DialContext}
//	grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
//		return d.DialContext(ctx, "tcp", addr)
//	})
type Dialer struct {
	Net     net.Dialer
	Options Options
}

// DialContext connects as [net.Dialer.DialContext] does. The connection is a
// [*Conn].
func (d *Dialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	nc, err := d.Net.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	c, err := d.Options.Wrap(nc)
	if err != nil {
		_ = nc.Close() // it was just made
		return nil, err
	}
	return c, nil
}
