package load

// Offered is the load that a schedule asked for. The first of its Requests was due at
// FromNS, the last at UntilNS (Unix ns). The zero value has no requests.
type Offered struct {
	Requests        int
	FromNS, UntilNS uint64
}

// Add counts a request that was due at dueNS. Requests are added in order.
func (o *Offered) Add(dueNS uint64) {
	if o.Requests == 0 {
		o.FromNS = dueNS
	}
	o.Requests++
	o.UntilNS = dueNS
}
