// Package pause finds the pauses of this process: times in which it could not run
// because it was stopped (Ctrl-Z, SIGSTOP) or because the machine was suspended.
// What was in flight meanwhile has latencies that say nothing about the server.
//
//	w := pause.Start(clock.NowNS)
//	…
//	pauses := w.Stop()
//
// # How a pause is told from a busy machine
//
// A [Watcher] wakes every 20 ms. That it wakes late proves nothing: another process
// may have the processors, or a garbage collection. So each kind of pause needs a
// witness.
//
//   - A stopped process runs again only by SIGCONT. A gap between two wake-ups that
//     a SIGCONT ends is a pause; one without it is none, however long. A SIGCONT
//     without a gap (it may be sent to a process that runs) is none either.
//   - While the machine is suspended CLOCK_BOOTTIME goes on and CLOCK_MONOTONIC,
//     from which the clock of a run is made, stands still. How far they move apart
//     is the length of the suspension.
//
// A pause begins at the last wake-up before it, so that it may be named up to 20 ms
// too long (and longer where the machine was busy when it began), and never misses a
// request that it touched. Pauses under 50 ms are not named. Suspension is noticed
// on Linux; stopping on all systems that have signals. A container that is frozen
// (docker pause) gets no signal and is not noticed.
package pause
