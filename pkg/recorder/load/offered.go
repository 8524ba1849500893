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

// Gaps returns the number of gaps of sent requests of the schedule, and when the first gap
// began, if the first of them was sent at firstNS.
func (o *Offered) Gaps(sent int, firstNS uint64) (n int, fromNS uint64) {
	if o.BeganNS > 0 && o.FromNS > o.BeganNS {
		return sent, o.BeganNS
	}
	return sent - 1, firstNS
}

// Add counts a request that was due at dueNS. Requests are added in order.
func (o *Offered) Add(dueNS uint64) {
	if o.Requests == 0 {
		o.FromNS = dueNS
	}
	o.Requests++
	o.UntilNS = dueNS
}
