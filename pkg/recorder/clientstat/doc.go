// Package clientstat records how the client itself fared while it sent load, and judges
// whether the client was the limit.
//
//	s := clientstat.Start()
//	s.Add(x, clientstat.CountStamps(x)) // each request of the level, when it is over
//	s.Look()                            // a few times a second
//	…
//	meta := s.Finish(nil)               // an export.ClientMeta
//	why := clientstat.Saturation(meta, median)
//
// Stats covers the requests: turnaround of the slots, lateness against a schedule,
// responses that share a read. It also covers the process: CPU time, memory, file
// descriptors, garbage collections and the waiting of goroutines for a thread.
//
// Durations are nanoseconds. Nothing here stops the world; Look takes a few microseconds,
// Start and Finish some more. CPU time and memory come from getrusage, descriptors from
// /proc/self/fd or /dev/fd, the rest from the Go runtime. Figures that a system does not
// provide are absent; Windows provides only the runtime's. The figures are of the whole
// process: a simulated server in it counts as client.
package clientstat
