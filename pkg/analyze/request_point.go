package analyze

import (
	"slices"
	"strings"

	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// A Point holds the times and the measures of one request, without its inputs and
// outputs. All figures of a level are computed from its points.
type Point struct {
	ID uint64 // order of issue; 0 in files that do not number requests
	// StartNS is the time at which the request left; 0 if it never left, or at a time that cannot be true.
	StartNS uint64
	// EndNS is the time of the last response, or the end of a failed request if that
	// is later. It is StartNS if neither is known, or can be true.
	EndNS uint64
	// Place is the position of the request in the order of issue of the whole level,
	// from 0. The order is by ID if all requests have one, else by start.
	Place int
	// InputHash is the same for requests with the same names and values of inputs; 0
	// if no input was recorded. It is FNV-1a, which does not resist deliberate
	// collisions.
	InputHash uint64
	// Model is the model that the request went to, in a run with several models.
	Model string
	// Measured holds the measures; its Answer is nil.
	answer.Measured
	// TokenNS holds the times of the token events of all choices, and GapNS the times
	// at which the Gaps ended.
	TokenNS, GapNS []uint64
	// SettledNS is a time before which no gap of this or a later request ends, in the order in which a
	// [Follower] gets them; 0 if there is none.
	SettledNS uint64
	// Numbered says that the file numbers requests: ID is valid.
	Numbered bool
	// Sending says how the request was sent; nil unless an [Observer] sees the request.
	*Sending

	session       *sessionPoint // nil unless the figures of sessions are asked for, and when all requests are read
	turn          int           // Turn + 1 of a request of a session; 0 unless asked for
	prompt        figure.Prompt // of a request with known cached tokens, until all requests are read
	stamps        Stamps        // of a request that counts
	start         export.StampSource
	complete      bool // answered in full, in any phase
	cancelled     bool // given up at the end of the run; its tokens count in rates over time
	damaged       bool // Dropped, because the derived columns are damaged and the file lacks the outputs
	resent        bool // see [export.Request.Resent]
	early         bool // the first response comes before FromNS
	answeredEarly bool // and after the start: before the request was sent whole
}

// point returns the Point of r, without Place, InputHash, TokenNS and GapNS.
func point(r *export.Request, q *answer.Measured) Point {
	p := Point{
		ID: r.ID, StartNS: r.StartNS, Model: r.Model, Measured: *q,
		cancelled: r.Status == export.StatusCancelled && !q.LeftOut,
		Numbered:  r.HasMeta, start: r.StartSource, resent: r.Resent,
	}
	p.Answer = nil
	if q.StartWrong {
		p.StartNS = 0
	}
	p.EndNS = p.PlaceNS
	if end, ok := r.LatestResponseNS(); ok {
		if !q.EndWrong {
			p.EndNS = end
		}
		first, _ := r.FirstResponseNS()
		p.early = first < q.FromNS && !q.StartWrong
		p.answeredEarly = p.early && r.StartNS != 0 && r.StartNS <= first && q.FromNS == r.SentNS
		p.complete = (r.Status == export.StatusOK || r.Status == export.StatusUnknown) && q.Class == "" && !q.LeftOut
	}
	switch {
	case q.StartWrong: // when it ended does not matter without a place in the run
		p.EndNS = 0
	case !q.EndWrong:
		p.EndNS = max(p.EndNS, r.FailedNS)
	}
	if q.Counted {
		p.stamps.add(r)
	}
	return p
}

// A sessionPoint is what the figures of sessions need of a request.
type sessionPoint struct {
	figure.SessionRequest
	texts figure.PromptTexts
}

// inSession sets what the figures of sessions need of the request r of p and its answer a. parts may be nil.
func (p *Point) inSession(r *export.Request, a *answer.Answer, parts *figure.PromptParts, cfg *figure.SessionsConfig) {
	if cfg.OnlyTrees && r.SessionID == "" {
		return
	}
	p.session = &sessionPoint{SessionRequest: figure.SessionRequest{
		Session: strings.Clone(r.SessionID), Agent: strings.Clone(r.Agent), ParentAgent: strings.Clone(r.ParentAgent),
		Depth: r.Depth, Turn: r.Turn, StartNS: p.StartNS, EndNS: p.EndNS,
	}}
	if r.SessionID != "" {
		p.turn = max(r.Turn, 0) + 1
	}
	if cfg.OnlyTrees {
		return
	}
	prompt := answer.PromptOf(r)
	if prompt == nil {
		return
	}
	p.session.Fixed = prompt.FixedOutput()
	if parts != nil {
		p.session.texts = parts.Of(prompt, a, r.Stated, !cfg.WithoutAnswers)
	}
}

// place finds the place of the prompt in the cache.
func (p *Point) place(cache *figure.PromptCache) {
	p.session.Prompt = cache.Path(&p.session.texts, p.complete || p.Events > 0, p.complete)
}

// sessionRequest returns the request for the figures of sessions, when it is known whether it was streamed.
func (p *Point) sessionRequest() *figure.SessionRequest {
	s := &p.session.SessionRequest
	s.Counted, s.Succeeded, s.Cancelled = p.Counted, p.complete, p.cancelled
	s.TTFT, s.E2EL, s.Input, s.Cached, s.Output = p.TTFT, p.E2EL, p.InputTokens, p.CachedTokens, p.OutputTokens
	return s
}

// held returns a copy of p, without its prompt, that stays valid after the next Reset of its batch.
func (p *Point) held() *Point {
	h := *p
	h.prompt = figure.Prompt{}
	h.Model, h.Message = strings.Clone(p.Model), strings.Clone(p.Message)
	h.Gaps, h.GapTokens = slices.Clone(p.Gaps), slices.Clone(p.GapTokens)
	h.TokenNS, h.GapNS = slices.Clone(p.TokenNS), slices.Clone(p.GapNS)
	if p.Sending != nil {
		s := *p.Sending
		h.Sending = &s
	}
	return &h
}

// A pointKeeper gives points memory of their own, so that they stay valid.
type pointKeeper struct {
	gaps   arena[int64]
	tokens arena[int32]
	times  arena[uint64]
}

// keep makes p stay valid and fills the fields that only kept points have.
func (k *pointKeeper) keep(p *Point, r *export.Request, a *answer.Answer) {
	p.Gaps, p.GapTokens = k.gaps.keep(p.Gaps), k.tokens.keep(p.GapTokens)
	p.TokenNS = k.times.take(len(a.Events))
	for i := range a.Events {
		p.TokenNS[i] = a.Events[i].RecvNS
	}
	p.GapNS = k.gapEnds(p.TokenNS, a, len(p.Gaps))
	p.Message = strings.Clone(p.Message)
	p.InputHash = inputHash(r.Inputs)
}

// clone returns a copy of p, a point that keep filled, that stays valid.
func (k *pointKeeper) clone(p *Point) Point {
	c := *p
	c.Gaps, c.GapTokens, c.TokenNS = k.gaps.keep(p.Gaps), k.tokens.keep(p.GapTokens), k.times.keep(p.TokenNS)
	c.GapNS = k.times.keep(p.GapNS)
	return c
}

// gapEnds returns the times at which the n gaps between the token events ended.
func (k *pointKeeper) gapEnds(tokens []uint64, a *answer.Answer, n int) []uint64 {
	switch n {
	case 0: // also if the file has token events but no gaps
		return nil
	case len(tokens) - 1: // one choice, and every gap is known
		return tokens[1:]
	}
	return appendGapEnds(k.times.take(n)[:0], a)
}

// An arena allocates the many small slices of requests from a few large ones.
type arena[T any] struct{ free []T }

// take returns a slice of n elements.
func (a *arena[T]) take(n int) []T {
	if n > len(a.free) {
		a.free = make([]T, max(n, 1<<13))
	}
	x := a.free[:n:n]
	a.free = a.free[n:]
	return x
}

// keep returns a copy of x.
func (a *arena[T]) keep(x []T) []T {
	c := a.take(len(x))
	copy(c, x)
	return c
}

// inputHash returns the 64-bit FNV-1a hash of the names and values, each ended by a
// byte that UTF-8 never contains; 0 if there are none.
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

// Stamps counts timestamps by source.
type Stamps struct {
	Kernel, User, Unknown int
	// Mixed counts requests with stamps of more than one source.
	Mixed int
}

// add counts the responses of r.
func (s *Stamps) add(r *export.Request) {
	before := *s
	if x := r.Summary; x != nil {
		s.plus(Stamps{Kernel: x.Kernel, User: x.User, Unknown: x.N - x.Kernel - x.User})
	}
	for i := range r.Responses {
		s.addOne(r.Responses[i].Source)
	}
	if s.Kernel > before.Kernel && (s.User > before.User || s.Unknown > before.Unknown) {
		s.Mixed++
	}
}

// addOne counts a single timestamp.
func (s *Stamps) addOne(by export.StampSource) {
	switch by {
	case export.SourceKernel:
		s.Kernel++
	case export.SourceUser:
		s.User++
	default:
		s.Unknown++
	}
}

// plus adds the counts of t.
func (s *Stamps) plus(t Stamps) {
	s.Kernel += t.Kernel
	s.User += t.User
	s.Unknown += t.Unknown
	s.Mixed += t.Mixed
}

// A Sending says how a request was sent, and by whom. Times of 0 are missing.
type Sending struct {
	ScheduledNS, IssuedNS uint64
	// ConnectNS is the length of the name lookup and the handshakes of TCP and TLS.
	ConnectNS int64
	Slot      int // of the closed loop
	Rank      int
	Phase     export.Phase
	Status    export.Status
	Session   string
	Turn      int
	// FirstTokenNS is the time of the first token event; 0 without one.
	FirstTokenNS uint64
}

// sendingOf returns the Sending of r.
func sendingOf(r *export.Request) Sending {
	return Sending{
		ScheduledNS: r.ScheduledNS, IssuedNS: r.IssuedNS, ConnectNS: max(0, int64(r.DNS+r.Connect+r.TLS)),
		Slot: r.Worker, Rank: r.Rank, Phase: r.Phase, Status: r.Status,
		Session: strings.Clone(r.SessionID), Turn: r.Turn,
	}
}

// Chained reports whether the times of all token events of a point with a Sending follow from FirstTokenNS and the
// Gaps: the answer has one choice, and no gap is unknown. TokenNS and GapNS are then nil, to save time, unless the
// points are kept; else they are filled.
func (p *Point) Chained() bool { return p.FirstTokenNS != 0 && p.TokenNS == nil }

// appendGapEnds appends the times at which the gaps between the token events ended.
func appendGapEnds(ends []uint64, a *answer.Answer) []uint64 {
	for i := range a.Events {
		e := &a.Events[i]
		if e.Prev < 0 {
			continue
		}
		if gap := answer.Elapsed(a.Events[e.Prev].RecvNS, e.RecvNS); gap.OK && gap.V >= 0 && gap.V <= export.LongestNS {
			ends = append(ends, e.RecvNS)
		}
	}
	return ends
}

// An eachPoint calls do with points in the order of their starts until it returns false. A point is valid
// until do returns.
type eachPoint func(do func(p *Point) bool)

// Complete reports whether the request was answered in full, in any phase: it counts in rates of
// requests over time.
func (p *Point) Complete() bool { return p.complete }

// Delivers reports whether the tokens of the request count in rates over time: it is complete, or was
// cancelled.
func (p *Point) Delivers() bool { return p.complete || p.cancelled }

// TokensLost reports whether the request has tokens of unknown number: their events were not recorded or
// are no tokens because the answer was not streamed, the tokenizer could not count a text, or the stated number
// cannot be true.
func (p *Point) TokensLost() bool {
	return p.Dropped || p.Uncounted || p.NotCounted != nil || p.HasWrong(answer.Quantity(answer.OutputTokens))
}
