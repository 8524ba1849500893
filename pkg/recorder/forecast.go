package recorder

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/pa-tools/pa/pkg/recorder/load"
)

// A Bound says how a forecast figure relates to what the run will show.
type Bound uint8

// The bounds. Unknown means that there is no figure.
const (
	Unknown Bound = iota
	Exact
	About
	AtLeast
	AtMost
)

// String returns the words before a figure: "about"; "exact" and "unknown" for those bounds.
func (b Bound) String() string {
	return [...]string{"unknown", "exact", "about", "at least", "at most"}[b]
}

// A Figure is a number that is known before the load, as far as its Bound says. Basis says what
// it rests on; without a figure it says why there is none. The zero value is unknown.
type Figure struct {
	Value float64
	Bound Bound
	Basis string
}

// Known reports whether there is a figure.
func (f Figure) Known() bool { return f.Bound != Unknown }

// unknown returns the missing figure.
func unknown(why string) Figure { return Figure{Basis: why} }

// Add returns the sum of f and g. It is unknown if one of them is.
func (f Figure) Add(g Figure) Figure { return f.joined(g, f.Value+g.Value) }

// Max returns the larger of f and g. It is unknown if one of them is.
func (f Figure) Max(g Figure) Figure { return f.joined(g, max(f.Value, g.Value)) }

// Times returns f times a number, which adds to what the figure rests on.
func (f Figure) Times(g Figure) Figure { return f.joined(g, f.Value*g.Value) }

// Within returns f with a bound of b, unless f is unknown.
func (f Figure) Within(b Bound) Figure {
	if f.Known() {
		f.Bound = b
	}
	return f
}

// joined returns value, which was computed from f and g.
func (f Figure) joined(g Figure, value float64) Figure {
	switch {
	case !f.Known():
		return f
	case !g.Known():
		return g
	}
	j := Figure{Value: value, Bound: max(f.Bound, g.Bound), Basis: f.Basis}
	if f.Bound != g.Bound && min(f.Bound, g.Bound) > About { // at least and at most
		j.Bound = About
	}
	for _, part := range strings.Split(g.Basis, basisSeparator) {
		if part != "" && !slices.Contains(strings.Split(j.Basis, basisSeparator), part) {
			j.Basis = strings.TrimPrefix(j.Basis+basisSeparator+part, basisSeparator)
		}
	}
	return j
}

// basisSeparator is between the parts of a Figure's Basis; each part is there once.
const basisSeparator = "; "

// MarshalJSON implements json.Marshaler. The value of an unknown figure is null.
func (f Figure) MarshalJSON() ([]byte, error) {
	shown := struct {
		Value *float64 `json:"value"`
		Bound string   `json:"bound"`
		Basis string   `json:"basis,omitempty"`
	}{Bound: f.Bound.String(), Basis: f.Basis}
	if f.Known() {
		rounded := math.Round(f.Value*1000) / 1000
		shown.Value = &rounded
	}
	return json.Marshal(shown)
}

// A Forecast says before a load how long it takes and what it sends.
type Forecast struct {
	Time     Figure // in seconds, up to the last request; answers that are outstanding then take longer
	Requests Figure // of all stages, warm-up included
}

// Add returns the forecast of two loads, one after the other.
func (f Forecast) Add(g Forecast) Forecast {
	return Forecast{f.Time.Add(g.Time), f.Requests.Add(g.Requests)}
}

// Max returns a forecast that holds for each of two loads.
func (f Forecast) Max(g Forecast) Forecast {
	return Forecast{f.Time.Max(g.Time), f.Requests.Max(g.Requests)}
}

// Within returns f with figures of bound b, as far as they are known.
func (f Forecast) Within(b Bound) Forecast {
	return Forecast{f.Time.Within(b), f.Requests.Within(b)}
}

// What figures of a forecast rest on.
const (
	serverDecides   = "it depends on the server's speed"
	byDuration      = "the duration of each level, with its warm-up"
	byCount         = "the request count"
	byData          = "the entries of the input data"
	byRate          = "the rate of each level"
	bySchedule      = "the last timestamp of the schedule"
	byWindows       = "the most windows of each level"
	byCountWindows  = "the most windows of each level, if no request fails"
	byRange         = "the end of the range"
	withTimedWarmup = "the request count, and the warm-up by time sends more"
)

