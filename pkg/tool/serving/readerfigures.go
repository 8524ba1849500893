package serving

import (
	"fmt"
	"math"
	"strings"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
)

// Check computes the figures of each result and compares them.
func (s *source) Check(c *resultfile.SelfCheck) {
	for i, x := range s.all {
		if len(s.all) > 1 {
			c.At = fmt.Sprintf("result %d", i)
		}
		x.values.compare(c, x)
	}
}

// fileValues are the values of the successful requests, in the unit of the file.
type fileValues struct {
	failed, completed              int
	ttft, tpot, itl, e2el, perUser resultfile.Sample
	input, output                  float64
	// inputUnknown: the columns do not give the tool's total of prompts. latencyUnknown: latencies may be longer than
	// the columns say.
	inputUnknown, latencyUnknown bool
}

// add adds the values of a row of the file.
func (v *fileValues) add(x *fileRun, row *fileRow) {
	if !row.succeeded {
		v.failed++
		return
	}
	v.completed++
	v.output += row.output
	v.input += row.input
	// SGLang's total is the sum of the lengths in the data set, but the column has the
	// server's counts.
	v.inputUnknown = v.inputUnknown || math.IsNaN(row.input) || x.tool == &sglangTool
	v.ttft = append(v.ttft, row.ttft)
	v.itl = append(v.itl, row.itl...)
	latency := row.latency
	if math.IsNaN(latency) {
		latency = row.ttft + resultfile.Sample(row.itl).Sum()
		// In chat the measured latency may be longer.
		v.latencyUnknown = v.latencyUnknown || x.lacksEnds()
	}
	v.e2el = append(v.e2el, latency)
	if row.output > 1 {
		v.tpot = append(v.tpot, (latency-row.ttft)/(row.output-1))
	}
	v.perUser = append(v.perUser, row.output/latency)
}

// compare computes the figures of x that follow from its columns, and compares them.
func (v *fileValues) compare(c *resultfile.SelfCheck, x *fileRun) {
	duration := x.number("duration")
	figure := func(name string, computed float64) {
		if stored, ok := x.scalars[name]; ok && stored != "" && stored != "null" && !math.IsNaN(computed) {
			c.Figure(name, x.number(name), computed)
		}
	}
	n := float64(v.completed)
	figure("completed", n)
	figure("failed", float64(v.failed))
	kept := x.kept()
	if kept.Partial() {
		c.Rest(x.figures(), kept.WhyRest())
		return
	}
	figure("total_output_tokens", v.output)
	figure("request_throughput", n/duration)
	figure("output_throughput", v.output/duration)
	hasRows := v.completed+v.failed > 0
	if hasRows && !v.inputUnknown {
		figure("total_input_tokens", v.input)
		figure("input_throughput", v.input/duration)
		figure("total_token_throughput", (v.input+v.output)/duration)
		figure("total_throughput", (v.input+v.output)/duration)
	}
	metrics := map[string]resultfile.Sample{"ttft": v.ttft.Sorted(), "itl": v.itl.Sorted()}
	if hasRows && !v.latencyUnknown {
		metrics["tpot"], metrics[x.tool.latency] = v.tpot.Sorted(), v.e2el.Sorted()
		if v.completed > 0 {
			figure("user_throughput", stat.NumpyMean(stat.NumpyCurrent, v.perUser))
		}
	}
	for _, name := range x.order {
		stat, metric, ok := splitFigure(name)
		values, known := metrics[metric]
		if !ok || !known {
			continue
		}
		if len(values) == 0 {
			if math.IsNaN(x.number(name)) {
				c.Figure(name, math.NaN(), math.NaN()) // no value agrees with no value
				continue
			}
			values = resultfile.Sample{0} // as most tools do
		}
		figure(name, 1e3*values.Stat(stat))
	}
	c.Rest(x.figures(), kept.WhyRest())
}

// figureNames are parts of the names of members that are figures, unlike settings.
var figureNames = []string{"duration", "completed", "failed", "total_", "throughput", "goodput", "_per_s", "concurrent_", "concurrency", "accept", "rtfx"}

// figures returns the names of the members that are figures.
func (x *fileRun) figures() []string {
	var names []string
	for _, name := range x.order {
		_, _, latency := splitFigure(name)
		if !latency && !isFigure(name) {
			continue
		}
		if _, err := resultfile.ParseFloat([]byte(x.scalars[name])); err == nil && x.scalars[name] != "null" {
			names = append(names, name)
		}
	}
	return names
}

// splitFigure splits "p99_ttft_ms" into "p99" and "ttft".
func splitFigure(name string) (stat, metric string, ok bool) {
	name, ok = strings.CutSuffix(name, "_ms")
	if !ok {
		return "", "", false
	}
	return strings.Cut(name, "_")
}
