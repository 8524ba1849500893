package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"

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
	return fmt.Sprintf("throughput: %s infer/sec, latency %s usec", throughput(l, l.OK), typical(&l.Latency, percentile))
}

func printLevel(w io.Writer, l *recorder.Level, percentile int, verbose bool) {
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
	if l.Resent > 0 {
		fmt.Fprintf(w, "    Requests sent again: %d (their connections were closed under them)\n", l.Resent)
	}
	fmt.Fprintf(w, "    Throughput: %s infer/sec\n", throughput(l, l.OK))
	if l.Responses > l.OK {
		fmt.Fprintf(w, "    Response Throughput: %s infer/sec\n", throughput(l, l.Responses))
	}
	if percentile <= 0 {
		fmt.Fprintf(w, "    Avg latency: %s usec (standard deviation %s usec)\n", typical(&l.Latency, 0), deviation(&l.Latency))
	}
	for _, p := range []int{50, 90, 95, 99} {
		fmt.Fprintf(w, "    p%d latency: %s usec\n", p, typical(&l.Latency, p))
	}
	if l.Latency.Approximate {
		fmt.Fprintf(w, "    (so many requests that the percentiles are up to 0.03%% too high; pa-analyze has exact ones)\n")
	}
	fmt.Fprintln(w)
}

// throughput returns n per second of the measurement.
func throughput(l *recorder.Level, n int) string {
	elapsed := l.Elapsed()
	if elapsed <= 0 {
		return "n/a (no time measured)"
	}
	return six(float64(n) / elapsed.Seconds())
}

// typical returns the mean (percentile 0) or a percentile in µs.
func typical(l *recorder.Latency, percentile int) string {
	switch {
	case l.N == 0:
		return "n/a"
	case percentile <= 0:
		return strconv.FormatInt(int64(l.MeanNS)/1000, 10)
	}
	return strconv.FormatInt(l.Percentiles[percentile].Microseconds(), 10)
}

// deviation returns the sample standard deviation in µs. perf_analyzer's own
// overflows at LLM latencies; this one does not.
func deviation(l *recorder.Latency) string {
	if l.N < 2 {
		return "n/a"
	}
	return strconv.FormatInt(int64(l.StdDevNS/1000), 10)
}

// six formats with six significant digits, as a C++ stream does by default.
func six(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }
