package load

// Offered is the load that a schedule asked for. The first of its Requests was due at
// FromNS, the last at UntilNS (Unix ns). The zero value has no requests.
type Offered struct {
	Requests        int
	FromNS, UntilNS uint64
	// BeganNS is when the schedule began, if the gap before the first request belongs to
	// it; 0 if that gap is not known.
	BeganNS uint64
}

// Gaps returns the number of gaps between a number of requests of the schedule, and when the first
// gap began. firstNS is when the first request was sent.
func (o *Offered) Gaps(requests int, firstNS uint64) (n int, fromNS uint64) {
	if o.BeganNS > 0 && o.FromNS > o.BeganNS {
		return requests, o.BeganNS
	}
	return requests - 1, firstNS
}

// Add counts a request that was due at dueNS. Requests are added in order.
func (o *Offered) Add(dueNS uint64) {
	if o.Requests == 0 {
		o.FromNS = dueNS
	}
	o.Requests++
	o.UntilNS = dueNS
}
