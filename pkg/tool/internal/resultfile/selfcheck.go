package resultfile

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/export"
)

// Tolerance is the relative difference up to which two figures are the same:
// tools add in other orders, which costs a few units in the last of 16 digits, and a
// difference of clock readings loses some more.
const Tolerance = 1e-9

// maxDifferences bounds the number of differing figures that warnings name.
const maxDifferences = 32

// A SelfCheck compares the figures that a file states with figures computed from its
// requests.
type SelfCheck struct {
	result    export.SelfCheck
	differing []difference
	compared  map[string]bool // names of the compared figures
	File      string          // file that states the next figures
	At        string          // load level or record of the next figures, for messages
}

type difference struct{ file, where, msg string }

// Figure compares a stated figure with the computed one. Two NaNs agree.
func (c *SelfCheck) Figure(name string, stored, computed float64) {
	c.Within(name, stored, computed, Tolerance)
}

// Within is figure with another tolerance.
func (c *SelfCheck) Within(name string, stored, computed, tolerance float64) {
	c.result.Compared++
	if !c.compared[name] {
		if c.compared == nil {
			c.compared = map[string]bool{}
		}
		c.compared[name] = true
	}
	if stored == computed || math.IsNaN(stored) && math.IsNaN(computed) ||
		math.Abs(stored-computed) <= tolerance*max(math.Abs(stored), math.Abs(computed)) {
		return
	}
	c.result.Differing++
	if len(c.differing) < maxDifferences {
		c.differing = append(c.differing, difference{c.File, c.At, fmt.Sprintf("the file says %s is %s, its requests give %s", name, Digits(stored), Digits(computed))})
	}
}

// Rest notes which of the stated figures with these names were not compared, and why. A name
// includes all figures that begin with it.
func (c *SelfCheck) Rest(names []string, why string) {
	names = slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(names))), c.has)
	if len(names) == 0 {
		return
	}
	const most = 6
	what := strings.Join(names[:min(len(names), most)], ", ")
	if n := len(names) - most; n > 0 {
		what += fmt.Sprintf(" and %d more", n)
	}
	if line := what + ": " + why; !slices.Contains(c.result.NotCompared, line) {
		c.result.NotCompared = append(c.result.NotCompared, line)
	}
}

// has reports whether a figure of that name, or of that metric, was compared.
func (c *SelfCheck) has(name string) bool {
	if c.compared[name] {
		return true
	}
	for figure := range c.compared {
		if rest, ok := strings.CutPrefix(figure, name); ok && strings.ContainsAny(rest[:1], " .") {
			return true
		}
	}
	return false
}

// A figureKind is a kind of figures, and parts of their names.
type figureKind struct {
	kind  string
	parts []string
}

// figureKinds lists the kinds of figures. A figure is of the first kind with a part of its name.
var figureKinds = []figureKind{
	{"rates", []string{"throughput", "per_sec", "per_second", "qps", "tps", "goodput", "_rate"}},
	{"durations", []string{"duration", "benchmark_time"}},
	{"tokens", []string{"token_count", "_tokens", "isl", "osl", "output_len", "prompt_len", "sequence_length", "usage_"}},
	{"numbers of requests", []string{"request_count", "request_totals", "requests", "completed", "failed", "n_samples", "load_summary", "successes.count", "failures.count", "finish_reason"}},
	{"latencies", []string{""}},
}

// finish completes the result.
func (c *SelfCheck) finish() export.SelfCheck {
	c.result.Kinds = nil
	for name := range c.compared {
		i := slices.IndexFunc(figureKinds, func(k figureKind) bool {
			return slices.ContainsFunc(k.parts, func(part string) bool { return strings.Contains(name, part) })
		})
		if kind := figureKinds[i].kind; !slices.Contains(c.result.Kinds, kind) {
			c.result.Kinds = append(c.result.Kinds, kind)
		}
	}
	slices.Sort(c.result.Kinds)
	return c.result
}

// Digits returns the shortest text that reads back as v.
func Digits(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// A Sample holds the values of one metric, in the unit of the tool.
type Sample []float64

// Sum returns the compensated sum: a difference then shows the rounding of the tool only.
func (s Sample) Sum() float64 {
	var t stat.Sum
	for _, v := range s {
		t.Add(v)
	}
	return t.Value()
}

// percentile interpolates linearly, as numpy does. s has to be sorted. It returns NaN for an empty sample.
func (s Sample) percentile(pct float64) float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	return stat.Quantile(s, pct/100)
}

// Sorted returns a sorted copy.
func (s Sample) Sorted() Sample {
	c := slices.Clone(s)
	slices.Sort(c)
	return c
}

// Stat returns the mean, the median, the std or a percentile such as p99.9. s has to be
// sorted. It returns NaN for another name.
func (s Sample) Stat(name string) float64 {
	switch name {
	case "mean":
		return stat.NumpyMean(stat.NumpyCurrent, s)
	case "std":
		return stat.NumpyStd(stat.NumpyCurrent, s)
	case "median":
		return s.percentile(50)
	}
	pct, ok := strings.CutPrefix(name, "p")
	p, err := strconv.ParseFloat(pct, 64)
	if !ok || err != nil {
		return math.NaN()
	}
	return s.percentile(p)
}
