// Package rig estimates what comparisons on a rig, a server and its machine, can find. From
// several runs of one setting it computes how much runs differ by chance, whether they
// drift, and the smallest change that N runs a side find.
//
//	res := rig.Analyze(diff.OneServer(runs, nil), rig.Options{RunsASide: []int{3, 5, 10}})
//	fmt.Println(res.Headlines()[0])
//
// The run is the unit: each run gives one value per metric. The deviation is the standard
// deviation of the logarithms of these values, so 0.01 is about one percent of the value.
// docs/reference/rig.md says how each number is computed. Changes and deviations are
// ratios; a missing number is NaN.
//
// The package opens no files. Its random numbers have a fixed seed, so the same runs give
// the same result.
package rig
