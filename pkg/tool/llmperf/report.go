package llmperf

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/py"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/internal/stat"
)

var rule = strings.Repeat("-", 60) + "\n"

// Console writes the tool's output, which does not depend on the width of the console.
func (r *report) Console(w io.Writer, _ int) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "triton_url: %s, protocol: %s, model: %s\n", r.args.uri, r.args.protocol, r.args.model)
	for i := range r.Levels {
		l := &r.Levels[i]
		b.WriteString(rule)
		fmt.Fprintf(&b, "Request concurrency: %s\n", l.Concurrency)
		if l.part == partName {
			break
		}
		if r.release.table {
			l.printTable(&b)
		} else {
			l.printLines(&b)
		}
	}
	if r.release.table && r.Crash == nil {
		b.WriteString("\nNote: Metrics definition in the guide for details: https://docs.nvidia.com/nim/benchmarking/llm/latest/metrics.html\n" + rule + "\n\n")
	}
	_, err := w.Write(b.Bytes())
	return err
}

// A metric is a name and a number.
type metric struct {
	name  string
	value float64
}

// averages returns the metrics of the first version. Rates divide by the sum of all
// latencies; means add in the order of the requests.
func (l *level) averages() []metric {
	n := float64(l.Requests)
	var ttft, latency []float64
	sum := 0.0
	for _, o := range l.results {
		sum += o.ttft
		ttft, latency = append(ttft, o.ttft), append(latency, o.latency)
	}
	slices.Sort(ttft)
	slices.Sort(latency)
	return []metric{
		{"average_input_token_per_sec", float64(l.InputTokens) / l.Latency},
		{"average_output_token_per_sec", float64(l.OutputTokens) / l.Latency},
		{"average_ttft", sum / n},
		{"average_latency", l.Latency / n},
		{"p99_ttft", stat.NumpyPercentile(ttft, 99)},
		{"p99_latency", stat.NumpyPercentile(latency, 99)},
	}
}

func (l *level) printLines(b *bytes.Buffer) {
	for _, m := range l.averages() {
		fmt.Fprintf(b, "%s: %s\n", m.name, py.Repr(m.value))
	}
	if l.part == partMetrics {
		return
	}
	fmt.Fprintf(b, "payload and results: %d %d\n", l.Requests, l.Requests)
	fmt.Fprintf(b, "throughput: %s infer/sec. \n", py.Repr(l.rate(l.Requests)))
}

// rate divides a number of things by the time of the level.
func (l *level) rate(n int) float64 { return float64(n) / l.Wall }

// A row is a metric of the second version's table: rounded milliseconds.
type row struct {
	name string
	// values holds average, minimum, maximum and the percentiles 99, 90 and 75.
	values [6]float64
	// wholeExtremes: minimum and maximum are whole numbers.
	wholeExtremes bool
}

var columns = []string{"Average", "Min", "Max", "P99", "P90", "P75"}

// rows returns the rows of the table. As in the tool, numpy rounds averages and
// percentiles, and Python rounds the extremes.
func (l *level) rows() []row {
	var ttft, tpot, latency []float64
	whole := false
	for _, o := range l.results {
		ttft, tpot, latency = append(ttft, o.ttft*1000), append(tpot, o.tpot*1000), append(latency, o.latency*1000)
		whole = whole || o.whole
	}
	return []row{
		newRow("Time to first token (ms)", ttft, whole),
		newRow("Inter token latency (ms)", tpot, false),
		newRow("Request latency (ms)", latency, false),
	}
}

func newRow(name string, values []float64, whole bool) row {
	r := row{name: name, wholeExtremes: whole}
	r.values[0] = stat.NumpyRound(stat.NumpyMean(stat.NumpyCurrent, values), 2)
	slices.Sort(values)
	r.values[1], r.values[2] = py.Round(values[0], 2), py.Round(values[len(values)-1], 2)
	for i, p := range [...]float64{99, 90, 75} {
		r.values[3+i] = stat.NumpyRound(stat.NumpyPercentile(values, p), 2)
	}
	return r
}

