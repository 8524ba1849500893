package quality

// A Deadline says when tokens are due, in nanoseconds: the first token First after the start of the
// request, each later token Next after the previous token. Next is at least 1.
type Deadline struct{ First, Next int64 }

// A Fluidity counts the deadlines of tokens and the deadlines that were missed.
type Fluidity struct{ Deadlines, Misses int64 }

// Index returns 1 − Misses/Deadlines, from 0 to 1; ok is false without deadlines.
func (f Fluidity) Index() (index float64, ok bool) {
	if f.Deadlines == 0 {
		return 0, false
	}
	return 1 - float64(f.Misses)/float64(f.Deadlines), true
}

// Fluidity counts the deadlines of an answer. A token that comes early adds the time it is early to
// a slack, which later tokens may use up. A token that comes later than its deadline and the slack,
// by x, misses ⌊x/Next⌋+1 deadlines, as many as pass until it comes, and resets the slack to 0.
//
// Source: Etalon (arXiv 2407.07000) and arXiv 2507.09019.
func (a *Answer) Fluidity(d Deadline) Fluidity {
	var f Fluidity
	d = Deadline{min(d.First, endless), min(d.Next, endless)}
	if a.ttft <= d.First && a.longest <= d.Next { // no token is late, not even without slack
		return Fluidity{Deadlines: a.tokens()}
	}
	slack := f.token(d.First-a.ttft, d.Next)
	for _, g := range a.gaps {
		slack = f.token(slack+d.Next-g, d.Next)
	}
	return f
}

// token counts a token that leaves that slack, which is negative if the token is late. It returns
// the slack for the next token.
func (f *Fluidity) token(slack, next int64) int64 {
	if slack >= 0 {
		f.Deadlines++
		return min(slack, endless)
	}
	m := -slack/next + 1
	f.Deadlines += m
	f.Misses += m
	return 0
}
