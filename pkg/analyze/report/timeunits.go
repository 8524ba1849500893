package report

import (
	"math"

	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/answer"
)

// timeUnits holds the time units of one report. Each kind of time has one unit on all
// levels, rows and tables, so that figures of a kind can be compared at a glance.
type timeUnits struct {
	token    TimeUnit // TTFT, TTFAT, TTST, ITL, TPOT
	request  TimeUnit // E2EL
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
		token: TokenUnit(token), request: RequestUnit(request), duration: RequestUnit(duration),
		client: RequestUnit(client), server: RequestUnit(server), clock: clockUnit(clock),
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
func clockUnit(ns []float64) TimeUnit {
	least, _ := extremes(ns)
	return scaleFor(max(least, 1e3))
}

// of returns the unit of a metric; the unit named "" if the metric is not a time.
func (u *timeUnits) of(d *analyze.Definition) TimeUnit {
	switch {
	case d.Unit() != answer.Nanoseconds:
		return TimeUnit{"", 1}
	case d.Metric == answer.E2EL:
		return u.request
	}
	return u.token
}

// TokenUnit returns the unit for times of single tokens. First tokens are often 100
// times as slow as later ones and share their unit: milliseconds, unless all times
// are seconds or all are below a millisecond.
func TokenUnit(ns []float64) TimeUnit {
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
