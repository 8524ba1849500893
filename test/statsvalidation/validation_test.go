package main

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/analyze/inference"
)

// The short version of make stats-validation: the same command and cells, fewer
// repetitions, bounds with an allowance for chance.
func TestValidation(t *testing.T) {
	testenv.NoRace(t)
	t.Parallel()
	var out, broken bytes.Buffer
	reps := strconv.Itoa(40 / testenv.Stride(13))
	code := command([]string{"statsvalidation", "-reps", reps, "-every", strconv.Itoa(testenv.Stride(13))}, &out, &broken)
	if code != 0 || broken.Len() > 0 {
		t.Errorf("exit code %d: %s\n%s", code, broken.String(), out.String())
	}
	if begin := reps + " repetitions of each cell, seed 1.\n"; !strings.HasPrefix(out.String(), begin) {
		t.Errorf("%.100q does not begin with %q", out.String(), begin)
	}
	for _, want := range []string{
		"\n| queue, 80 % load | 20000 | p99 | n/a | n/a |",
		"\n| AR(1), ρ = 0.8 | 500 | mean | n/a | ",
		"\n| 60 requests a side, 15 % deviation, +10 % | verdict ",
		"\n| 5 | 2000 | several runs |",
		"\n| queue, 80 % load | 500 | n/a | 0.0 % |", // of the crossing
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no line %q in\n%s", want, out.String())
		}
	}
}

// The allowance for chance must not hide intervals that the tables are there to find: naive
// intervals, if each repetition gives one, break the promise also in the short version.
func TestBoundsFindNaiveIntervals(t *testing.T) {
	testenv.NoRace(t)
	t.Parallel()
	s := &simulation{seed: 1, reps: 40}
	const n = 2000
	for _, p := range processes()[1:] {
		pairs := repeat(s, coverageName(p, n), s.repetitions(n), func(rng *rand.Rand) [len(statistics)]naiveCovers {
			older, newer := p.generate(rng, n), p.generate(rng, n)
			return naiveCoverage(p, older, newer)
		})
		for i := range statistics[:3] {
			var as interval
			for _, covers := range pairs {
				as.add(inference.NA{}, covers[i].change)
			}
			if as.keeps(0.5, false) {
				t.Errorf("%s, %s: naive coverage of %v passes", p.name, statistics[i].name, as.covered)
			}
		}
	}
}

// The same seed gives the same numbers, whoever computes them.
func TestRepeatable(t *testing.T) {
	t.Parallel()
	all := processes()
	one := coverage(&simulation{seed: 3, reps: 6, workers: 1}, all[1], 500)
	three := coverage(&simulation{seed: 3, reps: 6, workers: 3}, all[1], 500)
	if diff := cmp.Diff(one, three, cmp.AllowUnexported(coverageCell{}, interval{}, share{})); diff != "" {
		t.Errorf("one worker against three:\n%s", diff)
	}
	other := coverage(&simulation{seed: 4, reps: 6}, all[1], 500)
	if cmp.Equal(one, other, cmp.AllowUnexported(coverageCell{}, interval{}, share{})) {
		t.Error("another seed gives the same numbers")
	}
}

// In an M/M/1 queue the time in the system is exponential with mean 1/(1 − ρ).
func TestSojournExponential(t *testing.T) {
	t.Parallel()
	below := sojourn(load, func(x float64) float64 { return -math.Expm1(-x) }, func(x float64) float64 { return -math.Expm1(-x) })
	for _, x := range []float64{0.5, 2, 3.5, 12, 23, 35} {
		if got, want := below(x), -math.Expm1(-x*(1-load)); math.Abs(got-want) > 1e-5 {
			t.Errorf("P(sojourn ≤ %v) = %v, want %v", x, got, want)
		}
	}
}

// One long run of each process has the values that the tables measure against.
func TestTruth(t *testing.T) {
	testenv.NoRace(t)
	t.Parallel()
	for _, p := range processes() {
		n := 2_000_000 / testenv.Stride(8)
		r := p.generate(rand.New(rand.NewPCG(1, 2)), n)
		if len(r.latencies) != n || len(r.tokens) != n || len(r.durations) != n {
			t.Fatalf("%s: %d latencies, %d token counts, %d durations", p.name, len(r.latencies), len(r.tokens), len(r.durations))
		}
		sorted := slices.Sorted(slices.Values(r.latencies))
		for _, s := range statistics {
			var got float64
			if s.rate {
				got = average(r.tokens) / average(r.durations)
			} else {
				got, _ = naive(s, r, sorted)
			}
			// The standard error is largest for the p99 of the queue: 2 % in make test, 1 % in
			// make test-long.
			if want := s.truth(p.truth); math.Abs(got/want-1) > 0.04 {
				t.Errorf("%s, %s: %v, want about %v", p.name, s.name, got, want)
			}
		}
	}
}

// The command says what is wrong with its flags.
func TestWrongFlags(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-reps", "0"}, {"-every", "0"}, {"-nonsense"}, {"-tables", "("}, {"argument"}} {
		var out, err bytes.Buffer
		if code := command(append([]string{"statsvalidation"}, args...), &out, &err); code != 2 || out.Len() > 0 || err.Len() == 0 {
			t.Errorf("%v: exit code %d, %q, %q; want 2 and a message", args, code, out.String(), err.String())
		}
	}
}

// The page of the tables has tables of this program only, with the same columns, in the same order.
func TestTablesOfDocs(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("testdata/results.md")
	if err != nil {
		t.Fatal(err)
	}
	shown, next := 0, 0
	for section := range strings.SplitSeq(string(page), "\n### ") {
		title, rest, _ := strings.Cut(section, "\n")
		if title == handMade || strings.HasPrefix(section, "# ") {
			continue
		}
		at := slices.IndexFunc(tables[:], func(x table) bool { return x.title == title })
		switch {
		case at < 0:
			t.Errorf("%q is no table of this program", title)
			continue
		case at < next:
			t.Errorf("%q comes too late", title)
		}
		shown, next = shown+1, at+1
		x := &tables[at]
		if columns := "| " + x.columns + " |\n| " + x.rule + " |\n"; !strings.Contains(rest, columns) && !slices.Contains(otherColumns, title) {
			t.Errorf("%q does not have the columns %q", title, columns)
		}
	}
	if least := len(tables) - 2; shown < least {
		t.Errorf("%d tables, at least %d are wanted", shown, least)
	}
}

// handMade is the title of the table of recordings, which this program does not print.
const handMade = "Real runs"

// otherColumns holds the titles of tables that the page shows in another form, because they are long.
var otherColumns = []string{"Rates of fewer than 2000 completions, by dependence"}
