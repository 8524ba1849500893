package main

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// lengths holds the lengths with a promised coverage. The queue also has a cell at 5000,
// between its n/a and its intervals.
var lengths = [...]int{500, 2000, 5000, 20000}

// shortLengths holds the requests of the old and the new side of short runs.
var shortLengths = [...][2]int{{20, 20}, {30, 30}, {60, 60}, {100, 100}, {300, 300}, {1500, 1500}, {30, 100}, {60, 300}, {100, 1500}}

// A table is one table of the page.
type table struct {
	title, columns, rule string
	fill                 func(s *simulation, r *report)
}

// tables are in the order of the page.
var tables = [...]table{
	{
		"Coverage of the 95 % interval, one run a side",
		"process | n | statistic | change | value | given | misses | naive: change | naive: value", "--- | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---:", coverageTable,
	},
	{
		"Short runs: change between two runs of the same process",
		"values | dependence φ | requests | mean | p50 | p90 | p99", "--- | ---: | ---: | --- | --- | --- | ---", shortRunsTable,
	},
	{
		"Rates of short runs",
		"process | completions | given | wrong, of given intervals | wrong, if as wide as the interval of a mean", "--- | ---: | ---: | ---: | ---:", shortRatesTable,
	},
	{
		"Rates of fewer than 2000 completions, by dependence",
		"load | service times | completions | φ = 0 | φ = 0.3 | φ = 0.6 | φ = 0.9", "--- | --- | ---: | --- | --- | --- | ---", fewRatesTable,
	},
	{
		"Several runs a side of the same setting",
		"runs a side | run-to-run deviation | requests a run | mean: wrong | p50: wrong | median width, points | U test: found", "---: | ---: | ---: | ---: | ---: | ---: | ---:", severalRunsTable,
	},
	{
		"Findings between equal sides, after Holm",
		"sides | at least one finding", "--- | ---:", falseFindingsTable,
	},
	{
		"No difference within a margin of 5 %, shown by two one-sided tests",
		"sides | truly equal | truly 5 % slower", "--- | ---: | ---:", withinTable,
	},
	{
		"Failed requests: new fails more",
		"requests | share that fails | found", "--- | --- | ---:", failuresTable,
	},
	{
		"Outlying runs",
		"sides | a run is named", "--- | ---:", outlyingTable,
	},
	{
		"Sweeps of four levels",
		"sides | wrong verdict | change found | wrong level named | right level named alone", "--- | ---: | ---: | ---: | ---:", sweepTable,
	},
	{
		"Trends of 20 builds",
		trendColumns, trendRule, trendTable,
	},
	{
		"True changes that are found, with 95 % intervals of the shares",
		"sides | found", "--- | ---", detectionTable,
	},
	{
		"A share of the requests",
		"process | requests | share 93 % | given | misses | naive: share", "--- | ---: | ---: | ---: | ---: | ---:", sharesTable,
	},
	{
		"Maximum load",
		"server | loads | requests a level | target | true load | both bounds | wrong bounds | interval misses | estimate, mean ± deviation | median interval", "--- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---:", maxLoadTable,
	},
	{
		"False findings in the primary family, under Holm at 5 %",
		"process of the first tokens | requests | metrics given | any \"worse\" | any finding", "--- | ---: | ---: | ---: | ---:", familyTable,
	},
	{
		"Power: a slower median gap is called worse",
		"gaps a side | true change | alone, at 5 % | in a family of five, at worst", "---: | ---: | ---: | ---:", powerTable,
	},
	{
		"Runs that differ by 1 % by chance, no true change",
		"runs a side | gaps a run | method | coverage | false findings | rank test | median width, points", "---: | ---: | --- | ---: | ---: | ---: | ---:", runEffectTable,
	},
	{
		"Paired by prompt, the new side 2 % slower",
		"pairs | mean ratio | median ratio | given | median width, points | the same unpaired", "---: | ---: | ---: | ---: | ---: | ---:", pairedTable,
	},
}

// A report receives the lines of tables and the promises that are broken.
type report struct {
	w      *bufio.Writer
	broken []string
}

func (r *report) line(format string, args ...any) { fmt.Fprintf(r.w, format, args...) }

