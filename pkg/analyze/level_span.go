package analyze

import (
	"strconv"
	"time"

	"github.com/pa-tools/pa/pkg/export"
)

// seconds writes a duration in seconds: 90s, never 1m30s.
func seconds(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s"
}

// A requestSpan is the span of time of the counted and failed requests of a level.
type requestSpan struct {
	Span
	ok bool // there is such a request
}

// add extends the span to p if p counts or failed.
func (s *requestSpan) add(p *Point) {
	if !p.Counted && p.Excluded != export.ExcludedFailed || p.PlaceNS == 0 {
		return
	}
	if !s.ok || p.PlaceNS < s.FromNS {
		s.FromNS = p.PlaceNS
	}
	s.ToNS = max(s.ToNS, p.EndNS, p.PlaceNS) // the clock may have been set back
	s.ok = true
}

// extent returns the time of the level e of these requests: the recorder's windows, extended to the counted
// and failed requests outside of them. ok is false without such requests.
func (s requestSpan) extent(e *export.Experiment) (level Span, ok bool) {
	level = s.Span
	// Windows elsewhere are of another clock.
	if b := recorded(e); s.ok && b != nil && b[0] <= level.ToNS && b[len(b)-1] >= level.FromNS {
		level.FromNS = min(level.FromNS, b[0])
		level.ToNS = max(level.ToNS, b[len(b)-1])
	}
	return level, s.ok
}

// millis writes nanoseconds for a message.
func millis(ns float64) string { return strconv.FormatFloat(ns/1e6, 'f', 2, 64) + " ms" }
