// Package sockstamp takes the times at which bytes reached and left this
// machine from the kernel instead of from a goroutine that may run late.
//
// On Linux the kernel notes when a segment arrived and when one went to the
// device (SO_TIMESTAMPING, software stamps). A [Conn] is a [net.Conn] that
// collects them: receive stamps come with each read, as a control message of
// recvmsg; transmit stamps come on the socket's error queue. On other systems,
// on other sockets than TCP, and where the kernel refuses, a Conn behaves the
// same and takes the time in user space. [Stamp.Source] tells the two apart,
// for each stamp: the kernel may also lack one for a single read.
//
//	d := sockstamp.Dialer{}
//	tr := &http.Transport{DialContext: d.DialContext}
//	…
//	c, ok := sockstamp.Of(conn) // also below TLS
//	c.Begin()
//	_, err := conn.Write(request)
//	n, err := conn.Read(buf)
//	st := c.LastRead()           // when buf[:n] was here
//	start, sent := c.Request()   // when the request left
//	…
//	late := c.Revised(0)         // stamps of reads that waited for a missing segment
//
// # Terms and units
//
// A stamp is in Unix nanoseconds of CLOCK_REALTIME, user-space stamps too, so
// that they can be compared. Only the run's clock knows about steps of that
// clock; see package rxclock.
//
// An offset counts the bytes written to a Conn since it was made. A write
// ends at the offset that [Conn.Written] returns after it.
//
// # Meaning of a receive stamp
//
// It is the arrival of the segment with the last byte of the read. A read that returns
// several segments has the stamp of the last one; the arrival of the earlier ones is
// unknown. The kernel itself may join segments that wait in the socket. While segments
// arrive in order, a stamp is never earlier than the arrival of the byte it is used for.
//
// # Missing segments
//
// When a segment is lost or overtaken, later segments arrive before the missing segment, and
// wait. When the missing segment arrives, one read returns all of them, with the stamp of the
// last segment in the stream, which arrived earlier. Such a stamp is too early by the time of
// a retransmission, 200 ms and more. The kernel keeps no other stamp, so the time of the read
// replaces it: a user-space stamp with [Stamp.Waited]. No stamp is earlier than the arrival of
// the missing segment.
//
// The kernel's count of segments that came out of order (TCP_INFO) tells which stamps
// are right. A Conn reads the count after every 16th read (after every 8th read once the count
// has changed), after a read that is 100 ms later than its stamp, and at each of the 64 reads
// after a change. So a Conn may replace a stamp after [Conn.LastRead] has returned it:
// [Conn.Revised] reads the count and returns the new stamps. This way up to 15 reads before the
// first segment out of order lose a right stamp, and up to 7 reads before each later segment out
// of order. Linux counts since 5.4; on older kernels, no stamp is replaced.
//
// Below crypto/tls, [Conn.LastRead] after a Read of the [tls.Conn] is the
// stamp of the raw read that completed the record the bytes come from: TLS
// reads from the socket only when it holds no whole record. When one
// raw read held several records, or the caller's buffer took only part of one,
// the following reads return bytes without a raw read, and stamp and ordinal
// stay the same: the bytes were here at that time. (When an alert follows in
// the same segment, such as the one that ends a connection, TLS reads ahead to
// complete it; the last bytes then have the stamp of that read.)
//
// # Meaning of a transmit stamp
//
// It belongs to the last byte of a write, and is taken when the segment with
// that byte is handed to the device; on the loopback device, inside the write.
// For a long write this time is later than the time at which the first byte left:
// the bytes between need time on a slow link, or wait for the peer. So the beginning
// of a request gets its own stamp. After [Conn.Begin], a write that does not fit in
// one segment is done in two parts: its first segment, whose stamp is the start of
// the request, and the rest. The first part ends with an end of record (MSG_EOR), so
// that TCP joins nothing to it. The segments are the same as for one write, except
// that the first has the PSH flag. Package h2follow does the same for each request
// on an HTTP/2 connection ([Conn.SeparateNext]); there the first part is the
// request's head.
//
// A write that does not fit the send buffer is done in more parts, each with its own
// stamp, except for parts whose last byte left before the kernel had noted that it
// must stamp them. When TCP joins the bytes of two writes in one segment, only the
// later write has a stamp. A retransmitted segment keeps its first stamp.
//
// # What arrived
//
// [Conn.Acknowledged] returns how many of the written bytes the other side's TCP has
// acknowledged, where the system tells. After a connection ended without an answer, it
// tells whether the server's side received the request.
//
// # Costs
//
// A read is one system call, and allocates nothing. After every 16th read, and in
// [Conn.Revised], one more system call of 0.7 µs asks for missing segments. Each read also reads
// the clock in user space. With both, a read takes 1.25 µs of CPU time; without them, 1.14 µs
// (BenchmarkRead, two cores, loopback). After 1,024 revised stamps since the last [Conn.Begin], a
// Conn asks at every read. Connections of gRPC, whose requests overlap, call [Conn.DropRevised]
// instead of Begin. The error queue is read before a read while stamps of writes are outstanding, on
// demand, and by a long series of writes without a read: one or two system calls
// a request, and one wake-up of a waiting reader, none a token. A request that
// does not fit in one segment costs a write, a query for the size of a segment and a
// wake-up more. No goroutine is started. The queue is read before a read because Linux
// delays TCP's acknowledgements while the queue holds something.
//
// Linux stamps packets only while a socket asks for it, and begins some
// milliseconds after the first one does; see [Hold].
//
// Packages h2follow and grpcconn bring the stamps to the messages of gRPC.
//
// Nothing else here changes the bytes on the wire, TCP's options included.
package sockstamp
