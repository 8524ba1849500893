// Package window cuts the measurement of a load level into windows and decides when
// it is over.
//
// A [Measure] states the rule: a count of requests, a duration, or windows that repeat
// until throughput and latency are stable. A [Meter] applies it:
//
//	m := window.NewMeter(measure.WithDefaults(), nowNS)
//	m.Add(sample)              // each successful request, as it ends
//	ns, ok := m.Deadline()     // time windows: call Tick then
//	m.Tick()
//	…
//	m.Finish(nowNS)            // when m.Done() or the run stops
//	m.Windows(); m.Reported()
//
// [Latencies] collects latencies in bounded memory. [Sliding] keeps the figures of the
// last five seconds for a progress display.
//
// Instants are Unix nanoseconds. The package reads no clock and starts no goroutine; its
// types belong to one goroutine. The rule of stability and a window's figures are in
// package pawindow.
package window
