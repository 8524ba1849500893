package quality

import "github.com/pa-tools/pa/internal/stat"

// Most bounds the sum of the times of one answer, in nanoseconds (36 years), so that no
// computation overflows. No answer uses up a slack above Most or misses a deadline further away than
// Most, so endless replaces longer slacks and deadlines.
const (
	Most    = 1 << 60
	endless = 2 * Most
)

// An Answer holds the times of the token events of one answer, and sums that several figures need. Set fills
// it; the zero value must not be used.
type Answer struct {
	ttft int64
	gaps []int64

	longest, shortest int64 // longest and shortest gap; 0 without gaps
	sum               int64 // sum of the gaps
	// sums holds the sums of the gaps in ranges of their positions: range k, from 0, has the positions from 2^k to
	// 2^(k+1)−1. Only the ranges that have gaps are set.
	sums [maxRanges]int64
}

// maxRanges is the number of ranges in sums; no slice of gaps needs more.
const maxRanges = 64

// Set fills a with the times of an answer, in nanoseconds: ttft is the time from the start of the request to the
// first token event, and gaps are the times between successive token events. The caller must not change gaps while a
// is in use. Set reports whether the sum of the absolute values of the times is below Most. If it is not, a must not
// be used.
func (a *Answer) Set(ttft int64, gaps []int64) (fits bool) {
	a.ttft, a.gaps, a.sum, a.longest, a.shortest = ttft, gaps, 0, 0, 0
	if len(gaps) > 0 {
		a.longest, a.shortest = gaps[0], gaps[0]
	}
	longest, shortest := a.longest, a.shortest
	for k := range a.sums {
		if len(gaps) == 0 {
			break
		}
		some := gaps[:min(len(gaps), 1<<k)]
		gaps = gaps[len(some):]
		sum := int64(0)
		for _, g := range some {
			sum += g
			longest, shortest = max(longest, g), min(shortest, g)
		}
		a.sums[k] = sum
		a.sum += sum
	}
	a.longest, a.shortest = longest, shortest
	most := max(magnitude(ttft), magnitude(longest), magnitude(shortest))
	return most < Most/uint64(len(a.gaps)+1) || a.addsUp() // the first comparison suffices for real times
}

// addsUp reports whether the sum of the absolute values of the times is below Most.
func (a *Answer) addsUp() bool {
	sum := magnitude(a.ttft)
	for _, g := range a.gaps {
		if sum >= Most {
			return false
		}
		sum += magnitude(g) // at most 2⁶³
	}
	return sum < Most
}

// magnitude returns the absolute value of v.
func magnitude(v int64) uint64 { return uint64(v^v>>63) - uint64(v>>63) }

// tokens returns the number of token events.
func (a *Answer) tokens() int64 { return int64(len(a.gaps) + 1) }

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

// timeliness measures an answer. pace is at least 1.
//
// Source: arXiv 2410.14257, token deadlines d_i = V·i and the user's idle time.
func (a *Answer) timeliness(pace int64) Timeliness {
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

// share returns Met/Tokens. There must be a token.
func (t Timeliness) share() float64 { return float64(t.Met) / float64(t.Tokens) }

// benefit returns the tokens less the tokens that the reader could have read while idle:
// Tokens − IdleNS/pace. It can be negative. Divided by the duration of a level, the sum over its
// requests is the smooth goodput. The weight of the idle time, one token a pace, is ours; arXiv
// 2410.14257 leaves it to the application.
func (t Timeliness) benefit(pace int64) float64 {
	return float64(t.Tokens) - float64(t.IdleNS)/float64(pace)
}

// A deadline says when tokens are due, in nanoseconds: the first token First after the start of the
// request, each later token Next after the previous token. Next is at least 1.
type deadline struct{ First, Next int64 }

// A Fluidity counts the deadlines of tokens and the deadlines that were missed.
type Fluidity struct{ Deadlines, Misses int64 }

// index returns 1 − Misses/Deadlines, from 0 to 1; ok is false without deadlines.
func (f Fluidity) index() (index float64, ok bool) {
	if f.Deadlines == 0 {
		return 0, false
	}
	return 1 - float64(f.Misses)/float64(f.Deadlines), true
}

// fluidity counts the deadlines of an answer. A token that comes early adds the time it is early to
// a slack, which later tokens may use up. A token that comes later than its deadline and the slack,
// by x, misses ⌊x/Next⌋+1 deadlines, as many as pass until it comes, and resets the slack to 0.
//
// Source: Etalon (arXiv 2407.07000) and arXiv 2507.09019.
func (a *Answer) fluidity(d deadline) Fluidity {
	var f Fluidity
	d = deadline{min(d.First, endless), min(d.Next, endless)}
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

// Positions sums up gaps by their position in the answer, in ranges that double: the first gap, the
// second and third, the fourth to the seventh, ….
type Positions struct {
	n    [maxRanges]int64
	sums [maxRanges]stat.IntSum
}

// A Position is the mean of the gaps at the positions From to To.
type Position struct {
	From, To int64 // the first gap, between the first and the second token event, is at 1
	N        int64
	MeanNS   float64
}

// Add adds the gaps of an answer.
func (p *Positions) Add(a *Answer) {
	left := len(a.gaps)
	for k := 0; left > 0; k++ {
		n := min(left, 1<<k)
		p.n[k] += int64(n)
		p.sums[k].Add(a.sums[k])
		left -= n
	}
}

// Means returns the ranges that have gaps.
func (p *Positions) Means() []Position {
	var all []Position
	for k, n := range p.n {
		if n > 0 {
			all = append(all, Position{1 << k, 1<<(k+1) - 1, n, p.sums[k].Div(int(n))})
		}
	}
	return all
}
