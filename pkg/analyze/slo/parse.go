package slo

import "github.com/pa-tools/pa/pkg/analyze/expr"

// Parse reads an expression; the package comment has the grammar. The
// error is an [*expr.SyntaxError].
func Parse(text string) (*Expr, error) {
	return parse(text, "ttft<=200ms && itl_p99<=50ms", metricOf)
}

// ParseLevel reads an objective of a whole load level, whose metrics are statistics of all
// its requests: ttft_p99<=200ms && itl_p99<=30ms. It has the grammar of Parse with other
// metrics: each one of a request with _mean, _min, _max or _p and a percentile. The error is
// an [*expr.SyntaxError].
func ParseLevel(text string) (*Expr, error) {
	return parse(text, "ttft_p99<=200ms && itl_p99<=30ms", levelMetricOf)
}

// parse reads an expression of the metrics that metricOf knows.
func parse(text, example string, metricOf func(name string) (Metric, string)) (*Expr, error) {
	tree, err := expr.Parse(text, expr.Language[comparison]{
		Operand: "a metric", Example: example, Condition: func(p *expr.Parser) comparison { return parseComparison(p, metricOf) },
	})
	if err != nil {
		return nil, err
	}
	return &Expr{tree}, nil
}

// comparison = metric relation value .
func parseComparison(p *expr.Parser, metricOf func(name string) (Metric, string)) (c comparison) {
	m, why := metricOf(p.Text())
	if why != "" {
		p.Refuse("%s", why)
		return c
	}
	p.Next()
	c.metric = m
	var ok bool
	if c.relation, ok = p.Relation(m.Name, ""); ok {
		c.limit(p)
	}
	return c
}

// limit reads the value = number [ unit ] that the metric is compared with.
func (c *comparison) limit(p *expr.Parser) {
	example := map[Kind]string{Duration: "a duration such as 200ms", Count: "a number of tokens such as 100", Rate: "a number of tokens per second such as 25.5"}[c.metric.Kind]
	q, ok := p.Quantity(c.metric.Name+string(c.relation), example, false)
	if !ok {
		return
	}
	switch {
	case q.Sign != "":
		p.Refuse("a value has no sign; write %s", example)
	case c.metric.Kind != Duration && q.Unit != "":
		p.Refuse("%s has no unit; write %s", c.metric.Name, example)
	case c.metric.Kind == Duration && q.Unit == "" && !q.IsZero():
		p.Refuse("a duration needs a unit: %sms or %ss", q.Number, q.Number)
	default:
		c.text = q.String()
		c.value, _ = p.Value(q)
	}
}
