package expr

import "math"

// An Objective is an expression over the metrics of a request, or of a load level. It does not change and
// may be used concurrently.
type Objective struct{ tree *Expr[comparison] }

// ParseObjective reads an objective of each request; the package comment has the grammar. The
// error is a [*SyntaxError].
func ParseObjective(text string) (*Objective, error) {
	return parseObjective(text, "ttft<=200ms && itl_p99<=50ms", metricOf)
}

// ParseLevelObjective reads an objective of a whole load level, whose metrics are statistics of all
// its requests: ttft_p99<=200ms && itl_p99<=30ms. It has the grammar of ParseObjective with other
// metrics: each one of a request with _mean, _min, _max or _p and a percentile. The error is
// a [*SyntaxError].
func ParseLevelObjective(text string) (*Objective, error) {
	return parseObjective(text, "ttft_p99<=200ms && itl_p99<=30ms", levelMetricOf)
}

// parseObjective reads an expression of the metrics that metricOf knows.
func parseObjective(text, example string, metricOf func(name string) (Metric, string)) (*Objective, error) {
	tree, err := Parse(text, Language[comparison]{
		Operand: "a metric", Example: example, Condition: func(p *Parser) comparison { return parseComparison(p, metricOf) },
	})
	if err != nil {
		return nil, err
	}
	return &Objective{tree}, nil
}

// comparison = metric relation value .
func parseComparison(p *Parser, metricOf func(name string) (Metric, string)) (c comparison) {
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
func (c *comparison) limit(p *Parser) {
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
		c.value = p.Value(q)
	}
}

// A comparison compares a metric of the request with a value.
type comparison struct {
	metric   Metric
	relation Relation
	value    float64
	text     string // the value as it was written
}

// String returns the comparison without blanks.
func (c comparison) String() string { return c.metric.Name + string(c.relation) + c.text }

// String returns the expression with one blank on both sides of && and || and without
// redundant parentheses. ParseObjective of the result returns an equal expression.
func (o *Objective) String() string { return o.tree.String() }

// Conditions returns the parts that must all be met: the operands of the outermost &&, or
// the expression itself.
func (o *Objective) Conditions() []*Objective {
	var all []*Objective
	for _, part := range o.tree.conjuncts() {
		all = append(all, &Objective{part})
	}
	return all
}

// Limit returns the metric and the value of an expression that is a single comparison; ok is false for
// any other. The value is in nanoseconds, tokens or tokens per second.
func (o *Objective) Limit() (m Metric, value float64, ok bool) {
	for c := range o.tree.Conditions() {
		if ok {
			return Metric{}, 0, false
		}
		m, value, ok = c.metric, c.value, o.String() == c.String()
	}
	return m, value, ok
}

// Metrics returns the metrics of the expression, each once, in order.
func (o *Objective) Metrics() []Metric {
	var all []Metric
	seen := map[string]bool{}
	for c := range o.tree.Conditions() {
		if !seen[c.metric.Name] {
			seen[c.metric.Name] = true
			all = append(all, c.metric)
		}
	}
	return all
}

// Eval decides for one request. value returns a metric of it: nanoseconds,
// tokens or tokens per second, and false for one that it lacks.
func (o *Objective) Eval(value func(Metric) (float64, bool)) Truth {
	return o.tree.Eval(func(c *comparison) Truth {
		v, ok := value(c.metric)
		if !ok {
			return Unknown
		}
		return Of(c.relation.Holds(v, c.value))
	})
}

// Margin returns by how much a request meets the objective: the logarithm of the factor between
// its metric and the value that it is compared with, of the condition that decides. It is positive
// if the request meets the objective, negative if the request misses it, and 0 at the limit.
// value is as for Eval; Margin ignores metrics that the request lacks.
func (o *Objective) Margin(value func(Metric) (float64, bool)) float64 {
	m, _ := o.tree.margin(func(c *comparison) (float64, bool) {
		v, ok := value(c.metric)
		return c.margin(v), ok
	})
	return m
}

// margin returns by how much a value of the metric fulfills the comparison.
func (c *comparison) margin(v float64) float64 {
	m := math.Log(c.value / v)
	if c.value == v || math.IsNaN(m) {
		return 0
	}
	if c.relation == ">" || c.relation == ">=" {
		return -m
	}
	return m
}

// A Share is a condition on a percentile of a level, as a condition on the share of its values.
type Share struct {
	Metric Metric
	// Target is the share of values that must keep the limit, above 0 and below 1.
	Target float64
	c      comparison
}

// Margin returns by how much a value keeps the limit: 0 or more if it does, and below 0 if not.
func (s *Share) Margin(v float64) float32 {
	return Signed(s.c.margin(v), s.c.relation.Holds(v, s.c.value))
}

// Signed returns a margin as a float32 that is negative if and only if the objective is not met.
func Signed(margin float64, met bool) float32 {
	m := float32(margin)
	switch {
	case met:
		return max(m, 0)
	case m < 0:
		return m
	}
	return -math.SmallestNonzeroFloat32
}

// Shares returns the conditions of an objective of [ParseLevelObjective] as conditions on shares of
// values: ttft_p99<=200ms asks for a TTFT of at most 200 ms of 99 % of the requests. It returns nil
// unless the objective is a percentile's condition or several joined by &&.
func (o *Objective) Shares() []Share {
	var all []Share
	for _, part := range o.Conditions() {
		m, _, ok := part.Limit()
		if !ok || m.Percentile == 0 {
			return nil
		}
		for c := range part.tree.Conditions() {
			s := Share{Metric: m, Target: m.Percentile / 100, c: *c}
			if c.relation == ">" || c.relation == ">=" {
				s.Target = 1 - s.Target
			}
			all = append(all, s)
		}
	}
	return all
}
