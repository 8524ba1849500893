package analyze

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// A Point is one request when its answer has been looked at: its times and its
// measures, without what was sent and received.
type Point struct {
	ID uint64 // order of issue; 0 in files that do not number requests
	// StartNS is when it left; 0 for a request that never did.
	StartNS uint64
	// EndNS is the last response or, for a request that failed, when it was
	// over if that is later. StartNS when neither is known.
	EndNS uint64
	// Place is the request's in the order of issue of the whole level, from 0:
	// by ID where all have one, else by start.
	Place int
	// InputHash tells inputs apart: requests with equal hashes were sent the
	// same, names and values. It is FNV-1a and no protection from someone who
	// wants two inputs to look alike. 0 where no input is recorded.
	InputHash uint64
	// Model is the model that it went to, in a run with several.
	Model string
	// Measured has no Answer.
	answer.Measured
	// TokenNS are the instants of the token events, of all choices, and GapNS
	// those at which the Gaps ended.
	TokenNS, GapNS []uint64

	// placeNS is StartNS or, for a request that never left, the next best
	// instant; 0 when there is none.
	placeNS  uint64
	numbered bool   // ID is one
	stamps   Stamps // of a request that counts
	start    export.StampSource
	// complete says that it was answered in full, in whichever phase.
	complete, cancelled bool
	assumed, dropped    bool // of its Answer
	numbers             bool // likewise
	unreadable          int  // of its Answer
	resent              bool // see [export.Request.Resent]
	early               bool // the first response comes before FromNS
	answeredEarly       bool // and after the start: before the request was sent whole
}

// point returns what is kept of r. Place, InputHash, TokenNS and GapNS are for
// those who keep it.
func point(r *export.Request, q *answer.Measured) Point {
	p := Point{
		ID: r.ID, StartNS: r.StartNS, Model: r.Model, Measured: *q,
		assumed: q.Answer.Assumed, dropped: q.Answer.Dropped, numbers: q.Answer.Numbers, unreadable: q.Answer.Unreadable,
		cancelled: r.Status == export.StatusCancelled && !q.LeftOut,
		numbered:  r.HasMeta, start: r.StartSource, resent: r.Resent,
	}
	p.Answer = nil
	for _, t := range [...]uint64{r.StartNS, r.IssuedNS, r.ScheduledNS, r.EndedNS} {
		if p.placeNS == 0 {
			p.placeNS = t
		}
	}
	p.EndNS = p.placeNS
	if end, ok := r.LastNS(); ok {
		p.EndNS = end
		first := r.Responses[0].RecvNS
		p.early = first < q.FromNS
		p.answeredEarly = p.early && r.StartNS != 0 && r.StartNS <= first && q.FromNS == r.SentNS
		p.complete = (r.Status == export.StatusOK || r.Status == export.StatusUnknown) && q.Class == "" && !q.LeftOut
	}
	p.EndNS = max(p.EndNS, r.EndedNS)
	if q.Counted {
		p.stamps.add(r)
	}
	return p
}

// A keeper keeps the points of one experiment: about 400 bytes a request and
// 16 a token, 24 where a request has several choices.
type keeper struct {
	points []Point
	gaps   arena[int64]
	times  arena[uint64]
}

func (k *keeper) keep(p *Point, r *export.Request, a *answer.Answer) {
	c := *p
	c.Gaps = k.gaps.keep(p.Gaps)
	c.TokenNS = k.times.take(len(a.Events))
	for i := range a.Events {
		c.TokenNS[i] = a.Events[i].RecvNS
	}
	c.GapNS = k.gapEnds(c.TokenNS, a, len(c.Gaps))
	c.Message = strings.Clone(p.Message)
	c.InputHash = inputHash(r.Inputs)
	k.points = append(k.points, c)
}

// gapEnds returns when each of n gaps between the token events ended.
func (k *keeper) gapEnds(tokens []uint64, a *answer.Answer, n int) []uint64 {
	switch n {
	case 0: // also where the file only seems to show some
		return nil
	case len(tokens) - 1: // of one choice, and all of them possible
		return tokens[1:]
	}
	ends := k.times.take(n)[:0]
	for i := range a.Events {
		e := &a.Events[i]
		if e.Prev >= 0 && answer.Elapsed(a.Events[e.Prev].RecvNS, e.RecvNS).OK {
			ends = append(ends, e.RecvNS)
		}
	}
	return ends
}

// series returns the points in the order of their starts.
func (k *keeper) series() []Point {
	slices.SortStableFunc(k.points, func(a, b Point) int {
		switch {
		case a.placeNS < b.placeNS:
			return -1
		case a.placeNS > b.placeNS:
			return 1
		}
		return 0
	})
	return k.points
}

// number fills in the Place of points, which are in the order of their starts.
func number(points []Point) {
	order := make([]int, len(points))
	numbered := true
	for i := range points {
		order[i] = i
		numbered = numbered && points[i].numbered
	}
	if numbered {
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(points[a].ID, points[b].ID) })
	}
	for place, i := range order {
		points[i].Place = place
	}
}

// An arena gives out slices of a few large ones: there are as many as
// requests.
type arena[T any] struct{ free []T }

func (a *arena[T]) take(n int) []T {
	if n > len(a.free) {
		a.free = make([]T, max(n, 1<<13))
	}
	x := a.free[:n:n]
	a.free = a.free[n:]
	return x
}

func (a *arena[T]) keep(x []T) []T {
	c := a.take(len(x))
	copy(c, x)
	return c
}

// inputHash is the 64-bit FNV-1a hash of the names and values, each ended by a
// byte that no UTF-8 holds; 0 of none.
func inputHash(f export.Fields) uint64 {
	if len(f) == 0 {
		return 0
	}
	const offset, prime = 14695981039346656037, 1099511628211
	h := uint64(offset)
	for i := range f {
		for _, c := range []byte(f[i].Name) {
			h = (h ^ uint64(c)) * prime
		}
		h = (h ^ 0xff) * prime
		for _, c := range f[i].Value.Data {
			h = (h ^ uint64(c)) * prime
		}
		h = (h ^ 0xff) * prime
	}
	return h
}
