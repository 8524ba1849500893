package quality

// A Timeliness says how an answer kept the deadlines of a reader. The reader takes pace nanoseconds
// for each token from the start of the request on: token i, from 1, is due at i·pace.
type Timeliness struct {
	Tokens int64 // token events
	Met    int64 // tokens that came by their deadline
	// IdleNS is the time for which the reader waited for tokens: the longest time by which a token
	// was late. The reader goes on at the same pace after each wait, so waits do not add up beyond
	// the latest token.
	IdleNS int64
}

// Timeliness measures an answer. pace is at least 1.
//
// Source: arXiv 2410.14257, token deadlines d_i = V·i and the user's idle time.
func (a *Answer) Timeliness(pace int64) Timeliness {
	pace = min(pace, endless)
	late := a.ttft - pace
	latest, met := max(late, 0), int64(0)
	if late <= 0 {
		met++
	}
	for i, g := range a.gaps {
		if late <= 0 && a.longest <= pace { // then all later tokens are in time
			met += int64(len(a.gaps) - i)
			break
		}
		late = max(late, -endless) + g - pace
		latest = max(latest, late)
		if late <= 0 {
			met++
		}
	}
	return Timeliness{Tokens: a.tokens(), Met: met, IdleNS: latest}
}

// Share returns Met/Tokens. There must be a token.
func (t Timeliness) Share() float64 { return float64(t.Met) / float64(t.Tokens) }

// Benefit returns the tokens less the tokens that the reader could have read while idle:
// Tokens − IdleNS/pace. It can be negative. Divided by the duration of a level, the sum over its
// requests is the smooth goodput. The weight of the idle time, one token a pace, is ours; arXiv
// 2410.14257 leaves it to the application.
func (t Timeliness) Benefit(pace int64) float64 {
	return float64(t.Tokens) - float64(t.IdleNS)/float64(pace)
}
