package backend

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"time"
)

// HandshakeTimeout bounds the TLS handshake of a Check. A plain HTTP server may take
// the handshake for the start of a request, wait for its rest and never answer.
const HandshakeTimeout = 5 * time.Second

// probeTimeout bounds a probe of the scheme that a server speaks.
const probeTimeout = 2 * time.Second

// SpeaksHTTP reports whether the server at addr (host:port) answers a plain-HTTP request
// with a status other than 400, because TLS servers answer plain HTTP with 400. The
// request carries none of the user's headers. SpeaksHTTP takes at most two seconds.
func SpeaksHTTP(ctx context.Context, addr string) bool {
	return probe(ctx, addr, func(nc net.Conn) bool {
		if _, err := io.WriteString(nc, "GET /v1/models HTTP/1.1\r\nHost: "+addr+"\r\nConnection: close\r\n\r\n"); err != nil {
			return false
		}
		first := make([]byte, len("HTTP/1.1 400"))
		_, err := io.ReadFull(nc, first)
		return err == nil && strings.HasPrefix(string(first), "HTTP/1.") && !strings.HasSuffix(string(first), " 400")
	})
}

// SpeaksTLS reports whether the server at addr (host:port) completes a TLS handshake or
// answers it with a TLS alert, also with an invalid certificate. SpeaksTLS takes at most
// two seconds.
func SpeaksTLS(ctx context.Context, addr string) bool {
	return probe(ctx, addr, func(nc net.Conn) bool {
		host, _, _ := net.SplitHostPort(addr)
		// Nothing is sent over the connection, so nothing needs protection.
		c := tls.Client(nc, &tls.Config{ServerName: host, InsecureSkipVerify: true}) //nolint:gosec // see above
		err := c.HandshakeContext(ctx)
		var alert tls.AlertError
		return err == nil || errors.As(err, &alert) || IsAlert(err, "")
	})
}

// probe connects to addr and returns the result of look.
func probe(ctx context.Context, addr string, look func(net.Conn) bool) bool {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	nc, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return false
	}
	defer func() { _ = nc.Close() }() // the probe is over; an error changes nothing
	defer context.AfterFunc(ctx, func() { _ = nc.SetDeadline(time.Unix(1, 0)) })()
	return look(nc)
}
