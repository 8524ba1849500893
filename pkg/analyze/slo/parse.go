package slo

import "github.com/pa-tools/pa/pkg/analyze/expr"

// Parse reads an expression; the package comment has the grammar. The
// error is an [*expr.SyntaxError].
func Parse(text string) (*Expr, error) {
	tree, err := expr.Parse(text, expr.Language[comparison]{
		Operand: "a metric", Example: "ttft<=200ms && itl_p99<=50ms", Condition: parseComparison,
	})
	if err != nil {
		return nil, err
	}
	return &Expr{tree}, nil
}

// comparison = metric relation value .
func parseComparison(p *expr.Parser) (c comparison) {
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
