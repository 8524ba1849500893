// Package evloop receives on many TCP connections with few threads and without
// a goroutine for each: on Linux, with epoll. Elsewhere it is empty.
//
// An [Engine] has a few loops, each a goroutine with an epoll instance of its
// own. A connection belongs to one loop, which does all reading on it, into a
// buffer that all connections of the loop share, and hands what a read returned
// to a [Handler], with the kernel's stamp of when it arrived (package sockstamp).
// Whoever sends does the first write in its own goroutine; what the send buffer
// does not take, the loop writes later.
//
//	e, err := evloop.New(evloop.Config{})
//	…
//	c, err := e.Add(tc, sockstamp.Options{}) // takes over a net.TCPConn
//	…
//	c.Send(request, handler) // the loop calls handler
//	…                        // until handler says that it was all
//	err = c.Close()
//	…
//	err = e.Close()
//
// # Gathering
//
// What makes a client expensive is waking up for every event. The kernel's
// stamps do not get worse when a read comes late, as long as it is not so late
// that the next event has arrived, too: then both come with one read and one
// stamp. So a loop lets readiness gather for up to [Config.Gather] and then reads
// from all connections that became ready, but only
//
//   - from connections whose reads have kernel stamps, and have come at least
//     some times as far apart as that, several in a row, since the request was
//     sent: an answer's beginning is read at once, and so is a fast stream;
//   - as long as so many events come that several gather.
//
// All it delays is what the end of an answer sets off: the start of the next
// request of the one who waited for it, by that time at most.
//
// # Locks
//
// A connection has a mutex, which is held during the calls of its Handler and
// never while waiting. So once Close has returned, the handler is not called any
// more. A system call that cannot wait is made without telling Go's scheduler.
//
// The package knows nothing of what is sent.
package evloop
