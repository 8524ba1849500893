package guidellm

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/pa-tools/pa/internal/jsonscan"
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
	Sum         *float64           `json:"total_sum"`
	Percentiles map[string]float64 `json:"percentiles"`
}

// readMetrics keeps the metrics that can be computed again.
func (b *fileBenchmark) readMetrics(c *jsonscan.Cursor) error {
	b.metrics = map[string]fileByStatus{}
	return resultfile.EachMemberOf(c, "metrics", func(name string) (err error) {
		if name == "request_totals" {
			return b.readTotals(c)
		}
		b.stated = append(b.stated, name)
		if checked[name] == nil && name != "requests_per_second" {
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

// checked has the values of a successful request, by the metrics of the file that follow from them.
var checked = map[string]func(*requestStat) []point{
	"request_latency":          known((*requestStat).latency),
	"time_to_first_token_ms":   known((*requestStat).ttft),
	"time_per_output_token_ms": timePerToken,
	"inter_token_latency_ms":   interTokens,
	"prompt_token_count":       known(promptTokens),
	"output_token_count":       known(outputTokens),
}

// stat returns what the metrics need of a successful request.
func (q *fileRequest) stat() requestStat {
	t := q.timings()
	value := func(v *float64) float64 {
		if v == nil {
			return math.NaN()
		}
		return *v
	}
	s := requestStat{
		start: value(t.RequestStart), end: value(t.RequestEnd), done: true, first: value(t.FirstToken), last: value(t.LastToken),
		prompt: math.NaN(), output: value(q.OutputTokens),
	}
	if q.PromptTokens != nil {
		s.prompt = float64(*q.PromptTokens)
	}
	return s
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
			var values []point
			for k := range b.values {
				values = append(values, checked[name](&b.values[k])...)
			}
			if m.Successful.Count != 0 || len(values) > 0 {
				compareDistribution(c, values, name, m.Successful)
			}
		}
		c.Rest(b.stated, kept.WhyRest()+" for "+version)
	}
}

// compareDistribution computes the figures of the distribution d of weighted values, and compares them.
func compareDistribution(c *resultfile.SelfCheck, values []point, name string, d *fileDistribution) {
	latest := releases[len(releases)-1]
	s := latest.statistics(values)
	c.Figure(name+" count", d.Count, float64(s.count))
	if s.count == 0 {
		return
	}
	c.Figure(name+" mean", d.Mean, s.mean)
	// Where the deviation is 0, the rounding error of the mean shows in it.
	c.Within(name+" std_dev", d.Std, s.std, max(resultfile.Tolerance, 1e-14*math.Abs(s.mean)/max(s.std, math.SmallestNonzeroFloat64)))
	c.Figure(name+" min", d.Min, s.min)
	c.Figure(name+" max", d.Max, s.max)
	for i, p := range latest.percentiles {
		if stored, ok := d.Percentiles[p.name]; ok {
			c.Figure(name+" "+p.name, stored, s.percentiles[i])
		}
	}
}
