package diff_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/diff"
	"github.com/pa-tools/pa/pkg/analyze/inference"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
)

// recorded is a run that began so many seconds after another, of one request
// with these times to the tokens, in milliseconds.
func recorded(second int, tokens ...int) *diff.Run {
	start := 1_700_000_000_000 + 1000*second
	var times []string
	for _, ms := range tokens {
		times = append(times, fmt.Sprintf("%d000000", start+ms))
	}
	file := fmt.Sprintf(`{"experiments":[{"experiment":{"mode":"concurrency","value":1},"requests":[
		{"timestamp":%d000000,"response_timestamps":[%s]}]}]}`, start, strings.Join(times, ","))
	ctx := context.Background()
	r, err := profilejson.NewReader(ctx, "run.json", strings.NewReader(file), int64(len(file)), export.Limits{})
	if err != nil {
		panic(err)
	}
	defer r.Close()
	run, err := diff.Read(ctx, "run.json", r, analyze.Config{})
	if err != nil {
		panic(err)
	}
	return run
}

func Example() {
	older := []*diff.Run{recorded(0, 100, 120, 140), recorded(10, 102, 122, 142), recorded(20, 104, 124, 145)}
	newer := []*diff.Run{recorded(30, 101, 131, 160), recorded(40, 103, 133, 164), recorded(50, 104, 135, 165)}
	res := diff.Compare(older, newer, diff.Options{})
	for _, row := range res.Levels[0].Rows {
		if row.Verdict == inference.NotAvailable || row.NA.Missing() {
			continue // descriptive, or no interval
		}
		i := row.Shown()
		fmt.Printf("%s: %+.1f%% (%+.1f%% to %+.1f%%): %v\n", row.Metric.Name, 100*row.Change, 100*i.Low, 100*i.High, row.Verdict)
	}

	noSlower, err := (&diff.Options{}).ParseGate("tpot_p50 worse || new.e2el_p50>1s")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Gate([]*diff.GateExpr{noSlower}), res.Gates[0].Because)
	fmt.Println(res.Headline())
	// Output:
	// TPOT p50: +49.6% (+42.2% to +57.3%): worse
	// E2EL p50: +14.5% (+9.8% to +19.5%): worse
	// false [tpot_p50 is worse: TPOT p50 +50 % (+42 to +57)]
	// new is slower: TPOT p50 +50 % (+42 to +57), E2EL p50 +15 % (+9.8 to +19); TTFT p50 +0.66 % not judged: the sides did not take turns, and both drift
}