// check notes a broken promise, unless it was kept. It also shows the lines so far, because a
// simulation takes minutes.
func (r *report) check(kept bool, format string, args ...any) {
	_ = r.w.Flush() // the error comes again at the end
	if !kept {
		r.broken = append(r.broken, "broken: "+fmt.Sprintf(format, args...))
	}
}

// validate runs the simulations of the tables whose titles match, prints the tables and returns
// the promises that were broken. The error comes from writing to out.
func validate(s *simulation, titles *regexp.Regexp, out io.Writer) (broken []string, err error) {
	r := &report{w: bufio.NewWriter(out)}
	r.line("%d repetitions of each cell, seed %d.\n", s.reps, s.seed)
	for i := range tables {
		if t := &tables[i]; titles.MatchString(t.title) {
			r.line("\n### %s\n\n| %s |\n| %s |\n", t.title, t.columns, t.rule)
			t.fill(s, r)
		}
	}
	return r.broken, r.w.Flush()
}

func coverageTable(s *simulation, r *report) {
	all := processes()
	for _, p := range all {
		for _, n := range lengths {
			for _, c := range coverage(s, p, n) {
				r.line("| %s | %d | %s | %v | %v | %v / %v | %v / %v | %v | %v |\n", c.process, c.n, c.statistic,
					&c.change, &c.value, c.change.given, c.value.given, c.change.missed, c.value.missed, c.naiveChange, c.naiveValue)
				r.check(c.change.keeps(c.p, c.shortRate()), "coverage of the change: %s, n = %d, %s: %v, misses %v", c.process, c.n, c.statistic, &c.change, c.change.missed)
				r.check(c.value.keeps(c.p, c.shortRate()), "coverage of the value: %s, n = %d, %s: %v, misses %v", c.process, c.n, c.statistic, &c.value, c.value.missed)
				if c.process != all[0].name && c.statistic != "rate" {
					r.check(c.naiveChange.within(0, leastCoverage), "the naive interval should fail: %s, n = %d, %s: %v", c.process, c.n, c.statistic, c.naiveChange)
				}
			}
		}
	}
}

func shortRunsTable(s *simulation, r *report) {
	for _, m := range marginals() {
		for _, n := range shortLengths {
			for _, phi := range [...]float64{0, 0.3, 0.6, 0.9} {
				if s.leavesOut() {
					continue
				}
				c := short(s, m, phi, n[0], n[1])
				requests := fmt.Sprint(n[0])
				if n[0] != n[1] {
					requests = fmt.Sprintf("%d and %d", n[0], n[1])
				}
				r.line("| %s | %v | %s | %s |\n", m.name, phi, requests, strings.Join(c.cells(), " | "))
				broken := c.keeps()
				r.check(broken == "", "short runs: %s, φ = %v, %s requests: %s", m.name, phi, requests, broken)
			}
		}
	}
}

func shortRatesTable(s *simulation, r *report) {
	all := shortRateProcesses()
	for _, n := range shortRateLengths {
		worst := 0.0
		for _, p := range all {
			c := shortRates(s, p, n)
			_, wrong := wrongOf(&c.change)
			_, asMean := wrongOf(&c.asMean)
			worst = max(worst, asMean.ratio())
			r.line("| %s | %d | %v | %v | %v |\n", c.process, c.n, c.change.given, wrong, asMean)
			r.check(c.keeps(), "rates of short runs: %s, %d completions: of %v given, %v wrong", c.process, c.n, c.change.given, wrong)
		}
		if s.reps >= fullReps && n <= mustFail {
			r.check(worst > mostMisses, "rates of %d completions as means would keep the promise, and need no wider intervals", n)
		}
	}
}

func fewRatesTable(s *simulation, r *report) {
	for i := range loadKinds {
		k := &loadKinds[i]
		for _, m := range marginals()[:3] { // the gaps of Poisson arrivals are no service times
			for _, n := range fewestRateLengths {
				if s.leavesOut() {
					continue
				}
				r.line("| %s | %s | %d |", k.name, m.name, n)
				for _, phi := range [...]float64{0, 0.3, 0.6, 0.9} {
					c := fewRates(s, k, &m, phi, n)
					_, wrong := wrongOf(&c.change)
					r.line(" %v; %v; %s |", c.change.given, wrong, middle(c.width))
					r.check(c.keeps(k.mustAnswer(phi, n)), "rates of few completions: %s, %s, φ = %v, %d completions: of %v given, %v wrong", k.name, m.name, phi, n, c.change.given, wrong)
				}
				r.line("\n")
			}
		}
	}
}

