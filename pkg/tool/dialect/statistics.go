package dialect

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Percentiles lists the percentiles that GenAI-Perf and its successor AIPerf know, from the lowest.
var Percentiles = [...]int{1, 5, 10, 25, 50, 75, 90, 95, 99}

// Statistics are the statistics of a metric as these two tools print them.
type Statistics struct {
	Avg, Min, Max, Std, Sum float64
	Pct                     [len(Percentiles)]float64 // values of Percentiles
}

// P returns the value of one of Percentiles; NaN for any other.
func (s *Statistics) P(pct int) float64 {
	if i := slices.Index(Percentiles[:], pct); i >= 0 {
		return s.Pct[i]
	}
	return math.NaN()
}

// Stat returns the statistic of that name: "avg", "p99". It returns NaN for an unknown name.
func (s *Statistics) Stat(name string) float64 {
	switch name {
	case "avg":
		return s.Avg
	case "min":
		return s.Min
	case "max":
		return s.Max
	case "std":
		return s.Std
	case "sum":
		return s.Sum
	}
	pct, _ := strconv.Atoi(strings.TrimPrefix(name, "p"))
	return s.P(pct)
}
