package foreign

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// check computes the figures of each result and compares them.
func (s *serving) check(c *selfCheck) {
	for i, x := range s.all {
		if len(s.all) > 1 {
			c.at = fmt.Sprintf("result %d", i)
		}
		x.values.compare(c, x)
	}
}

// servingValues are the values of the successful requests, in the unit of the file.
type servingValues struct {
	failed, completed      int
	ttft, tpot, itl, e2el  sample
	input, output          float64
	inputKnown, latencyOK  bool
	perUser                sample
	notStreamed, anyValues bool
}

func (v *servingValues) add(x *servingRun, row *servingRow) {
	if !v.anyValues {
		v.anyValues, v.inputKnown, v.latencyOK = true, true, true
	}
	if !row.succeeded {
		v.failed++
		return
	}
	v.completed++
	v.output += row.output
	v.input += row.input
	// SGLang's total is the sum of the lengths in the data set, but the column has the
	// server's counts.
	v.inputKnown = v.inputKnown && !math.IsNaN(row.input) && x.tool != &sglangTool
	v.notStreamed = v.notStreamed || row.notStreamed
	v.ttft = append(v.ttft, row.ttft)
	v.itl = append(v.itl, row.itl...)
	latency := row.latency
	if math.IsNaN(latency) {
		latency = row.ttft + sample(row.itl).sum()
		// In chat the measured latency may be longer.
		v.latencyOK = v.latencyOK && x.tool.ends == "" || x.tool == &trtllmOldTool && !x.chat
	}
	v.e2el = append(v.e2el, latency)
	if row.output > 1 {
		v.tpot = append(v.tpot, (latency-row.ttft)/(row.output-1))
	}
	v.perUser = append(v.perUser, row.output/latency)
}

// compare computes the figures of x that follow from its columns, and compares them.
func (v *servingValues) compare(c *selfCheck, x *servingRun) {
	duration := x.number("duration")
	figure := func(name string, computed float64) {
		if stored, ok := x.scalars[name]; ok && stored != "" && stored != "null" && !math.IsNaN(computed) {
			c.figure(name, x.number(name), computed)
		}
	}
	n := float64(v.completed)
	figure("completed", n)
	figure("failed", float64(v.failed))
	kept := x.kept()
	if kept.partial() {
		c.rest(x.figures(), kept.whyRest())
		return
	}
	figure("total_output_tokens", v.output)
	figure("request_throughput", n/duration)
	figure("output_throughput", v.output/duration)
	if v.inputKnown && v.anyValues {
		figure("total_input_tokens", v.input)
		figure("input_throughput", v.input/duration)
		figure("total_token_throughput", (v.input+v.output)/duration)
		figure("total_throughput", (v.input+v.output)/duration)
	}
	metrics := map[string]sample{"ttft": v.ttft.sorted(), "itl": v.itl.sorted()}
	if v.latencyOK {
		metrics["tpot"], metrics[x.tool.latency] = v.tpot.sorted(), v.e2el.sorted()
		if v.completed > 0 {
			figure("user_throughput", v.perUser.mean())
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
				c.figure(name, math.NaN(), math.NaN()) // no value agrees with no value
				continue
			}
			values = sample{0} // as most tools do
		}
		figure(name, 1e3*values.stat(stat))
	}
	c.rest(x.figures(), kept.whyRest())
}

// figureNames are parts of the names of members that are figures, unlike settings.
var figureNames = []string{"duration", "completed", "failed", "total_", "throughput", "goodput", "_per_s", "concurrent_", "concurrency", "accept", "rtfx"}

// figures returns the names of the members that are figures.
func (x *servingRun) figures() []string {
	var names []string
	for _, name := range x.order {
		_, _, latency := splitFigure(name)
		if !latency && (name == "max_concurrency" || !slices.ContainsFunc(figureNames, func(part string) bool { return strings.Contains(name, part) })) {
			continue
		}
		if _, err := parseFloat([]byte(x.scalars[name])); err == nil && x.scalars[name] != "null" {
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

// stat returns the mean, the median, the std or a percentile such as p99.9. s has to be
// sorted. It returns NaN for another name.
func (s sample) stat(name string) float64 {
	switch name {
	case "mean":
		return s.mean()
	case "std":
		return s.std()
	case "median":
		return s.percentile(50)
	}
	pct, ok := strings.CutPrefix(name, "p")
	p, err := strconv.ParseFloat(pct, 64)
	if !ok || err != nil {
		return math.NaN()
	}
	return s.percentile(p)
}
