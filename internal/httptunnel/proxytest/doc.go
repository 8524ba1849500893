// Package proxytest is an HTTP proxy on loopback for tests. It records its requests.
//
//	proxy := proxytest.Start(t, proxytest.Config{User: url.UserPassword("alice", "open-sesame")})
//	send(through(proxy.URL()))
//	asked := proxy.Asked()
package proxytest
