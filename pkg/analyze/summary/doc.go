// Package summary describes many values of a metric by a few numbers: mean, standard deviation, percentiles, all exact.
//
//	var s summary.Sample[int64]
//	s.Add(values...)
//	fmt.Println(s.Summary().P(99))
//
// A [Sample] collects the values, in memory or in a temporary file. A [PerToken] computes the times per token from the
// gaps between token events, without a copy of them.
package summary
