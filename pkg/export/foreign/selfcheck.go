package foreign

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/export"
)

// tolerance is the relative difference up to which two figures are the same:
// tools add in other orders, which costs a few units in the last of 16 digits, and a
// difference of clock readings loses some more.
const tolerance = 1e-9

// maxDifferences bounds the number of differing figures that warnings name.
const maxDifferences = 32

// A selfCheck compares the figures that a file states with figures computed from its
// requests.
type selfCheck struct {
	result    export.SelfCheck
	differing []difference
	compared  map[string]bool // names of the compared figures
	file      string          // file that states the next figures
	at        string          // load level or record of the next figures, for messages
}

type difference struct{ file, where, msg string }

// figure compares a stated figure with the computed one. Two NaNs agree.
func (c *selfCheck) figure(name string, stored, computed float64) {
	c.within(name, stored, computed, tolerance)
}

// within is figure with another tolerance.
func (c *selfCheck) within(name string, stored, computed, tolerance float64) {
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
		c.differing = append(c.differing, difference{c.file, c.at, fmt.Sprintf("the file says %s is %s, its requests give %s", name, digits(stored), digits(computed))})
	}
}

// rest notes which of the stated figures with these names were not compared, and why. A name
// includes all figures that begin with it.
func (c *selfCheck) rest(names []string, why string) {
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
func (c *selfCheck) has(name string) bool {
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
func (c *selfCheck) finish() export.SelfCheck {
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

func digits(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// A sample holds the values of one metric, in the unit of the tool.
type sample []float64

// mean returns the arithmetic mean, NaN for an empty sample.
func (s sample) mean() float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	return s.sum() / float64(len(s))
}

// sum returns the compensated sum: a difference then shows the rounding of the tool only.
func (s sample) sum() float64 {
	var t stat.Sum
	for _, v := range s {
		t.Add(v)
	}
	return t.Value()
}

// std returns the deviation over the population. Unlike stat.Squares it loses no digits in
// the sum, because the tools sum in other orders.
func (s sample) std() float64 {
	m := s.mean()
	squares := make(sample, len(s))
	for i, v := range s {
		squares[i] = float64((v - m) * (v - m))
	}
	return math.Sqrt(squares.mean())
}

// percentile interpolates linearly, as numpy does. s has to be sorted.
func (s sample) percentile(pct float64) float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	return stat.Quantile(s, pct/100)
}

// sorted returns a sorted copy.
func (s sample) sorted() sample {
	c := slices.Clone(s)
	slices.Sort(c)
	return c
}
