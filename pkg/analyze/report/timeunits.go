package report

import (
	"math"
	"strconv"

	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/summary"
	"github.com/pa-tools/pa/pkg/answer"
)

// Units are the units of the times of tokens and of whole requests. A kind of time has one unit in a whole report,
// so that its figures can be compared at a glance.
type Units struct {
	Token   TimeUnit // TTFT, TTFAT, TTST, ITL, TPOT
	Request TimeUnit // E2EL
}

// timeUnits holds the time units of one report, on all levels, rows and tables.
type timeUnits struct {
	Units
	duration TimeUnit // of levels
	client   TimeUnit // times that the recorder measured of itself
	server   TimeUnit // times that servers report of themselves
	clock    TimeUnit // errors of a calibration
}

// timeUnitsOf chooses the units from the data of all inputs. Means and p99s
// decide: a single extreme value does not change a unit.
func timeUnitsOf(inputs []Input) timeUnits {
	var token, request, duration, client, server, clock []float64
	for _, in := range inputs {
		if c := in.Report.Calibration(); c != nil {
			clock = append(clock, calibrationErrors(c)...)
		}
		for i := range in.Report.Experiments {
			e := &in.Report.Experiments[i]
			duration = append(duration, float64(e.DurationNS))
			token, request = appendMeans(token, request, e.Metrics)
			client = append(client, clientTimes(e.Client)...)
			for j := range e.Server {
				server = append(server, figureTimes(&e.Server[j])...)
			}
		}
	}
	return timeUnits{
		Units: UnitsOf(token, request), duration: RequestUnit(duration),
		client: RequestUnit(client), server: RequestUnit(server), clock: clockUnit(clock),
	}
}

// appendMeans appends the means of the times of tokens and of whole requests.
func appendMeans(token, request []float64, metrics []summary.Metric) (tokens, requests []float64) {
	for _, m := range metrics {
		switch {
		case m.Definition.Unit() != answer.Nanoseconds:
		case m.Definition.Metric == answer.E2EL:
			request = append(request, m.Summary.Mean)
		default:
			token = append(token, m.Summary.Mean)
		}
	}
	return token, request
}

// LevelUnits returns the units that suit the times of a level.
func LevelUnits(e *analyze.Experiment) Units { return UnitsOf(appendMeans(nil, nil, e.Metrics)) }

// UnitsOf returns the units that suit times of single tokens and times of whole requests.
func UnitsOf(token, request []float64) Units { return Units{tokenUnit(token), RequestUnit(request)} }

// clockUnit returns the unit for errors of a clock: microseconds, unless all errors
// are 1 ms or more.
func clockUnit(ns []float64) TimeUnit {
	least, _ := extremes(ns)
	return scaleFor(max(least, 1e3))
}

// Of returns the unit of a metric; the unit named "" if the metric is not a time.
func (u *Units) Of(d *answer.Definition) TimeUnit {
	switch {
	case d.Unit() != answer.Nanoseconds:
		return TimeUnit{"", 1}
	case d.Metric == answer.E2EL:
		return u.Request
	}
	return u.Token
}

// tokenUnit returns the unit for times of single tokens. First tokens are often 100
// times as slow as later ones and share their unit: milliseconds, unless all times
// are seconds or all are below a millisecond.
func tokenUnit(ns []float64) TimeUnit {
	least, most := extremes(ns)
	if most < 1e6 {
		return scaleFor(most)
	}
	if least >= 1e9 {
		return timeScales[3]
	}
	return timeScales[2]
}

// RequestUnit returns the unit for times of whole requests: the one that suits the largest of them.
func RequestUnit(ns []float64) TimeUnit {
	_, most := extremes(ns)
	return scaleFor(most)
}

// extremes returns the least and the largest of the nonzero values; 0 and 0 if there
// are none.
func extremes(values []float64) (least, most float64) {
	for _, v := range values {
		if v = math.Abs(v); v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		if least == 0 || v < least {
			least = v
		}
		most = max(most, v)
	}
	return least, most
}

// A TimeUnit is a unit of time for many figures; the unit "" shows other numbers.
type TimeUnit struct {
	name string
	per  float64 // of the base unit
}

var timeScales = [...]TimeUnit{{"ns", 1}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}}

// scaleFor returns the unit of time for values of the size of v nanoseconds, so that
// it has one to three digits before the point (from seconds on, any number).
func scaleFor(v float64) TimeUnit {
	v = math.Abs(v)
	if v == 0 {
		return timeScales[2] // most other rows are in ms
	}
	best := timeScales[0]
	for _, s := range timeScales[1:] {
		if v >= s.per {
			best = s
		}
	}
	return best
}

// mostDecimals bounds the digits after the point of numbers for people.
const mostDecimals = 7

// decimals returns how many digits after the point show v with four
// significant ones: 2 for 12.34, 0 for 1234 and more, 4 for 0.1234. Below 0.1
// three are enough: 4 for 0.0123.
func decimals(v float64) int {
	a := math.Abs(v)
	n := 4
	for limit := 0.009995; a < limit && a > 0 && n < mostDecimals; limit /= 10 {
		n++
	}
	// The limits are where rounding to n digits carries into a further digit
	// before the point: 9.9996 shows as 10.00.
	for _, limit := range [...]float64{0.99995, 9.9995, 99.995, 999.95} {
		if a >= limit {
			n--
		}
	}
	return n
}

// Number formats v with four significant digits, three below 0.1, but never cuts
// digits before the point: 0.0123, 0.1234, 12.34, 1234, 123456. A value
// other than 0 that is too small for mostDecimals shows as 0.0000000.
func Number(v float64) string { return fixed(v, decimals(v)) }

// fixed formats v with n decimals, and 0 as "0".
func fixed(v float64, n int) string {
	if v == 0 {
		return "0"
	}
	return strconv.FormatFloat(v, 'f', n, 64)
}

// count formats a number of things: whole numbers without decimals, means and
// the like with two.
func count(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'f', min(2, decimals(v)), 64)
}

// An inRow formats the figures of one metric of a level alike: in the metric's
// unit and with as many decimals as show the mean with three or four digits.
type inRow struct {
	unit answer.Unit
	TimeUnit
	decimals int
	// zero is a time that shows as 0: 1 ns for the fluid interval, where it means that every interval is long
	// enough.
	zero float64
}

func rowFormat(m summary.Metric, sc TimeUnit) inRow {
	f := inRow{unit: m.Definition.Unit(), TimeUnit: sc}
	if m.Definition.Metric == answer.FluidInterval {
		f.zero = 1
	}
	mean := m.Summary.Mean / sc.per
	n := decimals(mean)
	if n > 2 { // 5.02 and 0.502: three digits leave room for larger values
		n--
	}
	if mean == 0 {
		n = 2
	}
	f.decimals = n
	return f
}

func (f inRow) text(v float64) string {
	switch f.unit {
	case answer.Nanoseconds:
	case answer.Ratio:
		return Number(v)
	default:
		return count(v)
	}
	if v == f.zero {
		return "0"
	}
	v /= f.per
	return fixed(v, min(f.decimals, decimals(v)))
}

// Span formats nanoseconds in the unit that suits them: "12.34 ms". Times of one kind
// share a unit; [TimeUnit.Span] formats these.
func Span(ns float64) string { return scaleFor(ns).Span(ns) }

// Span formats nanoseconds in the unit: "12.34 ms".
func (s TimeUnit) Span(ns float64) string { return Number(ns/s.per) + " " + s.name }

// plain returns text of a server or a file as one line that is safe to print.
func plain(s string) string { return sanitize.Text(s) }
