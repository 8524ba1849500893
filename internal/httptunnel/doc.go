// Package httptunnel has an HTTP proxy connect to a server (CONNECT, RFC 9110,
// section 9.3.6) on a connection that the caller made.
//
//	nc, err := d.DialContext(ctx, "tcp", proxy.Host)
//	err = httptunnel.Connect(ctx, nc, "llm.example:443", proxy.User)
//	// nc is a connection to llm.example:443
//
// Not a byte beyond the proxy's answer is read: the server may speak first, and
// who follows the connection's bytes must see its first ones.
package httptunnel
