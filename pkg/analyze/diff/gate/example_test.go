package gate_test

import (
	"fmt"

	"github.com/pa-tools/pa/pkg/analyze/diff/gate"
)

// slower is a comparison in which the p99 rose by 8 %.
type slower struct{}

func (slower) Number(string, gate.Of) (v float64, missing string) { return 0.08, "" }
func (slower) Verdict(metric, _ string) (gate.State, string) {
	return gate.Unknown, metric + " has no verdict: too few runs"
}

func (slower) Within(metric string, _ float64) (gate.State, string) {
	return gate.Clear, metric + " is outside"
}

func Example() {
	metrics := []gate.Metric{{Key: "ttft_p99", Kind: gate.Duration, Judged: true}}
	for _, text := range []string{"ttft_p99>+5%", "ttft_p99>+10%", "ttft_p99 worse"} {
		e, err := gate.Parse(text, metrics, "old", "new")
		if err != nil {
			fmt.Println(err)
			continue
		}
		out := e.Eval(slower{})
		fmt.Println(e, out.State, out.Because)
	}
	// Output:
	// ttft_p99>+5% failed [ttft_p99 is +8%]
	// ttft_p99>+10% passed [ttft_p99 is +8%]
	// ttft_p99 worse n/a [ttft_p99 has no verdict: too few runs]
}
