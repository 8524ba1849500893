package guidellm

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
)

// fileByStatus holds one metric by the status of the requests.
type fileByStatus struct {
	Successful *fileDistribution `json:"successful"`
}

// A fileDistribution holds the file's statistics of a metric.
type fileDistribution struct {
	Mean        float64            `json:"mean"`
	Std         float64            `json:"std_dev"`
	Min         float64            `json:"min"`
	Max         float64            `json:"max"`
	Count       float64            `json:"count"`
	Percentiles map[string]float64 `json:"percentiles"`
}

// readMetrics keeps the metrics that fileValues can compute.
func (b *fileBenchmark) readMetrics(c *jsonscan.Cursor) error {
	b.metrics = map[string]fileByStatus{}
	return resultfile.EachMemberOf(c, "metrics", func(name string) (err error) {
		if name == "request_totals" {
			return b.readTotals(c)
		}
		b.stated = append(b.stated, name)
		if _, known := b.values.of(name); !known && name != "requests_per_second" {
			return resultfile.Skip(c)
		}
		v, err := c.Value("metric " + strconv.Quote(name))
		if err != nil {
			return err
		}
		var m fileByStatus
		switch {
		case resultfile.Decode(v, &m) != nil || m.Successful == nil:
		case name == "requests_per_second":
			b.rate = &m.Successful.Mean
		default:
			b.metrics[name] = m
		}
		return nil
	})
}

// fileValues are the values of a benchmark's successful requests, with the weight
// of each in the distribution.
type fileValues struct {
	latency, ttft, tpot, itl, input, output []point
}

// of returns the values of the metric of that name.
func (v *fileValues) of(name string) (values []point, known bool) {
	switch name {
	case "request_latency":
		return v.latency, true
	case "time_to_first_token_ms":
		return v.ttft, true
	case "time_per_output_token_ms":
		return v.tpot, true
	case "inter_token_latency_ms":
		return v.itl, true
	case "prompt_token_count":
		return v.input, true
	case "output_token_count":
		return v.output, true
	}
	return nil, false
}

// add computes the metrics of a request from its times.
func (v *fileValues) add(q *fileRequest) {
	t := q.timings()
	if t.RequestStart == nil {
		return
	}
	start := *t.RequestStart
	if t.RequestEnd != nil {
		v.latency = append(v.latency, point{*t.RequestEnd - start, 1})
	}
	if t.FirstToken != nil {
		v.ttft = append(v.ttft, point{1e3 * (*t.FirstToken - start), 1})
	}
	if q.PromptTokens != nil {
		v.input = append(v.input, point{float64(*q.PromptTokens), 1})
	}
	if q.OutputTokens == nil {
		return
	}
	n := *q.OutputTokens
	v.output = append(v.output, point{n, 1})
	if t.LastToken != nil && n > 0 {
		v.tpot = append(v.tpot, point{1e3 * (*t.LastToken - start) / n, n})
	}
	if t.LastToken != nil && t.FirstToken != nil && n > 1 {
		v.itl = append(v.itl, point{1e3 * (*t.LastToken - *t.FirstToken) / (n - 1), n - 1})
	}
}

// newestLayout is the last version of the report whose formulas are known.
const newestLayout = 2

// otherFormula lists the metrics that releases before 0.3 compute with other weights, and the time
// per output token also without the first token.
var otherFormula = []string{"time_per_output_token_ms", "inter_token_latency_ms"}

// Check compares the distributions of the successful requests, if the formulas of the layout are
// known.
func (s *source) Check(c *resultfile.SelfCheck) {
	version := fmt.Sprintf("version %d of the report", s.layout)
	for i := range s.all {
		b := &s.all[i]
		kept := b.kept()
		if kept.Partial() {
			c.Rest(b.stated, kept.WhyRest())
			continue
		}
		if s.layout > newestLayout {
			c.Rest(b.stated, version+" is newer than the versions that pa-analyze knows")
			continue
		}
		c.At = fmt.Sprintf("benchmark %d", i)
		if b.totals != nil && b.whole {
			c.Figure("request_totals successful", float64(b.totals.Successful), float64(b.counts[0]))
			c.Figure("request_totals errored", float64(b.totals.Errored), float64(b.counts[2]))
		}
		for name, m := range b.metrics {
			if s.layout == 0 && slices.Contains(otherFormula, name) {
				continue
			}
			values, _ := b.values.of(name)
			if m.Successful.Count == 0 && len(values) == 0 {
				continue
			}
			compareDistribution(c, values, name, m.Successful)
		}
		c.Rest(b.stated, kept.WhyRest()+" for "+version)
	}
}

// compareDistribution computes the figures of the distribution d of weighted values, and compares them: see
// release.distribution. It adds with a compensation, so that a difference shows the rounding of GuideLLM only.
func compareDistribution(c *resultfile.SelfCheck, all []point, name string, d *fileDistribution) {
	all = unique(all)
	total := exactSum(all, func(p point) float64 { return p.w })
	c.Figure(name+" count", d.Count, math.Round(total))
	if len(all) == 0 || total == 0 {
		return
	}
	mean := exactSum(all, func(p point) float64 { return p.x * (p.w / total) })
	c.Figure(name+" mean", d.Mean, mean)
	// Where the deviation is 0, the rounding error of the mean shows in it.
	std := math.Sqrt(exactSum(all, func(p point) float64 { return (p.x - mean) * (p.x - mean) * (p.w / total) }))
	c.Within(name+" std_dev", d.Std, std, max(resultfile.Tolerance, 1e-14*math.Abs(mean)/max(std, math.SmallestNonzeroFloat64)))
	c.Figure(name+" min", d.Min, all[0].x)
	c.Figure(name+" max", d.Max, all[len(all)-1].x)
	percentiles := releases[len(releases)-1].percentiles
	share, next := 0.0, 0
	for _, p := range all {
		share += p.w / total
		for ; next < len(percentiles) && share >= percentiles[next].share; next++ {
			if stored, ok := d.Percentiles[percentiles[next].name]; ok {
				c.Figure(name+" "+percentiles[next].name, stored, p.x)
			}
		}
	}
}

// exactSum returns the compensated sum of a value of each point.
func exactSum(all []point, value func(point) float64) float64 {
	var s stat.Sum
	for _, p := range all {
		s.Add(value(p))
	}
	return s.Value()
}
