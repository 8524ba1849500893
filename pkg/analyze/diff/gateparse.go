package diff

import (
	"strings"

	"github.com/pa-tools/pa/pkg/analyze/expr"
)

// parseGate reads an expression over the metrics; the package comment has the grammar. Only the primary
// metrics have verdicts. older and newer are the names of the sides: ours.failed_share is new.failed_share where newer is ours.
// Messages use these names. The error is an [*expr.SyntaxError].
func parseGate(text string, metrics []Metric, older, newer string) (*GateExpr, error) {
	tree, err := expr.Parse(text, expr.Language[condition]{
		Operand: "a metric", Example: "ttft_p99>+5%",
		Condition: func(p *expr.Parser) condition {
			return parseCondition(p, metrics, condition{older: older, newer: newer})
		},
	})
	if err != nil {
		return nil, err
	}
	return &GateExpr{tree}, nil
}

// withinWord is the word of a condition about equivalence.
const withinWord = "within"

// condition = value | change | verdict | within .
func parseCondition(p *expr.Parser, metrics []Metric, c condition) condition {
	if !c.parseOperand(p, metrics) {
		return c
	}
	p.Next()
	if p.IsWord() {
		c.parseVerdict(p)
		return c
	}
	if c.metric.Key == allMetrics {
		p.Fail("expected %s 3%% after %s, found %s", withinWord, allMetrics, p.Describe())
		return c
	}
	words := ""
	switch {
	case c.metric.Primary && c.of == ofChange:
		words = ", better, worse, different or within"
	case c.of == ofChange:
		words = ", or within"
	}
	var ok bool
	if c.relation, ok = p.Relation(c.operand(), words); ok {
		c.parseLimit(p)
	}
	return c
}

// parseOperand reads an operand such as old.ttft_p99 or ttft_p99.low.
func (c *condition) parseOperand(p *expr.Parser, metrics []Metric) bool {
	name := strings.ToLower(p.Text())
	c.of = ofChange
	if before, after, ok := strings.Cut(name, "."); ok {
		switch {
		case before == "old", strings.EqualFold(before, c.older):
			c.of, name = ofOld, after
		case before == "new", strings.EqualFold(before, c.newer):
			c.of, name = ofNew, after
		case after == "low":
			c.of, name = ofLow, before
		case after == "high":
			c.of, name = ofHigh, before
		default:
			p.Refuse("a metric goes alone, after %s. or %s., or before .low or .high", c.older, c.newer)
			return false
		}
	}
	if name == allMetrics && c.of == ofChange {
		c.metric = Metric{Key: allMetrics}
		return true
	}
	var keys []string
	for _, m := range metrics {
		if m.Key == name {
			c.metric = m
			return true
		}
		keys = append(keys, m.Key)
	}
	p.Refuse("no metric; there are %s", strings.Join(keys, ", "))
	return false
}

// verdict = metric ( "better" | "worse" | "different" ) .
// within = ( metric | "all" ) "within" percent .
func (c *condition) parseVerdict(p *expr.Parser) {
	switch c.verdict = p.Text(); c.verdict {
	case withinWord:
		if c.of != ofChange {
			p.Fail("%s is a number; %s belongs to %s alone", c.operand(), c.verdict, c.metric.Key)
			return
		}
		p.Next()
		c.parseMargin(p)
		return
	case "better", "worse", "different":
	default:
		p.Fail("expected better, worse, different or within after %s, found %s", c.operand(), p.Describe())
	}
	switch {
	case c.of != ofChange:
		p.Fail("%s is a number; %s belongs to %s alone", c.operand(), c.verdict, c.metric.Key)
	case c.metric.Key == allMetrics:
		p.Fail("expected %s 3%% after %s, found %s", withinWord, allMetrics, p.Describe())
	case !c.metric.Primary:
		p.Fail("%s has no verdict: it is descriptive; write %s>+5%% or %s.low>0%%", c.metric.Key, c.metric.Key, c.metric.Key)
	}
	p.Next()
}

// parseMargin reads the percent after within.
func (c *condition) parseMargin(p *expr.Parser) {
	after := c.metric.Key + " " + withinWord
	q, ok := p.Quantity(after, "a percent such as 3%", true)
	if !ok {
		return
	}
	if q.Unit != "%" || q.Sign != "" || q.IsZero() {
		p.Refuse("a margin is a percent above 0 without a sign; write %s 3%%", after)
	}
	c.written = q
	c.limit = p.Value(q)
}

// example returns a limit for the operand, for messages.
func (c *condition) example() string {
	switch {
	case c.of != ofOld && c.of != ofNew:
		return "a percent such as +5%"
	case c.metric.Unit == Nanoseconds:
		return "a duration such as 200ms"
	case c.metric.Unit == Share:
		return "a percent such as 1%"
	}
	return "a number such as 25.5"
}

// parseLimit reads the limit of the operand.
func (c *condition) parseLimit(p *expr.Parser) {
	q, ok := p.Quantity(c.operand()+string(c.relation), c.example(), true)
	if !ok {
		return
	}
	isTime := c.metric.Unit == Nanoseconds
	switch {
	case c.percent() && q.Unit == "%":
	case c.percent() && c.of == ofChange:
		p.Refuse("a change is in percent; write %s%s+5%%, or %s.%s%s%s%s for the value", c.metric.Key, c.relation, c.newer, c.metric.Key, c.relation, q.Number, q.Unit)
	case c.percent():
		p.Refuse("%s is in percent; write %s", c.operand(), c.example())
	case q.Sign != "":
		p.Refuse("a value has no sign; write %s", c.example())
	case q.Unit == "%":
		p.Refuse("%s is not a share; write %s, or %s%s%s for the change", c.operand(), c.example(), c.metric.Key, c.relation, q)
	case isTime && q.Unit == "":
		p.Refuse("a duration needs a unit: %sms or %ss", q.Number, q.Number)
	case c.metric.Unit == Ratio && q.Unit != "":
		p.Refuse("%s has no unit; write %s", c.metric.Key, c.example())
	case !isTime && q.Unit != "":
		p.Refuse("%s is per second and has no unit; write %s", c.metric.Key, c.example())
	}
	c.written = q
	c.limit = p.Value(q)
}
