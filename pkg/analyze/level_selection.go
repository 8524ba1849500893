package analyze

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/pa-tools/pa/pkg/export"
)

// A Selection is the part of each load level to analyze. The zero value is the whole
// level.
//
// A request belongs to the part in which it started, with all its latencies, so that
// slow requests are not left out. Rates divide the requests that completed and the
// tokens that were delivered within the part by its length; see [Selected].
//
// Window, the trims and SteadyState exclude each other.
type Selection struct {
	Window             *Interval // nil: none
	TrimStart, TrimEnd Trim
	// SteadyState selects the time from the first to the last moment at which the number
	// of requests in flight was at 95 % of the concurrency.
	SteadyState bool
	// WithoutPauses leaves out the requests that a pause of the recorder touched, and the
	// time of the pauses. It can be combined with each of the others.
	WithoutPauses bool
}

// An Interval reaches from From up to, but not including, To, counted from the start of
// the level. To 0 means the level's end. [Selected] says where a level starts and ends.
type Interval struct{ From, To time.Duration }

// A Trim is a length of time or a share of the level, between 0 and 1.
type Trim struct {
	Length time.Duration
	Share  float64
}

// IsZero reports whether s is the whole level, its pauses included.
func (s Selection) IsZero() bool { return s == Selection{} }

// wholeLevel reports whether s is all of the time of a level, with or without its pauses.
func (s Selection) wholeLevel() bool {
	s.WithoutPauses = false
	return s.IsZero()
}

// Validate returns the error of a selection that no level can fulfil.
func (s Selection) Validate() error {
	ways := 0
	for _, given := range []bool{s.Window != nil, s.TrimStart != Trim{} || s.TrimEnd != Trim{}, s.SteadyState} {
		if given {
			ways++
		}
	}
	if ways > 1 {
		return errors.New("a window, trimming and the steady state exclude each other; give one of them")
	}
	if w := s.Window; w != nil && (w.From < 0 || w.To < 0 || w.To != 0 && w.To <= w.From) {
		return fmt.Errorf("window %v holds no time", w)
	}
	for _, t := range []Trim{s.TrimStart, s.TrimEnd} {
		if t.Length < 0 || t.Share < 0 || t.Share >= 1 || math.IsNaN(t.Share) || t.Length != 0 && t.Share != 0 {
			return fmt.Errorf("cannot trim %v; give a duration or less than 100%%", t)
		}
	}
	if sum := s.TrimStart.Share + s.TrimEnd.Share; sum >= 1 {
		return fmt.Errorf("trimming %v and %v leaves nothing", s.TrimStart, s.TrimEnd)
	}
	return nil
}

// String returns "window 30s:90s", "trimmed by 10s at the start and 5% at the
// end" or "steady state", each also with "without pauses"; "" for the whole level.
func (s Selection) String() string {
	part := s.part()
	switch {
	case !s.WithoutPauses:
		return part
	case part == "":
		return "without pauses"
	}
	return part + ", without pauses"
}

// part returns the part of String before ", without pauses".
func (s Selection) part() string {
	none := Trim{}
	switch {
	case s.Window != nil:
		return "window " + s.Window.String()
	case s.SteadyState:
		return "steady state"
	case s.TrimStart == none && s.TrimEnd == none:
		return ""
	case s.TrimEnd == none:
		return fmt.Sprintf("trimmed by %v at the start", s.TrimStart)
	case s.TrimStart == none:
		return fmt.Sprintf("trimmed by %v at the end", s.TrimEnd)
	}
	return fmt.Sprintf("trimmed by %v at the start and %v at the end", s.TrimStart, s.TrimEnd)
}

// String returns "30s:60s", or "30s:" if the interval ends with the level.
func (i Interval) String() string {
	if i.To == 0 {
		return seconds(i.From) + ":"
	}
	return seconds(i.From) + ":" + seconds(i.To)
}

// String returns "10s" or "10%".
func (t Trim) String() string {
	if t.Share != 0 {
		return strconv.FormatFloat(100*t.Share, 'g', -1, 64) + "%"
	}
	return seconds(t.Length)
}

// about formats a duration in seconds; a second or more is cut to milliseconds.
func about(d time.Duration) string {
	if d >= time.Second {
		d = d.Truncate(time.Millisecond)
	}
	return seconds(d)
}

// ParseInterval reads "A:B", two durations. One of them may be missing.
func ParseInterval(s string) (*Interval, error) {
	const usage = "give FROM:TO, two durations since the start, such as 30s:90s, 30s: or :90s"
	a, b, ok := strings.Cut(s, ":")
	if !ok || a == "" && b == "" {
		return nil, fmt.Errorf("%q: %s", s, usage)
	}
	var i Interval
	for _, side := range []struct {
		text string
		to   *time.Duration
	}{{a, &i.From}, {b, &i.To}} {
		if side.text == "" {
			continue
		}
		d, err := time.ParseDuration(side.text)
		if err != nil || d < 0 {
			return nil, fmt.Errorf("%q: %q is not a duration; %s", s, side.text, usage)
		}
		*side.to = d
	}
	if b != "" && i.To <= i.From {
		return nil, fmt.Errorf("%q holds no time; the end must be after the start", s)
	}
	return &i, nil
}

