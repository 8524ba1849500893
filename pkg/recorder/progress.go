package recorder

import (
	"time"

	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/window"
)

// Progress is a snapshot of a run under way.
type Progress struct {
	Index, Levels int // index of the present level; number of levels, 0 if unknown
	Load          load.Level
	Warmup        bool
	Failed        int // at this level
	InFlight      int
	Elapsed       time.Duration // since the level began
	// Done counts the ended requests of the present stage (warm-up or measurement).
	// Target is the number of requests that end the stage, 0 when time ends it.
	Done, Target int
	// Fraction is the part of the stage that is over, from 0 to 1. Left is the estimated
	// rest of the measurement, 0 when unknown. AtMost says that it may be over sooner.
	Fraction float64
	Left     time.Duration
	AtMost   bool
	// Recent holds the figures of the requests that ended, and of the tokens that arrived, in
	// the last five seconds.
	Recent window.Recent
	// ClientLimited says that by the figures so far the client may be the limit of the
	// level; see [Level.Saturated], which judges the whole level.
	ClientLimited bool
}

// addRecent adds a successful request that ended at endNS to the figures of Progress.
func (l *levelRun) addRecent(x *backend.Exchange, endNS uint64, ended bool) {
	r, t := &x.Request, &x.Tokens
	switch streamed := l.streamed(x); {
	case streamed && t.N > 0:
		tokens := r.Responses[t.First : t.Last+1]
		first := time.Duration(tokens[0].RecvNS - r.StartNS)
		if t.Several || t.N != len(tokens) { // the neighbor of a token is not the previous one of its choice
			tokens = nil
		}
		l.recent.AddStreamed(endNS, t.N, len(r.Responses), first, tokens)
	case !streamed && ended:
		l.recent.AddWhole(endNS, time.Duration(endNS-r.StartNS))
	}
}

// streamed reports whether the response to a request was streamed, as far as known: there are
// several responses, or all requests of the run asked for it and the response is no whole body.
func (l *levelRun) streamed(x *backend.Exchange) bool {
	asked := l.cfg.Run.Meta.Streaming
	return len(x.Request.Responses) > 1 || asked != nil && *asked && !x.Tokens.Whole
}

// report passes a snapshot to Config.Progress.
func (l *levelRun) report() {
	if l.cfg.Progress == nil {
		return
	}
	p := Progress{
		Index: l.index, Levels: len(l.cfg.Levels), Load: l.load, Warmup: l.meter == nil,
		Failed: l.out.Failed, InFlight: l.admission.Admitted() - l.returned,
		Done: l.warmed, Target: l.admission.Warmup,
	}
	if !p.Warmup {
		p.Done, p.Target = l.returned-l.warmed, max(l.admission.Measured, 0)
		if p.Target > 0 {
			p.Done = min(p.Done, p.Target) // extra requests that complete sequences
		}
	}
	now := l.cfg.Clock.NowNS()
	p.Elapsed = time.Duration(now - l.startNS)
	l.recent.Arrived(now, l.startNS, l.arrivals.Total())
	p.Recent = l.recent.Recent(now, l.startNS)
	p.ClientLimited = l.client != nil && l.client.Limited(l.latencies.Mean())
	switch {
	case l.meter != nil:
		p.Fraction, p.AtMost = l.meter.Fraction(now, p.Done)
		p.Left = left(time.Duration(now-l.meter.StartNS()), p.Fraction)
	case p.Target > 0:
		p.Fraction = min(float64(p.Done)/float64(p.Target), 1)
	}
	l.cfg.Progress(p)
}

// left estimates how long the rest takes when the fraction done took elapsed; 0 when done
// is 0.
func left(elapsed time.Duration, done float64) time.Duration {
	if done <= 0 {
		return 0
	}
	return time.Duration(float64(elapsed) * (1 - done) / done)
}
