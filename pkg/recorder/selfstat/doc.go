// Package selfstat tells what this process used while it sent load: CPU time,
// memory, file descriptors, garbage collections and the waiting of goroutines
// for a thread. From that one sees whether the client was the limit.
//
//	w := selfstat.Start()
//	…
//	w.Look() // a few times a second
//	…
//	w.Fill(&meta) // an export.ClientMeta
//
// Spans are nanoseconds. Nothing here stops the world; Look takes a few
// microseconds, Start and Fill some more.
//
// CPU time and memory come from getrusage, descriptors from /proc/self/fd or
// /dev/fd, the rest from the Go runtime. What a system does not tell (all but the
// runtime's part on Windows) is left absent. It is about the whole process: a
// simulated server in it counts as client.
package selfstat
