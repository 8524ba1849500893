package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/pa-tools/pa/pkg/analyze/inference"
)

// trueShare is the share of requests that meet an objective.
const trueShare = 0.93

// sharesAt holds the shares whose quantiles the truths of the processes have.
var sharesAt = [...]float64{trueShare}

// A shareCell says how the intervals of a share do.
type shareCell struct {
	process string
	n       int
	share   interval
	naive   share
}

// shares fills the cell of one process and length. A latency meets the objective if it is at most
// the quantile trueShare.
func shares(s *simulation, p process, n int) shareCell {
	type one struct {
		share inference.Estimate
		naive bool
	}
	results := repeat(s, fmt.Sprintf("crossing %s %d", p.name, n), s.repetitions(n), func(rng *rand.Rand) (x one) {
		met := make([]bool, n)
		for j, latency := range p.generate(rng, n).latencies {
			met[j] = latency <= p.truth.quantile[trueShare]
		}
		x.share = inference.Share(met)
		x.naive = naiveShare(x.share.Value, n).Contains(trueShare)
		return x
	})
	c := shareCell{process: p.name, n: n}
	for i := range results {
		x := &results[i]
		c.share.add(x.share.NA, x.share.Interval(level).Contains(trueShare))
		c.naive.add(x.naive)
	}
	return c
}

func sharesTable(s *simulation, r *report) {
	for _, p := range processes() {
		for _, n := range lengths {
			c := shares(s, p, n)
			r.line("| %s | %d | %v | %v | %v | %v |\n", c.process, c.n, &c.share, c.share.given, c.share.missed, c.naive)
			r.check(c.share.keeps(0.5, false), "share: %s, n = %d: %v, misses %v", c.process, c.n, &c.share, c.share.missed)
		}
	}
}

// A loadedServer gives the margins of n requests at a load: by how much each meets the objective.
type loadedServer struct {
	name    string
	margins func(rng *rand.Rand, load float64, n int) []float32
	// capacity returns the load up to which a share of the requests meets the objective.
	capacity func(share float64) float64
}

var (
	// loopServer answers independent requests with lognormal TTFT: log-sd 0.4, median 20·c^0.9 ms at
	// concurrency c, limit 200 ms.
	loopServer = loadedServer{
		"closed loop",
		func(rng *rand.Rand, load float64, n int) []float32 {
			all := make([]float32, n)
			for i := range all {
				all[i] = float32(math.Log(200/20) - 0.9*math.Log(load) - 0.4*rng.NormFloat64())
			}
			return all
		},
		func(share float64) float64 {
			return math.Pow(200/20*math.Exp(-0.4*math.Sqrt2*math.Erfinv(2*share-1)), 1/0.9)
		},
	}
	// queueServer is M/M/1 with 100 requests/s and a limit of 100 ms for the time in the system, which
	// is exponential. Requests that wait for long come together.
	queueServer = loadedServer{
		"M/M/1",
		func(rng *rand.Rand, load float64, n int) []float32 {
			wait := 0.0
			if rng.Float64() < load/100 {
				wait = rng.ExpFloat64() / (100 - load)
			}
			all := make([]float32, n)
			for i := range all {
				took := wait + rng.ExpFloat64()/100
				all[i] = float32(math.Log(0.1 / took))
				wait = math.Max(0, took-rng.ExpFloat64()/load)
			}
			return all
		},
		func(share float64) float64 { return 100 + math.Log(1-share)/0.1 },
	}
)

