// Package drive sends the load of one stage (a warm-up or a measurement) of a level.
//
// A [Driver] runs slots. Each slot has a sender and one request in flight at a time.
// [New] chooses the driver by the kind of level:
//
//	load.Concurrency  each slot sends its next request when the last has ended
//	load.Sessions     the same with whole sessions, request by request
//	load.Periodic     more slots begin when the last ones have had enough responses
//	load.Open         a schedule decides when a request is sent
//
// The slots share a [Stage]: the [Admission] numbers requests and stops the load, the
// [Prefetcher] or the [Sequencer] supplies them from the [RequestSet], the [SenderPool]
// holds connections, and the [Queue] takes finished exchanges to the collector, which is
// the caller's. No slot waits for the collector.
//
// Instants are Unix nanoseconds of Stage.Clock. The package neither decodes responses
// nor decides when enough is measured.
package drive