func severalRunsTable(s *simulation, r *report) {
	for _, runs := range []int{3, 5, 10} {
		for _, deviation := range []float64{0, 0.01, 0.03} {
			for _, n := range [][2]int{{60, 60}, {300, 300}, {60, 300}} {
				if s.leavesOut() {
					continue
				}
				c := several(s, runs, n[0], n[1], deviation)
				_, mean := wrongOf(&c.mean)
				_, p50 := wrongOf(&c.p50)
				requests := fmt.Sprint(n[0])
				if n[0] != n[1] {
					requests = fmt.Sprintf("%d and %d", n[0], n[1])
				}
				r.line("| %d | %.0f %% | %s | %v | %v | %s | %v |\n", runs, 100*deviation, requests, mean, p50, middle(c.width), c.u)
				broken := c.keeps()
				r.check(broken == "", "several runs: %d a side, deviation %v, %s requests: %s", runs, deviation, requests, broken)
			}
		}
	}
}

func falseFindingsTable(s *simulation, r *report) {
	for _, c := range falseFindings(s, processes()[:2]) {
		r.line("| %s | %v |\n", c.name, c.found)
		r.check(c.keeps(), "findings between equal sides: %s: %v", c.name, c.found)
	}
}

func detectionTable(s *simulation, r *report) {
	for _, c := range []detectionCell{
		detectShort(s), detectRuns(s, 3, "TTFT", 0.05, 0, 0.85),
		detectRuns(s, 5, "TTFT", 0.03, 0, 0.85), detectRuns(s, 5, "TTFT", 0.05, 0, 0.98),
		detectRuns(s, 5, "token pace", 0, 0.03, 0.85), detectRuns(s, 5, "token pace", 0, 0.05, 0.98),
	} {
		r.line("| %s | %v |\n", c.name, &c)
		broken := c.keeps()
		r.check(broken == "", "true changes: %s: %s", c.name, broken)
	}
}

func familyTable(s *simulation, r *report) {
	all := processes()
	for _, p := range all {
		for _, n := range []int{2000, 20000} {
			if n > 2000 && p.name != all[len(all)-1].name {
				continue // nothing to see that the queue does not show
			}
			c := families(s, p, n)
			r.line("| %s | %d | %v | %v | %v |\n", c.process, c.n, c.given, c.worse, c.found)
			r.check(c.keeps(), "false findings: %s, n = %d: %v worse, %v at all", c.process, c.n, c.worse, c.found)
		}
	}
}

func powerTable(s *simulation, r *report) {
	for _, n := range []int{2000, 5000} {
		for _, change := range []float64{0, 0.01, 0.02, 0.03, 0.05} {
			c := power(s, n, change)
			r.line("| %d | +%.0f %% | %v | %v |\n", c.n, 100*c.change, c.alone, c.hardest)
			r.check(c.keeps(), "power: n = %d, %v: %v", c.n, c.change, c.hardest)
		}
	}
}

func runEffectTable(s *simulation, r *report) {
	for _, x := range []struct{ runs, n int }{{1, 2000}, {1, 20000}, {3, 2000}, {5, 2000}, {10, 2000}} {
		c := runEffects(s, x.runs, x.n)
		method := "several runs"
		if x.runs == 1 {
			method = "these two runs"
		}
		r.line("| %d | %d | %s | %v | %v | %v | %s |\n", c.runs, c.n, method, c.covered, c.found, c.rank, middle(c.width))
		r.check(c.keeps(), "runs that differ: %d a side of %d: %v", c.runs, c.n, c.covered)
	}
}

func pairedTable(s *simulation, r *report) {
	for _, n := range []int{500, 2000, 5000} {
		c := pairs(s, n)
		r.line("| %d | %v | %v | %v / %v | %s | %s |\n", c.n, &c.mean, &c.median, c.mean.given, c.median.given, middle(c.paired), middle(c.unpaired))
		r.check(c.keeps(), "paired: n = %d: %v, %v", c.n, &c.mean, &c.median)
	}
}
