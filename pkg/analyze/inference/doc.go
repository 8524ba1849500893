// Package inference computes confidence intervals, p-values and verdicts for
// latencies, throughputs and shares: of a run, and of the difference between two
// runs or two sets of runs.
//
// The method depends on the data:
//
//   - One run a side: [Change] compares an [Estimate] of each, from the values
//     of its requests (or gaps) in the order of time, a [Series], or from its
//     completions, [Rate]. It takes into account that neighbouring requests
//     share the state of the server, and holds for these two runs only.
//   - One run a side, the same prompts in the same order: [Pairs].
//   - One run alone: [Share], of requests that met an objective.
//   - Several runs a side: [Runs]. Only this mode knows how much runs differ
//     under the same settings; decisions should rest on it.
//
// In use:
//
//	older, newer := inference.NewSeries(oldTTFT), inference.NewSeries(newTTFT)
//	p50 := inference.Change(older.Quantile(0.5), newer.Quantile(0.5))
//	p99 := inference.Change(older.Quantile(0.99), newer.Quantile(0.99))
//	adjusted := inference.Holm([]float64{p50.P, p99.P})
//	if p99.NA.Missing() {
//		fmt.Println(p99.NA) // n/a (needs 3100)
//	} else {
//		i := p99.Interval(0.95)
//		fmt.Println(p99.Change, i.Low, i.High, p99.Verdict(adjusted[1], 0.05, inference.LowerIsBetter))
//	}
//
// Values have any unit, the same on both sides; changes are ratios, 0.05 for
// five percent more. Levels are like 0.95. If the data is not enough for an
// interval, an [NA] says why and how many values would be enough. The rule for
// this looks at the data alone; rule.go and docs/reference/statistics.md describe
// it, and test/statsvalidation tests it by simulation. No input makes the package
// panic.
//
// There are no random numbers here. The package reads no files, prints nothing
// and knows no metric by name. The last digits of intervals and p-values may differ from
// one kind of processor to another, because some fuse multiplication and addition.
package inference
