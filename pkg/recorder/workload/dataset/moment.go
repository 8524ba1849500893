package dataset

import (
	"fmt"
	"time"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// A moment is a time of a session at which requests may begin: when the delays of all edges are over. Without edges it is when the
// session begins. A moment does not change.
type moment []workload.Edge

// after returns the moment when a request has ended.
func after(node int) moment { return moment{{From: node}} }

// latest returns the latest of moments.
func latest(moments ...moment) moment {
	var all moment
	places := map[workload.Edge]int{} // in all, of edges without their delays
	for k, m := range moments {
		if len(all) == 0 && k == len(moments)-1 {
			return m
		}
		for _, e := range m {
			key := e
			key.Delay = 0
			if at, ok := places[key]; ok {
				all[at].Delay = max(all[at].Delay, e.Delay)
				continue
			}
			places[key] = len(all)
			all = append(all, e)
		}
	}
	return all
}

// plus returns the moment a time after m. ok is false if that cannot be said: nothing comes before m.
func (m moment) plus(d time.Duration) (_ moment, ok bool) {
	if d == 0 || len(m) == 0 {
		return m, d == 0
	}
	later := make(moment, len(m))
	for i, e := range m {
		e.Delay = sum(e.Delay, d)
		later[i] = e
	}
	return later, true
}

// waitCount counts the edges of a session, which grow with the product of the requests that wait and the requests that they wait for.
type waitCount struct{ n, most int }

// waits returns the count for a session.
func (o *Options) waits() waitCount { return waitCount{most: 20 * o.mostRequests()} }

// add counts the edges of a node.
func (c *waitCount) add(m moment) error {
	if c.n += len(m); c.n > c.most {
		return fmt.Errorf("the requests of a session wait for each other in more than %d ways, which is the limit; split the session", c.most)
	}
	return nil
}

// countPlayed counts a request of a file whose sessions share conversations or graphs, while the file is opened: a small file could
// have any number of them.
func (f *file) countPlayed(o *Options) error {
	if !f.opening {
		return nil
	}
	most := 10 * o.mostRequests()
	if f.played++; f.played > most {
		return fmt.Errorf("the sessions of the file have more than %d requests together, because they share requests; split the file", most)
	}
	return nil
}
