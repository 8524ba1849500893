// Package trend follows metrics over many runs: the value of each point, such as a commit
// or a night, the steps where a metric changed, and whether a new point is worse than the
// accepted ones before it.
//
//	points := trend.Points(groups)
//	res := trend.Analyze(points, trend.Options{})
//	fmt.Println(res.Headline())
//
// A point is one run, or several runs of the same setting that were recorded together. All
// statistics compare points, not runs: runs that were recorded together share the state of
// the machine, so their spread says little about the next day. A point's value is the
// geometric mean of its runs. Times are nanoseconds, rates per second, shares and changes ratios; a missing
// number is NaN.
//
// docs/reference/trend.md describes the statistics. The package opens no files and uses no
// random numbers.
package trend
