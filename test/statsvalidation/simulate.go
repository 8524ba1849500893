package main

import (
	"crypto/sha256"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
)

// A simulation is what all cells share.
type simulation struct {
	seed    uint64
	reps    int // of each cell, but see repetitions
	workers int // 0 means one for each core
	// every is set to leave out cells of the tables of short runs and of several runs:
	// of so many, one is simulated. 0 means all.
	every int
	cells int // of these tables, so far
}

// leavesOut reports whether the next cell of a table with many cells is left out.
func (s *simulation) leavesOut() bool {
	s.cells++
	return s.every > 0 && s.cells%s.every != 0
}

// fullReps is from how many repetitions on the bounds hold without allowance.
const fullReps = 4000

// repetitions returns how often a cell with runs of n values is repeated. The
// short version saves on long runs.
func (s *simulation) repetitions(n int) int {
	if s.reps < fullReps && n > 5000 {
		return max(1, s.reps/4)
	}
	return s.reps
}

// repeat calls one for every repetition of a cell, on all workers, and returns
// the results in order. The random numbers depend on the seed, the cell's name
// and the repetition alone.
func repeat[T any](s *simulation, cell string, reps int, one func(rng *rand.Rand) T) []T {
	results := make([]T, reps)
	workers := s.workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < reps; i += workers {
				results[i] = one(s.rng(cell, i))
			}
		})
	}
	wg.Wait()
	return results
}

func (s *simulation) rng(cell string, rep int) *rand.Rand {
	return rand.New(rand.NewChaCha8(sha256.Sum256(fmt.Appendf(nil, "%d %s %d", s.seed, cell, rep))))
}

// allowance is how far a share that is p may lie off by chance in so many
// repetitions without an alarm: nothing in a full run, which is repeatable and
// has room for chance in its bounds, else 4 standard deviations.
func allowance(p float64, reps int) float64 {
	if reps >= fullReps {
		return 0
	}
	return 4 * math.Sqrt(p*(1-p)/float64(reps))
}

// A share counts how often something was so.
type share struct{ yes, of int }

func (s *share) add(yes bool) {
	s.of++
	if yes {
		s.yes++
	}
}

func (s share) ratio() float64 { return float64(s.yes) / float64(s.of) }

func (s share) String() string {
	if s.of == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f %%", 100*s.ratio())
}

// within tells whether a share is between two bounds, with the allowance.
func (s share) within(low, high float64) bool {
	r := s.ratio()
	return r >= low-allowance(low, s.of) && r <= high+allowance(high, s.of)
}

// atMost and atLeast report whether a share keeps a promise, with two standard errors of a full run's
// repetitions, and with the allowance in a short run.
func (s *simulation) atMost(x share, promised float64) bool {
	if s.reps < fullReps {
		return x.within(0, promised)
	}
	return x.ratio() <= promised+2*math.Sqrt(promised*(1-promised)/float64(x.of))
}

func (s *simulation) atLeast(x share, promised float64) bool {
	return s.atMost(share{x.of - x.yes, x.of}, 1-promised)
}