// maxLoads are the sweeps of the table of maximum loads.
var maxLoads = [...]struct {
	server *loadedServer
	loads  []float64
	n      int // requests a level
	target float64
}{
	{&loopServer, []float64{1, 2, 4, 8, 16}, 5000, 0.95},
	{&loopServer, []float64{1, 2, 4, 8, 16}, 200, 0.95},
	{&loopServer, []float64{1, 2, 4, 8, 16, 32}, 2000, 0.95},
	{&loopServer, []float64{4, 8}, 3000, 0.95},
	{&loopServer, []float64{1, 4, 16}, 2000, 0.95},
	{&loopServer, []float64{2, 4, 6, 8, 10, 12}, 2000, 0.95},
	{&loopServer, []float64{5, 6, 7, 8}, 3000, 0.95},
	{&loopServer, []float64{6, 7}, 300, 0.95},
	{&queueServer, []float64{50, 52, 54, 56, 58}, 2000, 0.99},
	{&queueServer, []float64{50, 52, 54, 56, 58}, 20000, 0.99},
	{&queueServer, []float64{30, 40, 50, 60, 70}, 2000, 0.99},
	{&queueServer, []float64{30, 40, 50, 60, 70}, 200, 0.99},
	{&queueServer, []float64{40, 55, 70}, 10000, 0.99},
	{&queueServer, []float64{32, 64}, 5000, 0.99},
	{&queueServer, []float64{70, 75, 80, 85}, 5000, 0.9},
	{&queueServer, []float64{70, 75, 80, 85}, 1000, 0.9},
	{&queueServer, []float64{60, 80, 90}, 20000, 0.9},
	{&queueServer, []float64{60, 80, 90}, 1000, 0.9},
	{&queueServer, []float64{64, 90}, 5000, 0.9},
}

// mostWrongBounds is the largest share of sweeps in which the true load may lie outside of the bounds.
const mostWrongBounds = 0.03

func maxLoadTable(s *simulation, r *report) {
	for i := range maxLoads {
		if s.leavesOut() {
			continue
		}
		x := &maxLoads[i]
		truth := x.server.capacity(x.target)
		var grid []string
		for _, load := range x.loads {
			grid = append(grid, fmt.Sprint(load))
		}
		name := fmt.Sprintf("%s, loads %s, n = %d, %v %%", x.server.name, strings.Join(grid, ", "), x.n, 100*x.target)
		// Few repetitions suffice: the promises are bounds of 3 and 7 %.
		results := repeat(s, "maximum load "+name, max(10, s.repetitions(x.n)/4), func(rng *rand.Rand) inference.Crossing {
			levels := make([]inference.Level, len(x.loads))
			for i, load := range x.loads {
				levels[i] = inference.Level{At: load, Share: inference.Attained(x.server.margins(rng, load, x.n))}
			}
			return inference.CrossingOf(levels, x.target, level)
		})
		var both, wrong, missed, missedBoth share
		var estimates, width []float64
		for _, c := range results {
			bounded := c.Within >= 0 && c.Beyond >= 0
			both.add(bounded)
			wrong.add(c.Within >= 0 && x.loads[c.Within] > truth || c.Beyond >= 0 && x.loads[c.Beyond] < truth)
			misses := !c.Interval.Contains(truth)
			if c.Within >= 0 || c.Beyond >= 0 {
				missed.add(misses)
			}
			if bounded {
				missedBoth.add(misses)
				width = append(width, c.Interval.High-c.Interval.Low)
			}
			if !math.IsNaN(c.Value) {
				estimates = append(estimates, c.Value)
			}
		}
		mean := average(estimates)
		squares := 0.0
		for _, v := range estimates {
			squares += (v - mean) * (v - mean)
		}
		r.line("| %s | %s | %d | %v %% | %.2f | %v | %v | %v of %d | %.2f ± %.2f | %s |\n", x.server.name, strings.Join(grid, ", "), x.n, 100*x.target, truth,
			both, wrong, missed, missed.of, mean, math.Sqrt(squares/float64(len(estimates))), medianOf(width))
		kept := wrong.within(0, mostWrongBounds)
		for _, misses := range [...]share{missed, missedBoth} {
			kept = kept && (misses.of == 0 || misses.within(0, mostMisses))
		}
		if s.reps >= fullReps && missed.of > len(results)/2 {
			kept = kept && wrong.ratio() <= mostWrongBounds && missed.ratio() <= mostMisses
		}
		r.check(kept, "maximum load: %s: %v wrong bounds, %v of %d intervals miss", name, wrong, missed, missed.of)
	}
}

// medianOf returns the median width of intervals, or a dash of none.
func medianOf(width []float64) string {
	if len(width) == 0 {
		return "–"
	}
	slices.Sort(width)
	return fmt.Sprintf("%.2f", width[len(width)/2])
}
