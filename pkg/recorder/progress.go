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
	// rest of the level, 0 when unknown. AtMost says that it may be over sooner.
	Fraction float64
	Left     time.Duration
	AtMost   bool
	// Later is the time of the levels after this one in seconds, as [Config.Forecast] has it.
	Later Figure
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
	case p.Target > 0:
		p.Fraction = min(float64(p.Done)/float64(p.Target), 1)
	}
	p.Left = l.left(now, &p)
	p.Later = l.later
	l.cfg.Progress(p)
}

// left estimates how long the rest of the level takes; 0 when that is unknown. An open loop, and
// a warm-up by time, take what the forecast says. The rest of a closed loop with a number of
// requests follows from the pace so far.
func (l *levelRun) left(now uint64, p *Progress) time.Duration {
	counted := p.Target > 0 && !p.Warmup
	_, open := l.load.(load.Open)
	if p.Warmup || counted && open || !counted && p.Fraction == 0 { // a measurement that has just begun shows no pace
		planned := l.forecast.Time
		if !planned.Known() || planned.Bound == AtLeast && !open {
			return 0
		}
		p.AtMost = planned.Bound == AtMost
		left := max(time.Duration(planned.Value*float64(time.Second))-p.Elapsed, 0)
		if open && l.load.Slots() > 0 && paced(p, l.load.Slots()) { // what is held back comes later
			left = max(left, l.byPace(now, p))
		}
		return left
	}
	switch {
	case l.meter == nil:
		return 0
	case counted && paced(p, l.load.Slots()):
		return l.byPace(now, p)
	case counted:
		return 0
	}
	return rest(time.Duration(now-l.meter.StartNS()), p.Fraction)
}

// byPace estimates the rest by the pace up to the latest request that ended.
func (l *levelRun) byPace(now uint64, p *Progress) time.Duration {
	if p.Done != l.pacedDone {
		l.pacedDone, l.pacedNS = p.Done, now
	}
	return max(rest(time.Duration(l.pacedNS-l.meter.StartNS()), p.Fraction)-time.Duration(now-l.pacedNS), 0)
}

// leastPaced is the least number of ended requests that show the pace of a level.
const leastPaced = 3

// paced reports whether enough requests ended to estimate the time of the others: as many as
// there are slots, because the first ones say little about a slot's share of the time, or half of all.
func paced(p *Progress, slots int) bool {
	return !p.Warmup && p.Target > 0 && p.Done >= min(max(slots, leastPaced), (p.Target+1)/2)
}

// rest estimates how long the rest takes when the fraction done took elapsed; 0 when done
// is 0.
func rest(elapsed time.Duration, done float64) time.Duration {
	if done <= 0 {
		return 0
	}
	return time.Duration(float64(elapsed) * (1 - done) / done)
}

// laterLevels returns the time of the levels after level i, which is unknown for a search.
func (r *runState) laterLevels(i int) Figure {
	if r.cfg.Plan != nil {
		return unknown("latency chooses the levels")
	}
	later := Figure{Bound: Exact}
	for _, level := range r.cfg.Levels[i+1:] {
		later = later.Add(r.cfg.Forecast(level).Time)
	}
	if len(r.cfg.Levels) > i+1 && r.cfg.StopOnUnstable {
		later = later.Within(AtMost)
	}
	return later
}