// ParseTrim reads a duration or a share: "10s", "5%".
func ParseTrim(s string) (Trim, error) {
	if number, ok := strings.CutSuffix(s, "%"); ok {
		v, err := strconv.ParseFloat(number, 64)
		if err != nil || !(v >= 0 && v < 100) {
			return Trim{}, fmt.Errorf("%q: give 0%% or more and less than 100%%", s)
		}
		return Trim{Share: v / 100}, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return Trim{}, fmt.Errorf("%q: give a duration such as 10s or a share of the level such as 5%%", s)
	}
	return Trim{Length: d}, nil
}

// A Selected is the part of a level that a Selection selects.
//
// The rates of the level then count the events inside of the part, divided by its length.
// Requests per second count the successful requests that ended in it, also if they
// started before or belong to no window. Output tokens per second count the tokens
// delivered in it, also to requests that were cancelled later. A request's output tokens
// are spread evenly over its token events; its input tokens count at the first. Goodput
// counts the requests that started in it.
type Selected struct {
	How string // "window", "trim" or "steady_state"
	// Span is the part.
	Span
	// Level is the whole level: from the start of the recorder's first window to the end
	// of its last one, extended to measured requests outside of them, failed ones
	// included. Without windows it is the time of the requests.
	Level  Span
	Steady *Steady // of SteadyState

	lost *lostTime // time of the part that does not count; nil for none
}

// Counting returns the part's time without the pauses that are left out.
func (s *Selected) Counting() time.Duration { return s.lost.counting(s.FromNS, s.ToNS) }

// has reports whether a request belongs to the part. A part at the end of the level
// includes its last instant.
func (s *Selected) has(p *Point) bool {
	return p.PlaceNS >= s.FromNS && (p.PlaceNS < s.ToNS || p.PlaceNS == s.ToNS && s.ToNS == s.Level.ToNS)
}

// apply returns the part of a level that s selects; of is the span of its points. It returns nil when s is the whole level
// or the level has no request to count from. The error says why there is no
// such part.
func (s Selection) apply(e *export.Experiment, points eachPoint, of requestSpan) (*Selected, error) {
	if s.wholeLevel() {
		return nil, nil
	}
	if err := s.Validate(); err != nil {
		return nil, err
	}
	level, ok := of.extent(e)
	if !ok {
		return nil, nil
	}
	sel := &Selected{Span: level, Level: level}
	length := level.Duration()
	all := "0s to " + about(length)
	switch {
	case s.SteadyState:
		sel.How = "steady_state"
		return sel, sel.steady(e, points)
	case s.Window != nil:
		sel.How = "window"
		if w := s.Window; w.From > 0 && w.From >= length || w.To > length {
			return nil, fmt.Errorf("window %v is outside the run (%s)", w, all)
		}
		sel.FromNS += uint64(s.Window.From)
		if s.Window.To != 0 {
			sel.ToNS = level.FromNS + uint64(s.Window.To)
		}
	default:
		sel.How = "trim"
		start, end := s.TrimStart.of(length), s.TrimEnd.of(length)
		if end > 0 && start >= length-end || start > 0 && start >= length { // start+end may overflow
			return nil, fmt.Errorf("trimming %v at the start and %v at the end leaves nothing of the run (%s)", s.TrimStart, s.TrimEnd, all)
		}
		sel.FromNS += uint64(start)
		sel.ToNS -= uint64(end)
	}
	return sel, nil
}

// of returns how much of a length is trimmed.
func (t Trim) of(length time.Duration) time.Duration {
	if t.Share != 0 {
		return time.Duration(t.Share * float64(length))
	}
	return t.Length
}

// placed returns an error if cfg asks for a part or for windows of a run whose requests
// have no known times, or to leave out the pauses of single ranks.
func placed(run *export.Run, cfg Config) error {
	if cfg.Selection.WithoutPauses && !canLeaveOutPauses(run) {
		return fmt.Errorf("the pause of one rank cannot be left out of a merged run: the other ranks went on; leave out the shard of rank %d instead", run.Meta.Pauses[0].Rank)
	}
	why, lacks := run.Lacks(export.PartStarts)
	if !lacks || cfg.Selection.wholeLevel() && cfg.Windows == (Windows{}) {
		return nil
	}
	return fmt.Errorf("no part of it can be chosen: %s", why)
}
