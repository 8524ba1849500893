package openai

import (
	"context"
	"errors"
	"net"
	"net/http"

	"github.com/pa-tools/pa/pkg/recorder/rxclock"
)

const (
	maxHeadBytes    = 1 << 20 // of an answer's head; http1 has the same
	readBufferBytes = 4 << 10 // each connection has one; the default of net/http
)

// newTransport returns a transport that creates clients on existing connections. Senders
// share it: it keeps no connections.
//
// For net/http all connections are plain. TLS and the proxy are below the connection that
// it gets, because the layer that follows the bytes must be above TLS. So net/http always
// speaks HTTP/2 with prior knowledge; dial has negotiated it.
func newTransport(version2 bool) *http.Transport {
	var protocols http.Protocols
	protocols.SetHTTP1(!version2)
	protocols.SetUnencryptedHTTP2(version2)
	t := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			nc, ok := ctx.Value(connKey{}).(net.Conn)
			if !ok {
				return nil, errors.New("no connection in the context")
			}
			return nc, nil
		},
		Protocols:              &protocols,
		MaxResponseHeaderBytes: maxHeadBytes,
		DisableCompression:     true,
		ReadBufferSize:         readBufferBytes,
	}
	if !version2 {
		t.MaxResponseHeaderBytes *= 2 // package http1 must find a head too long first
	}
	return t
}

type connKey struct{}

// clientOn returns a client of net/http on a connection. Unlike a pool, it never repeats a
// request on another connection.
func (b *Backend) clientOn(ctx context.Context, nc net.Conn) (*http.ClientConn, error) {
	return b.transport.NewClientConn(context.WithValue(ctx, connKey{}, nc), "http", b.target.addr)
}

// http1On returns an HTTP/1.1 client on a connection.
func (b *Backend) http1On(ctx context.Context, l *dialedConn, clock *rxclock.Clock) (*conn, error) {
	f := newStampedHTTPConn(l, b, clock)
	client, err := b.clientOn(ctx, f)
	if err != nil {
		return nil, err
	}
	return &conn{dialedConn: l, client: client, watch: f}, nil
}
