package foreign

import (
	"fmt"
	"strconv"

	"github.com/pa-tools/pa/pkg/export/internal/jsonfile"
)

// guideLLMByStatus holds one metric by the status of the requests.
type guideLLMByStatus struct {
	Successful *guideLLMDistribution `json:"successful"`
}

// A guideLLMDistribution holds the file's statistics of a metric.
type guideLLMDistribution struct {
	Mean        float64            `json:"mean"`
	Std         float64            `json:"std_dev"`
	Min         float64            `json:"min"`
	Max         float64            `json:"max"`
	Count       float64            `json:"count"`
	Percentiles map[string]float64 `json:"percentiles"`
}

// readMetrics keeps the metrics that guideLLMValues can compute.
func (b *guideLLMBenchmark) readMetrics(c *jsonfile.Cursor) error {
	b.metrics = map[string]guideLLMByStatus{}
	return eachMemberOf(c, "metrics", func(name string) (err error) {
		if name == "request_totals" {
			return b.readTotals(c)
		}
		if _, known := b.values.of(name); !known && name != "requests_per_second" {
			return skip(c)
		}
		v, err := c.Value("metric " + strconv.Quote(name))
		if err != nil {
			return err
		}
		var m guideLLMByStatus
		switch {
		case decode(v, &m) != nil || m.Successful == nil:
		case name == "requests_per_second":
			b.rate = &m.Successful.Mean
		default:
			b.metrics[name] = m
		}
		return nil
	})
}

// guideLLMValues are the values of a benchmark's successful requests, with the weight
// of each in the distribution.
type guideLLMValues struct {
	latency, ttft, tpot, itl, input, output weighted
}

// of returns the values of the metric of that name.
func (v *guideLLMValues) of(name string) (*weighted, bool) {
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
func (v *guideLLMValues) add(q *guideLLMRequest) {
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

// check compares the distributions of the successful requests. It compares nothing
// unless the layout is 2, because the formulas of other releases differ.
func (s *guideLLM) check(c *selfCheck) {
	if s.layout != 2 {
		return
	}
	for i := range s.all {
		b := &s.all[i]
		if b.kept().partial() {
			continue // the figures are of all requests
		}
		for name, m := range b.metrics {
			values, _ := b.values.of(name)
			if m.Successful.Count == 0 && len(values.x) == 0 {
				continue
			}
			c.at = fmt.Sprintf("benchmark %d", i)
			values.compare(c, name, m.Successful)
		}
	}
}
