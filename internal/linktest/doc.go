// Package linktest joins two networks of this machine by a link that delays, reorders and
// loses packets, for tests of processes on several machines. It works on Linux, in namespaces that it makes
// for the test.
//
//	linktest.Within(t, func() {
//		link := linktest.New(t, func(to int, packet []byte) time.Duration { return 5 * time.Millisecond })
//		link.In(0, func() { l, err = net.Listen("tcp", link.Addr(0)+":0") })
//		link.In(1, func() { c, err = net.Dial("tcp", l.Addr().String()) })
//		…
//	})
//
// A socket, and a process, belongs to the network of the thread that makes it. In runs a
// function on such a thread.
package linktest
