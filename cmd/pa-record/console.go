package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/pa-tools/pa/pkg/recorder"
)

// printLevels writes the client side of perf_analyzer's console report: a
// block per level and the summary lines. Times are whole microseconds,
// throughput has six significant digits, as perf_analyzer prints them. Latency
// is last response − start of the requests that are exported.
func printLevels(w io.Writer, levels []recorder.Level, percentile int, verbose bool) {
	for i := range levels {
		printLevel(w, &levels[i], percentile, verbose)
	}
	fmt.Fprintln(w, summaryHead(percentile))
	for i := range levels {
		l := &levels[i]
		fmt.Fprintf(w, "Concurrency: %d, %s\n", l.Concurrency, summaryLine(l, percentile))
	}
}

// printRuns writes the summary lines of several runs, those of one level below
// each other.
func printRuns(w io.Writer, levels []int, runs []oneResult, percentile int) {
	fmt.Fprintln(w, summaryHead(percentile)+", by Run")
	for i, n := range levels {
		if slices.Contains(levels[:i], n) {
			continue
		}
		for j := range runs {
			for k := range runs[j].levels {
				if l := &runs[j].levels[k]; l.Concurrency == n {
					fmt.Fprintf(w, "Concurrency: %d, run: %d, %s\n", n, runs[j].of.index, summaryLine(l, percentile))
				}
			}
		}
	}
}

func summaryHead(percentile int) string {
	if percentile > 0 {
		return fmt.Sprintf("Inferences/Second vs. Client p%d Batch Latency", percentile)
	}
	return "Inferences/Second vs. Client Average Batch Latency"
}

func summaryLine(l *recorder.Level, percentile int) string {
	s := newSummary(l)
	return fmt.Sprintf("throughput: %s infer/sec, latency %s usec", s.throughput(l.OK), s.typical(percentile))
}

func printLevel(w io.Writer, l *recorder.Level, percentile int, verbose bool) {
	s := newSummary(l)
	fmt.Fprintf(w, "Request concurrency: %d\n", l.Concurrency)
	if verbose {
		for i, win := range l.Windows {
			fmt.Fprintf(w, "  Window %d: %d requests, %s infer/sec, latency %d usec\n", i+1, win.Requests, six(win.RequestsPerSecond), win.Latency.Microseconds())
		}
	}
	fmt.Fprintf(w, "  Client:\n    Request count: %d\n", l.OK)
	if l.Failed > 0 {
		fmt.Fprintf(w, "    Failed requests: %d\n", l.Failed)
	}
	if l.Cancelled > 0 {
		fmt.Fprintf(w, "    Cancelled requests: %d\n", l.Cancelled)
	}
	fmt.Fprintf(w, "    Throughput: %s infer/sec\n", s.throughput(l.OK))
	if l.Responses > l.OK {
		fmt.Fprintf(w, "    Response Throughput: %s infer/sec\n", s.throughput(l.Responses))
	}
	if percentile <= 0 {
		fmt.Fprintf(w, "    Avg latency: %s usec (standard deviation %s usec)\n", s.typical(0), s.deviation())
	}
	for _, p := range []int{50, 90, 95, 99} {
		fmt.Fprintf(w, "    p%d latency: %s usec\n", p, s.typical(p))
	}
	fmt.Fprintln(w)
}

// A summary is what the console says about one level.
type summary struct {
	elapsed time.Duration
	lat     []time.Duration // sorted
	mean    float64         // ns
}

func newSummary(l *recorder.Level) *summary {
	s := &summary{elapsed: l.Elapsed(), lat: slices.Clone(l.Latencies)}
	slices.Sort(s.lat)
	for _, d := range s.lat {
		s.mean += float64(d) / float64(len(s.lat))
	}
	return s
}

// throughput returns n per second of the measurement.
func (s *summary) throughput(n int) string {
	if s.elapsed <= 0 {
		return "n/a (no time measured)"
	}
	return six(float64(n) / s.elapsed.Seconds())
}

// typical returns the mean (percentile 0) or a percentile by perf_analyzer's
// index int(p/100·(n−1)+0.5), in µs.
func (s *summary) typical(percentile int) string {
	switch {
	case len(s.lat) == 0:
		return "n/a"
	case percentile <= 0:
		return strconv.FormatInt(int64(s.mean)/1000, 10)
	}
	i := int(float64(percentile)/100*float64(len(s.lat)-1) + 0.5)
	return strconv.FormatInt(s.lat[i].Microseconds(), 10)
}

// deviation returns the sample standard deviation in µs. perf_analyzer's own
// overflows at LLM latencies; this one does not.
func (s *summary) deviation() string {
	if len(s.lat) < 2 {
		return "n/a"
	}
	var sum float64
	for _, d := range s.lat {
		sum += (float64(d) - s.mean) * (float64(d) - s.mean)
	}
	return strconv.FormatInt(int64(math.Sqrt(sum/float64(len(s.lat)-1))/1000), 10)
}

// six formats with six significant digits, as a C++ stream does by default.
func six(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }
