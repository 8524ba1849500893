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
// docs/reference/trend.md describes the statistics. The package uses no random numbers, and opens no
// files except the files of a baseline.
//
// A [Baseline] is a directory of accepted runs, one folder for each point:
//
//	baseline/2026-11-24T041220Z/new.1.json
//	baseline/2026-11-24T041220Z/new.2.json
//	baseline/2026-11-24T041220Z/manifest.json
//	baseline/2026-11-25T031501Z-v1.3/run.1.json.gz
//	baseline/2026-11-25T031501Z-v1.3/manifest.json
//
// A folder's name begins with the start of its first run in UTC, so that names sort by
// time; a label may follow. A folder appears whole or not at all. Names that begin with a
// dot are ignored. The manifest has the SHA-256 of each file of the point, so that [ReadBaseline]
// notices files that were changed, removed or added later.
package trend
