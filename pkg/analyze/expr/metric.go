package expr

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/pkg/answer"
)

// A Kind is the kind of a metric's values.
type Kind uint8

// Duration values are nanoseconds, Count values numbers of tokens, Rate values
// tokens per second.
const (
	Duration Kind = 1
	Count    Kind = 2
	Rate     Kind = 3
)

// A Metric is a number that a request has, or lacks.
type Metric struct {
	// Name is as in expressions: "ttft", "itl_p99".
	Name string
	Kind Kind
	// Of is the measure of the request: the metric itself, the gaps of a statistic
	// itl_…, or the numerator of a rate.
	Of answer.Metric
	// Percentile is set for itl_p…, and for any …_p… of a level: above 0 and below 100.
	Percentile float64
}

// metrics holds all metrics but the percentiles: times, statistics of the gaps, numbers of tokens, and the rate.
var metrics = slices.Concat(
	withUnit(answer.Nanoseconds, Duration),
	[]Metric{
		{Name: "itl_mean", Kind: Duration, Of: answer.ITL},
		{Name: "itl_min", Kind: Duration, Of: answer.ITL},
		{Name: "itl_max", Kind: Duration, Of: answer.ITL},
	},
	withUnit(answer.Tokens, Count),
	[]Metric{{Name: "output_tokens_per_s", Kind: Rate, Of: answer.OutputTokens}},
)

// withUnit returns the metrics of pa-analyze's own report with a unit that have one value for each request.
func withUnit(unit answer.Unit, kind Kind) []Metric {
	var all []Metric
	for i := range answer.StrictMetrics {
		if m := answer.StrictMetrics[i].Metric; m.Unit() == unit && m != answer.ITL {
			all = append(all, Metric{Name: m.String(), Kind: kind, Of: m})
		}
	}
	return all
}

// Names returns the metrics that expressions may hold; "itl_p50" and "itl_p99" are
// examples of the percentiles.
func Names() []string {
	var s []string
	for _, m := range metrics {
		s = append(s, m.Name)
		if m.Name == "itl_mean" {
			s = append(s, "itl_p50", "itl_p99")
		}
	}
	return s
}

// metricOf returns the metric of that name, in small or capital letters. For an unknown
// name, why says what to write instead.
func metricOf(name string) (m Metric, why string) {
	name = strings.ToLower(name)
	if i := slices.IndexFunc(metrics, func(m Metric) bool { return m.Name == name }); i >= 0 {
		return metrics[i], ""
	}
	if digits, ok := strings.CutPrefix(name, "itl_p"); ok && isNumber(digits) {
		p, err := strconv.ParseFloat(digits, 64)
		if err != nil || p <= 0 || p >= 100 {
			return Metric{}, "percentiles are above 0 and below 100; itl_min and itl_max are the ends"
		}
		return Metric{Name: name, Kind: Duration, Of: answer.ITL, Percentile: p}, ""
	}
	if name == "itl" {
		return Metric{}, "itl is the time between two tokens and a request has many; use itl_mean, itl_p99 or itl_max"
	}
	if base, rest, ok := strings.Cut(name, "_p"); ok && isNumber(rest) {
		if m, _ := metricOf(base); m.Name != "" {
			return Metric{}, "a request has one " + base + ", and an objective judges each request; use " + base + ", and the share of requests that must meet it for the percentile (pa-record --binary-search --slo takes " + name + " of a level)"
		}
	}
	return Metric{}, "no such metric; there are " + strings.Join(Names(), ", ")
}

// levelStatistics are the statistics of the requests of a level beside percentiles.
var levelStatistics = []string{"mean", "min", "max"}

// levelMetricOf returns the metric of a level of that name, in small or capital letters. For an
// unknown name, why says what to write instead.
func levelMetricOf(name string) (m Metric, why string) {
	name = strings.ToLower(name)
	if m, ok := ofEachRequest(name); ok {
		return Metric{}, "a level has many requests, each with its " + m.Name + "; use " + name + "_p99 or " + name + "_mean (pa-analyze report --slo judges each request)"
	}
	at := strings.LastIndexByte(name, '_')
	if at < 0 {
		return Metric{}, noLevelMetric
	}
	m, ok := ofEachRequest(name[:at])
	if !ok {
		return Metric{}, noLevelMetric
	}
	m.Name = name
	statistic := name[at+1:]
	if digits, ok := strings.CutPrefix(statistic, "p"); ok && isNumber(digits) {
		p, err := strconv.ParseFloat(digits, 64)
		if err != nil || p <= 0 || p >= 100 {
			return Metric{}, "percentiles are above 0 and below 100; _min and _max are the ends"
		}
		m.Percentile = p
		return m, ""
	}
	if !slices.Contains(levelStatistics, statistic) {
		return Metric{}, noLevelMetric
	}
	return m, ""
}

const noLevelMetric = "no such metric of a level; there are ttft_p99, itl_p99, tpot_p99 and e2el_p99, other percentiles, and _mean, _min and _max"

// ofEachRequest returns the measure of requests of that name.
func ofEachRequest(name string) (Metric, bool) {
	if name == answer.ITL.String() {
		return Metric{Name: name, Kind: Duration, Of: answer.ITL}, true
	}
	i := slices.IndexFunc(metrics, func(m Metric) bool { return m.Name == name && m.Kind != Rate && m.Of != answer.ITL })
	if i < 0 {
		return Metric{}, false
	}
	return metrics[i], true
}
