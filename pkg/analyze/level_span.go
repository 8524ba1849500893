package analyze

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/export"
)

// seconds writes a duration in seconds: 90s, never 1m30s.
func seconds(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s"
}

// A requestSpan is the span of time of the counted and failed requests of a level.
type requestSpan struct {
	figure.Span
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
func (s requestSpan) extent(e *export.Experiment) (level figure.Span, ok bool) {
	level = s.Span
	// Windows elsewhere are of another clock.
	if b := recorded(e); s.ok && b != nil && b[0] <= level.ToNS && b[len(b)-1] >= level.FromNS {
		level.FromNS = min(level.FromNS, b[0])
		level.ToNS = max(level.ToNS, b[len(b)-1])
	}
	return level, s.ok
}

// recorded returns the bounds of the recorder's windows; nil if there are none or if they
// are not in order. Without windows, perf_analyzer writes one from 0 to the end of time.
func recorded(e *export.Experiment) []uint64 {
	b := e.WindowBoundaries
	if len(b) < 2 || b[0] == 0 && b[len(b)-1] == math.MaxUint64 {
		return nil
	}
	for i := 1; i < len(b); i++ {
		if b[i] <= b[i-1] {
			return nil
		}
	}
	return b
}

// concurrency returns the number of users of a closed loop whose requests the file has, 0 for
// another kind of load.
// perf_analyzer's periodic mode writes concurrency 1 as a placeholder, together with a
// window from 0 to the end of time.
func concurrency(e *export.Experiment) float64 {
	value := e.Value
	if e.Meta != nil && e.Meta.Share != nil {
		value = e.Meta.Share.Value
	}
	n, err := strconv.ParseFloat(value, 64)
	w := e.WindowBoundaries
	placeholder := len(w) == 2 && w[0] == 0 && w[1] == math.MaxUint64
	placeholder = placeholder || loadOf(e) != "" // the number is not all of the load
	if e.Mode != export.ModeConcurrency || err != nil || placeholder || !(n < mostUsers) {
		return 0
	}
	return n
}

// loadOf returns pa-record's description of the load besides mode and value; "" if it
// has none.
func loadOf(e *export.Experiment) string {
	if e.Meta == nil {
		return ""
	}
	return e.Meta.Load
}

// mostUsers is above the users of any closed loop; a level of more is damaged.
const mostUsers = 1e9

// withinClocks returns an error if a part of a run that was merged from shards is too short
// for what is known about the ranks' clocks: it may hold requests of one rank that another
// rank's clock would put elsewhere.
func withinClocks(run *export.Run, part time.Duration, what string) error {
	if run.Meta == nil || run.Meta.Merged == nil || len(run.Meta.Merged.Shards) < 2 {
		return nil
	}
	bound := run.Meta.Merged.ClockBoundNS
	switch {
	case bound == nil:
		return fmt.Errorf("%s is n/a: the clocks of the ranks were not compared, so the requests of different machines cannot be put in the order of time; each shard alone has such parts", what)
	case part < time.Duration(*bound):
		return fmt.Errorf("%s of %s is n/a: the clocks of the ranks agree only within %s", what, seconds(part), seconds(time.Duration(*bound)))
	}
	return nil
}

// threshold returns the requests in flight of a steady state: 95 % of concurrency, at least 1.
func threshold(concurrency int) int { return max(1, int((95*int64(concurrency)+99)/100)) }