// Forecast returns what this process will send of a level of the run, as far as the
// configuration tells. It reads no input data except for the number of entries, and that only
// if the level ends with the data.
func (c *Config) Forecast(level load.Level) Forecast {
	m := c.measure(level).WithDefaults()
	traits := level.Traits()
	warm := c.WarmupTime + traits.RampUp
	var f Forecast
	open, isOpen := level.(load.Open)
	switch {
	case isOpen && !traits.Conversations:
		f = c.openForecast(open, warm)
	case m.Requests > 0:
		f.Time = unknown(serverDecides)
		f.Requests = Figure{float64(c.Warmup + m.Requests), Exact, byCount}
		switch {
		case warm > 0:
			f.Requests.Bound, f.Requests.Basis = AtLeast, withTimedWarmup
		case traits.PlaysData && !c.Measure.Counted(), m.All:
			f.Requests.Basis = byData
		case traits.Requests > 0:
			f.Requests.Basis = byRange
		}
	case m.Duration > 0:
		f.Time = Figure{(warm + m.Duration).Seconds(), Exact, byDuration}
		f.Requests = unknown(serverDecides)
	case m.Longest() > 0:
		f.Time = Figure{(warm + m.Longest()).Seconds(), AtMost, byWindows}
		f.Requests = unknown(serverDecides)
	default:
		f.Time = unknown(serverDecides)
		f.Requests = Figure{float64(c.Warmup+level.Slots()) + float64(m.MaxTrials)*float64(m.WindowRequests), AtMost, byCountWindows}
		if warm > 0 {
			f.Requests = unknown(serverDecides)
		}
	}
	if !isOpen && c.Warmup > 0 && f.Time.Bound == Exact {
		f.Time.Bound = AtLeast // the warm-up takes as long as its answers
	} else if !isOpen && c.Warmup > 0 && f.Time.Bound == AtMost {
		f.Time = unknown(serverDecides)
	}
	if c.Starts != nil && f.Time.Bound == Exact {
		f.Time.Bound = AtLeast // requests of sessions that have begun come first
	}
	switch byData := f.Requests.Basis == byData; {
	case f.Requests.Bound != Exact || !f.Requests.Known():
	case byData && (c.Starts != nil || c.RefillWindow):
		f.Requests.Bound = AtMost
	case c.Starts != nil:
		f.Requests.Bound = AtLeast
	}
	if n := traits.Instants; n > 0 && isOpen && !f.Time.Known() {
		f.Time = Figure{open.Due(n).Seconds(), AtLeast, bySchedule}
	}
	if share := c.share(level); !share.Whole() && f.Requests.Known() {
		f.Requests.Value = float64(share.Count(int(f.Requests.Value)))
		if traits.Conversations {
			f.Requests.Bound = About // whole conversations go to a rank
		}
	}
	return f
}

// openForecast returns the forecast of all ranks' requests of an open loop, whose warm-up takes
// at least warm.
func (c *Config) openForecast(level load.Open, warm time.Duration) Forecast {
	m := c.measure(level).WithDefaults()
	traits := level.Traits()
	warmup := c.Warmup // requests
	if warm > 0 {
		warmup = max(warmup, level.DueWithin(warm-1))
	}
	n := warmup + m.Requests
	timed := max(warm, level.Due(c.Warmup)) // when a measurement by time begins
	basis, bound, requests := byRate, Exact, Exact
	why := byCount
	switch {
	case traits.PlaysData:
		// The schedule ends the level, also if a duration would go on.
		n, basis, bound, why = level.DueWithin(forever), bySchedule, AtLeast, byData
		if end := timed + m.Duration; m.Duration > 0 && end < level.Due(n) {
			return Forecast{Figure{end.Seconds(), Exact, byDuration}, Figure{float64(level.DueWithin(end)), About, "the timestamps within the duration"}}
		}
	case m.Requests > 0:
	case m.Duration > 0:
		f := Forecast{Figure{(timed + m.Duration).Seconds(), Exact, byDuration}, Figure{float64(level.DueWithin(timed + m.Duration)), About, "the rate and the duration of each level"}}
		if level.Slots() > 0 {
			f.Requests.Bound = AtMost
		}
		return f
	case m.Longest() > 0:
		return Forecast{Figure{(timed + m.Longest()).Seconds(), AtMost, byWindows}, Figure{float64(level.DueWithin(timed + m.Longest())), AtMost, byWindows}}
	default:
		n, basis, bound, requests, why = warmup+m.MaxTrials*m.WindowRequests, byCountWindows, AtMost, AtMost, byCountWindows
	}
	if rate, ok := level.(load.Rate); ok && rate.Arrivals != load.Constant { // the gaps are drawn
		if warm > 0 {
			requests = max(requests, About)
		}
		if warm > 0 || rate.Unscaled {
			bound = max(bound, About)
		}
	}
	if level.Slots() > 0 && bound != AtMost { // requests may be held back
		bound = AtLeast
	}
	return Forecast{Figure{level.Due(n).Seconds(), bound, basis}, Figure{float64(n), requests, why}}
}

// forever is longer than any schedule.
const forever = time.Duration(1<<63 - 1)
