// Package load defines the load levels of a run: when each request is sent.
//
// A closed loop keeps a number of requests in flight and sends the next one when one
// ends: [Concurrency], [Sessions] (whole conversations) and [Periodic] (batches, each
// sent when the last one has had enough responses). An open loop follows a [Schedule],
// independent of the server: [Rate], [Intervals] and [Timetable].
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
// A schedule is absolute: every instant is counted from the start, so a late request does
// not move the following ones. Random gaps depend only on the seed and the index of the
// request, on every machine. The rate only stretches them, so levels with the same seed
// differ in nothing else. [Rate.Scaled] stretches them a little more, so that the requests
// of a level take exactly as long as its rate says.
//
// The package sends nothing and knows no server.
package load
