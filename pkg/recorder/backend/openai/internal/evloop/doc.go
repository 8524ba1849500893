// Package evloop receives on many TCP connections with few threads and without a goroutine
// for each connection. It uses epoll on Linux and is empty on other systems.
//
// An [Engine] has a few loops, each a goroutine with its own epoll instance. A connection
// belongs to one loop, which reads from it into a buffer that all its connections share.
// The loop passes the bytes of each read to a [Handler], with the kernel's stamp of their
// arrival (package sockstamp). The goroutine that calls Send does the first write. The
// loop later writes the bytes that the send buffer did not take.
//
//	e, err := evloop.New()
//	…
//	c, err := e.Add(tc, sockstamp.Options{}) // takes over a net.TCPConn
//	…
//	c.Send(request, handler) // the loop calls handler
//	…                        // until the handler has the whole answer
//	err = c.Close()
//	…
//	err = e.Close()
//
// # Gathering
//
// A wake-up for every event is expensive. A late read has the same kernel stamp, unless
// the next event has arrived, too: then one read and one stamp cover both. So a loop lets
// readiness gather for the gathering time, and then reads from all ready connections. The
// gathering time is a millisecond, or two if few events come. The loop does this
//
//   - for connections with kernel stamps whose last reads were calm: several in a row,
//     since the request was sent, came at least four gathering times apart. So the loop
//     reads the beginning of an answer at once, and also a fast stream;
//   - while the rate of events is so high that two or more gather.
//
// Gathering delays only the reaction to the end of an answer, such as the start of the
// next request, by at most the gathering time.
//
// # Locks
//
// A connection has a mutex, which is held during the calls of its Handler and never while
// waiting. So the handler is not called after Close has returned. A system call that
// cannot wait is made without notifying Go's scheduler.
//
// The package knows no protocol.
package evloop
