//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A figures holds the results of one run of a candidate by their names, such as "p99 µs" and "CPU s".
type figures map[string]float64

// A candidate is what a row of a table measures.
type candidate struct {
	name string
	once func(context.Context) (figures, error) // nil if this machine lacks the program
}

// measured holds the figures of the runs of each candidate, in the order of the repetitions.
type measured map[string][]figures

// measure runs the candidates in turn in each repetition. In the first one they run in their order, because
// a later candidate may read what an earlier one writes.
func (s *suite) measure(ctx context.Context, candidates ...candidate) (measured, error) {
	all := measured{}
	for rep := range s.reps {
		order := slices.Clone(candidates)
		slices.Reverse(order[:1+rep%len(order)]) // no candidate is always the first one
		for _, c := range order {
			if c.once == nil {
				continue
			}
			fmt.Fprintf(s.log, "%s, repetition %d of %d\n", c.name, rep+1, s.reps)
			f, err := c.once(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
			all[c.name] = append(all[c.name], f)
		}
	}
	return all, nil
}

// of returns a figure of each run of a candidate; NaN for a run without it.
func (m measured) of(candidate, figure string) []float64 {
	var x []float64
	for _, f := range m[candidate] {
		v, ok := f[figure]
		if !ok {
			v = math.NaN()
		}
		x = append(x, v)
	}
	return x
}

// ratios returns a ÷ b for a figure of two candidates within each repetition, because the machine's other load hits
// all of a repetition.
func (m measured) ratios(a, b, figure string) []float64 {
	x, y := m.of(a, figure), m.of(b, figure)
	x = x[:min(len(x), len(y))]
	for i := range x {
		x[i] /= y[i]
	}
	return x
}

// ratio returns the median of ratios.
func (m measured) ratio(a, b, figure string) float64 { return median(m.ratios(a, b, figure)) }

// A column of a table has a number for each candidate.
type column struct {
	name   string
	digits int
	of     func(m measured, candidate string) float64
}

// middle is a column with the median of the figure of its name.
func middle(name string, digits int) column { return middleOf(name, name, digits) }

func middleOf(name, figure string, digits int) column {
	return column{name, digits, func(m measured, c string) float64 { return median(m.of(c, figure)) }}
}

// beside is a column with the ratio of a figure to another candidate's.
func beside(name, figure, base string) column {
	return column{name, 2, func(m measured, c string) float64 { return m.ratio(c, base, figure) }}
}

// rows returns a row for each candidate. It begins with the cells of first.
func (m measured) rows(columns []column, first []string, candidates ...string) (rows [][]string) {
	for _, c := range candidates {
		row := append(slices.Clone(first), c)
		for _, k := range columns {
			row = append(row, number(k.of(m, c), k.digits))
		}
		rows = append(rows, row)
	}
	return rows
}

// number formats a number; NaN is n/a.
func number(x float64, digits int) string {
	if math.IsNaN(x) {
		return "n/a"
	}
	return strconv.FormatFloat(x, 'f', digits, 64)
}

// table prints rows in Markdown. The header has the names of the first columns, and the names of the others.
func (s *suite) table(title string, first []string, columns []column, rows [][]string) {
	header := first
	for _, c := range columns {
		header = append(header, c.name)
	}
	fmt.Fprintf(s.out, "\n%s\n\n| %s |\n|%s\n", title, strings.Join(header, " | "), strings.Repeat("---|", len(header)))
	for _, r := range rows {
		fmt.Fprintf(s.out, "| %s |\n", strings.Join(r, " | "))
	}
}

// A held is a ratio that make bench holds to a limit with CHECK=1.
type held struct {
	section, name string
	ratio, most   float64
}

// hold records a ratio of the section and the most that it may be. The comment beside each limit is the ratio measured
// with a file of 1,000 requests of 100 responses on two cores, or with 64 shards of 400 requests. Each limit is at
// least twice that ratio, for other machines and because figures of a small file vary more. The memory of a merge
// and reports with groups vary less. So a ratio above its limit means that the program became slower or larger.
func (s *suite) hold(name string, ratio, most float64) {
	s.held = append(s.held, held{s.section, name, ratio, most})
}

// check returns an error for each ratio above its limit.
func (s *suite) check() (err error) {
	for _, h := range s.held {
		if !(h.ratio <= h.most) { // NaN was not measured
			err = errors.Join(err, fmt.Errorf("%s: %s is %.2f; the limit is %.2f", h.section, h.name, h.ratio, h.most))
		}
	}
	if len(s.held) == 0 {
		return errors.New("no section has a limit to check; drop -check or add one of them")
	}
	return err
}

// median returns the middle value, the lower one of two; NaN of none.
func median(x []float64) float64 { return quantile(slices.Sorted(slices.Values(x)), 0.5) }

// quantile returns the value of sorted x at rank p·(n−1), p from 0 to 1, rounded down
// without interpolation; NaN if x is empty.
func quantile[T float32 | float64](x []T, p float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	return float64(x[int(p*float64(len(x)-1))])
}

// errorQuantiles are the quantiles of errors that tables show.
var errorQuantiles = map[string]float64{"p50 µs": 0.5, "p99 µs": 0.99, "p99.9 µs": 0.999, "max µs": 1}

// aloneP99 is the 99th percentile of the errors of events that were the last one in their read.
const aloneP99 = "p99 µs of the last in a read"

// setErrors sets the quantiles of the errors of all events, and of the last event of each read. It sorts both.
func setErrors[T float32 | float64](f figures, us, alone []T) {
	slices.Sort(us)
	slices.Sort(alone)
	for name, p := range errorQuantiles {
		if len(us) > 0 {
			f[name] = quantile(us, p)
		}
	}
	if len(alone) > 0 {
		f[aloneP99] = quantile(alone, 0.99)
	}
}
