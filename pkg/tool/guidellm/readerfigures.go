package guidellm

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/pa-tools/pa/pkg/export/jsonfile"
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

// readMetrics keeps the metrics that guideLLMValues can compute.
func (b *fileBenchmark) readMetrics(c *jsonfile.Cursor) error {
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
	latency, ttft, tpot, itl, input, output weighted
}

// of returns the values of the metric of that name.
func (v *fileValues) of(name string) (*weighted, bool) {
	switch name {
	case "request_latency":
		return &v.latency, true
	case "time_to_first_token_ms":
		return &v.ttft, true
	case "time_per_output_token_ms":
		return &v.tpot, true
	case "inter_token_latency_ms":
		return &v.itl, true
	case "prompt_token_count":
		return &v.input, true
	case "output_token_count":
		return &v.output, true
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
		v.latency.add(*t.RequestEnd-start, 1)
	}
	if t.FirstToken != nil {
		v.ttft.add(1e3*(*t.FirstToken-start), 1)
	}
	if q.PromptTokens != nil {
		v.input.add(float64(*q.PromptTokens), 1)
	}
	if q.OutputTokens == nil {
		return
	}
	n := *q.OutputTokens
	v.output.add(n, 1)
	if t.LastToken != nil && n > 0 {
		v.tpot.add(1e3*(*t.LastToken-start)/n, n)
	}
	if t.LastToken != nil && t.FirstToken != nil && n > 1 {
		v.itl.add(1e3*(*t.LastToken-*t.FirstToken)/(n-1), n-1)
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
			if m.Successful.Count == 0 && len(values.x) == 0 {
				continue
			}
			values.compare(c, name, m.Successful)
		}
		c.Rest(b.stated, kept.WhyRest()+" for "+version)
	}
}
