package main

import (
	"bufio"
	"fmt"
	"io"
)

// lengths holds the lengths with a promised coverage. The queue also has a cell at 5000,
// between its n/a and its intervals.
var lengths = [...]int{500, 2000, 5000, 20000}

// validate runs all simulations, prints their tables and returns the promises
// that were broken. The error comes from writing to out.
func validate(s *simulation, out io.Writer) (broken []string, err error) {
	w := bufio.NewWriter(out)
	check := func(kept bool, format string, args ...any) {
		_ = w.Flush() // a run takes minutes; the error comes again at the end
		if !kept {
			broken = append(broken, "broken: "+fmt.Sprintf(format, args...))
		}
	}
	fmt.Fprintf(w, "%d repetitions of each cell, seed %d.\n", s.reps, s.seed)

	heading(w, "Coverage of the 95 % interval, one run a side",
		"process | n | statistic | change | value | given | misses | naive: change | naive: value",
		"--- | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---:")
	all := processes()
	for _, p := range all {
		for _, n := range lengths {
			for _, c := range coverage(s, p, n) {
				fmt.Fprintf(w, "| %s | %d | %s | %v | %v | %v / %v | %v / %v | %v | %v |\n", c.process, c.n, c.statistic,
					&c.change, &c.value, c.change.given, c.value.given, c.change.missed, c.value.missed, c.naiveChange, c.naiveValue)
				check(c.change.keeps(), "coverage of the change: %s, n = %d, %s: %v, misses %v", c.process, c.n, c.statistic, &c.change, c.change.missed)
				check(c.value.keeps(), "coverage of the value: %s, n = %d, %s: %v, misses %v", c.process, c.n, c.statistic, &c.value, c.value.missed)
				if c.process != all[0].name && c.statistic != "rate" {
					check(c.naiveChange.within(0, leastCoverage), "the naive interval should fail: %s, n = %d, %s: %v", c.process, c.n, c.statistic, c.naiveChange)
				}
			}
		}
	}

	heading(w, "A share of the requests, and the load at which it crosses a target",
		"process | requests a level | share 93 % | given | misses | naive: share | crossing | given | misses | median width, % of a step",
		"--- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---:")
	for _, p := range all {
		for _, n := range lengths {
			c := crossings(s, p, n)
			fmt.Fprintf(w, "| %s | %d | %v | %v | %v | %v | %v | %v | %v | %s |\n", c.process, c.n,
				&c.share, c.share.given, c.share.missed, c.naiveShare, &c.crossing, c.crossing.given, c.crossing.missed, middle(c.width))
			check(c.keeps(), "crossing: %s, n = %d: share %v, misses %v; crossing %v, misses %v", c.process, c.n, &c.share, c.share.missed, &c.crossing, c.crossing.missed)
		}
	}

	heading(w, "False findings in the primary family, under Holm at 5 %",
		"process of the first tokens | requests | metrics given | any \"worse\" | any finding", "--- | ---: | ---: | ---: | ---:")
	for _, p := range all {
		for _, n := range []int{2000, 20000} {
			if n > 2000 && p.name != all[len(all)-1].name {
				continue // nothing to see that the queue does not show
			}
			c := families(s, p, n)
			fmt.Fprintf(w, "| %s | %d | %v | %v | %v |\n", c.process, c.n, c.given, c.worse, c.found)
			check(c.keeps(), "false findings: %s, n = %d: %v worse, %v at all", c.process, c.n, c.worse, c.found)
		}
	}

	heading(w, "Power: a slower median gap is called worse",
		"gaps a side | true change | alone, at 5 % | in a family of five, at worst", "---: | ---: | ---: | ---:")
	for _, n := range []int{2000, 5000} {
		for _, change := range []float64{0, 0.01, 0.02, 0.03, 0.05} {
			c := power(s, n, change)
			fmt.Fprintf(w, "| %d | +%.0f %% | %v | %v |\n", c.n, 100*c.change, c.alone, c.hardest)
			check(c.keeps(), "power: n = %d, %v: %v", c.n, c.change, c.hardest)
		}
	}

	heading(w, "Runs that differ by 1 % by chance, no true change",
		"runs a side | gaps a run | method | coverage | false findings | rank test | median width, points", "---: | ---: | --- | ---: | ---: | ---: | ---:")
	for _, x := range []struct{ runs, n int }{{1, 2000}, {1, 20000}, {3, 2000}, {5, 2000}, {10, 2000}} {
		c := runEffects(s, x.runs, x.n)
		method := "several runs"
		if x.runs == 1 {
			method = "these two runs"
		}
		fmt.Fprintf(w, "| %d | %d | %s | %v | %v | %v | %s |\n", c.runs, c.n, method, c.covered, c.found, c.rank, middle(c.width))
		check(c.keeps(), "runs that differ: %d a side of %d: %v", c.runs, c.n, c.covered)
	}

	heading(w, "Paired by prompt, the new side 2 % slower",
		"pairs | mean ratio | median ratio | given | median width, points | the same unpaired", "---: | ---: | ---: | ---: | ---: | ---:")
	for _, n := range []int{500, 2000, 5000} {
		c := pairs(s, n)
		fmt.Fprintf(w, "| %d | %v | %v | %v / %v | %s | %s |\n", c.n, &c.mean, &c.median, c.mean.given, c.median.given, middle(c.paired), middle(c.unpaired))
		check(c.keeps(), "paired: n = %d: %v, %v", c.n, &c.mean, &c.median)
	}
	return broken, w.Flush()
}

func heading(w io.Writer, title, columns, rule string) {
	fmt.Fprintf(w, "\n### %s\n\n| %s |\n| %s |\n", title, columns, rule)
}
