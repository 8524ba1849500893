// Package ledger records the bytes that the simulated server really sent, and when: one
// [Entry] per request, one [Write] per hand-over of bytes to the kernel.
//
// A server opens a [Record] when a request arrives and reports each write to it:
//
//	r := l.Begin(index, ledger.OpenAIChat, remote)
//	r.Started()
//	i := r.Sending(chunk)
//	… write chunk.Data …
//	r.Handed(i, beganNS, chunk.Data, false)
//	r.End(ledger.EndOK, 200, "")
//
// Instants are Unix nanoseconds of CLOCK_REALTIME.
package ledger
