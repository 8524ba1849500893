package report

import (
	"math"

	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/answer"
)

// timeUnits holds the time units of one report. Each kind of time has one unit on all
// levels, rows and tables, so that figures of a kind can be compared at a glance.
type timeUnits struct {
	token    scale // TTFT, TTFAT, TTST, ITL, TPOT
	request  scale // E2EL
	duration scale // of levels
	client   scale // times that the recorder measured of itself
	server   scale // times that servers report of themselves
	clock    scale // errors of a calibration
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
		token: tokenUnit(token), request: largestUnit(request), duration: largestUnit(duration),
		client: largestUnit(client), server: largestUnit(server), clock: clockUnit(clock),
	}
}

// appendMeans appends the means of the times of tokens and of whole requests.
func appendMeans(token, request []float64, metrics []analyze.MetricSummary) (tokens, requests []float64) {
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

// LevelUnits returns the units that suit the times of a level: of tokens, and of whole requests.
func LevelUnits(e *analyze.Experiment) (token, request TimeUnit) {
	tokens, requests := appendMeans(nil, nil, e.Metrics)
	return TokenUnit(tokens), RequestUnit(requests)
}

// clockUnit returns the unit for errors of a clock: microseconds, unless all errors
// are 1 ms or more.
func clockUnit(ns []float64) scale {
	least, _ := extremes(ns)
	return scaleFor(max(least, 1e3))
}

// of returns the unit of a metric; the unit named "" if the metric is not a time.
func (u *timeUnits) of(d *answer.Definition) scale {
	switch {
	case d.Unit() != answer.Nanoseconds:
		return scale{"", 1}
	case d.Metric == answer.E2EL:
		return u.request
	}
	return u.token
}

// TokenUnit returns the unit in which the tables of a comparison show token times,
// chosen from all values of the kind.
func TokenUnit(ns []float64) TimeUnit { return TimeUnit{tokenUnit(ns)} }

// RequestUnit is [TokenUnit] for E2EL and other times of whole requests.
func RequestUnit(ns []float64) TimeUnit { return TimeUnit{largestUnit(ns)} }

// A TimeUnit is a unit of time for many figures.
type TimeUnit struct{ scale scale }

// Number formats nanoseconds in the unit, without its name.
func (u TimeUnit) Number(ns float64) string { return number(ns / u.scale.per) }

// Span formats nanoseconds in the unit with its name: "12.34 ms".
func (u TimeUnit) Span(ns float64) string { return u.Number(ns) + " " + u.scale.name }

// tokenUnit returns the unit for times of single tokens. First tokens are often 100
// times as slow as later ones and share their unit: milliseconds, unless all times
// are seconds or all are below a millisecond.
func tokenUnit(ns []float64) scale {
	least, most := extremes(ns)
	if most < 1e6 {
		return scaleFor(most)
	}
	if least >= 1e9 {
		return timeScales[3]
	}
	return timeScales[2]
}

// largestUnit returns the unit that suits the largest of the times.
func largestUnit(ns []float64) scale {
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
