// Package pause finds the pauses of this process: times in which it could not run
// because it was stopped (Ctrl-Z, SIGSTOP) or because the machine was suspended.
// Requests in flight during a pause have latencies that say nothing about the server.
//
//	w := pause.Start(clock.NowNS)
//	…
//	pauses := w.Stop()
//
// # Distinguishing a pause from a busy machine
//
// A [Watcher] wakes every 20 ms. A late wake-up alone proves nothing: another process
// or a garbage collection may occupy the processors. So each kind of pause needs a
// second sign.
//
//   - Only SIGCONT continues a stopped process. A gap between two wake-ups is a pause
//     if a SIGCONT ends it; without a SIGCONT it is not, however long. A SIGCONT
//     without a gap is no pause either, because a running process may get one.
//   - While the machine is suspended, CLOCK_BOOTTIME goes on, and CLOCK_MONOTONIC,
//     on which the clock of a run is based, stands still. The growth of their
//     difference is the length of the suspension.
//
// A recorded pause begins at the last wake-up before it. So it may be up to 20 ms too
// long (more if the machine was busy when it began), but misses no request that it
// touched. The package does not report pauses under 50 ms. It notices suspension on
// Linux, and stops on all systems with signals. A frozen container (docker pause)
// gets no signal, so the package does not notice it.
package pause
