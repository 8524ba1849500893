package grpcconn

import (
	"context"
	"net"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"

	"github.com/pa-tools/pa/internal/sockstamp"
	"github.com/pa-tools/pa/internal/sockstamp/h2follow"
)

// Credentials returns credentials that secure a connection as inner does and
// put a Follower on it. A connection that is no [sockstamp.Conn] yet becomes
// one. Config.Server is set as the side of the connection needs it.
func Credentials(inner credentials.TransportCredentials, c h2follow.Config) credentials.TransportCredentials {
	return &followingCredentials{inner, c}
}

// FromContext returns the Follower of the connection that carries an RPC. ctx is the
// context of a server's handler, or of a client's stream after its first RecvMsg or
// Header has returned.
func FromContext(ctx context.Context) (*h2follow.Follower, bool) {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return nil, false
	}
	i, ok := p.AuthInfo.(info)
	return i.follower, ok
}

// followingCredentials are credentials whose connections are followed.
type followingCredentials struct {
	credentials.TransportCredentials
	config h2follow.Config
}

// info is the authentication info of inner, with the connection's Follower.
type info struct {
	credentials.AuthInfo
	credentials.CommonAuthInfo // inner's: gRPC asks for the level of security
	follower                   *h2follow.Follower
}

// ClientHandshake implements [credentials.TransportCredentials].
func (f *followingCredentials) ClientHandshake(ctx context.Context, authority string, nc net.Conn) (net.Conn, credentials.AuthInfo, error) {
	c := f.config
	c.Server = false
	return follow(nc, c, func(nc net.Conn) (net.Conn, credentials.AuthInfo, error) {
		return f.TransportCredentials.ClientHandshake(ctx, authority, nc)
	})
}

// ServerHandshake implements [credentials.TransportCredentials].
func (f *followingCredentials) ServerHandshake(nc net.Conn) (net.Conn, credentials.AuthInfo, error) {
	c := f.config
	c.Server = true
	return follow(nc, c, f.TransportCredentials.ServerHandshake)
}

func follow(nc net.Conn, c h2follow.Config, handshake func(net.Conn) (net.Conn, credentials.AuthInfo, error)) (net.Conn, credentials.AuthInfo, error) {
	raw, ok := sockstamp.Of(nc)
	if !ok {
		var err error
		if raw, err = sockstamp.Wrap(nc); err != nil {
			return nil, nil, err
		}
		nc = raw
	}
	secured, auth, err := handshake(nc)
	if err != nil {
		return nil, nil, err
	}
	follower := h2follow.New(secured, raw, c)
	i := info{AuthInfo: auth, follower: follower}
	if common, ok := auth.(interface {
		GetCommonAuthInfo() credentials.CommonAuthInfo
	}); ok {
		i.CommonAuthInfo = common.GetCommonAuthInfo()
	}
	return follower, i, nil
}

// Clone implements [credentials.TransportCredentials].
func (f *followingCredentials) Clone() credentials.TransportCredentials {
	return &followingCredentials{f.TransportCredentials.Clone(), f.config}
}
