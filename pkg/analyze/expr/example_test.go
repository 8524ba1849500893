package expr_test

import (
	"fmt"

	"github.com/pa-tools/pa/pkg/analyze/expr"
)

// An age is the one condition there is: age>=18.
type age struct {
	relation expr.Relation
	years    float64
}

func (a age) String() string { return fmt.Sprintf("age%s%v", a.relation, a.years) }

func parseAge(p *expr.Parser) (a age) {
	if p.Text() != "age" {
		p.Refuse("there is age")
		return a
	}
	p.Next()
	var ok bool
	if a.relation, ok = p.Relation("age", ""); !ok {
		return a
	}
	q, ok := p.Quantity("age"+string(a.relation), "a number of years", false)
	switch {
	case !ok:
	case q.Sign != "" || q.Unit != "":
		p.Refuse("years have neither sign nor unit")
	default:
		a.years = p.Value(q)
	}
	return a
}

func Example() {
	ages := expr.Language[age]{Operand: "age", Example: "age>=18", Condition: parseAge}
	for _, text := range []string{"(age>=18) && !age>65", "age>=18 or size>3", "age>18s"} {
		e, err := expr.Parse(text, ages)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(e, e.Eval(func(a *age) expr.Truth { return expr.Of(a.relation.Holds(70, a.years)) }) == expr.True)
	}
	// Output:
	// age>=18 && !age>65 false
	// column 9: expected &&, || or the end, found "or"
	// column 5: "18s": years have neither sign nor unit
}

func ExampleObjective() {
	e, err := expr.ParseObjective("ttft<=200ms && itl_p99<=50ms")
	if err != nil {
		fmt.Println(err)
		return
	}
	request := map[string]float64{"ttft": 150e6, "itl_p99": 61e6} // nanoseconds
	value := func(m expr.Metric) (float64, bool) {
		v, ok := request[m.Name]
		return v, ok
	}
	fmt.Println(e.Eval(value) == expr.True)
	for _, c := range e.Conditions() {
		fmt.Println(c, c.Eval(value) == expr.True)
	}
	// Output:
	// false
	// ttft<=200ms true
	// itl_p99<=50ms false
}
