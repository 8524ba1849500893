// Package inference says how far figures of a run, and a difference between two
// runs or two sets of runs, can be trusted: confidence intervals, p-values and
// verdicts for latencies, throughputs and shares.
//
// Which question is asked depends on what there is:
//
//   - One run a side: [Change] compares an [Estimate] of each, from the values
//     of its requests (or gaps) in the order of time, a [Series], or from its
//     completions, [Rate]. It takes into account that neighbouring requests
//     share the state of the server, and holds for these two runs only.
//   - One run a side, the same prompts in the same order: [Pairs].
//   - One run alone: [Share], of requests that met something.
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
// five percent more. Levels are like 0.95. Where the data does not carry an
// interval there is none, and an [NA] says why and how much would be enough;
// the rule looks at the data alone and is written at its constants in rule.go
// and in docs/reference/statistics.md, with what simulation says of it
// (test/statsvalidation). No input makes the package panic.
//
// Everything is computed, nothing drawn: there are no random numbers here. The
// package reads no files, prints nothing and knows no metric by name.
package inference
