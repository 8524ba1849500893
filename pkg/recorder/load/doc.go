// Package load is when to send: the load levels of a run.
//
// A closed loop has so many requests in flight, and the next one is sent when
// one ends: [Concurrency], [Sessions] (whole conversations) and [Periodic] (so
// many more each time the last ones have got going). An open loop has a
// [Schedule], which does not care what the server makes of it: [Rate],
// [Intervals] and [Timetable].
//
//	levels := []load.Level{load.Rate{PerSecond: 20, Arrivals: load.Poisson, Seed: 1}}
//	…
//	s := levels[0].(load.Open).Schedule()
//	for due, ok := s.Next(); ok; due, ok = s.Next() {
//		if !load.Wait(start.Add(due), stop, nil) {
//			break
//		}
//		send()
//	}
//
// A schedule is absolute: every instant is counted from the start, so that being
// late once moves nothing that follows. What is random in it is a function of
// the seed and the index of the request, the same on every machine; and the rate
// only stretches it, so that levels with one seed differ in nothing else.
//
// The package sends nothing, and knows no server.
package load
