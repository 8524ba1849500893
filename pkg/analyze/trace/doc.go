// Package trace writes a recorded run as trace events in Chrome's JSON format, which
// Perfetto (ui.perfetto.dev) and chrome://tracing show on a time axis.
//
// A load level of one rank is a process, and a slot is a thread. A request is a slice on the
// thread of its slot. The slices inside it are, in this order:
//
//	queue    from the time of the schedule, or of the hand-over to the client, to the connect
//	connect  name lookup, TCP and TLS; only for a new connection
//	TTFT     from the start of the request to its first token event
//	decode   from the first token event to the last
//	end      from the last token event to the last response
//
// A request without a first token has the slice answer instead of the last three. Stalls and
// failures are instants. Counters show the requests in flight and the token events per
// second of each process. Each source of telemetry is a process with a counter for each
// series: a gauge as it is, the growth of a counter per second.
//
// A level with sessions has a second process, with a thread for each agent of a session, in the order of the tree of its agents.
// A request is a slice from its send to its end there, so that the time of tools and users is the space between slices. Requests of
// an agent that overlap take further threads.
//
// Times in the file are microseconds with three decimals from the origin, which otherData
// names in nanoseconds since 1970. The arguments of slices hold whole nanoseconds.
package trace
