package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/load"
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
		fmt.Fprintf(w, "%s, %s\n", summaryName(l.Load), summaryLine(l, percentile))
	}
}

// printRuns writes the summary lines of several runs, those of one level below
// each other.
func printRuns(w io.Writer, runs []oneResult, percentile int) {
	fmt.Fprintln(w, summaryHead(percentile)+", by Run")
	var names []string
	for j := range runs {
		for k := range runs[j].levels {
			if name := summaryName(runs[j].levels[k].Load); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	for _, name := range names {
		for j := range runs {
			for k := range runs[j].levels {
				if l := &runs[j].levels[k]; summaryName(l.Load) == name {
					fmt.Fprintf(w, "%s, run: %d, %s\n", name, runs[j].of.index, summaryLine(l, percentile))
				}
			}
		}
	}
}

// summaryName names a level in a summary line, as perf_analyzer does; it has no
// name for levels that are neither a concurrency nor a rate.
func summaryName(level load.Level) string {
	switch level := level.(type) {
	case load.Concurrency:
		return "Concurrency: " + level.Value()
	case load.Rate:
		return "Request Rate: " + six(level.PerSecond)
	case load.Intervals:
		return "Request Rate: " + six(level.PerSecond())
	}
	name := level.String()
	return strings.ToUpper(name[:1]) + name[1:]
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
	fmt.Fprintln(w, levelHead(l.Load))
	if verbose {
		for i, win := range l.Windows {
			fmt.Fprintf(w, "  Window %d: %d requests, %s infer/sec, latency %d usec\n", i+1, win.Requests, six(win.RequestsPerSecond), win.Latency.Microseconds())
		}
	}
	fmt.Fprintf(w, "  Client:\n    Request count: %d\n", l.OK)
	if c := l.Client; c != nil && c.OfferedPerSecond > 0 {
		fmt.Fprintf(w, "    Avg send request rate: %s infer/sec, of %s offered\n", six(c.AchievedPerSecond), six(c.OfferedPerSecond))
	}
	if c := l.Client; c != nil && c.HeldBack > 0 {
		fmt.Fprintf(w, "    Requests held back: %d (as many were in flight as may be)\n", c.HeldBack)
	}
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

// levelHead is the line over a level's block: perf_analyzer's, where it has one.
func levelHead(level load.Level) string {
	switch level := level.(type) {
	case load.Concurrency:
		return "Request concurrency: " + level.Value()
	case load.Rate:
		return fmt.Sprintf("Request Rate: %s inference requests per second", six(level.PerSecond))
	}
	return summaryName(level)
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
