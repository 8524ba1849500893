package diff

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/inference"
)

// An Outlying is a run that differs from the other runs of its side by far more than they differ from each
// other. A cold cache makes the first run one; a server with a slow and a fast state may make any.
type Outlying struct {
	// Run is its side and number, as in [LeaveOut]: "old.1".
	Run  string
	File string
	// Metric is the judged metric in which the run differs most, Level the load level; "" for all.
	Metric *Metric
	Level  string
	// Factor is the run's value divided by the geometric mean of the other runs of its side.
	Factor float64
	Value  float64
	// Least and Most are the smallest and the largest value of the other runs.
	Least, Most float64

	run *Run
}

// outlying returns the outlying runs of all levels, each once, in the order of the sides.
func (res *Result) outlying() []Outlying {
	var all []Outlying
	for _, l := range res.allLevels() {
		tests, level := len(res.Levels), sanitize.Text(l.Name)
		if l == res.Together || len(res.Levels) == 1 {
			tests, level = 1, ""
		}
		for _, r := range l.Rows {
			if !r.Primary || r.Metric.of == failedShare || r.Spoiled != "" && !r.drifts {
				continue
			}
			for _, o := range inference.OutlyingRuns(r.OldRuns, r.NewRuns) {
				if o.P*float64(tests*(len(r.OldRuns)+len(r.NewRuns))) > outlyingAlpha {
					continue
				}
				all = res.addOutlying(all, l, r, o, level)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Outlying) int { return cmp.Compare(res.order(a.run), res.order(b.run)) })
	return all
}

// outlyingAlpha is the probability that any run of a comparison is called outlying although it is not. Package
// inference has it for one metric at one level.
const outlyingAlpha = 0.01

// order returns the place of a run among the runs of both sides.
func (res *Result) order(r *Run) int { return slices.Index(slices.Concat(res.Old, res.New), r) }

// addOutlying adds an outlying value, or keeps the value of the same run that differs more.
func (res *Result) addOutlying(all []Outlying, l *LevelDiff, r *Row, o inference.OutlyingRun, level string) []Outlying {
	levels, values := l.Old, r.OldRuns
	if o.New {
		levels, values = l.New, r.NewRuns
	}
	run := levels[o.Run].Run
	others := slices.Delete(slices.Clone(values), o.Run, o.Run+1)
	x := Outlying{
		Run: res.numbers[run], File: run.Name, Metric: r.Metric, Level: level, Factor: o.Factor,
		Value: values[o.Run], Least: slices.Min(others), Most: slices.Max(others), run: run,
	}
	i := slices.IndexFunc(all, func(y Outlying) bool { return y.run == x.run })
	if i < 0 {
		return append(all, x)
	}
	if farther(x.Factor, all[i].Factor) {
		all[i] = x
	}
	return all
}

// farther reports whether a factor is clearly farther from 1 than another one: metrics that follow from
// each other do not take each other's place.
func farther(a, b float64) bool { return math.Abs(math.Log(a)) > 1.5*math.Abs(math.Log(b)) }

// without compares the runs that are left without the outlying runs; nil if they are too few.
func (res *Result) without() *Result {
	const least = 3 // runs a side
	rest := func(runs []*Run) []*Run {
		return slices.DeleteFunc(slices.Clone(runs), func(r *Run) bool {
			return slices.ContainsFunc(res.Outlying, func(o Outlying) bool { return o.run == r })
		})
	}
	older, newer := rest(res.Old), rest(res.New)
	if len(res.Outlying) == 0 || min(len(older), len(newer)) < least {
		return nil
	}
	o := res.o
	o.LeaveOut = LeaveOut{}
	return compare(older, newer, o, res.numbers)
}

// outlyingText names the outlying runs: "old run 1 took 82 times as long (TTFT p50 8.25 s, the others 96 to
// 106 ms)".
func (res *Result) outlyingText() string {
	var texts []string
	u := res.units()
	const named = 2
	for i, o := range res.Outlying {
		if i == named {
			texts = append(texts, plural.Of(len(res.Outlying)-named, "other run"))
			break
		}
		at := ""
		if o.Level != "" {
			at = " at " + o.Level
		}
		span := u.Amount(o.Metric, o.Least)
		if most := u.Amount(o.Metric, o.Most); most != span {
			span += " to " + most
		}
		texts = append(texts, fmt.Sprintf("%s %s%s (%s %s, the others %s)", res.named(o.run), differs(o.Metric, o.Factor), at, o.Metric.Name, u.Amount(o.Metric, o.Value), span))
	}
	return strings.Join(texts, ", ")
}

// outlyingLine says what to do about outlying runs; "" if there are none.
func (res *Result) outlyingLine() string {
	var names []string
	firsts := []string{runName(res.o.Sides.old(), 1), runName(res.o.Sides.new(), 1)}
	first := true
	for _, o := range res.Outlying {
		names = append(names, o.Run)
		first = first && slices.Contains(firsts, o.Run)
	}
	if names == nil {
		return ""
	}
	text := fmt.Sprintf("find out why %s %s; --exclude-run %s leaves %s out", strings.Join(names, ", "), plural.Form(len(names), "differs", "differ"), strings.Join(names, " --exclude-run "), plural.Them(len(names)))
	if first {
		text += ", --drop-first 1 the first run of each side"
	}
	return text
}

// kinds describes a side whose runs are of two kinds, such as those of a server with a fast and a slow
// state: "runs of new are of two kinds (TTFT p50 about 100 ms in 3 runs and 300 ms in 2)"; "" for other
// sides. Each kind needs two runs, and the gap between the kinds is five times as wide as each of them.
func (r *Row) kinds(side string, runs []float64, u *Units) string {
	const wider, atLeast = 5, 0.1
	logs := make([]float64, 0, len(runs))
	for _, v := range runs {
		if !(v > 0) {
			return ""
		}
		logs = append(logs, math.Log(v))
	}
	slices.Sort(logs)
	cut, gap := 0, 0.0
	for i := 2; i+2 <= len(logs); i++ {
		if d := logs[i] - logs[i-1]; d > gap {
			cut, gap = i, d
		}
	}
	if cut == 0 {
		return ""
	}
	low, high := logs[:cut], logs[cut:]
	width := math.Max(low[len(low)-1]-low[0], high[len(high)-1]-high[0])
	if gap < math.Max(atLeast, wider*width) {
		return ""
	}
	middle := func(x []float64) string { return u.Amount(r.Metric, math.Exp(mean(x))) }
	return fmt.Sprintf("the runs of %s are of two kinds (%s about %s in %s and %s in %d)", side, r.Metric.Name, middle(low), plural.Of(len(low), "run"), middle(high), len(high))
}
