package slo_test

import (
	"fmt"

	"github.com/pa-tools/pa/pkg/analyze/slo"
)

func Example() {
	e, err := slo.Parse("ttft<=200ms && itl_p99<=50ms")
	if err != nil {
		fmt.Println(err)
		return
	}
	request := map[string]float64{"ttft": 150e6, "itl_p99": 61e6} // nanoseconds
	value := func(m slo.Metric) (float64, bool) {
		v, ok := request[m.Name]
		return v, ok
	}
	fmt.Println(e.Eval(value))
	for _, c := range e.Conditions() {
		fmt.Println(c, c.Eval(value))
	}
	// Output:
	// missed
	// ttft<=200ms met
	// itl_p99<=50ms missed
}
