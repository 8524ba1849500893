package jsonscan

// Attempts decides when it pays to learn from a text, for a cache of what follows: at once
// after the cache was of use, and else after ever longer rests. The zero value is ready.
type Attempts struct {
	rest, wait int
	used       bool
}

// maxWait is the longest rest, in calls of Try.
const maxWait = 255

// Used notes that the cache was of use.
func (a *Attempts) Used() { a.used = true }

// Try reports whether to learn now.
func (a *Attempts) Try() bool {
	if a.used {
		*a = Attempts{}
	}
	if a.rest > 0 {
		a.rest--
		return false
	}
	a.rest, a.wait = a.wait, min(2*a.wait+1, maxWait)
	return true
}
