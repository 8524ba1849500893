package report

import (
	"math"
	"strconv"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/analyze/quality"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// qualityColumns are the columns of lists with --metrics quality, behind the usual ones. Requests
// without token times have no values in most of them.
var qualityColumns = []column{
	ofQuality(answer.Fluidity, column{head: "fluidity", width: 8}),
	ofTimes("deadlines", func(q *quality.Request) float64 { return float64(q.Fluidity.Deadlines) }),
	ofTimes("deadlines_missed", func(q *quality.Request) float64 { return float64(q.Fluidity.Misses) }),
	ofQuality(answer.FluidInterval, column{}),
	ofNumber("fluid_token_rate_per_s", (*quality.Request).TokenRate, column{}),
	ofQuality(answer.TokensInTime, column{}),
	ofQuality(answer.ReaderIdle, column{head: "idle_ms", width: 8}),
	ofTimes("smooth_tokens", (*quality.Request).SmoothTokens),
	ofQuality(answer.Stalls, column{head: "stalls", width: 6}),
	ofQuality(answer.LongestStall, column{head: "stall_ms", width: 8}),
	ofTimes("stall_total_ns", func(q *quality.Request) float64 { return float64(q.Stall.TotalNS) }),
	ofQuality(answer.StallShare, column{}),
	ofQuality(answer.TokensPerEvent, column{}),
	ofQuality(answer.ITLPerToken, column{}),
	ofQuality(answer.NormalizedLatency, column{}),
}

// ofQuality returns the column c with the values of a metric of quality. In the table, times are
// milliseconds and other numbers are rounded.
func ofQuality(m answer.Metric, c column) column {
	value := func(q *quality.Request) float64 { return q.Value(m) }
	c = ofNumber(m.Key(), value, c)
	c.cell = func(r *Row) string {
		v := math.NaN()
		if r.Quality != nil {
			v = value(r.Quality)
		}
		switch {
		case math.IsNaN(v):
			return ""
		case m.Unit() == answer.Nanoseconds:
			return strconv.FormatFloat(v/1e6, 'f', 3, 64)
		case m.Unit() == answer.Count:
			return count(v)
		}
		return strconv.FormatFloat(v, 'f', 3, 64)
	}
	return c
}

// ofTimes returns a column that is not in the table, with a value for requests whose token times
// are known.
func ofTimes(name string, value func(*quality.Request) float64) column {
	return ofNumber(name, func(q *quality.Request) float64 {
		if !q.Timed {
			return math.NaN()
		}
		return value(q)
	}, column{})
}

// ofNumber returns the column c with a name and a value of the quality; NaN is a missing value.
func ofNumber(name string, value func(*quality.Request) float64, c column) column {
	return ofFloat(name, func(r *Row) float64 {
		if r.Quality == nil {
			return math.NaN()
		}
		return value(r.Quality)
	}, c)
}

// ofFloat returns the column c with a name and a value; NaN is a missing value.
func ofFloat(name string, value func(*Row) float64, c column) column {
	c.name = name
	c.text = func(r *Row) string {
		if v := value(r); !math.IsNaN(v) {
			return float(v)
		}
		return ""
	}
	c.order = func(r *Row) export.Int {
		v := value(r)
		if math.IsNaN(v) {
			return export.Int{}
		}
		return export.IntOf(stat.Key(v))
	}
	return c
}
