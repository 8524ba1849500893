package analyze

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// An Observer sees everything that [Run] reads, so that a picture of the run needs no second pass
// over its file. Run calls the methods one after the other, and never two at a time.
type Observer interface {
	// Begin is called before the first request. It is called again if the file turns out to have an
	// unusual layout and is read anew: all that was observed before is void then.
	Begin(run *export.Run)
	// Request is called for each request, of any outcome and phase, in the order of the file. level
	// is its index in Run.Experiments. p has its Sending; p and all that it points to are valid until the
	// method returns.
	Request(level int, p *Point)
	// End is called after the last request, even if the rest of the file cannot be read. Run computes its
	// figures next, so an Observer with much work starts a goroutine for it. The run that
	// Begin got is complete. End is not called if Run cannot return figures.
	End()
	// Scrape is called for each scrape of telemetry, after the last request. s is valid until the
	// method returns.
	Scrape(s *export.Scrape)
}

// Chained reports whether the times of all token events of a point with a Sending follow from FirstTokenNS and the
// Gaps: the answer has one choice, and no gap is unknown. TokenNS and GapNS are then nil, to save time, unless the
// points are kept; else they are filled.
func (p *Point) Chained() bool { return p.FirstTokenNS != 0 && p.TokenNS == nil }

// A Sending says how a request was sent, and by whom. Times of 0 are missing.
type Sending struct {
	ScheduledNS, IssuedNS uint64
	// ConnectNS is the length of the name lookup and the handshakes of TCP and TLS.
	ConnectNS int64
	Slot      int // of the closed loop
	Rank      int
	Conn      int
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
		Slot: r.Worker, Rank: r.Rank, Conn: r.Conn, Phase: r.Phase, Status: r.Status,
		Session: strings.Clone(r.SessionID), Turn: r.Turn,
	}
}

// A FirstToken is the first token of a request that counts.
type FirstToken struct {
	StartNS uint64
	TTFTNS  int64
}

// firstTokens returns the first tokens of x in the order of their starts. It reorders x.
func firstTokens(x []timed) []FirstToken {
	slices.SortFunc(x, func(a, b timed) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.ttft, b.ttft)) })
	var all []FirstToken
	for i := range x {
		if x[i].ttft != answer.Missing && x[i].start != 0 {
			all = append(all, FirstToken{x[i].start, x[i].ttft})
		}
	}
	return all
}

// observedScrapes is a reader that shows each scrape to an Observer as well.
type observedScrapes struct {
	export.Reader
	observer Observer
}

// Scrapes implements [export.Reader].
func (r observedScrapes) Scrapes(ctx context.Context, do func(*export.Scrape) error) error {
	return r.Reader.Scrapes(ctx, func(s *export.Scrape) error {
		r.observer.Scrape(s)
		return do(s)
	})
}

// observe adds to p what an Observer sees of its request r besides the measures. It stays valid until the
// next Reset.
func (b *batch) observe(p *Point, r *export.Request, a *answer.Answer) {
	b.sendings = append(b.sendings, sendingOf(r))
	p.Sending = &b.sendings[len(b.sendings)-1]
	first, ok := a.FirstTokenNS(r)
	if !ok {
		return
	}
	chained := p.Events == len(p.Gaps)+1
	if !chained && len(a.Events) == 0 {
		return // some gaps of an answer without events were left out
	}
	p.FirstTokenNS = first
	if b.cfg.keeps() || chained {
		return // the point has its times, or they follow
	}
	from := len(b.times)
	for i := range a.Events {
		b.times = append(b.times, a.Events[i].RecvNS)
	}
	p.TokenNS = b.times[from:len(b.times):len(b.times)]
	if len(p.Gaps) > 0 { // else the file may only seem to show some
		from = len(b.times)
		b.times = appendGapEnds(b.times, a)
		p.GapNS = b.times[from:len(b.times):len(b.times)]
	}
}

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

// A Follower gets the requests of each level in the order of time when all are read, with less memory than
// Config.Series takes. [Run] calls the methods one after the other, and never two at a time.
type Follower interface {
	// Begin is called before the first request of the run is read, and again if the file turns out to
	// have an unusual layout and is read anew: all that came before is void then.
	Begin(run *export.Run)
	// Request is called for each request of the part that is analyzed, in the order of their starts,
	// including excluded ones. level is its index in Run.Experiments. p is valid until the method returns.
	Request(level int, p *Point)
	// Step is called for each step of the level, in their order, after its requests.
	Step(level int, s Step)
}
