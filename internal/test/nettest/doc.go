// Package nettest has networks for tests: servers of raw connections on loopback, two networks joined by a link, an HTTP
// proxy, and the question whether the kernel stamps sockets here.
//
// The link delays, reorders and loses packets, for tests of processes on several machines. It works on Linux, in
// namespaces that it makes for the test.
//
//	nettest.Within(t, func() {
//		link := nettest.NewLink(t, func(to int, packet []byte) time.Duration { return 5 * time.Millisecond })
//		link.In(0, func() { l, err = net.Listen("tcp", link.Addr(0)+":0") })
//		link.In(1, func() { c, err = net.Dial("tcp", l.Addr().String()) })
//		…
//	})
//
// A socket, and a process, belongs to the network of the thread that makes it. In runs a
// function on such a thread.
//
// The proxy is on loopback, and records its requests:
//
//	proxy := nettest.StartProxy(t, nettest.ProxyConfig{User: url.UserPassword("alice", "open-sesame")})
//	send(through(proxy.URL()))
//	asked := proxy.Asked()
package nettest
