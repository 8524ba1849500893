package analyze

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pa-tools/pa/pkg/analyze/figure"
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
	figure.Span
	// Level is the whole level: from the start of the recorder's first window to the end
	// of its last one, extended to measured requests outside of them, failed ones
	// included. Without windows it is the time of the requests.
	Level  figure.Span
	Steady *Steady // of SteadyState

	lost *lostTime // time of the part that does not count; nil for none
}

// Counting returns the part's time without the pauses that are left out.
func (s *Selected) Counting() time.Duration { return s.lost.counting(s.FromNS, s.ToNS) }

// has reports whether a request belongs to the part. A part at the end of the level
// includes its last instant.
func (s *Selected) has(p *Point) bool { return s.holds(p.PlaceNS) }

// holds reports whether a request that started at an instant belongs to the part.
func (s *Selected) holds(ns uint64) bool {
	return ns >= s.FromNS && (ns < s.ToNS || ns == s.ToNS && s.ToNS == s.Level.ToNS)
}

// apply returns the part of a level that s selects; span holds the times of its points. It returns nil when s is the whole level
// or the level has no request to count from. The error says why there is no
// such part.
func (s Selection) apply(e *export.Experiment, points eachPoint, span requestSpan) (*Selected, error) {
	if s.wholeLevel() {
		return nil, nil
	}
	if err := s.Validate(); err != nil {
		return nil, err
	}
	level, ok := span.extent(e)
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

// A Steady describes the steady state of a closed loop: the time from when the
// number of requests in flight first reaches Threshold to when it last falls
// below, or the level ends. All requests of the level count as in flight,
// warm-up and late ones too; one that ends when another starts makes room
// first. vllm-bench defines it so.
type Steady struct {
	Concurrency int
	Threshold   int // 95 % of Concurrency, rounded up, at least 1
	Peak        int // the most in flight, warm-up left out
	// AtPlateau is the share of the time with Threshold or more requests in flight. It
	// is below 1 because of the moments between the end of a request and the start of
	// the next one in the same slot, and because of pauses.
	AtPlateau float64
}

// A steady state shorter than steadyShortest, or than steadyLeastShare of the level, has
// a warning. So has one with less than steadyLeastPlateau of its time at the plateau.
const (
	steadyShortest     = 10 * time.Second
	steadyLeastShare   = 0.1
	steadyLeastPlateau = 0.9
)

// steady shortens s to the steady state.
func (s *Selected) steady(e *export.Experiment, points eachPoint) error {
	users := concurrency(e)
	if users < 1 || users > math.MaxInt32 {
		why := "the load is not known"
		if load := export.LoadName(e.Mode, e.Value); load != "" {
			why = load + " holds no number of requests in flight"
		}
		return fmt.Errorf("%s, so it has no steady state; --window or --trim-start select a part", why)
	}
	x := &Steady{Concurrency: int(users)}
	x.Threshold = threshold(x.Concurrency)
	starts, ends := flights(points)
	inFlight, j := 0, 0
	up, down := uint64(0), uint64(0) // first and last crossing; 0: none yet
	since, plateau := uint64(0), uint64(0)
	// leave takes out all that ended until t.
	leave := func(t uint64) {
		for ; j < len(ends) && ends[j] <= t; j++ {
			if inFlight == x.Threshold && ends[j] > s.Level.FromNS {
				if up == 0 { // reached by warm-up requests that are still there
					up = s.Level.FromNS
				}
				down = min(ends[j], s.Level.ToNS)
				if from := max(since, s.Level.FromNS); from < down {
					plateau += down - from
				}
			}
			inFlight--
		}
	}
	for _, t := range starts {
		leave(t)
		if inFlight++; inFlight == x.Threshold {
			since = t
			if up == 0 && t >= s.Level.FromNS {
				up = t
			}
		}
		if t >= s.Level.FromNS {
			x.Peak = max(x.Peak, inFlight)
		}
	}
	leave(math.MaxUint64)
	if up == 0 || down <= up {
		return fmt.Errorf("never in a steady state: at most %d of %d requests in flight, and %d are needed (95%%)", x.Peak, x.Concurrency, x.Threshold)
	}
	s.Span = figure.Span{FromNS: up, ToNS: down}
	x.AtPlateau = float64(plateau) / float64(down-up)
	s.Steady = x
	return nil
}

// flights returns the starts and the ends of the requests, each in order. Requests that
// took no time are left out.
func flights(points eachPoint) (starts, ends []uint64) {
	points(func(p *Point) bool {
		if p.PlaceNS != 0 && p.EndNS > p.PlaceNS {
			starts = append(starts, p.PlaceNS)
			ends = append(ends, p.EndNS)
		}
		return true
	})
	slices.Sort(starts)
	slices.Sort(ends)
	return starts, ends
}

// warnings returns the reasons to distrust the part.
func (s *Selected) warnings() []*Unsteady {
	var w []*Unsteady
	if s.Steady == nil {
		return nil
	}
	if d, share := s.Duration(), s.Duration().Seconds()/s.Level.Duration().Seconds(); d < steadyShortest || share < steadyLeastShare {
		part := about(d) + " of " + about(s.Level.Duration())
		w = append(w, &Unsteady{Brief: "steady for only " + part, text: "the steady state is short: " + part + "; 10s and a tenth of the level are the least to rely on"})
	}
	if s.Steady.AtPlateau < steadyLeastPlateau {
		what := fmt.Sprintf("%d or more requests were in flight for only %.1f%% of the steady state", s.Steady.Threshold, 100*s.Steady.AtPlateau)
		w = append(w, &Unsteady{Brief: what, text: what + ": the load paused, or slots took long to send again"})
	}
	return w
}

// Windows sets how a level, or the part in a Selection, is cut into windows for a table.
// The zero value does not cut.
type Windows struct {
	// Every is the length of successive windows. The rest at the end is a window if it
	// has at least half of this length; otherwise it belongs to the previous window.
	Every time.Duration
	// Recorded takes the windows that the recorder measured by.
	Recorded bool
}

// maxWindows bounds the table.
const maxWindows = 10_000

// of returns the bounds of the windows of a level or of its selected part, in order; nil for no windows.
func (w Windows) of(e *export.Experiment, level figure.Span, sel *Selected) ([]uint64, error) {
	switch {
	case sel != nil:
		return w.bounds(e, sel.Span)
	case w.Recorded: // recorded windows keep their own bounds
		return w.bounds(e, figure.Span{FromNS: 0, ToNS: math.MaxUint64})
	}
	return w.bounds(e, level)
}

// bounds returns the bounds of the windows in whole, in order; nil for no windows.
func (w Windows) bounds(e *export.Experiment, whole figure.Span) ([]uint64, error) {
	switch {
	case w.Recorded:
		b := recorded(e)
		if b == nil {
			return nil, errors.New("the file holds no windows in order; --windows takes a length too, such as 10s")
		}
		if len(b) > maxWindows+1 {
			return nil, fmt.Errorf("%d windows; at most %d are possible", len(b)-1, maxWindows)
		}
		return clip(b, whole), nil
	case w.Every > 0:
		n := (whole.Duration()-1)/w.Every + 1
		if n > maxWindows {
			return nil, fmt.Errorf("windows of %s make %d in %s; at most %d are possible", seconds(w.Every), n, seconds(whole.Duration()), maxWindows)
		}
		if rest := whole.Duration() - (n-1)*w.Every; n > 1 && rest < w.Every/2 {
			n--
		}
		b := []uint64{whole.FromNS}
		for i := range n - 1 {
			b = append(b, whole.FromNS+uint64((i+1)*w.Every))
		}
		return append(b, whole.ToNS), nil
	}
	return nil, nil
}

// clip returns the bounds of the windows inside of a selected part; nil if none is.
func clip(bounds []uint64, part figure.Span) []uint64 {
	var b []uint64
	for i, t := range bounds {
		switch {
		case t >= part.ToNS:
			if i > 0 && bounds[i-1] < part.ToNS {
				b = append(b, part.ToNS)
			}
		case t <= part.FromNS:
			b = append(b[:0], part.FromNS)
		default:
			b = append(b, t)
		}
	}
	if len(b) < 2 {
		return nil
	}
	return b
}