// printTable writes the table of a level.
func (l *level) printTable(b *bytes.Buffer) {
	t := markdownTable{columns: columns}
	for _, r := range l.rows() {
		t.rows = append(t.rows, markdownRow{r.name, r.values[:]})
	}
	b.WriteString(t.String())
	if l.part == partMetrics {
		return
	}
	round := func(f float64) string { return py.Repr(py.Round(f, 4)) }
	fmt.Fprintf(b, "num of payload: %d; completed results: %d\n", l.Requests, l.Requests)
	fmt.Fprintf(b, "request per sec (throughput in system): %s infer/sec\n", round(l.rate(l.Requests)))
	fmt.Fprintf(b, "total input token per sec (in system): %s token/sec\n", round(float64(l.InputTokens)/l.Wall))
	fmt.Fprintf(b, "total output token per sec (in system): %s token/sec\n", round(float64(l.OutputTokens)/l.Wall))
	b.WriteString("\n\n" + rule)
}

// JSON writes the tool's result file. It returns an error with the reason if the tool ends
// before it writes one.
func (r *report) JSON(w io.Writer) error {
	if r.Crash != nil {
		return fmt.Errorf("%s writes no result of this file: %w", r.release.Name, r.Crash)
	}
	var all py.Object
	for i := range r.Levels {
		l := &r.Levels[i]
		m := py.Member{Name: l.Concurrency, Value: r.object(l)}
		if k := slices.IndexFunc(all, func(x py.Member) bool { return x.Name == m.Name }); k >= 0 {
			all[k] = m // a level that was measured again
			continue
		}
		all = append(all, m)
	}
	b := py.AppendJSON(nil, all, 0)
	if r.release.table {
		b = sanitize.JSON(py.AppendJSONUnicode(nil, all, 2))
	}
	_, err := w.Write(b)
	return err
}

// object returns a level of the result file.
func (r *report) object(l *level) py.Object {
	o := py.Object{
		{Name: "concurrency", Value: py.Raw(l.Concurrency)},
		{Name: "client_requests", Value: l.Requests},
	}
	if !r.release.table {
		var metrics py.Object
		for _, m := range l.averages() {
			metrics = append(metrics, py.Member{Name: m.name, Value: m.value})
		}
		return append(o,
			py.Member{Name: "throughput", Value: l.rate(l.Requests)},
			py.Member{Name: "perf_results", Value: l.list(false)},
			py.Member{Name: "metrics", Value: metrics})
	}
	var names py.Array
	for _, c := range columns {
		names = append(names, c)
	}
	stats := py.Object{{Name: "Metrics", Value: names}}
	for _, r := range l.rows() {
		stats = append(stats, py.Member{Name: r.name, Value: r.array()})
	}
	return append(o,
		py.Member{Name: "perf_results", Value: l.list(true)},
		py.Member{Name: "metrics_stats", Value: stats},
		py.Member{Name: "total_output_tps_in_system", Value: float64(l.OutputTokens) / l.Wall},
		py.Member{Name: "total_input_tps_in_system", Value: float64(l.InputTokens) / l.Wall},
		py.Member{Name: "request_per_sec", Value: l.rate(l.Requests)})
}

func (r *row) array() py.Array {
	var all py.Array
	for i, v := range r.values {
		if r.wholeExtremes && (i == 1 || i == 2) && v == math.Trunc(v) {
			all = append(all, int64(v))
			continue
		}
		all = append(all, v)
	}
	return all
}

// list returns the members of each request in the result file.
func (l *level) list(tpot bool) py.Array {
	var all py.Array
	for _, x := range l.results {
		var ttft any = x.ttft
		if x.whole {
			ttft = -1
		}
		o := py.Object{
			{Name: "output_text", Value: x.text},
			{Name: "ttft", Value: ttft},
			{Name: "e2e_latency", Value: x.latency},
			{Name: "input_tokens", Value: x.input},
			{Name: "output_tokens", Value: x.output},
		}
		if tpot {
			o = append(o, py.Member{Name: "TPOT", Value: x.tpot})
		}
		all = append(all, o)
	}
	return all
}
