package load

// Offered is the load that a schedule asked for: Requests due from the instant FromNS
// of the first to UntilNS of the last, in Unix ns. The zero value is none.
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
